"""Publishing a traceset into another workspace: who may, what comes along, what is refused (P1-P3)."""

import json
from typing import Any

import pytest

from tests.conftest import MakeApp, People, PeopleOf
from tests.support.api import JSON, Api, file_spec, ok, refused
from tests.support.clock import Clock
from tests.support.hidden import assert_hidden
from tests.support.upkeep import at_once

UNIVERSAL = "workspace_universal"
HOLDS_8 = {"shape": {"rankCount": 8}}
MISSING = "workspace_000000000000"


def source(caller: Api, metadata: object = None, **more: Any) -> str:
    """The id of a traceset that is ready."""
    uploaded: str = caller.upload({"a": b"content of a"}, workloadMetadata=metadata, **more)["id"]
    return uploaded


def promote(caller: Api, traceset_id: str, status: int = 201, **body: Any) -> JSON:
    return ok(caller.post(f"/tracesets/{traceset_id}/promote", body), status)


def refusal(caller: Api, traceset_id: str, **body: Any) -> str:
    return refused(caller.post(f"/tracesets/{traceset_id}/promote", body), 400)


# -- what is published


def test_a_promoted_traceset_is_the_source_but_for_its_place_and_its_time(owner: Api, moved_clock: Clock) -> None:
    metadata = {"z": 1, "shape": {"rankCount": 4, "x": [1.5, None]}, "a": {"é": "ü"}, "workload_family": "LLM"}
    contents = {"trace.et": b"trace", "sub/é.json": b"", "b": b"other bytes"}
    files = [file_spec(name, len(content)) for name, content in contents.items()]
    files[0]["role"] = "primary"
    files.append(file_spec("elsewhere", 7, externalUrl="https://elsewhere.example/x"))
    before = owner.upload(
        contents,
        files=files,
        workloadMetadata=metadata,
        description="What it is",
        tags=["x", "y"],
        ttlDays=3,
        name="One",
    )
    moved_clock.pass_by(days=2)

    copy = promote(owner, before["id"])

    moved = {name: copy[name] for name in ("id", "createdAt", "expiresAt")}
    assert copy == {**before, **moved, "workspaceId": UNIVERSAL, "promotedFrom": before["id"]}
    assert copy["id"] != before["id"]
    assert copy["createdAt"] > before["createdAt"]
    assert list(copy["workloadMetadata"]) == list(metadata)
    assert owner.show(copy["id"]) == copy
    assert owner.show(before["id"]) == before
    for name, content in contents.items():
        assert owner.read(copy["id"], name) == content


@pytest.mark.parametrize(("days", "year"), [(3650, 2046), (0, None)], ids=["ten years", "never"])
def test_the_lifetime_starts_anew(
    make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock, days: int, year: int | None
) -> None:
    owner = people_of(make_app(default_ttl_days=days)).owner
    before = source(owner, ttlDays=30)
    moved_clock.pass_by(days=(moved_clock.now().replace(year=2036, month=7, day=1) - moved_clock.now()).days)

    expires = promote(owner, before)["expiresAt"]

    assert (expires and int(expires[:4])) == year


def test_everyone_reads_what_was_published(people_here: People) -> None:
    copy = promote(people_here.owner, source(people_here.owner))

    for caller in (people_here.stranger, people_here.viewer, people_here.editor, people_here.admin):
        assert caller.show(copy["id"]) == copy
        assert caller.read(copy["id"], "a") == b"content of a"
        assert ok(caller.post(f"/tracesets/{copy['id']}/validate"))["valid"] is True
        assert [item["id"] for item in ok(caller.get("/tracesets", workspaceId=UNIVERSAL))["items"]] == [copy["id"]]


def test_the_copy_is_found_by_the_words_of_its_own_metadata(owner: Api) -> None:
    before = source(owner, {"workload_family": "Old", "precision": "fp8"})

    copy = promote(owner, before, workloadMetadata={"workload_family": "New"})

    found = {
        word: [item["id"] for item in ok(owner.get("/tracesets", **{member: word}))["items"]]
        for member, word in (("workloadFamily", "new"), ("workloadFamily", "old"), ("precision", "fp8"))
    }
    assert found == {"new": [copy["id"]], "old": [before], "fp8": [before]}


def test_another_workspace_and_name_may_be_asked_for(owner: Api) -> None:
    before = source(owner, workspaceId=None, name="Old name")

    copy = promote(owner, before, workspaceId=owner.workspace_id, name="  Néw name ")

    assert (copy["workspaceId"], copy["name"]) == (owner.workspace_id, "Néw name")
    assert owner.show(before)["name"] == "Old name"


def test_a_copy_may_be_promoted_in_its_turn(owner: Api) -> None:
    first = promote(owner, source(owner, HOLDS_8))

    second = promote(owner, first["id"], workspaceId=owner.workspace_id)

    assert second["promotedFrom"] == first["id"]
    assert owner.read(second["id"], "a") == b"content of a"


@pytest.mark.parametrize("data", [b"", b"{}", b'{"workspaceId":null,"name":null,"workloadMetadata":null}'])
def test_nothing_needs_to_be_said(owner: Api, data: bytes) -> None:
    before = source(owner, {"a": 1}, name="One")

    copy = ok(owner.call("POST", f"/tracesets/{before}/promote", data=data), 201)

    assert (copy["workspaceId"], copy["name"], copy["workloadMetadata"]) == (UNIVERSAL, "One", {"a": 1})


@pytest.mark.parametrize("as_new", [True, False], ids=["new", "stored"])
def test_metadata_comes_back_as_it_was_given(owner: Api, as_new: bool) -> None:
    deep = "[" * 150 + "]" * 150
    text = f'{{"é":"\\u00e9","n":{"7" * 5000},"m":-{"9" * 400},"shape":{{"rankCount":2}},"d":{deep},"b":1.5e3}}'
    opening = json.dumps(owner.request_of({"a": 0}, workloadMetadata="here")).replace('"here"', text)
    plain = json.dumps(owner.request_of({"a": 0}, workloadMetadata={"shape": {"rankCount": 2}}))
    opened = ok(owner.call("POST", "/tracesets/upload-url", data=(plain if as_new else opening).encode()))
    assert owner.complete(opened, owner.send(opened, {"a": b""})).status_code == 201
    body = f'{{"workloadMetadata":{text}}}' if as_new else "{}"

    answers = [owner.call("POST", f"/tracesets/{opened['tracesetId']}/promote", data=body.encode()) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 200]
    expected = text.replace("\\u00e9", "é").replace("1.5e3", "1500.0").encode()
    for answer in answers:
        assert answer.data.endswith(b',"workloadMetadata":' + expected + b"}")


# -- the same again


def test_the_same_again_answers_with_the_first(owner: Api) -> None:
    before = source(owner, HOLDS_8)
    first = promote(owner, before)

    for body in (
        {},
        {"workspaceId": UNIVERSAL},
        {"name": "Another name"},
        {"workloadMetadata": HOLDS_8},
        {"workloadMetadata": None},
    ):
        assert promote(owner, before, 200, **body) == first


def test_whoever_promotes_the_same_again_gets_the_first(people_here: People) -> None:
    before = source(people_here.owner)
    first = promote(people_here.owner, before)

    assert promote(people_here.admin, before, 200) == first


def test_metadata_in_another_order_of_members_is_the_same(owner: Api) -> None:
    shape = {"rankCount": 8, "x": {"b": [1, {"d": 2, "c": 3}], "a": None}}
    before = source(owner, {"shape": shape, "workload_name": "n"})
    first = promote(owner, before)

    again = {"workload_name": "n", "shape": {"x": {"a": None, "b": [1, {"c": 3, "d": 2}]}, "rankCount": 8}}
    assert promote(owner, before, 200, workloadMetadata=again) == first


def test_other_metadata_makes_another(owner: Api) -> None:
    before = source(owner, {"n": [1, 2], "m": 10**30})
    others: list[JSON | None] = [
        None,
        {},
        {"n": [2, 1], "m": 10**30},
        {"n": [1, 2], "m": 10**30 + 1},
        {"n": [1, 2], "m": 1e30},
        {"n": [1, 2], "m": str(10**30)},
        {"n": [1, 2], "m": 10**30, "o": None},
    ]

    made = [promote(owner, before, 201, workloadMetadata=other)["id"] for other in others]

    assert len(set(made)) == len(others)
    assert [promote(owner, before, 200, workloadMetadata=other)["id"] for other in others] == made


def test_the_same_into_another_workspace_makes_another(people_here: People) -> None:
    before = source(people_here.owner)
    other = ok(people_here.owner.post("/workspaces", {"name": "Other"}), 201)["id"]

    copies = [promote(people_here.owner, before, workspaceId=place) for place in (UNIVERSAL, other)]

    assert copies[0]["id"] != copies[1]["id"]


def test_after_the_first_was_deleted_there_is_a_new_one(owner: Api) -> None:
    before = source(owner)
    first = promote(owner, before)["id"]
    assert owner.delete(f"/tracesets/{first}").status_code == 204

    second = promote(owner, before)["id"]

    assert second != first
    assert promote(owner, before, 200)["id"] == second
    assert owner.read(second, "a") == b"content of a"


def test_two_sources_of_the_same_content_have_a_copy_each(owner: Api) -> None:
    copies = [promote(owner, source(owner))["id"] for _ in range(2)]

    assert copies[0] != copies[1]


def test_of_twenty_at_once_one_makes_it(owner: Api) -> None:
    before = source(owner)

    answers = at_once(20, lambda _: owner.post(f"/tracesets/{before}/promote", {}))

    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len({answer.get_json()["id"] for answer in answers}) == 1
    assert len(ok(owner.get("/tracesets", workspaceId=UNIVERSAL))["items"]) == 1


# -- who may


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("nobody", 401),
        ("stranger", 404),
        ("viewer", 400),
        ("editor", 400),
        ("reader", 403),
        ("owner", 201),
        ("admin", 201),
    ],
)
def test_who_edits_the_universal_workspace_may_publish_there(people_here: People, who: str, status: int) -> None:
    before = source(people_here.owner)

    answer = getattr(people_here, who).post(f"/tracesets/{before}/promote", {})

    assert answer.status_code == status
    shown = ok(people_here.admin.get("/tracesets", workspaceId=UNIVERSAL))["items"]
    assert len(shown) == (1 if status == 201 else 0)
    if status == 400:
        refused(answer, 400, UNIVERSAL)


@pytest.mark.parametrize(("who", "status"), [("stranger", 400), ("viewer", 400), ("editor", 201), ("admin", 201)])
def test_who_reads_a_traceset_may_publish_it_where_they_edit(people_here: People, who: str, status: int) -> None:
    before = source(people_here.owner, workspaceId=None)
    place = people_here.owner.workspace_id

    answer = getattr(people_here, who).post(f"/tracesets/{before}/promote", {"workspaceId": place})

    assert answer.status_code == status
    if status == 400:
        refused(answer, 400, place)


def test_a_hidden_workspace_is_refused_as_one_that_never_was(people_here: People) -> None:
    before = source(people_here.owner, workspaceId=None)
    hidden = people_here.owner.workspace_id

    messages = [refusal(people_here.stranger, before, workspaceId=place) for place in (hidden, MISSING)]

    assert messages[0].replace(hidden, "*") == messages[1].replace(MISSING, "*")


@pytest.mark.parametrize("place", [MISSING, "", "universal", "x" * 500, "workspace_é"], ids=lambda place: place[:20])
def test_a_workspace_that_is_none_is_refused_even_for_an_admin(people_here: People, place: str) -> None:
    before = source(people_here.owner)

    assert f"workspaceId '{place}'" in refusal(people_here.admin, before, workspaceId=place)


def test_a_hidden_traceset_cannot_be_told_from_one_that_never_was(people_here: People) -> None:
    before = source(people_here.owner)

    assert_hidden(people_here.stranger, "POST", "/tracesets/*/promote", before, body={})


def test_a_deleted_traceset_and_a_mapping_file_are_not_found(owner: Api) -> None:
    gone = source(owner)
    owner.delete(f"/tracesets/{gone}")
    spec = {"name": "Map", "workspaceId": owner.workspace_id, "files": [{"name": "a", "size": 0}]}
    mapping = ok(owner.post("/mapping-files/upload-url", spec))["mappingFileId"]

    for id_ in (gone, mapping):
        refused(owner.post(f"/tracesets/{id_}/promote", {}), 404, exactly=f"Traceset '{id_}' not found")


def test_only_what_is_ready_is_published(owner: Api) -> None:
    uploading, failed = owner.open({"a": 1}), owner.open({"a": 1})
    owner.delete(f"/tracesets/upload-url/{failed['uploadId']}")

    for opened, status in ((uploading, "uploading"), (failed, "upload_failed")):
        id_ = opened["tracesetId"]
        assert refusal(owner, id_) == f"'{id_}' cannot be promoted: its status is {status}, not ready"


# -- what is refused


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"name": ""}, "name must have 1 to 255 characters"),
        ({"name": "  "}, "name must have 1 to 255 characters"),
        ({"name": "x" * 256}, "name must have 1 to 255 characters"),
        ({"name": 5}, "name must be a string, got 5"),
        ({"workspaceId": 5}, "workspaceId must be a string, got 5"),
        ({"workloadMetadata": []}, "workloadMetadata must be an object or null, got []"),
        ({"workloadMetadata": "x"}, 'workloadMetadata must be an object or null, got "x"'),
        ({"workloadMetadata": {"t": "x" * 65_600}}, "workloadMetadata must be at most 65536 bytes"),
        ({"workloadMetadata": {"t": "é" * 32_765}}, "workloadMetadata must be at most 65536 bytes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_read_is_told_with_its_name(owner: Api, body: JSON, part: str) -> None:
    assert part in refusal(owner, source(owner), **body)


def test_metadata_of_the_greatest_size_is_taken(owner: Api) -> None:
    greatest = {"t": "é" * 32_764}

    assert promote(owner, source(owner), workloadMetadata=greatest)["workloadMetadata"] == greatest


@pytest.mark.parametrize("as_new", [True, False], ids=["new", "stored"])
def test_all_faults_of_the_metadata_are_told_at_once(owner: Api, as_new: bool) -> None:
    metadata = {
        "parallelism": {"dp": 8, "fsdp": 3, "cp": 0},
        "workload_family": 1,
        "workload_name": [],
        "precision": True,
        "accelerator": {},
        "shape": {"rank_count": 2, "global_batch_size": "x", "sequence_length": 0},
    }
    before = source(owner, HOLDS_8 if as_new else metadata)

    message = refusal(owner, before, **({"workloadMetadata": metadata} if as_new else {}))

    names = (
        *("parallelism.fsdp", "parallelism.cp", "workload_family", "workload_name", "precision", "accelerator"),
        *("shape.rank_count", "shape.global_batch_size", "shape.sequence_length"),
    )
    assert [name for name in names if f"workloadMetadata.{name} must" not in message] == []


def test_another_rank_count_is_told_with_the_other_faults(owner: Api) -> None:
    message = refusal(owner, source(owner, HOLDS_8), workloadMetadata={"shape": {"rank_count": 8}, "precision": 5})

    assert "must declare the rank count that the traceset holds (8)" in message
    assert "workloadMetadata.precision must be a string or null, got 5" in message


@pytest.mark.parametrize("metadata", [{"parallelism": {"cp": 2}}, {"parallelism": {}}, {"parallelism": {"dp": None}}])
def test_stored_parallelism_that_declares_nothing_is_refused(owner: Api, metadata: JSON) -> None:
    assert "workloadMetadata.parallelism must have at least one of" in refusal(owner, source(owner, metadata))


@pytest.mark.parametrize("bad", [{"name": 5}, {"workspaceId": MISSING}, {"workloadMetadata": {}}], ids=str)
def test_a_refused_promotion_leaves_nothing(owner: Api, bad: JSON) -> None:
    before = source(owner, HOLDS_8)

    refusal(owner, before, **{"name": "New", "workspaceId": UNIVERSAL, "workloadMetadata": HOLDS_8, **bad})

    assert [item["id"] for item in ok(owner.get("/tracesets"))["items"]] == [before]
