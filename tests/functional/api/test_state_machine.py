"""Whole lives of tracesets, in any order and by several people, against a model of a page.

Two hundred steps in the suite, the same ones at each run. `STEPS` takes as many as one likes, other ones at each run;
a failure prints the steps that lead to it.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

from flask import Flask
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from werkzeug.test import TestResponse

from app.models.tracesets import LibraryFile
from app.services import people as people_services
from tests.conftest import People
from tests.support.api import JSON, Api, file_spec, ok
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, column
from tests.support.pages import Browser
from tests.support.upkeep import open_uploads, stored_keys, sweep

STEPS = int(os.environ.get("STEPS", "200"))
STEPS_OF_A_LIFE = 25
UNIVERSAL = "workspace_universal"
SESSION_LIFETIME = timedelta(hours=24)

WHO = ("admin", "owner", "editor", "viewer", "stranger", "reader")
CHANGE_SHARED = {"admin", "owner", "editor"}
CHANGE_UNIVERSAL = {"admin", "owner"}
SEE_SHARED = {*CHANGE_SHARED, "viewer", "reader"}

who = st.sampled_from((*WHO, "owner", "owner", "editor"))  # Those who may get on.
browsing = who.filter(lambda person: person != "reader")
contents = st.sampled_from([b"", b"a", b"bc", b"def"])
nth = st.integers(0, 99)


@dataclass
class Model:
    """What is known of one traceset.

    `status` is that of the API while it is there; `is_deleted` once it is not. `sent` are the bytes that the store
    holds of each file, with those of known content from the start.
    """

    id: str
    workspace_id: str
    name: str
    tags: Sequence[str]
    contents: dict[str, bytes]
    expires_at: datetime
    status: str = "uploading"
    is_deleted: bool = False
    upload_id: str = ""
    session: str = "open"
    session_ends_at: datetime | None = None
    sent: dict[str, bytes] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)
    copies: dict[str, "Model"] = field(default_factory=dict)

    @property
    def lacking(self) -> set[str]:
        """The files that are still to be sent, or to be sent again since they are of another size."""
        sizes = {name: len(data) for name, data in self.sent.items()}
        return {name for name, data in self.contents.items() if sizes.get(name) != len(data)}

    def may_see(self, person: str) -> bool:
        return self.workspace_id == UNIVERSAL or person in SEE_SHARED

    def may_change(self, person: str) -> bool:
        return person in (CHANGE_UNIVERSAL if self.workspace_id == UNIVERSAL else CHANGE_SHARED)

    def refusal(self, person: str) -> int | None:
        """How a change of what is there is refused to this person."""
        if person == "reader":
            return 403
        if self.is_deleted or not self.may_see(person):
            return 404
        return None if self.may_change(person) else 403

    def end(self, state: str, now: datetime) -> None:
        """What the end of its session means; one that had passed its time has expired, whoever ends it."""
        if self.session == "open":
            self.session = "expired" if self.has_run_out(now) else state
            self.status, self.sent = "upload_failed", {}

    def has_run_out(self, now: datetime) -> bool:
        return self.session == "open" and self.session_ends_at is not None and self.session_ends_at <= now


class Lives(RuleBasedStateMachine):
    """The steps; the world outlives each example, and is cleaned up after it."""

    app: ClassVar[Flask]
    people: ClassVar[People]
    clock: ClassVar[Clock]
    n_steps: ClassVar[int] = 0
    answers: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.tracesets: list[Model] = []
        self.shared = self.people.owner.workspace_id

    # -- whom and what a step is about

    def api(self, person: str) -> Api:
        caller: Api = getattr(self.people, person)
        return caller

    def pick(self, number: int) -> Model:
        return self.tracesets[number % len(self.tracesets)]

    def expect(self, answer: TestResponse, status: int) -> Any:
        assert answer.status_code == status, f"{answer.status_code}, not {status}: {answer.text[:500]}"
        self.answers[f"{answer.request.method} {answer.status_code}"] += 1
        return answer.json if answer.data else None

    has_any = precondition(lambda self: self.tracesets)

    # -- steps

    @initialize(files=st.lists(contents, min_size=1, max_size=3), is_completed=st.booleans())
    def begin_with_one(self, files: list[bytes], is_completed: bool) -> None:
        self.open("owner", files, days=30, knows=1)
        self.send(0, None)
        if is_completed:
            self.complete("owner", 0, None)

    @rule(person=who, files=st.lists(contents, min_size=1, max_size=3), days=st.sampled_from([1, 2, 30]), knows=nth)
    def open(self, person: str, files: list[bytes], days: int, knows: int) -> None:
        named = {f"file {i}": content for i, content in enumerate(files)}
        specs = [file_spec(name, len(content)) for name, content in named.items()]
        for spec, content in zip(specs, files, strict=True):
            if knows % 2:
                spec["sha256"] = hashlib.sha256(content).hexdigest()
        name = f"traceset {len(self.tracesets)}"
        now = self.clock.now()
        answer = self.api(person).post(
            "/tracesets/upload-url",
            {"name": name, "workspaceId": self.shared, "files": specs, "tags": ["new"], "ttlDays": days},
        )
        if person not in CHANGE_SHARED:
            self.expect(answer, 403 if person == "reader" else 400)
            return
        opened = self.expect(answer, 200)
        traceset = Model(
            opened["tracesetId"],
            self.shared,
            name,
            ["new"],
            named,
            now + timedelta(days=days),
            upload_id=opened["uploadId"],
            session_ends_at=now + SESSION_LIFETIME,
        )
        for file in opened["files"]:
            if not file["parts"]:
                content = named[file["name"]]
                assert any(
                    content in each.contents.values() and each.workspace_id == self.shared
                    for each in self.tracesets
                    if each.status == "ready" and not each.is_deleted
                )
                traceset.sent[file["name"]] = content
                traceset.matched.add(file["name"])
        self.tracesets.append(traceset)

    @has_any
    @rule(number=nth, alter=st.sampled_from([None, None, None, b"", b"longer than any"]))
    def send(self, number: int, alter: bytes | None) -> None:
        traceset = self.pick(number)
        if not traceset.upload_id:
            return
        for file in self._session_of("owner", traceset)["files"]:
            for url in [part["url"] for part in file["parts"] if "url" in part]:
                data = traceset.contents[file["name"]] if alter is None else alter
                self.api("owner").put(url, data)
                traceset.sent[file["name"]] = data

    def _session_of(self, person: str, traceset: Model) -> JSON:
        answer = self.api(person).get(f"/tracesets/upload-url/{traceset.upload_id}")
        shown: JSON = self.expect(answer, 200 if traceset.may_see(person) else 404)
        if shown and traceset.may_see(person):
            state = "expired" if traceset.has_run_out(self.clock.now()) else traceset.session
            assert shown["state"] == state
            may_send = state == "open" and person in CHANGE_SHARED
            has_url = {file["name"] for file in shown["files"] if any("url" in part for part in file["parts"])}
            assert has_url == (traceset.lacking if may_send else set())
        return shown

    @has_any
    @rule(person=who, number=nth)
    def show_session(self, person: str, number: int) -> None:
        if self.pick(number).upload_id:
            self._session_of(person, self.pick(number))

    @has_any
    @rule(person=who, number=nth, leaves_out=st.sampled_from([None, None, None, 0]))
    def complete(self, person: str, number: int, leaves_out: int | None) -> None:
        traceset = self.pick(number)
        if not traceset.upload_id:
            return
        named = [name for name in traceset.contents if name not in traceset.matched]
        if leaves_out is not None:
            named = named[1:]
        files = [{"name": name, "parts": [{"partNumber": 1}]} for name in named]
        answer = self.api(person).complete({"uploadId": traceset.upload_id}, files)
        expected = self._completion(person, traceset, named)
        self.expect(answer, expected)
        if expected == 201:
            traceset.session, traceset.status = "completed", "ready"
        elif expected == 413:
            traceset.session, traceset.status = "failed", "upload_failed"

    def _completion(self, person: str, traceset: Model, named: list[str]) -> int:
        """How a completion is answered."""
        if person == "reader":
            return 403
        if not traceset.may_see(person):
            return 404
        if not traceset.may_change(person):
            return 403
        if traceset.session == "completed":
            return 404 if traceset.is_deleted else 200
        if traceset.session == "expired" or traceset.has_run_out(self.clock.now()):
            return 410
        if traceset.session in ("aborted", "failed"):
            return 400
        if any(len(data) > len(traceset.contents[name]) for name, data in traceset.sent.items()):
            return 413
        is_whole = not traceset.lacking and {*named, *traceset.matched} == set(traceset.contents)
        return 201 if is_whole else 400

    @has_any
    @rule(person=who, number=nth)
    def abort(self, person: str, number: int) -> None:
        traceset = self.pick(number)
        if not traceset.upload_id:
            return
        answer = self.api(person).delete(f"/tracesets/upload-url/{traceset.upload_id}")
        if person == "reader" or not traceset.may_see(person) or not traceset.may_change(person):
            self.expect(answer, 404 if person == "stranger" else 403)
            return
        self.expect(answer, 409 if traceset.session == "completed" else 204)
        traceset.end("aborted", self.clock.now())

    @has_any
    @rule(person=who, number=nth)
    def delete(self, person: str, number: int) -> None:
        traceset = self.pick(number)
        answer = self.api(person).delete(f"/tracesets/{traceset.id}")
        self.expect(answer, traceset.refusal(person) or 204)
        if traceset.refusal(person) is None:
            traceset.end("aborted", self.clock.now())
            traceset.is_deleted = True

    @has_any
    @rule(person=who, number=nth, is_universal=st.booleans())
    def promote(self, person: str, number: int, is_universal: bool) -> None:
        source, target = self.pick(number), UNIVERSAL if is_universal else self.shared
        answer = self.api(person).post(f"/tracesets/{source.id}/promote", {"workspaceId": target})
        expected = self._promotion(person, source, target)
        body = self.expect(answer, expected)
        if expected == 200:
            assert body["id"] == source.copies[target].id
        elif expected == 201:
            ends_at = self.clock.now() + timedelta(days=365)
            copy = Model(body["id"], target, source.name, source.tags, source.contents, ends_at, "ready")
            copy.session = "none"
            source.copies[target] = copy
            self.tracesets.append(copy)

    def _promotion(self, person: str, source: Model, target: str) -> int:
        """How a promotion is answered."""
        if person == "reader":
            return 403
        if source.is_deleted or not source.may_see(person):
            return 404
        if person not in (CHANGE_UNIVERSAL if target == UNIVERSAL else CHANGE_SHARED) or source.status != "ready":
            return 400
        return 200 if target in source.copies and not source.copies[target].is_deleted else 201

    @has_any
    @rule(
        person=who.filter(lambda person: person != "reader"),
        number=nth,
        tags=st.lists(st.sampled_from("xyz"), unique=True),
    )
    def edit(self, person: str, number: int, tags: list[str]) -> None:
        traceset = self.pick(number)
        browser = Browser(self.app, person)
        with self.app.app_context():
            browser.follow_link(people_services.create_sign_in_link(f"{person}@tests.example"))
        form = {"name": f"{traceset.name}!", "description": "", "tags": "\n".join(tags)}
        answer = browser.post(f"/tracesets/{traceset.id}/edit", form)
        assert answer.status_code == (traceset.refusal(person) or 303)
        if traceset.refusal(person) is None:
            traceset.name, traceset.tags = form["name"], tags

    @has_any
    @rule(person=who, number=nth, is_deep=st.booleans())
    def validate(self, person: str, number: int, is_deep: bool) -> None:
        traceset = self.pick(number)
        answer = self.api(person).post(f"/tracesets/{traceset.id}/validate", {"deep": is_deep})
        is_there = traceset.may_see(person) and not traceset.is_deleted
        body = self.expect(answer, 200 if is_there else 404)
        if is_there:
            assert body["valid"] is (traceset.status == "ready"), body

    @has_any
    @rule(person=who, number=nth, file=nth)
    def download(self, person: str, number: int, file: int) -> None:
        traceset = self.pick(number)
        name = list(traceset.contents)[file % len(traceset.contents)]
        answer = self.api(person).get(f"/tracesets/{traceset.id}/download", file=name)
        is_there = traceset.may_see(person) and not traceset.is_deleted
        body = self.expect(answer, (200 if traceset.status == "ready" else 400) if is_there else 404)
        if answer.status_code == 200:
            assert self.api(person).fetch(body["url"]) == traceset.contents[name]

    @rule(hours=st.sampled_from([1, 6, 13, 24]))
    def pass_time(self, hours: int) -> None:
        self.clock.pass_by(hours=hours)

    @rule()
    def sweep(self) -> None:
        now = self.clock.now()
        sweep(self.app)
        for traceset in self.tracesets:
            if traceset.has_run_out(now):
                traceset.end("expired", now)
            if traceset.expires_at <= now and not traceset.is_deleted:
                traceset.end("aborted", now)
                traceset.is_deleted = True

    # -- what holds after each of them

    @invariant()
    def the_lists_are_those_of_the_model(self) -> None:
        type(self).n_steps += 1
        for place in (self.shared, UNIVERSAL):
            mine = {each.id: each for each in self.tracesets if each.workspace_id == place}
            there = {key: each for key, each in mine.items() if not each.is_deleted}
            found = {item["id"]: item for item in self._listed("admin", place) if item["id"] in mine}
            shown = {key: (item["name"], item["status"], item["tags"]) for key, item in found.items()}
            assert shown == {key: (each.name, each.status, list(each.tags)) for key, each in there.items()}
            gone = {item["id"] for item in self._listed("viewer", place, status="deleted")}
            assert gone & set(mine) == set(mine) - set(there)
        assert_counts_right(self.app)

    @invariant()
    def strangers_see_the_universal_ones_alone(self) -> None:
        assert self._listed("stranger", self.shared) == []

    def _listed(self, person: str, workspace_id: str, **more: str) -> list[JSON]:
        found: list[JSON] = ok(self.api(person).get("/tracesets", workspaceId=workspace_id, limit=500, **more))["items"]
        return found

    def teardown(self) -> None:
        """Delete everything; a sweep later nothing is left of it."""
        for traceset in self.tracesets:
            if not traceset.is_deleted:
                self.expect(self.people.admin.delete(f"/tracesets/{traceset.id}"), 204)
        self.clock.pass_by(hours=2)
        sweep(self.app)
        assert column(self.app, LibraryFile.key) == []
        assert stored_keys(self.app) == []
        assert open_uploads(self.app) == []


def test_the_service_and_its_model_agree_after_each_step(app: Flask, people_here: People, moved_clock: Clock) -> None:
    class LivesHere(Lives):
        """In this test's world."""

    LivesHere.app, LivesHere.people, LivesHere.clock = app, people_here, moved_clock

    run_state_machine_as_test(
        LivesHere,
        settings=settings(
            max_examples=5 * STEPS // (4 * STEPS_OF_A_LIFE),  # Some lives are shorter.
            stateful_step_count=STEPS_OF_A_LIFE,
            derandomize="STEPS" not in os.environ,
            database=None,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )

    print(f"{LivesHere.n_steps} steps; answers: {dict(LivesHere.answers)}")
    assert LivesHere.n_steps >= STEPS
