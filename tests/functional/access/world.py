"""One deployment with people and things in it, made once for all cells of the table."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event, select, update

from app import clock
from app.domain.access import Role
from app.extensions import db
from app.models.people import ApiToken, User, WebSession
from app.models.uploads import SessionState, UploadSession
from app.queries.people import get_user
from app.security import hash_token
from app.services import people, workspaces
from app.transactions import reading
from tests.functional.access.table import OUTSIDERS, PERSONS, READER, SECRET, Row
from tests.support import mapping_files
from tests.support.api import Api, ok
from tests.support.database import change
from tests.support.pages import Browser

COOKIE = "tracesets_session"
_CHANGE = re.compile(r"INSERT|DELETE|UPDATE (?!api_token SET last_used_at|web_session SET last_seen_at)")


class Things(dict[str, str]):
    """What requests speak of, each made when it is first asked for, by the owner of the shared workspace."""

    def __init__(self, world: "World") -> None:
        super().__init__(workspace_id=world.owner.workspace_id, other_id=world.other_id)
        self.world = world
        self.owner = world.owner

    def __missing__(self, name: str) -> str:
        self[name] = str(getattr(self, f"_{name}")())
        return self[name]

    def fill(self, value: Any) -> Any:
        """The value with things in the place of their names."""
        if isinstance(value, str):
            return re.sub(r"\{(\w+)\}", lambda match: self[match[1]], value)
        if isinstance(value, Mapping):
            return {name: self.fill(member) for name, member in value.items()}
        return value

    def _traceset_id(self) -> str:
        return str(self.owner.upload({"a": b"x"}, name=SECRET)["id"])

    def _upload_id(self) -> str:
        opened = self.owner.open({"a": 1}, name=SECRET)
        self.owner.send(opened, {"a": b"x"})
        return str(opened["uploadId"])

    def _claimed_id(self) -> str:
        upload_id = self._upload_id()
        claim = {"claim": "somebody", "claimed_until": clock.now() + timedelta(minutes=1)}
        row = update(UploadSession).where(UploadSession.id == upload_id)
        change(self.world.app, row.values(state=SessionState.COMPLETING, **claim))
        return upload_id

    def _mapping_id(self) -> str:
        return str(mapping_files.upload(self.owner, {"a": b"x"}, name=SECRET)["id"])

    def _map_id(self) -> str:
        opened = mapping_files.begin(self.owner, {"a": b"x"}, name=SECRET)
        self.owner.send(opened, {"a": b"x"})
        return str(opened["uploadId"])

    def _archive_path(self) -> str:
        return urlsplit(ok(self.owner.get(f"/tracesets/{self['traceset_id']}/download"))["url"]).path

    def _file_path(self) -> str:
        return urlsplit(ok(self.owner.get(f"/tracesets/{self['traceset_id']}/download", file="a"))["url"]).path

    def _part_path(self) -> str:
        return urlsplit(self.owner.open({"a": 1})["files"][0]["parts"][0]["url"]).path

    def _secret(self) -> str:
        return self.world.link_of(self["newcomer"])

    def _token_id(self) -> int:
        with self.world.app.app_context():
            token = people.create_token("owner@tests.example")
            with reading() as session:
                return session.scalars(select(ApiToken.id).where(ApiToken.token_hash == hash_token(token))).one()

    def _nobody_yet(self) -> str:
        return self.world.new_address()

    def _newcomer(self) -> str:
        return self.world.new_person()

    def _user_id(self) -> int:
        with self.world.app.app_context(), reading() as session:
            return get_user(session, self["newcomer"]).id

    def _email(self) -> str:
        with self.world.app.app_context():
            workspaces.set_member(workspaces.OPERATOR, self["workspace_id"], self["newcomer"], Role.VIEWER)
        return self["newcomer"]


@dataclass(frozen=True)
class Visitor:
    """A caller's credentials at a client of its own: a token, or a session with its CSRF token, or nothing."""

    client: FlaskClient
    token: str | None = None
    csrf_token: str | None = None

    def again(self) -> "Visitor":
        """The same with a client of its own, which brings the same cookie."""
        client, cookie = self.client.application.test_client(), self.client.get_cookie(COOKIE)
        if cookie is not None:
            client.set_cookie(COOKIE, cookie.value)
        return replace(self, client=client)

    def request_of(self, row: Row, things: Things) -> dict[str, Any]:
        """The arguments of the client for this case of a route."""
        path = things.fill(row.path or re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", row.rule))
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if isinstance(row.body, bytes):
            return {"path": path, "method": row.method, "headers": headers, "data": row.body}
        if row.is_api:
            headers |= {"X-CSRFToken": self.csrf_token} if self.csrf_token else {}
            return {"path": path, "method": row.method, "headers": headers, "json": things.fill(row.body)}
        fields = {**things.fill(row.body or {}), "csrf_token": self.csrf_token or ""}
        return {
            "path": path,
            "method": row.method,
            "headers": headers,
            "data": fields if row.method == "POST" else None,
        }


class World:
    """The app, its people's credentials, and the things that no request of the table ends."""

    def __init__(self, app: Flask, tokens: Mapping[str, str], workspace_id: str) -> None:
        self.app = app
        self.owner = Api(app, tokens["owner"], workspace_id=workspace_id)
        self.tokens = {person: tokens[person] for person in PERSONS} | {READER: tokens["reader"]}
        self.visitors: dict[str, Visitor] = {}
        self.n_people = 0
        self.other_id = str(ok(self.owner.post("/workspaces", {"name": "Other"}), 201)["id"])
        with app.app_context():
            workspaces.set_member(workspaces.OPERATOR, self.other_id, "editor@tests.example", Role.EDITOR)
        self._make_outsiders()
        self.standing = Things(self)

    def _make_outsiders(self) -> None:
        """Credentials that were good once, all of people who own the shared workspace still."""
        emails = {kind: self._another_owner() for kind in OUTSIDERS if kind != "nobody"}
        for kind, email in emails.items():
            if "token" in kind:
                with self.app.app_context():
                    self.tokens[kind] = people.create_token(email, days=1)
            else:
                self.visitors[kind] = self._signed_in(email)
        ended = clock.now() - timedelta(seconds=1)
        expired_token = ApiToken.token_hash == hash_token(self.tokens["expired token"])
        change(self.app, update(ApiToken).where(expired_token).values(expires_at=ended))
        expired_person = select(User.id).where(User.email == emails["expired session"]).scalar_subquery()
        change(self.app, update(WebSession).where(WebSession.user_id == expired_person).values(expires_at=ended))
        disabled = User.email.in_([email for kind, email in emails.items() if kind.startswith("disabled")])
        change(self.app, update(User).where(disabled).values(is_disabled=True))
        with self.app.app_context():
            people.revoke_token(self.tokens["revoked token"])
        self._sign_out(self.visitors["signed-out session"])

    def _sign_out(self, visitor: Visitor) -> None:
        """End the session, and keep the cookie as a thief would."""
        cookie = visitor.client.get_cookie(COOKIE)
        assert cookie is not None
        assert visitor.client.post("/logout", data={"csrf_token": visitor.csrf_token}).status_code == 303
        visitor.client.set_cookie(COOKIE, cookie.value)

    def _another_owner(self) -> str:
        email = self.new_person()
        with self.app.app_context():
            workspaces.set_member(workspaces.OPERATOR, self.owner.workspace_id, email, Role.OWNER)
        return email

    def new_address(self) -> str:
        """One that nobody has."""
        self.n_people += 1
        return f"person-{self.n_people}@tests.example"

    def new_person(self) -> str:
        """The address of somebody new."""
        email = self.new_address()
        with self.app.app_context():
            people.create_user(email)
        return email

    def link_of(self, email: str) -> str:
        """The secret of a link that signs the person in."""
        with self.app.app_context():
            return people.create_sign_in_link(email)

    def visitor(self, caller: str, *, by_session: bool) -> Visitor:
        """This caller at a new client; persons come by their session or by their token."""
        is_person = caller in PERSONS
        name = f"{caller}'s session" if is_person and by_session else caller
        if name not in self.visitors:
            signed_in = is_person and by_session
            self.visitors[name] = self._signed_in(f"{caller}@tests.example") if signed_in else self._unknown(caller)
        return self.visitors[name].again()

    def forget_sessions(self) -> None:
        """Let people sign in anew, after something that has ended their sessions."""
        for person in PERSONS:
            self.visitors.pop(f"{person}'s session", None)

    def _unknown(self, caller: str) -> Visitor:
        browser = Browser(self.app)
        return Visitor(browser.client, token=self.tokens.get(caller), csrf_token=browser.csrf_token())

    def _signed_in(self, email: str) -> Visitor:
        browser = Browser(self.app, email)
        browser.follow_link(self.link_of(email))
        return Visitor(browser.client, csrf_token=browser.client.get("/tracesets/upload/token").json["csrfToken"])

    @contextmanager
    def writing(self) -> Iterator[list[str]]:
        """The statements that change rows in the block, but for those that note when a credential was used."""
        written: list[str] = []

        def note(_: object, cursor: Any, statement: str, *__: object) -> None:
            if _CHANGE.match(statement) and cursor.rowcount:
                written.append(statement)

        with self.app.app_context():
            engine = db.engine
        event.listen(engine, "after_cursor_execute", note)
        try:
            yield written
        finally:
            event.remove(engine, "after_cursor_execute", note)
