"""The rank count that an upload declares, and its workload metadata (U5, U6, R3)."""

import json
from typing import Any

import pytest
from flask import Flask

from tests.support.api import JSON, Api, file_spec, ok, refused
from tests.support.database import assert_nothing_stored

OPEN = "/tracesets/upload-url"
NOT_DECLARED = (
    "Uploads with primary trace files must declare a rank count: set workloadMetadata.shape.rankCount, "
    "or workloadMetadata.parallelism degrees (dp, tp, sp, ep, pp)"
)
ROOT = "workloadMetadata"
LIMIT = 2_147_483_647


def request_of(owner: Api, metadata: object, role: str = "primary") -> JSON:
    return owner.request_of([file_spec("a", 1, role)], workloadMetadata=metadata)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"shape": None, "parallelism": None},
        {"shape": {}, "parallelism": {}},
        {"shape": {"rankCount": None}, "parallelism": {"dp": None, "tp": None}},
        {"shape": {"rank_count": 4, "RankCount": 4, "rankcount": 4}},
        {"parallelism": {"cp": 4, "fsdp": 2, "DP": 4}},
        {"rankCount": 4, "dp": 4},
    ],
    ids=json.dumps,
)
def test_primary_files_without_a_declaration_are_refused_in_these_words(
    owner: Api, app: Flask, metadata: object
) -> None:
    refused(owner.post(OPEN, request_of(owner, metadata)), 400, exactly=NOT_DECLARED)

    assert_nothing_stored(app)
    session = ok(owner.post(OPEN, request_of(owner, metadata, "supporting")))
    assert owner.show(session["tracesetId"])["rankCountDerived"] is None


def test_an_absent_member_declares_nothing_either(owner: Api) -> None:
    request = owner.request_of([{"name": "a", "size": 1}])

    refused(owner.post(OPEN, request), 400, exactly=NOT_DECLARED)


def test_one_primary_file_among_others_is_enough_to_need_one(owner: Api) -> None:
    request = owner.request_of([file_spec("a", 1), file_spec("b", 1, "primary"), file_spec("c", 1)])

    refused(owner.post(OPEN, request), 400, exactly=NOT_DECLARED)


NO_COUNTS: list[Any] = [0, -1, 2.0, "4", True, False, [4], {}, 1e3, ""]


@pytest.mark.parametrize(
    ("member", "value", "role"),
    [
        *(("shape.rankCount", value, "primary") for value in NO_COUNTS),
        *((f"parallelism.{name}", "4", "primary") for name in ("dp", "tp", "sp", "ep", "pp")),
        ("shape.rankCount", 0, "supporting"),
        ("parallelism.pp", 2.0, "supporting"),
    ],
)
def test_a_count_that_is_no_whole_number_of_at_least_1_is_named_with_its_value(
    owner: Api, app: Flask, member: str, value: object, role: str
) -> None:
    group, name = member.split(".")

    answer = owner.post(OPEN, request_of(owner, {group: {name: value}}, role))

    shown = json.dumps(value)
    refused(answer, 400, exactly=f"{ROOT}.{member} must be a whole number of at least 1, got {shown}")
    assert_nothing_stored(app)


@pytest.mark.parametrize(
    ("metadata", "fragments"),
    [
        ([], [ROOT, "object or null", "[]"]),
        ("x", [ROOT, "object or null", '"x"']),
        (5, [ROOT, "object or null"]),
        (False, [ROOT, "object or null"]),
        ({"shape": []}, [f"{ROOT}.shape", "object or null"]),
        ({"shape": 0}, [f"{ROOT}.shape", "object or null"]),
        ({"parallelism": "dp"}, [f"{ROOT}.parallelism", "object or null"]),
        ({"parallelism": False, "shape": {"rankCount": 2}}, [f"{ROOT}.parallelism", "object or null"]),
        ({"shape": {"rankCount": 8}, "parallelism": {"dp": 4}}, ["8", "4", f"{ROOT}.shape.rankCount"]),
        ({"shape": {"rankCount": 1}, "parallelism": {"dp": 3, "tp": 2, "cp": 7}}, ["is 1", "is 6"]),
        ({"shape": {"rankCount": LIMIT + 1}}, [f"{ROOT}.shape.rankCount", str(LIMIT), str(LIMIT + 1)]),
        ({"parallelism": {"dp": LIMIT + 1}}, [f"{ROOT}.parallelism.dp", str(LIMIT)]),
        ({"parallelism": {"dp": 2**16, "tp": 2**15}}, [str(LIMIT), str(2**31)]),
        ({"parallelism": dict.fromkeys(("dp", "tp", "sp", "ep", "pp"), LIMIT)}, [str(LIMIT)]),
        ({"shape": {"rankCount": int("9" * 4000)}}, [f"{ROOT}.shape.rankCount", str(LIMIT)]),
        ({"pad": "x" * 65_527}, [ROOT, "65536", "65537"]),
        ({"pad": "é" * 32_763, "b": 1}, [ROOT, "65536"]),
    ],
    ids=lambda value: str(value)[:50],
)
def test_other_faults_are_told_with_the_numbers_and_stored_nowhere(
    owner: Api, app: Flask, metadata: object, fragments: list[str]
) -> None:
    refused(owner.post(OPEN, request_of(owner, metadata, "supporting")), 400, *fragments)

    assert_nothing_stored(app)


@pytest.mark.parametrize(
    ("metadata", "count"),
    [
        ({"shape": {"rankCount": 1}}, 1),
        ({"shape": {"rankCount": LIMIT}}, LIMIT),
        ({"parallelism": {"dp": 1}}, 1),
        ({"parallelism": {"dp": 2, "tp": 3, "sp": 5, "ep": 7, "pp": 11}}, 2310),
        ({"parallelism": {"pp": 4, "dp": None}, "shape": None}, 4),
        ({"parallelism": {"dp": 32, "tp": 8, "pp": 1}, "shape": {"rankCount": 256}}, 256),
        ({"parallelism": {"dp": LIMIT, "tp": 1}}, LIMIT),
        ({"parallelism": {"dp": 4, "cp": "x", "fsdp": 0}, "shape": {"rank_count": 5}, "precision": 7}, 4),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_both_forms_declare_the_count_that_is_reported(owner: Api, metadata: JSON, count: int) -> None:
    session = ok(owner.post(OPEN, request_of(owner, metadata)))

    traceset = owner.show(session["tracesetId"])

    assert (traceset["rankCountDerived"], traceset["workloadMetadata"]) == (count, metadata)


def test_metadata_of_exactly_the_limit_is_taken_however_it_is_written(owner: Api) -> None:
    metadata = {"pad": "é" * 32_763}
    assert len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode()) == 65_536
    data = json.dumps(request_of(owner, metadata, "supporting"), indent=4).encode()

    session = ok(owner.call("POST", OPEN, data=data))

    assert owner.show(session["tracesetId"])["workloadMetadata"] == metadata


def exactly(text: str) -> Any:
    """JSON with the order and repetition of members and the digits of integers."""
    return json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs), parse_int=lambda digits: ("int", digits))


@pytest.mark.parametrize(
    "text",
    [
        '{"z":1,"a":2,"m":{"y":1,"b":2},"A":0}',
        '{"Workload_Family":"x","workloadFamily":"Y","workload_family":"z"}',
        '{"":{"":[]},"nested":[[[{"a":[null,true,false]}]]]}',
        '{"é":"e\u0301","漢字":"🚀","\\u2028":"\\u2029","\\u00e9\\ud83d\\ude80":"\\u0001\\u001f\\"\\\\\\n"}',
        '{"a":9007199254740993,"b":-9223372036854775809,"c":%s}' % ("7" * 5000),
        '{"a":0.1,"b":-2.5e-8,"c":1.7976931348623157e308,"d":5e-324,"e":1.0,"f":-0.0}',
        '{"html":"</script><!--","path":"..\\\\..","__proto__":{"constructor":1}}',
        '{"deep":%s}' % ("[" * 150 + "]" * 150),
    ],
    ids=["order", "spelling", "unknown", "unicode", "integers", "floats", "hostile", "deep"],
)
def test_metadata_comes_back_as_it_was_given_before_and_after_completion(owner: Api, text: str) -> None:
    request = json.dumps(owner.request_of({"a": 1}))
    session = ok(owner.call("POST", OPEN, data=f'{request[:-1]},"workloadMetadata":{text}}}'.encode()))

    before = owner.get(f"/tracesets/{session['tracesetId']}").text
    completed = owner.complete(session, owner.send(session, {"a": b"x"})).text

    for answer in (before, completed):
        assert dict(exactly(answer)[1])["workloadMetadata"] == exactly(text)
