"""The metadata of a promoted traceset: the count that it must declare, the model that it goes through (P2, P3)."""

import json

import pytest

from tests.support.api import JSON, Api, ok, refused

ROOT = "workloadMetadata"


def source(owner: Api, metadata: object) -> str:
    """The id of a ready traceset that stores this metadata."""
    return str(owner.upload({"a": b"a"}, workloadMetadata=metadata)["id"])


@pytest.mark.parametrize(
    ("held", "new"),
    [
        ({"shape": {"rankCount": 8}}, {"parallelism": {"dp": 2, "tp": 4}}),
        ({"parallelism": {"dp": 8}}, {"shape": {"rankCount": 8}}),
        ({"parallelism": {"dp": 8}}, {"shape": {"rankCount": 8}, "parallelism": {"pp": 8, "ep": None}}),
        (None, {}),
        ({"a": 1}, {"shape": {"rank_count": 5}, "parallelism": None}),
    ],
    ids=json.dumps,
)
def test_new_metadata_may_declare_the_count_that_is_held_in_any_form(owner: Api, held: object, new: JSON) -> None:
    before = source(owner, held)

    copy = ok(owner.post(f"/tracesets/{before}/promote", {ROOT: new}), 201)

    assert copy[ROOT] == new
    assert copy["rankCountDerived"] == owner.show(before)["rankCountDerived"]


@pytest.mark.parametrize(
    ("held", "new", "told"),
    [
        ({"shape": {"rankCount": 8}}, {}, ["(8)", "declares none"]),
        ({"shape": {"rankCount": 8}}, {"shape": {"rank_count": 8}}, ["(8)", "declares none"]),
        ({"shape": {"rankCount": 8}}, {"shape": {"rankCount": 7}}, ["(8)", "declares 7"]),
        ({"shape": {"rankCount": 8}}, {"parallelism": {"dp": 8, "tp": 2}}, ["(8)", "declares 16"]),
        (None, {"shape": {"rankCount": 1}}, ["(none)", "declares 1"]),
        ({"shape": {"rankCount": 8}}, {"shape": {"rankCount": "8"}}, [f"{ROOT}.shape.rankCount", '"8"']),
        (
            {"shape": {"rankCount": 8}},
            {"shape": {"rankCount": 8}, "parallelism": {"dp": 4}},
            [f"{ROOT}.shape.rankCount is 8", "is 4"],
        ),
    ],
    ids=json.dumps,
)
def test_new_metadata_that_declares_another_count_is_refused(
    owner: Api, held: object, new: JSON, told: list[str]
) -> None:
    refused(owner.post(f"/tracesets/{source(owner, held)}/promote", {ROOT: new}), 400, *told)


GOOD: list[JSON] = [
    {"parallelism": {"dp": 8, "fsdp": 4, "cp": 3}, "shape": {"rank_count": 8}},
    {"parallelism": {"tp": 8, "fsdp": 1, "cp": None}},
    {"shape": {"rankCount": 8, "rank_count": 5, "global_batch_size": 1, "sequence_length": 10**30}},
    {"shape": {"rankCount": 8}, "parallelism": None, "workload_family": None, "precision": "", "accelerator": "H100"},
]
BAD: list[tuple[JSON, str]] = [
    ({"shape": {"rankCount": 8}, "parallelism": {}}, "parallelism must have at least one of dp, tp, sp, ep, pp"),
    ({"shape": {"rankCount": 8}, "parallelism": {"cp": 2}}, "parallelism must have at least one of"),
    ({"shape": {"rankCount": 8}, "parallelism": {"dp": None}}, "parallelism must have at least one of"),
    ({"parallelism": {"dp": 8, "cp": 0}}, "parallelism.cp must be a whole number of at least 1, got 0"),
    ({"parallelism": {"dp": 8, "cp": 2.0}}, "parallelism.cp must be a whole number of at least 1, got 2.0"),
    ({"parallelism": {"dp": 8, "fsdp": "4"}}, 'parallelism.fsdp must be a whole number of at least 1, got "4"'),
    ({"parallelism": {"dp": 8, "fsdp": 3}}, "parallelism.fsdp must divide workloadMetadata.parallelism.dp (8), got 3"),
    ({"parallelism": {"dp": 8, "fsdp": 16}}, "parallelism.fsdp must divide workloadMetadata.parallelism.dp (8)"),
    ({"parallelism": {"tp": 8, "fsdp": 2}}, "parallelism.fsdp must divide workloadMetadata.parallelism.dp (1)"),
    ({"parallelism": {"dp": 8}, "shape": {"rank_count": 9}}, "shape.rank_count must be the product of the degrees (8)"),
    ({"parallelism": {"dp": 8}, "shape": {"rank_count": "8"}}, "shape.rank_count must be the product"),
    ({"shape": {"rankCount": 8, "global_batch_size": 1.5}}, "shape.global_batch_size must be a whole number"),
    ({"shape": {"rankCount": 8, "sequence_length": -1}}, "shape.sequence_length must be a whole number"),
    ({"shape": {"rankCount": 8}, "workload_name": 5}, "workload_name must be a string or null, got 5"),
]


@pytest.mark.parametrize("as_new", [True, False], ids=["new", "stored"])
@pytest.mark.parametrize("metadata", GOOD, ids=json.dumps)
def test_metadata_that_the_model_takes_is_published(owner: Api, metadata: JSON, as_new: bool) -> None:
    before = source(owner, {"shape": {"rankCount": 8}} if as_new else metadata)

    copy = ok(owner.post(f"/tracesets/{before}/promote", {ROOT: metadata} if as_new else {}), 201)

    assert (copy[ROOT], copy["rankCountDerived"]) == (metadata, 8)


@pytest.mark.parametrize("as_new", [True, False], ids=["new", "stored"])
@pytest.mark.parametrize(("metadata", "fault"), BAD, ids=json.dumps)
def test_metadata_that_the_model_refuses_is_told(owner: Api, metadata: JSON, fault: str, as_new: bool) -> None:
    before = source(owner, {"shape": {"rankCount": 8}} if as_new else metadata)

    refused(owner.post(f"/tracesets/{before}/promote", {ROOT: metadata} if as_new else {}), 400, f"{ROOT}.{fault}")
