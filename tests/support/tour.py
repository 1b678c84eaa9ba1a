"""One of everything, all of it called by the same name, and the address of every page that shows it.

The pages are those that the app itself names, so that a new one is among them from its first day.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from flask import Flask
from sqlalchemy import update

from app.domain.file_names import MAX_NAME_BYTES
from app.models.people import TOKEN_NAME_LENGTH
from app.models.uploads import UploadSession
from app.services import people
from app.transactions import transaction
from app.web.help_pages import PAGES as HELP
from tests.support.api import Api, file_spec, ok

HOSTILE = [
    pytest.param('</td><script>alert("x")</script><img src=x onerror=alert(1)>', id="tags"),
    pytest.param("\"double\" 'single' `back` & &amp; &lt; {{ 7*7 }} {% x %} %s $1", id="quotes"),
    pytest.param("\u202eevil\u202c \u2066name\u2069 \u200f\u061c", id="bidi"),
    pytest.param("👩\u200d🚀 Ünïcödé 日本語 a\u0301\u200b", id="emoji"),
    pytest.param("🦊" * 255, id="long"),
    pytest.param("W" * 255, id="wide"),
]
"""Names that would break a page that does not look out, the longest of 1,020 bytes; file names are filled to 1,024."""

NOT_PAGES = {"web.traceset.download", "web.tracesets.suggestions", "web.upload.token", "web.progress.show"}
FOR_STRANGERS = {"web.login.form", "web.login.link"}
"""Whoever is signed in is sent on from there."""
NAMELESS = {
    "web.login.form",
    "web.help.index",
    "web.help.page",
    "web.docs.api",
    "web.admin.library",
    "web.admin.settings",
    "web.admin.health",
}
"""Pages that show nothing that people gave."""


@dataclass(frozen=True)
class Named:
    """What there is of this name: a person's address, a file's name, and values for the arguments of routes."""

    name: str
    email: str
    file_name: str
    values: Mapping[str, str]
    half_id: str
    failed_id: str
    failed_upload_id: str


def written(name: str) -> str:
    """A name as pages write it, its white space as `Page.text` has it."""
    spelt = re.sub("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", lambda found: f"⟨U+{ord(found[0]):04X}⟩", name)
    return " ".join(spelt.split())


def furnish(app: Flask, admin: Api, name: str) -> Named:
    """Make one of everything, for the tests' administrator, who sees all pages."""
    email = re.sub(r"[\s@]", "", name)[:60].lower() + "@tests.example"
    file_name = _filled(name)
    with app.app_context():
        people.create_user(email)
        people.create_token("admin@tests.example", name=name[:TOKEN_NAME_LENGTH])
        secret = people.create_sign_in_link(email)
    ok(admin.post("/workspaces", {"name": name}), 201)
    workspace = ok(admin.post("/workspaces", {"name": name}), 201)["id"]
    member = admin.call("PUT", f"/workspaces/{workspace}/members/{quote(email, safe='')}", {"role": "viewer"})
    assert member.status_code == 204
    more = {"name": name, "description": name, "tags": [name[:100], "plain"], "workspaceId": workspace}
    metadata = {"workload_family": name, "shape": {"rankCount": 2}, name: {name: [name, {name: None}]}}
    external = file_spec("elsewhere.json", 7, externalUrl="https://store.example/%3Cb%3E?q=%22")
    ready = admin.upload(
        {file_name: b"no trace"},
        files=[file_spec(file_name, 8, "primary"), external],
        workloadMetadata=metadata,
        **more,
    )
    ok(admin.post(f"/tracesets/{ready['id']}/validate", {"deep": True}))
    half = admin.open({file_name: 11 * 1024 * 1024, "b": 1}, **more)
    failed = admin.open({file_name: 7}, **more)
    admin.delete(f"/tracesets/upload-url/{failed['uploadId']}")
    with app.app_context(), transaction() as session:
        reason = {"failure": f"File {file_name} is 8 bytes, larger than its declared size of 7 bytes"}
        session.execute(update(UploadSession).where(UploadSession.id == failed["uploadId"]).values(reason))
    values = {
        "traceset_id": ready["id"],
        "upload_id": half["uploadId"],
        "workspace_id": workspace,
        "secret": secret,
        "name": "limits",
    }
    return Named(name, email, file_name, values, half["tracesetId"], failed["tracesetId"], failed["uploadId"])


def pages_of(app: Flask, named: Named) -> Iterator[tuple[str, str]]:
    """Endpoint and path of every page, and of some of them once more in another state."""
    adapter = app.url_map.bind("localhost")
    for rule in app.url_map.iter_rules():
        if rule.endpoint.startswith("web.") and "GET" in (rule.methods or ()) and rule.endpoint not in NOT_PAGES:
            arguments = {argument: named.values[argument] for argument in rule.arguments}
            yield rule.endpoint, adapter.build(rule.endpoint, arguments)
    for traceset_id in (named.half_id, named.failed_id):
        yield "web.traceset.detail", f"/tracesets/{traceset_id}"
    yield "web.admin.upload_session", f"/admin/upload-sessions/{named.failed_upload_id}"
    yield "web.upload.form", f"/tracesets/upload?session={named.values['upload_id']}"
    yield "web.tracesets.index", "/tracesets?tag=plain&rankCountMin=1&sort=name:asc"
    for name in HELP:
        yield "web.help.page", f"/help/{name}"


def _filled(name: str) -> str:
    """A file name of 1,024 bytes that begins so."""
    room = MAX_NAME_BYTES - len(".et") - len(name.encode())
    return f"{name}{'-' * room}.et"
