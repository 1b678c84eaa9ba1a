"""P2, P3: which metadata a traceset may be promoted with."""

import pytest

from app.domain.metadata import check_promotion
from app.domain.strict_json import loads_object
from app.errors import Invalid

HOLDS_8 = {"shape": {"rankCount": 8}}


def message_of(new: object, stored: dict[str, object] | None = None, held: int | None = None) -> str:
    with pytest.raises(Invalid) as caught:
        check_promotion(new, stored, held)
    return caught.value.message


@pytest.mark.parametrize(
    ("held", "new"),
    [
        (8, {"shape": {"rankCount": 8}, "workload_family": "LLM"}),
        (8, {"parallelism": {"dp": 2, "tp": 4}}),
        (8, {"parallelism": {"dp": 8}, "shape": {"rank_count": 8}}),
        (8, {"shape": {"rankCount": 8}, "parallelism": {"dp": 8, "fsdp": 4, "cp": 3}}),
        (None, {}),
        (None, {"workload_name": "x"}),
        (None, {"shape": {"rank_count": 5}}),
        (None, {"shape": {"rank_count": "x"}}),
    ],
    ids=str,
)
def test_new_metadata_that_declares_what_is_held_takes_the_place_of_the_stored(
    held: int | None, new: dict[str, object]
) -> None:
    assert check_promotion(new, {"a": 1}, held) is new


@pytest.mark.parametrize(
    ("held", "new", "told"),
    [
        (8, {}, "(8), by shape.rankCount or the parallelism degrees, but declares none"),
        (8, {"shape": {"rankCount": 4}}, "(8), by shape.rankCount or the parallelism degrees, but declares 4"),
        (8, {"shape": {"rank_count": 8}}, "(8), by shape.rankCount or the parallelism degrees, but declares none"),
        (8, {"parallelism": {"dp": 4}}, "(8), by shape.rankCount or the parallelism degrees, but declares 4"),
        (None, {"shape": {"rankCount": 8}}, "(none), by shape.rankCount or the parallelism degrees, but declares 8"),
        (None, {"parallelism": {"dp": 1}}, "(none), by shape.rankCount or the parallelism degrees, but declares 1"),
    ],
    ids=str,
)
def test_new_metadata_must_declare_what_is_held(held: int | None, new: dict[str, object], told: str) -> None:
    assert (
        message_of(new, HOLDS_8, held) == f"workloadMetadata must declare the rank count that the traceset holds {told}"
    )


@pytest.mark.parametrize(
    ("new", "part"),
    [
        ([], "workloadMetadata must be an object or null, got []"),
        ("x", 'workloadMetadata must be an object or null, got "x"'),
        ({"t": "x" * 65_600}, "workloadMetadata must be at most 65536 bytes"),
        (
            {"shape": {"rankCount": "8"}},
            'workloadMetadata.shape.rankCount must be a whole number of at least 1, got "8"',
        ),
        (
            {"shape": {"rankCount": 8.0}},
            "workloadMetadata.shape.rankCount must be a whole number of at least 1, got 8.0",
        ),
        ({"shape": {"rankCount": 8}, "parallelism": {"dp": 4}}, "workloadMetadata.shape.rankCount is 8, but"),
        ({"shape": 5}, "workloadMetadata.shape must be an object or null, got 5"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_new_metadata_keeps_the_rules_of_upload(new: object, part: str) -> None:
    assert message_of(new, HOLDS_8, 8).startswith(part)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"shape": None, "parallelism": None},
        {"shape": {}},
        {"parallelism": {"dp": 8, "fsdp": 4, "cp": 2}},
        {"parallelism": {"dp": 8, "fsdp": 8}, "shape": {"rank_count": 8}},
        {"parallelism": {"tp": 8, "fsdp": 1, "cp": None}},
        {"parallelism": {"dp": 8}, "shape": {"rank_count": None}},
        {"workload_family": None, "shape": {"global_batch_size": None, "sequence_length": 10**12}},
        {"shape": {"rankCount": 8, "rank_count": 5}},
        {"workload_family": "x", "workload_name": "", "precision": "bf16", "accelerator": "H100", "unknown": [1]},
    ],
    ids=str,
)
def test_good_stored_metadata_goes_along(metadata: dict[str, object] | None) -> None:
    assert check_promotion(None, metadata, 8) is metadata


def test_long_whole_numbers_are_good_where_there_is_no_limit() -> None:
    text = '{"shape":{"global_batch_size":N,"sequence_length":N},"parallelism":{"dp":1,"cp":N}}'
    metadata = loads_object(text.replace("N", "7" * 5000).encode())

    assert check_promotion(None, metadata, None) is metadata


P = "workloadMetadata.parallelism"
S = "workloadMetadata.shape"
R = f"{S}.rank_count must be the product of the degrees"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ('{"parallelism":{"cp":2}}', f'{P} must have at least one of dp, tp, sp, ep, pp, got {{"cp":2}}'),
        ('{"parallelism":{}}', f"{P} must have at least one of dp, tp, sp, ep, pp, got {{}}"),
        ('{"parallelism":{"dp":null}}', f'{P} must have at least one of dp, tp, sp, ep, pp, got {{"dp":null}}'),
        ('{"parallelism":{"dp":8,"cp":0}}', f"{P}.cp must be a whole number of at least 1, got 0"),
        ('{"parallelism":{"dp":8,"cp":true}}', f"{P}.cp must be a whole number of at least 1, got true"),
        ('{"parallelism":{"dp":8,"fsdp":2.0}}', f"{P}.fsdp must be a whole number of at least 1, got 2.0"),
        ('{"parallelism":{"dp":8,"fsdp":3}}', f"{P}.fsdp must divide {P}.dp (8), got 3"),
        ('{"parallelism":{"dp":8,"fsdp":16}}', f"{P}.fsdp must divide {P}.dp (8), got 16"),
        ('{"parallelism":{"tp":8,"fsdp":8}}', f"{P}.fsdp must divide {P}.dp (1), got 8"),
        ('{"parallelism":{"dp":"8","fsdp":3}}', f'{P}.dp must be a whole number of at least 1, got "8"'),
        ('{"parallelism":{"dp":0,"fsdp":3}}', f"{P}.dp must be a whole number of at least 1, got 0"),
        ('{"parallelism":{"dp":8},"shape":{"rank_count":4}}', f"{R} (8), got 4"),
        ('{"parallelism":{"dp":8},"shape":{"rank_count":"8"}}', f'{R} (8), got "8"'),
        ('{"parallelism":{"dp":8},"shape":{"rank_count":8.0}}', f"{R} (8), got 8.0"),
        ('{"parallelism":{"dp":1},"shape":{"rank_count":true}}', f"{R} (1), got true"),
        ('{"workload_family":5}', "workloadMetadata.workload_family must be a string or null, got 5"),
        ('{"workload_name":[]}', "workloadMetadata.workload_name must be a string or null, got []"),
        ('{"precision":false}', "workloadMetadata.precision must be a string or null, got false"),
        ('{"accelerator":{}}', "workloadMetadata.accelerator must be a string or null, got {}"),
        ('{"shape":{"global_batch_size":0}}', f"{S}.global_batch_size must be a whole number of at least 1, got 0"),
        ('{"shape":{"sequence_length":"8"}}', f'{S}.sequence_length must be a whole number of at least 1, got "8"'),
    ],
)
def test_the_typed_model_refuses(metadata: str, message: str) -> None:
    assert message_of(None, loads_object(metadata.encode())) == message


def test_a_long_fsdp_divides_nothing() -> None:
    metadata = loads_object(('{"parallelism":{"dp":8,"fsdp":' + "7" * 5000 + "}}").encode())

    assert message_of(None, metadata).startswith(f"{P}.fsdp must divide {P}.dp (8), got 777")


@pytest.mark.parametrize("as_new", [True, False])
def test_all_faults_are_told_at_once(as_new: bool) -> None:
    metadata = {
        "parallelism": {"dp": 8, "fsdp": 3, "cp": 0},
        "workload_family": 1,
        "shape": {"rank_count": 2, "global_batch_size": "x", "sequence_length": 0},
        "precision": 5,
    }

    assert message_of(*((metadata, None, 8) if as_new else (None, metadata, 8))).split("; ") == [
        "workloadMetadata.workload_family must be a string or null, got 1",
        "workloadMetadata.precision must be a string or null, got 5",
        f'{S}.global_batch_size must be a whole number of at least 1, got "x"',
        f"{S}.sequence_length must be a whole number of at least 1, got 0",
        f"{P}.cp must be a whole number of at least 1, got 0",
        f"{P}.fsdp must divide {P}.dp (8), got 3",
        f"{S}.rank_count must be the product of the degrees (8), got 2",
    ]


def test_another_count_is_told_with_the_other_faults() -> None:
    message = message_of({"shape": {"rankCount": 4}, "precision": 5}, HOLDS_8, 8)

    assert "workloadMetadata.precision must be" in message
    assert "(8), by shape.rankCount or the parallelism degrees, but declares 4" in message
