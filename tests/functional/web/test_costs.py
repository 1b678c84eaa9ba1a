"""What pages ask of the database: as many statements, however much there is to show."""

from collections.abc import Callable

import pytest
from flask import Flask

from app.domain.access import Role
from app.services import people, workspaces
from tests.conftest import People
from tests.functional.web.conftest import BrowserOf
from tests.support.statements import statements_of
from tests.support.tour import FOR_STRANGERS, Named, furnish, pages_of


@pytest.fixture
def grow(app: Flask, people_here: People) -> Callable[[Named], None]:
    """Adds to everything that pages list."""

    def more(named: Named) -> None:
        admin, workspace = people_here.admin, named.values["workspace_id"]
        with app.app_context():
            for n in range(12):
                people.create_user(f"person{n}@tests.example")
                people.create_token("admin@tests.example", name=f"token {n}")
                workspaces.set_member(workspaces.OPERATOR, workspace, f"person{n}@tests.example", Role.VIEWER)
                workspaces.create_workspace(workspaces.OPERATOR, f"Workspace {n}", "admin@tests.example")
        for n in range(12):
            admin.upload({f"{i}": b"%d" % i for i in range(n)} | {"x": b"x"}, name=f"Ready {n}", workspaceId=workspace)
            admin.open({f"{i}": 1 for i in range(n + 1)}, name=f"Open {n}", workspaceId=workspace)
            failed = admin.open({"a": 1}, name=f"Failed {n}", workspaceId=workspace)
            admin.delete(f"/tracesets/upload-url/{failed['uploadId']}")

    return more


def test_no_page_asks_more_where_there_is_more(
    app: Flask, people_here: People, browser_of: BrowserOf, grow: Callable[[Named], None]
) -> None:
    named = furnish(app, people_here.admin, "Traced")
    browser = browser_of("admin")

    def counted() -> dict[str, int]:
        counts = {}
        for endpoint, path in pages_of(app, named):
            if endpoint not in FOR_STRANGERS:
                with statements_of(app) as statements:
                    browser.page(path)
                counts[path] = len(statements)
        return counts

    counted()  # Whoever comes for the first time is written down.
    before = counted()
    grow(named)
    after = counted()

    assert after == before
    assert max(after.values()) <= 12, after
