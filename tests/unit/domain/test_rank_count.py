"""U5, U6: what declares a rank count, and what is wrong with a declaration."""

import json
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.rank_count import DEGREES, MAX_RANK_COUNT, NOT_DECLARED, declared_rank_count, require_rank_count
from app.domain.strict_json import loads_object
from app.errors import Invalid

LIMIT = "2147483647 (2,147,483,647)"
PATH = "workloadMetadata.parallelism"
OVER = {
    "count": f"workloadMetadata.shape.rankCount must be at most {LIMIT}, got 2147483648",
    "product": f"The product of the degrees {PATH}.dp × {PATH}.tp must be at most {LIMIT}, got 2147483648",
}


def message_of(metadata: dict[str, object]) -> str:
    with pytest.raises(Invalid) as caught:
        declared_rank_count(metadata)
    return caught.value.message


@pytest.mark.parametrize(
    ("metadata", "count"),
    [
        (None, None),
        ({}, None),
        ({"shape": None, "parallelism": None}, None),
        ({"shape": {}, "parallelism": {}}, None),
        ({"shape": {"rankCount": None}, "parallelism": {"dp": None, "pp": None}}, None),
        ({"shape": {"rankCount": 1}}, 1),
        ({"shape": {"rankCount": MAX_RANK_COUNT}}, MAX_RANK_COUNT),
        ({"parallelism": {"dp": 32, "tp": 8, "pp": 1}, "shape": {"rankCount": 256}}, 256),
        ({"parallelism": {"dp": 2, "tp": 3, "sp": 5, "ep": 7, "pp": 11}}, 2310),
        ({"parallelism": {"sp": 4}, "shape": {"rankCount": None}}, 4),
        ({"parallelism": {"dp": 2, "tp": None}}, 2),
        ({"parallelism": {"dp": 46341, "tp": 46340}}, 46341 * 46340),
        ({"shape": {"rank_count": 4}}, None),
        ({"shape": {"rank_count": "x", "RankCount": 0}}, None),
        ({"parallelism": {"cp": 4, "fsdp": 0, "DP": -1}}, None),
        ({"parallelism": {"dp": 2, "cp": "x", "fsdp": 2.5}, "workload_family": 5}, 2),
        ({"rankCount": 0, "dp": "x", "rank_count": []}, None),
    ],
    ids=str,
)
def test_what_is_declared(metadata: dict[str, object] | None, count: int | None) -> None:
    assert declared_rank_count(metadata) == count


@pytest.mark.parametrize("name", ["shape.rankCount", *(f"parallelism.{degree}" for degree in DEGREES)])
@pytest.mark.parametrize(
    "value", ["0", "-1", "2.0", "1e3", "-0", '"4"', "true", "false", "[]", "{}", '{"a":[1,"é"]}', '""', "0.5", "-0.0"]
)
def test_a_value_that_is_no_whole_number_of_at_least_one_is_named(name: str, value: str) -> None:
    group, member = name.split(".")
    metadata = loads_object(f'{{"{group}":{{"{member}":{value}}}}}'.encode())
    shown = json.dumps(json.loads(value), separators=(",", ":"), ensure_ascii=False)

    assert message_of(metadata) == f"workloadMetadata.{name} must be a whole number of at least 1, got {shown}"


def test_all_faulty_members_are_told_at_once() -> None:
    metadata = {"shape": {"rankCount": 0}, "parallelism": {"dp": "4", "tp": 2, "pp": False}}

    assert message_of(metadata) == (
        "workloadMetadata.shape.rankCount must be a whole number of at least 1, got 0; "
        'workloadMetadata.parallelism.dp must be a whole number of at least 1, got "4"; '
        "workloadMetadata.parallelism.pp must be a whole number of at least 1, got false"
    )


@pytest.mark.parametrize("name", ["shape", "parallelism"])
@pytest.mark.parametrize(
    ("value", "shown"), [([], "[]"), ("x", '"x"'), (0, "0"), (False, "false"), (1.5, "1.5"), ("", '""')]
)
def test_shape_and_parallelism_are_objects_or_null(name: str, value: object, shown: str) -> None:
    assert message_of({name: value}) == f"workloadMetadata.{name} must be an object or null, got {shown}"


def test_two_numbers_that_differ_are_both_named() -> None:
    assert message_of({"shape": {"rankCount": 12}, "parallelism": {"dp": 2, "tp": 5}}) == (
        f"workloadMetadata.shape.rankCount is 12, but the product of the degrees {PATH}.dp × {PATH}.tp is 10"
    )


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            '{"shape":{"rankCount":2147483648}}',
            OVER["count"],
        ),
        ('{"parallelism":{"pp":99999999999999999999}}', f"{PATH}.pp must be at most {LIMIT}, got 99999999999999999999"),
        (
            '{"parallelism":{"dp":65536,"tp":32768}}',
            OVER["product"],
        ),
        (
            '{"shape":{"rankCount":2147483648},"parallelism":{"dp":65536,"tp":32768}}',
            OVER["count"] + "; " + OVER["product"],
        ),
    ],
    ids=["count", "degree", "product", "both"],
)
def test_the_limit_holds_for_the_count_and_for_the_product(metadata: str, message: str) -> None:
    assert message_of(loads_object(metadata.encode())) == message


@pytest.mark.parametrize("digits", [640, 641, 60_000])
def test_numbers_of_any_length_are_over_the_limit(digits: int) -> None:
    metadata = loads_object(
        f'{{"shape":{{"rankCount":{"9" * digits}}},"parallelism":{{"dp":{"9" * digits}}}}}'.encode()
    )

    shown = f"must be at most {LIMIT}, got {'9' * 80}… ({digits} characters)"
    assert message_of(metadata) == f"workloadMetadata.shape.rankCount {shown}; {PATH}.dp {shown}"


def test_a_long_negative_number_is_not_at_least_one() -> None:
    metadata = loads_object(f'{{"shape":{{"rankCount":-{"9" * 5000}}}}}'.encode())

    assert "must be a whole number of at least 1, got -999" in message_of(metadata)


degrees = st.dictionaries(st.sampled_from(DEGREES), st.none() | st.integers(1, 3000))


@given(degrees, st.none() | st.integers(1, 10**8))
def test_the_rule_of_the_product(parallelism: dict[str, int | None], rank_count: int | None) -> None:
    given_degrees = [value for value in parallelism.values() if value is not None]
    product = prod(given_degrees) if given_degrees else None
    numbers = {number for number in (product, rank_count) if number is not None}
    is_good = len(numbers) <= 1 and max(numbers, default=0) <= MAX_RANK_COUNT

    try:
        count = declared_rank_count({"parallelism": parallelism, "shape": {"rankCount": rank_count}})
    except Invalid:
        assert not is_good
    else:
        assert is_good
        assert count == next(iter(numbers), None)


anything = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), st.lists, max_leaves=3)


@given(
    st.dictionaries(
        st.sampled_from(["shape", "parallelism"]),
        anything | st.dictionaries(st.sampled_from(["rankCount", *DEGREES]), anything),
    )
)
def test_no_value_makes_another_error(metadata: dict[str, object]) -> None:
    try:
        count = declared_rank_count(metadata)
    except Invalid as refused:
        refused.message.encode()
    else:
        assert count is None or 1 <= count <= MAX_RANK_COUNT


@pytest.mark.parametrize("metadata", [None, {}, {"shape": {"rank_count": 4}}, {"parallelism": {"cp": 4}}], ids=str)
def test_primary_files_need_a_declaration(metadata: dict[str, object] | None) -> None:
    with pytest.raises(Invalid) as caught:
        require_rank_count(metadata, has_primary=True)

    assert require_rank_count(metadata, has_primary=False) is None
    assert (
        caught.value.message
        == NOT_DECLARED
        == (
            "Uploads with primary trace files must declare a rank count: set workloadMetadata.shape.rankCount, "
            "or workloadMetadata.parallelism degrees (dp, tp, sp, ep, pp)"
        )
    )


@pytest.mark.parametrize("has_primary", [True, False])
def test_the_rules_hold_for_supporting_files_too(has_primary: bool) -> None:
    assert require_rank_count({"shape": {"rankCount": 2}}, has_primary) == 2
    with pytest.raises(Invalid, match="at least 1"):
        require_rank_count({"shape": {"rankCount": 0}}, has_primary)
