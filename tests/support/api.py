"""A caller of the API, in the test's own process, and the exchanges that most tests begin with."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import requests
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.document import document_of

JSON = dict[str, Any]
API = "/api/v1"
OWN_ORIGIN = "http://localhost"


class Api:
    """One person's token, and the app that it is good for."""

    def __init__(self, app: Flask, token: str | None, *, workspace_id: str = "") -> None:
        self.app = app
        self.token = token
        self.workspace_id = workspace_id

    def call(
        self,
        method: str,
        path: str,
        body: object = ...,
        *,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | str | None = None,
    ) -> TestResponse:
        """The answer to one request, which is as described; `body` goes as JSON, `data` as it is."""
        sent = dict(headers or {})
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        if body is not ...:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        path = path if path.startswith("/api") else API + path
        response = self.app.test_client().open(path, method=method, data=data, headers=sent, query_string=query)
        document_of(self.app).check(response)
        return response

    def get(self, path: str, **query: Any) -> TestResponse:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: object = ..., **more: Any) -> TestResponse:
        return self.call("POST", path, body, **more)

    def delete(self, path: str) -> TestResponse:
        return self.call("DELETE", path)

    # -- the exchanges of an upload

    def request_of(self, files: Mapping[str, int] | Sequence[JSON], **more: Any) -> JSON:
        """A body for upload-url: supporting files of these sizes, or these specifications."""
        specs = [file_spec(name, size) for name, size in files.items()] if isinstance(files, Mapping) else list(files)
        return {"name": "A traceset", "workspaceId": self.workspace_id or None, "files": specs, **more}

    def open(self, files: Mapping[str, int] | Sequence[JSON], **more: Any) -> JSON:
        """An open session."""
        return ok(self.post("/tracesets/upload-url", self.request_of(files, **more)))

    def put(self, url: str, data: bytes) -> str:
        """Send a part as a client does, and give its ETag."""
        etag: str
        if url.startswith(OWN_ORIGIN + "/"):
            response = self.app.test_client().put(urlsplit(url).path, data=data)
            assert response.status_code == 200, response.text
            etag = response.headers["ETag"]
        else:
            answer = requests.put(url, data=data, timeout=60)
            assert answer.status_code == 200, answer.text
            etag = answer.headers["ETag"]
        return etag

    def fetch(self, url: str) -> bytes:
        """Download what a signed URL gives."""
        if url.startswith(OWN_ORIGIN + "/"):
            response = self.app.test_client().get(urlsplit(url).path)
            assert response.status_code == 200, response.text
            return response.data
        answer = requests.get(url, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.content

    def send(self, session: JSON, contents: Mapping[str, bytes]) -> list[JSON]:
        """Send every part of every file; the `files` of the completion."""
        return [
            {"name": file["name"], "parts": self._send_parts(file["parts"], contents[file["name"]])}
            for file in session["files"]
            if file["parts"]
        ]

    def _send_parts(self, parts: Sequence[JSON], content: bytes) -> list[JSON]:
        sent, position = [], 0
        for part in parts:
            data = content[position : position + part["size"]]
            position += part["size"]
            sent.append({"partNumber": part["partNumber"], "etag": self.put(part["url"], data)})
        return sent

    def complete(self, session: JSON, files: Sequence[JSON]) -> TestResponse:
        return self.post("/tracesets/upload-url/complete", {"uploadId": session["uploadId"], "files": list(files)})

    def upload(self, contents: Mapping[str, bytes], **more: Any) -> JSON:
        """A traceset that is ready and holds these bytes."""
        files = more.pop("files", None) or {name: len(content) for name, content in contents.items()}
        session = self.open(files, **more)
        return ok(self.complete(session, self.send(session, contents)), 201)

    def show(self, traceset_id: str) -> JSON:
        return ok(self.get(f"/tracesets/{traceset_id}"))

    def read(self, traceset_id: str, name: str | None = None) -> bytes:
        """The bytes of one file, or of the archive."""
        query = {} if name is None else {"file": name}
        return self.fetch(ok(self.get(f"/tracesets/{traceset_id}/download", **query))["url"])


def file_spec(name: str, size: int, role: str = "supporting", **more: Any) -> JSON:
    """A file of an upload request."""
    return {"name": name, "size": size, "role": role, **more}


def ok(response: TestResponse, status: int = 200) -> JSON:
    """The JSON of an answer that must have this status."""
    assert response.status_code == status, f"{response.request.path}: {response.status_code} {response.text[:500]}"
    assert response.content_type == "application/json"
    body: JSON = json.loads(response.data)
    return body


def refused(response: TestResponse, status: int, *fragments: str, exactly: str | None = None) -> str:
    """The message of a refusal, which must have the one shape of errors and hold these fragments."""
    assert response.status_code == status, f"{response.request.path}: {response.status_code} {response.text[:500]}"
    assert response.content_type == "application/json"
    error = json.loads(response.data)["error"]
    code = {"code": "PAYLOAD_TOO_LARGE"} if status == 413 else {}
    assert error == {"message": error["message"], **code}
    message: str = error["message"]
    if exactly is not None:
        assert message == exactly
    for fragment in fragments:
        assert fragment in message
    return message
