"""Programs that do everything the API can, and know at any time what must be true.

Each has workspaces of its own, and does one thing after the other; an answer that does not come is asked for again.
Whatever was answered is compared with what the program knows, at once and once more at the end.
"""

import hashlib
import io
import random
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import requests

from app.settings import MIB
from tests.crash.patience import UNAVAILABLE, Answer, PatientClient, Person, Wrong
from tests.support.api import JSON
from tests.support.server import AppServer

TRACESETS, MAPPINGS = "/tracesets", "/mapping-files"
LARGE = random.Random(1).randbytes(5 * MIB + 1)


class _NothingThere(Exception):
    """Nothing yet that the action could be tried on."""


@dataclass
class Kept:
    """What was answered of one traceset or mapping file; a deleted one is forgotten."""

    root: str
    id: str
    workspace_id: str
    name: str
    contents: Mapping[str, bytes]
    session: JSON = field(default_factory=dict)
    status: str = "uploading"
    tags: list[str] = field(default_factory=list)
    sent: list[JSON] = field(default_factory=list)
    promoted: "Kept | None" = None


class Program(PatientClient):
    """One of a person's.

    Args:
        number: of the program, which names what it makes.
        servers: one is drawn for each request, as a balancer would.
        person: who it acts for.
        colleagues: the addresses of others.
        dice: of this program.
    """

    def __init__(
        self,
        number: int,
        servers: Sequence[AppServer],
        person: Person,
        *,
        colleagues: Sequence[str],
        dice: random.Random,
    ) -> None:
        super().__init__(f"program {number}", servers, person, dice)
        self.colleagues = colleagues
        self.done: Counter[str] = Counter()
        self.n_made = 0
        self.kept: list[Kept] = []
        self.deleted: list[str] = []
        self.members: dict[str, str] = {}
        self.pool = [dice.randbytes(dice.randrange(2000)) for _ in range(3)]
        """Contents that are uploaded again and again."""

    def begin(self) -> None:
        """Make two workspaces: one to work in, one to publish to."""
        self.home, self.public = self._make_workspace("home"), self._make_workspace("public")
        self.members = {self.person.email: "owner"}
        self.check_members()

    def _make_workspace(self, name: str) -> str:
        name = f"{name} of {self.name}"
        made: str = self.expect(self.ask("POST", "/workspaces", {"name": name}), 201)["id"]
        items = self.expect(self.ask("GET", "/workspaces"), 200)["items"]
        if made not in [item["id"] for item in items if (item["name"], item["role"]) == (name, "owner")]:
            raise Wrong(f"{self.name}: {made} is not among {items}")
        return made

    def act(self) -> None:
        """Do one thing, drawn at random."""
        actions = {
            self.upload: 5,
            self.leave_open: 1,
            self.abort: 1,
            self.forget_a_part: 1,
            self.send_too_late: 1,
            self.check_one: 4,
            self.check_list: 2,
            self.download_one: 3,
            self.download_all: 1,
            self.validate: 2,
            self.promote: 2,
            self.edit: 2,
            self.delete: 2,
            self.change_members: 2,
        }
        [action] = self.dice.choices(list(actions), list(actions.values()))
        with suppress(_NothingThere):
            action()
            self.done[action.__name__] += 1

    def _open(self, root: str) -> Kept:
        self.n_made += 1
        contents = {f"rank_{i}.et": self._content() for i in range(self.dice.randint(1, 3))}
        files: list[JSON] = [{"name": name, "size": len(content)} for name, content in contents.items()]
        body: JSON = {"name": f"{self.name}, {self.n_made}", "workspaceId": self.home, "files": files}
        if root == TRACESETS:
            body["tags"] = self._tags()
            for file in files:
                file["role"] = "supporting"
                if self.dice.random() < 0.5:
                    file["sha256"] = hashlib.sha256(contents[file["name"]]).hexdigest()
        key = {"Idempotency-Key": f"{self.name}, {self.n_made}"}
        session = self.expect(self.ask("POST", f"{root}/upload-url", body, headers=key, passing={409}), 200)
        subject = session["tracesetId" if root == TRACESETS else "mappingFileId"]
        kept = Kept(root, subject, self.home, body["name"], contents, session, tags=body.get("tags", []))
        self.kept.append(kept)
        return kept

    def _content(self) -> bytes:
        if self.dice.random() < 0.02:
            return LARGE
        return (
            self.dice.choice(self.pool) if self.dice.random() < 0.5 else self.dice.randbytes(self.dice.randrange(3000))
        )

    def _tags(self) -> list[str]:
        return self.dice.sample(["a", "b", "c", "é"], self.dice.randrange(4))

    def _send(self, kept: Kept) -> None:
        for file in kept.session["files"]:
            parts, position = [], 0
            for part in file["parts"]:
                data = kept.contents[file["name"]][position : position + part["size"]]
                position += part["size"]
                answer = self.transfer("PUT", part["url"], data)
                self.same(f"the status of a part ({answer.text[:300]})", answer.status_code, 200)
                parts.append({"partNumber": part["partNumber"], "etag": answer.headers["ETag"]})
            kept.sent.append({"name": file["name"], "parts": parts})

    def _complete(self, kept: Kept, files: Sequence[JSON]) -> Answer:
        body = {"uploadId": kept.session["uploadId"], "files": list(files)}
        return self.ask("POST", f"{kept.root}/upload-url/complete", body, passing={408, 409})

    def upload(self) -> None:
        """Open, send, complete; and, now and then, complete once more."""
        kept = self._open(self.dice.choice([TRACESETS, TRACESETS, MAPPINGS]))
        self._send(kept)
        self.expect(self._complete(kept, kept.sent), 201, again={200})
        kept.status = "ready"
        if self.dice.random() < 0.2:
            self.expect(self._complete(kept, kept.sent), 200)

    def leave_open(self) -> None:
        """Open and send, and come back to it later or never."""
        self._send(self._open(TRACESETS))

    def forget_a_part(self) -> None:
        """Complete without a file, which is refused, and then with it."""
        kept = self._one("uploading")
        if not any(file["parts"] for file in kept.sent):
            raise _NothingThere  # All of it was known already.
        self.expect(self._complete(kept, [file for file in kept.sent if not file["parts"]]), 400)
        shown = self.expect(self.ask("GET", f"{kept.root}/upload-url/{kept.session['uploadId']}"), 200)
        self.same("the parts that arrived", _arrived(shown), _arrived_by(kept))
        self.expect(self._complete(kept, kept.sent), 201, again={200})
        kept.status = "ready"

    def abort(self) -> None:
        """End a session."""
        kept = self._one("uploading")
        self.expect(self.ask("DELETE", f"{kept.root}/upload-url/{kept.session['uploadId']}"), 204)
        kept.status = "upload_failed"

    def send_too_late(self) -> None:
        """Send other bytes by the URL of a part that is completed, which changes nothing."""
        kept = self._one("ready")
        for file in kept.session.get("files", [])[:1]:
            for part in file["parts"][:1]:
                self.same(f"a late part of {kept.id}", self.transfer("PUT", part["url"], b"other bytes").ok, False)

    def check_one(self) -> None:
        """Show one."""
        self.check(self._one("uploading", "upload_failed", "ready"))

    def check(self, kept: Kept) -> None:
        """Show it, and compare."""
        shown = self.expect(self.ask("GET", f"{kept.root}/{kept.id}"), 200)
        known: JSON = {"name": kept.name, "status": kept.status, "workspaceId": kept.workspace_id}
        if kept.root == TRACESETS:
            known["tags"] = kept.tags
        self.same(kept.id, {member: shown[member] for member in known}, known)
        sizes = {name: len(content) for name, content in kept.contents.items()}
        self.same(f"the files of {kept.id}", {file["name"]: file["size"] for file in shown["files"]}, sizes)

    def check_list(self) -> None:
        """List one's own of one kind, there or deleted."""
        root, status = self.dice.choice([TRACESETS, MAPPINGS]), self.dice.choice(["", "ready", "uploading"])
        self._check_list(root, status)

    def _check_list(self, root: str, status: str) -> None:
        known = {k.id for k in self.kept if k.root == root and k.workspace_id == self.home and status in ("", k.status)}
        self.same(f"the list of {root} {status}", self._listed(root, self.home, status), known)

    def _listed(self, root: str, workspace_id: str, status: str) -> set[str]:
        query: JSON = {"workspaceId": workspace_id, "status": status, "limit": 20, "next": ""}
        found: list[str] = []
        while query["next"] is not None:
            page = self.expect(self.ask("GET", root, query=query), 200)
            found += [item["id"] for item in page["items"]]
            query["next"] = page["pagination"]["nextCursor"]
        self.same(f"twice in the list of {root}", [each for each, n in Counter(found).items() if n > 1], [])
        return set(found)

    def download_one(self) -> None:
        """One file of one."""
        kept = self._one("ready")
        self._check_bytes(kept, self.dice.choice(list(kept.contents)))

    def _check_bytes(self, kept: Kept, name: str) -> None:
        answer = self.ask("GET", f"{kept.root}/{kept.id}/download", query={"file": name})
        got = self.transfer("GET", self.expect(answer, 200)["url"])
        self.same(f"{name} of {kept.id} ({got.status_code})", got.content, kept.contents[name])

    def download_all(self) -> None:
        """One as an archive."""
        kept = self._one("ready")
        url = self.expect(self.ask("GET", f"{kept.root}/{kept.id}/download"), 200)["url"]
        with zipfile.ZipFile(io.BytesIO(self.transfer("GET", url).content)) as archive:
            found = {name: archive.read(name) for name in archive.namelist()}
        self.same(f"the archive of {kept.id}", found, kept.contents)

    def validate(self) -> None:
        """See that one is whole, sometimes down to its bytes."""
        kept = self._one("ready", root=TRACESETS)
        body = {"deep": self.dice.random() < 0.3}
        found = self.expect(self.ask("POST", f"{kept.root}/{kept.id}/validate", body), 200)
        self.same(f"whether {kept.id} is whole ({found})", found["valid"], True)

    def promote(self) -> None:
        """Publish one, or find that it was already."""
        kept = self._one("ready", root=TRACESETS)
        if kept.workspace_id == self.public:
            raise _NothingThere
        first = kept.promoted if kept.promoted in self.kept else None
        answer = self.ask("POST", f"{kept.root}/{kept.id}/promote", {"workspaceId": self.public})
        if first is not None:
            self.same("the first promotion", self.expect(answer, 200)["id"], first.id)
            return
        copy = self.expect(answer, 201, again={200})
        kept.promoted = Kept(TRACESETS, copy["id"], self.public, kept.name, kept.contents, {}, "ready", kept.tags)
        self.kept.append(kept.promoted)

    def edit(self) -> None:
        """Give one another name and other tags, by its page."""
        kept = self._one("uploading", "upload_failed", "ready", root=TRACESETS)
        name, tags = f"{self.name}, edited {self.dice.randrange(1000)}", self._tags()
        form = {"csrf_token": self.person.csrf_token, "name": name, "description": "", "tags": "\n".join(tags)}

        def send() -> tuple[int, Mapping[str, str], Any]:
            url = f"{self.dice.choice(self.servers).origin}/tracesets/{kept.id}/edit"
            answer = requests.post(url, form, cookies=self.person.cookies, timeout=60, allow_redirects=False)
            return answer.status_code, answer.headers, re.sub("<[^>]*>", "", answer.text)[:300]

        self.expect(self.until_settled(f"edit {kept.id}", send, UNAVAILABLE), 303)
        kept.name, kept.tags = name, tags

    def delete(self) -> None:
        """Delete one, whatever its state."""
        kept = self._one("uploading", "upload_failed", "ready")
        self.expect(self.ask("DELETE", f"{kept.root}/{kept.id}"), 204, again={404})
        self.kept.remove(kept)
        self.deleted.append(kept.id)
        self.expect(self.ask("GET", f"{kept.root}/{kept.id}"), 404)

    def change_members(self) -> None:
        """Let a colleague in, or send one away."""
        email, path = self.dice.choice(self.colleagues), f"/workspaces/{self.home}/members"
        if email in self.members and self.dice.random() < 0.5:
            self.expect(self.ask("DELETE", f"{path}/{email}"), 204, again={404})
            del self.members[email]
        else:
            role = self.dice.choice(["viewer", "editor"])
            self.expect(self.ask("PUT", f"{path}/{email}", {"role": role}), 204)
            self.members[email] = role
        self.check_members()

    def check_members(self) -> None:
        """Who belongs to the workspace."""
        items = self.expect(self.ask("GET", f"/workspaces/{self.home}/members"), 200)["items"]
        self.same("the members", {item["email"]: item["role"] for item in items}, self.members)

    def check_all(self) -> None:
        """Everything that was ever answered."""
        self.check_members()
        for root in (TRACESETS, MAPPINGS):
            self._check_list(root, "")
        lists = [(TRACESETS, self.home), (TRACESETS, self.public), (MAPPINGS, self.home)]
        deleted = {each for root, place in lists for each in self._listed(root, place, "deleted")}
        self.same("what is deleted", deleted ^ set(self.deleted), set())
        for kept in self.kept:
            self.check(kept)
            for name in kept.contents if kept.status == "ready" else ():
                self._check_bytes(kept, name)

    def _one(self, *statuses: str, root: str | None = None) -> Kept:
        found = [kept for kept in self.kept if kept.status in statuses and root in (None, kept.root)]
        if not found:
            raise _NothingThere
        return self.dice.choice(found)


def _arrived(shown: JSON) -> set[tuple[str, int]]:
    return {(file["name"], part["partNumber"]) for file in shown["files"] for part in file["parts"] if part["uploaded"]}


def _arrived_by(kept: Kept) -> set[tuple[str, int]]:
    return {(file["name"], part["partNumber"]) for file in kept.sent for part in file["parts"]}
