"""What a caller may not see answers exactly as what does not exist (G5)."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.conftest import People
from tests.support.api import JSON, ok

NOWHERE = {
    "traceset": "ts_" + "z" * 26,
    "session": "upload_" + "z" * 26,
    "mapping": "mapping_" + "z" * 26,
    "mapping session": "upload_" + "y" * 26,
    "workspace": "workspace_" + "z" * 26,
}

OPEN: JSON = {"name": "n", "files": [{"name": "a", "size": 1, "role": "supporting"}]}
ROUTES: list[tuple[str, str, Any]] = [
    ("GET", "/tracesets/{traceset}", ...),
    ("DELETE", "/tracesets/{traceset}", ...),
    ("GET", "/tracesets/{traceset}/download", ...),
    ("GET", "/tracesets/{traceset}/download?file=a", ...),
    ("GET", "/tracesets/{traceset}/download?file=unknown", ...),
    ("GET", "/tracesets/{traceset}/events", ...),
    ("POST", "/tracesets/{traceset}/validate", {}),
    ("POST", "/tracesets/{traceset}/validate", {"deep": True}),
    ("POST", "/tracesets/{traceset}/promote", {}),
    ("POST", "/tracesets/{traceset}/promote", {"workloadMetadata": {"parallelism": {}}}),
    ("GET", "/tracesets/upload-url/{session}", ...),
    ("DELETE", "/tracesets/upload-url/{session}", ...),
    ("GET", "/tracesets/upload-url/{mapping session}", ...),
    ("DELETE", "/tracesets/upload-url/{mapping session}", ...),
    ("GET", "/mapping-files/upload-url/{session}", ...),
    ("POST", "/tracesets/upload-url/complete", {"uploadId": "{session}", "files": []}),
    ("POST", "/tracesets/upload-url/complete", {"uploadId": "{mapping session}", "files": []}),
    ("POST", "/mapping-files/upload-url/complete", {"uploadId": "{session}", "files": []}),
    ("POST", "/mapping-files/upload-url/complete", {"uploadId": "{mapping session}", "files": []}),
    ("POST", "/tracesets/upload-url", {**OPEN, "workspaceId": "{workspace}"}),
    ("POST", "/mapping-files/upload-url", {**OPEN, "workspaceId": "{workspace}"}),
    ("GET", "/mapping-files/{mapping}", ...),
    ("DELETE", "/mapping-files/{mapping}", ...),
    ("GET", "/mapping-files/{mapping}/download", ...),
    ("GET", "/tracesets?workspaceId={workspace}", ...),
    ("GET", "/mapping-files?workspaceId={workspace}", ...),
    ("GET", "/workspaces/{workspace}/members", ...),
    ("PUT", "/workspaces/{workspace}/members/a@b.example", {"role": "viewer"}),
    ("DELETE", "/workspaces/{workspace}/members/a@b.example", ...),
]


@pytest.fixture
def hidden(people_here: People) -> dict[str, str]:
    """One of each kind, in a workspace that the stranger has nothing to do with."""
    owner = people_here.owner
    mapping = ok(owner.post("/mapping-files/upload-url", {**OPEN, "workspaceId": owner.workspace_id}))
    session = owner.open({"a": 1})
    return {
        "traceset": owner.upload({"a": b"x"})["id"],
        "session": session["uploadId"],
        "mapping": mapping["mappingFileId"],
        "mapping session": mapping["uploadId"],
        "workspace": owner.workspace_id,
    }


def filled(value: Any, ids: Mapping[str, str]) -> Any:
    """The value with ids in the place of their kinds."""
    if isinstance(value, str):
        return re.sub(r"\{([a-z ]+)\}", lambda kind: ids[kind[1]], value)
    if isinstance(value, dict):
        return {name: filled(member, ids) for name, member in value.items()}
    return value


def told(answer: TestResponse, ids: Mapping[str, str]) -> tuple[int, list[tuple[str, str]], str]:
    """All that an answer says but the id and what differs from request to request."""
    text = answer.text
    for kind, identifier in ids.items():
        text = text.replace(identifier, kind)
    headers = [(name, value) for name, value in answer.headers if name not in ("X-Request-Id", "Content-Length")]
    return answer.status_code, headers, text


@pytest.mark.parametrize(("method", "path", "body"), ROUTES, ids=lambda value: str(value)[:60])
def test_hidden_and_missing_look_alike(
    people_here: People, hidden: dict[str, str], method: str, path: str, body: Any
) -> None:
    def answer(ids: Mapping[str, str]) -> TestResponse:
        target, _, query = filled(path, ids).partition("?")
        return people_here.stranger.call(method, target, filled(body, ids), query=query)

    assert told(answer(hidden), hidden) == told(answer(NOWHERE), NOWHERE)
    assert people_here.owner.show(hidden["traceset"])["status"] == "ready"
    assert ok(people_here.owner.get(f"/tracesets/upload-url/{hidden['session']}"))["state"] == "open"
