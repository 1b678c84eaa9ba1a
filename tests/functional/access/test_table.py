"""Every route, asked by every kind of caller (K1, K2): the answer, what it tells, and what it changes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from jinja2 import BytecodeCache

from app import create_app
from app.extensions import db
from app.settings import Settings
from tests.conftest import Databases, new_deployment
from tests.functional.access.table import (
    CALLERS,
    DOOR,
    FORBIDDEN,
    HIDDEN,
    OUTSIDERS,
    PERSONS,
    SECRET,
    TABLE,
    VAIN,
    YES,
    Row,
)
from tests.functional.access.world import Things, World

UNINITIATED = (*OUTSIDERS, "stranger")


class Outcome(NamedTuple):
    """What comes of a request: its status, whether it asks who that is, changes something, tells what is hidden."""

    status: int
    is_door: bool
    changes: bool
    tells: bool


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each row; S3 has a door of its own."""
    has_door = metafunc.config.getoption("--store") == "disk"
    rows = [row for row in TABLE if has_door or not row.rule.startswith("/objects")]
    if "rows" in metafunc.fixturenames:
        metafunc.parametrize("rows", [rows], ids=["all"])
    if "row" in metafunc.fixturenames:
        metafunc.parametrize("row", rows, ids=str)
    if "form_row" in metafunc.fixturenames:
        metafunc.parametrize("form_row", [row for row in rows if row.is_form], ids=str)
    if "api_row" in metafunc.fixturenames:
        metafunc.parametrize("api_row", [row for row in rows if row.is_api], ids=str)


@pytest.fixture(scope="module")
def world(
    request: pytest.FixtureRequest,
    databases: Databases,
    tmp_path_factory: pytest.TempPathFactory,
    compiled_templates: BytecodeCache,
) -> Iterator[World]:
    """The app of all rows."""
    with new_deployment(request, tmp_path_factory.mktemp("access")) as settings:
        app = create_app(Settings(**settings))
        app.jinja_env.bytecode_cache = compiled_templates
        yield World(app, databases.tokens, databases.workspace_id)
        with app.app_context():
            db.engine.dispose()


def test_the_table_names_every_route(world: World, rows: Sequence[Row]) -> None:
    routes = {
        (method, rule.rule)
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }

    assert {(row.method, row.rule) for row in rows} == routes


def test_each_caller_gets_what_the_table_says(world: World, row: Row) -> None:
    promised = {caller: expected(row, caller) for caller in CALLERS}

    assert {caller: outcome(world, row, caller, by_session=not row.is_api) for caller in CALLERS} == promised


def test_each_person_gets_the_same_of_the_api_by_session(world: World, api_row: Row) -> None:
    promised = {caller: expected(api_row, caller) for caller in PERSONS}

    assert {caller: outcome(world, api_row, caller, by_session=True) for caller in PERSONS} == promised


@pytest.mark.parametrize("token", ["none", "another session's"])
def test_no_form_is_taken_without_the_token_of_its_session(world: World, form_row: Row, token: str) -> None:
    caller = "owner" if form_row.access.of("owner") == YES else "admin"
    visitor = world.visitor(caller, by_session=True)
    foreign = None if token == "none" else world.visitor("nobody", by_session=False).csrf_token
    request = replace(visitor, csrf_token=foreign).request_of(form_row, world.standing)

    with world.writing() as written:
        answer = visitor.client.open(**request, buffered=True)

    assert (answer.status_code, written) == (401 if form_row.is_api else 400, [])
    assert "lost touch with your session" in answer.text or "CSRF token" in answer.text


def expected(row: Row, caller: str) -> Outcome:
    """What the table says."""
    word = row.access.of(caller)
    statuses = {YES: row.status, VAIN: 303, DOOR: 401 if row.is_api else 302, HIDDEN: 404, FORBIDDEN: 403}
    status = statuses[word] if word in statuses else int(word)
    return Outcome(status, word == DOOR, changes=row.changes and is_granted(row, caller), tells=False)


def is_granted(row: Row, caller: str) -> bool:
    """Whether the caller may do this, and it may change something."""
    return row.access.of(caller) == YES and row.method != "GET"


def outcome(world: World, row: Row, caller: str, *, by_session: bool) -> Outcome:
    """What comes of it, with things of its own where it may use them up."""
    visitor = world.visitor(caller, by_session=by_session)
    request = visitor.request_of(row, Things(world) if is_granted(row, caller) else world.standing)

    with world.writing() as written:
        answer = visitor.client.open(**request, buffered=True)

    if row.method == "GET":
        head = visitor.client.open(**{**request, "method": "HEAD"}, buffered=True)
        assert (head.status_code, head.data) == (answer.status_code, b"")
    if row.ends_sessions:
        world.forget_sessions()
    is_sent_away = answer.status_code == 302 and answer.location.startswith("/login")
    is_door = is_sent_away or answer.headers.get("WWW-Authenticate") == "Bearer"
    tells = caller in UNINITIATED and SECRET.encode() in answer.data
    return Outcome(answer.status_code, is_door, bool(written), tells)


def test_the_name_of_what_is_hidden_is_shown_to_those_who_may_see_it(world: World) -> None:
    shown = world.visitor("viewer", by_session=True).client.get(f"/tracesets/{world.standing['traceset_id']}")

    assert SECRET in shown.text
