"""The document is good enough to generate a client from, and the client good enough for the main job."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests

from tests.conftest import People, Serve
from tests.support.server import AppServer

CONTENT = b"a trace of one rank"


@pytest.fixture
def server(serve: Serve) -> AppServer:
    return serve()


@pytest.fixture
def generated(server: AppServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package that openapi-python-client makes of the server's document; a warning of it is a failure."""
    settings = tmp_path / "settings.yml"
    settings.write_text("post_hooks: []\n")
    package = tmp_path / "generated" / "tracesets_generated"
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    subprocess.run(
        [*command, "--url", f"{server.origin}/api/v1/openapi.json", "--config", settings, "--output-path", package],
        check=True,
    )
    monkeypatch.syspath_prepend(package.parent)
    return importlib.import_module(package.name)


def test_a_generated_client_uploads_completes_and_downloads(
    generated: ModuleType, server: AppServer, people_of: Callable[[AppServer], People]
) -> None:
    owner = people_of(server).owner
    models = importlib.import_module(f"{generated.__name__}.models")
    call = _Caller(generated, server, owner.token)

    opened = call.tracesets_open(
        body=models.UploadRequest(
            name="Made by a generated client",
            workspace_id=owner.workspace_id,
            files=[models.UploadFileSpec(name="rank_0.et", size=len(CONTENT))],
            workload_metadata=models.UploadWorkloadMetadata(shape=models.WorkloadShape(rank_count=1)),
        )
    )
    part = opened.files[0].parts[0]
    etag = requests.put(part.url, data=CONTENT, timeout=60).headers["ETag"]
    sent = models.CompletedPartInput(part_number=part.part_number, etag=etag)
    body = models.CompleteUploadRequest(
        upload_id=opened.upload_id, files=[models.CompletedFileInput(name="rank_0.et", parts=[sent])]
    )
    traceset = call.tracesets_complete(body=body)
    download = call.tracesets_download(traceset.id, file="rank_0.et")

    assert traceset.status == models.Status.READY
    assert traceset.rank_count_derived == 1
    assert call.tracesets_get(traceset.id) == traceset
    assert requests.get(download.url, timeout=60).content == CONTENT


def test_a_generated_client_reads_errors(
    generated: ModuleType, server: AppServer, people_of: Callable[[AppServer], People]
) -> None:
    call = _Caller(generated, server, people_of(server).owner.token)

    answer = call.tracesets_get("ts_notfound")

    assert answer.error.message == "Traceset 'ts_notfound' not found"


class _Caller:
    """Calls the function that was generated for an operation."""

    def __init__(self, generated: ModuleType, server: AppServer, token: str | None) -> None:
        self.package = generated.__name__
        self.new_client = partial(generated.AuthenticatedClient, base_url=server.origin, token=token)

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        module = importlib.import_module(f"{self.package}.api.tracesets.{operation}")

        def call(*arguments: object, **more: object) -> Any:
            with self.new_client() as client:
                return module.sync(*arguments, client=client, **more)

        return call
