"""Who may read and change mapping files, and where there are none (M1, K1, G5, G6)."""

import pytest

from tests.conftest import MakeApp, People, PeopleOf
from tests.support.api import Api, ok, refused
from tests.support.hidden import assert_hidden
from tests.support.mapping_files import MAP, ROOT, begin, complete, listed, request_of, upload


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("nobody", 401),
        ("stranger", 404),
        ("viewer", 200),
        ("editor", 200),
        ("reader", 200),
        ("owner", 200),
        ("admin", 200),
    ],
)
def test_who_reads_the_workspace_reads_its_maps(people_here: People, who: str, status: int) -> None:
    mapping, caller = upload(people_here.owner)["id"], getattr(people_here, who)

    assert caller.get(f"{ROOT}/{mapping}").status_code == status
    assert caller.get(f"{ROOT}/{mapping}/download", file="map.json").status_code == status
    if status == 401:
        refused(caller.get(ROOT), 401)
    else:
        assert listed(caller) == ([mapping] if status == 200 else [])
        assert listed(caller, workspaceId=people_here.owner.workspace_id) == listed(caller)


@pytest.mark.parametrize(
    ("who", "opens", "completes", "deletes"),
    [
        ("nobody", 401, 401, 401),
        ("stranger", 400, 404, 404),
        ("viewer", 400, 403, 403),
        ("reader", 403, 403, 403),
        ("editor", 200, 201, 204),
        ("owner", 200, 201, 204),
        ("admin", 200, 201, 204),
    ],
)
def test_who_edits_the_workspace_changes_its_maps(
    people_here: People, who: str, opens: int, completes: int, deletes: int
) -> None:
    owner, caller = people_here.owner, getattr(people_here, who)
    opened = begin(owner)
    files = owner.send(opened, MAP)

    assert caller.post(f"{ROOT}/upload-url", request_of(owner, MAP)).status_code == opens
    assert complete(caller, opened, files).status_code == completes
    assert complete(owner, opened, files).status_code == (200 if completes == 201 else 201)
    assert caller.delete(f"{ROOT}/{opened['mappingFileId']}").status_code == deletes
    assert owner.get(f"{ROOT}/{opened['mappingFileId']}").status_code == (404 if deletes == 204 else 200)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", f"{ROOT}/*"), ("DELETE", f"{ROOT}/*"), ("GET", f"{ROOT}/*/download?file=map.json")]
)
def test_a_hidden_map_cannot_be_told_from_one_that_never_was(people_here: People, method: str, path: str) -> None:
    mapping = upload(people_here.owner)["id"]

    assert_hidden(people_here.stranger, method, path, mapping)


def test_a_read_only_deployment_shows_maps_and_changes_none(owner: Api, make_app: MakeApp, people_of: PeopleOf) -> None:
    mapping, opened = upload(owner)["id"], begin(owner)
    admin = people_of(make_app(trace_routes_read_only=True)).admin

    assert ok(admin.get(f"{ROOT}/{mapping}"))["id"] == mapping
    assert len(listed(admin)) == 2
    ok(admin.get(f"{ROOT}/{mapping}/download", file="map.json"))
    assert ok(admin.get(f"{ROOT}/upload-url/{opened['uploadId']}"))["state"] == "open"
    for answer in (
        admin.post(f"{ROOT}/upload-url", request_of(owner, MAP)),
        complete(admin, opened, []),
        admin.delete(f"{ROOT}/upload-url/{opened['uploadId']}"),
        admin.delete(f"{ROOT}/{mapping}"),
    ):
        assert answer.status_code in (404, 405)
        refused(answer, answer.status_code)
    assert ok(owner.get(f"{ROOT}/{mapping}"))["status"] == "ready"


def test_where_there_are_no_trace_routes_there_are_no_maps(owner: Api, make_app: MakeApp, people_of: PeopleOf) -> None:
    mapping = upload(owner)["id"]
    admin = people_of(make_app(enable_trace_routes=False)).admin

    for path in (ROOT, f"{ROOT}/{mapping}", f"{ROOT}/{mapping}/download", f"{ROOT}/upload-url/upload_x"):
        refused(admin.get(path), 404)
    refused(admin.post(f"{ROOT}/upload-url", request_of(owner, MAP)), 404)
