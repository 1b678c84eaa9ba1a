"""What the work on a traceset costs does not grow with its files (C9)."""

from collections.abc import Callable

import pytest
from flask import Flask

from tests.support.api import JSON, Api, ok
from tests.support.statements import statements_of
from tests.support.upkeep import sweep

Act = Callable[[Api, JSON, list[JSON]], object]


def opened_with(owner: Api, n_files: int) -> tuple[JSON, list[JSON]]:
    session = owner.open({f"f{i}": 1 for i in range(n_files)})
    return session, owner.send(session, {f"f{i}": b"x" for i in range(n_files)})


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda owner, session, files: owner.open({file["name"]: 1 for file in files}), id="open"),
        pytest.param(
            lambda owner, session, files: owner.get(f"/tracesets/upload-url/{session['uploadId']}"), id="watch"
        ),
        pytest.param(lambda owner, session, files: ok(owner.complete(session, files), 201), id="complete"),
        pytest.param(lambda owner, session, files: owner.show(session["tracesetId"]), id="show"),
        pytest.param(
            lambda owner, session, files: owner.post(f"/tracesets/{session['tracesetId']}/validate"), id="check"
        ),
        pytest.param(lambda owner, session, files: owner.delete(f"/tracesets/{session['tracesetId']}"), id="delete"),
        pytest.param(
            lambda owner, session, files: owner.delete(f"/tracesets/upload-url/{session['uploadId']}"), id="end"
        ),
    ],
)
def test_the_database_is_asked_as_often_for_many_files_as_for_one(app: Flask, owner: Api, act: Act) -> None:
    act(owner, *opened_with(owner, 1))  # What is done once only, such as noting a token's use, is done by now.
    few, many = opened_with(owner, 1), opened_with(owner, 25)

    counts = []
    for session, files in (few, many):
        with statements_of(app) as sent:
            act(owner, session, files)
        counts.append(len(sent))

    assert counts[0] == counts[1]


def test_a_sweep_asks_as_often_for_many_unreferenced_files_as_for_one(app: Flask, owner: Api) -> None:
    counts = []
    for n_files in (1, 25):
        session, files = opened_with(owner, n_files)
        ok(owner.complete(session, files), 201)
        sweep(app)
        owner.delete(f"/tracesets/{session['tracesetId']}")
        with statements_of(app) as sent:
            assert sweep(app)["unreferenced files"] == n_files
        counts.append(len(sent))

    assert counts[0] == counts[1]
