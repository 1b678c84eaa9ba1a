"""U2: how files are cut into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.part_plan import MAX_FILE_SIZE, MAX_PARTS, MIB, PartPlan, plan_parts
from app.errors import Invalid
from app.storage import base

PART = 64 * MIB


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, [0]),
        (1, [1]),
        (PART - 1, [PART - 1]),
        (PART, [PART]),
        (PART + 1, [PART, 1]),
        (3 * PART, [PART, PART, PART]),
        (3 * PART + 5, [PART, PART, PART, 5]),
    ],
)
def test_parts_are_equal_but_the_last(size: int, expected: list[int]) -> None:
    assert list(plan_parts(size, PART).sizes()) == expected


@pytest.mark.parametrize(
    ("size", "part_size", "count"),
    [
        (PART * MAX_PARTS, PART, 10_000),
        (PART * MAX_PARTS + 1, 65 * MIB, 9847),
        (65 * MIB * MAX_PARTS, 65 * MIB, 10_000),
        (65 * MIB * MAX_PARTS + 1, 66 * MIB, 9849),
        (MAX_FILE_SIZE, 525 * MIB, 9987),
    ],
)
def test_parts_grow_where_there_would_be_too_many(size: int, part_size: int, count: int) -> None:
    plan = plan_parts(size, PART)

    assert (plan.part_size, plan.count) == (part_size, count)


def test_a_larger_file_is_refused() -> None:
    with pytest.raises(Invalid) as caught:
        plan_parts(MAX_FILE_SIZE + 1, PART, "files[3].size")

    assert caught.value.message == "files[3].size must be at most 5497558138880 bytes (5 TiB), got 5497558138881"


@given(st.integers(0, MAX_FILE_SIZE) | st.integers(0, 200 * PART), st.integers(base.MIN_PART_SIZE, base.MAX_PART_SIZE))
def test_plans_add_up_within_the_limits_of_stores(size: int, part_size: int) -> None:
    plan = plan_parts(size, part_size)
    sizes = list(plan.sizes())

    assert sum(sizes) == size
    assert 1 <= len(sizes) == plan.count <= base.MAX_PARTS
    assert set(sizes[:-1]) <= {plan.part_size}
    assert base.MIN_PART_SIZE <= plan.part_size <= base.MAX_PART_SIZE
    assert plan.part_size == part_size or (size > part_size * MAX_PARTS and plan.part_size % MIB == 0)
    assert (sizes[-1] > 0) is (size > 0)


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_there_is_no_part_of_another_number(number: int) -> None:
    with pytest.raises(IndexError):
        PartPlan(2 * PART, PART).size_of(number)


def test_the_limits_are_those_of_the_stores() -> None:
    assert (MAX_PARTS, MAX_FILE_SIZE) == (base.MAX_PARTS, base.MAX_OBJECT_SIZE)
