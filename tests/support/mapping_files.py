"""The exchange of a mapping file, as most of its tests begin."""

from collections.abc import Mapping
from typing import Any

from werkzeug.test import TestResponse

from tests.support.api import JSON, Api, ok

ROOT = "/mapping-files"
MAP = {"map.json": b'{"0": "rack 1"}', "sub/é.csv": b""}


def request_of(caller: Api, contents: Mapping[str, bytes] = MAP, **more: Any) -> JSON:
    """A body for upload-url."""
    files = [{"name": name, "size": len(content)} for name, content in contents.items()]
    return {"name": "A map", "workspaceId": caller.workspace_id, "files": files, **more}


def begin(caller: Api, contents: Mapping[str, bytes] = MAP, **more: Any) -> JSON:
    """An open session."""
    return ok(caller.post(f"{ROOT}/upload-url", request_of(caller, contents, **more)))


def complete(caller: Api, opened: JSON, files: list[JSON]) -> TestResponse:
    """The answer to a completion."""
    return caller.post(f"{ROOT}/upload-url/complete", {"uploadId": opened["uploadId"], "files": files})


def upload(caller: Api, contents: Mapping[str, bytes] = MAP, **more: Any) -> JSON:
    """A mapping file that is ready."""
    opened = begin(caller, contents, **more)
    return ok(complete(caller, opened, caller.send(opened, contents)), 201)


def listed(caller: Api, **query: Any) -> list[str]:
    """The ids on a page of the list."""
    return [item["id"] for item in ok(caller.get(ROOT, **query))["items"]]
