"""L4 to L6, L11: the query parameters of a list."""

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.listing import (
    DEFAULT_SORT,
    SORT_FIELDS,
    SortKey,
    decode_cursor,
    encode_cursor,
    parse_limit,
    parse_rank,
    parse_sort,
)
from app.domain.rank_count import MAX_RANK_COUNT
from app.errors import Invalid

KEY = b"a secret of this test"


# Sort


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, [("created", True)]),
        ("", [("created", True)]),
        ("created", [("created", False)]),
        ("name:asc", [("name", False)]),
        ("status:desc,created:asc,name", [("status", True), ("created", False), ("name", False)]),
    ],
)
def test_sort_orders(text: str | None, expected: list[tuple[str, bool]]) -> None:
    assert parse_sort(text) == tuple(expected)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("unknown", "unknown"),
        ("unknown:asc", "unknown"),
        ("name:asc,unknown:desc", "unknown"),
        ("Created:asc", "Created"),
        (" name", " name"),
        ("created,,name", ""),
        (",", ""),
        ("created:desc,", ""),
        (":asc", ""),
        ("__class__:asc", "__class__"),
        ("x" * 5000, "x" * 100),
    ],
    ids=lambda text: text[:20],
)
def test_an_unknown_field_is_refused_by_name(text: str, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_sort(text)

    assert caught.value.message == f"Invalid sort field: '{field}'. Valid fields: created, name, status"


@pytest.mark.parametrize("direction", ["up", "ASC", "descending", "-1", "", "desc:asc", " asc", "asc "])
def test_an_unknown_direction_is_refused(direction: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_sort(f"created:{direction}")

    assert caught.value.message == f"Invalid sort direction: '{direction}'. Valid directions: asc, desc"


@pytest.mark.parametrize("text", ["name,name", "created:desc,created:asc", "name:asc,status,name:desc"])
def test_a_repeated_field_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"^sort names a field twice: "):
        parse_sort(text)


@given(
    st.lists(
        st.builds(SortKey, st.sampled_from(SORT_FIELDS), st.booleans()), min_size=1, unique_by=lambda key: key.field
    )
)
def test_a_sort_order_is_read_as_it_is_written(keys: list[SortKey]) -> None:
    assert parse_sort(",".join(map(str, keys))) == tuple(keys)


# Numbers


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        *((None, 50), ("", 50), ("1", 1), ("007", 7), ("499", 499), ("500", 500), ("501", 500)),
        *(("1" + "0" * 30, 500), ("9" * 9000, 500), ("0" * 9000 + "3", 3)),
    ],
    ids=lambda value: str(value)[:10],
)
def test_limits(text: str | None, limit: int) -> None:
    assert parse_limit(text) == limit


NOT_NUMBERS = [
    *(
        "-1",
        "abc",
        "1.0",
        "2.5",
        "1e2",
        "0x10",
        "1_0",
        "５",
        "٣",
        "10abc",
        "--1",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "NaN",
        "null",
        "true",
    ),
    *("-" + "9" * 40, "1,2", "½", "\0", "[]", "'1'", "1;"),
]


@pytest.mark.parametrize("text", ["0", "000", *NOT_NUMBERS])
def test_a_limit_is_a_whole_number_of_at_least_one(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_limit(text)

    assert caught.value.message == f"limit must be a whole number of at least 1, got {text!r}"


@pytest.mark.parametrize(
    ("text", "least", "bound"),
    [
        ("8", 1, 8),
        ("0", 0, 0),
        ("2147483647", 1, MAX_RANK_COUNT),
        ("2147483648", 1, MAX_RANK_COUNT + 1),
        ("9" * 9000, 0, MAX_RANK_COUNT + 1),
    ],
    ids=lambda value: str(value)[:12],
)
def test_bounds_of_the_rank_count(text: str, least: int, bound: int) -> None:
    assert parse_rank(text, "rankCountMin", least) == bound


@pytest.mark.parametrize("text", ["", *NOT_NUMBERS])
@pytest.mark.parametrize("least", [0, 1])
def test_a_bound_that_is_no_number_is_refused_naming_the_field(text: str, least: int) -> None:
    with pytest.raises(Invalid) as caught:
        parse_rank(text, "rankCountMin", least)

    assert caught.value.message == f"rankCountMin must be a whole number of at least {least}, got {text!r}"


def test_an_upper_bound_of_no_ranks_is_refused() -> None:
    with pytest.raises(Invalid, match=r"^rankCountMax must be a whole number of at least 1, got '0'$"):
        parse_rank("0", "rankCountMax")


# Cursors

cells = st.integers(-(2**62), 2**62) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
orders = st.lists(
    st.builds(SortKey, st.sampled_from(SORT_FIELDS), st.booleans()),
    min_size=1,
    max_size=3,
    unique_by=lambda key: key.field,
)
NAME = parse_sort("name,created:desc")
CURSOR = encode_cursor(NAME, ["étude 🚀", 1_771_597_800_123_456], "ts_abc123xyz", KEY)


def is_refused(text: str, sort: tuple[SortKey, ...] = NAME, key: bytes = KEY) -> bool:
    try:
        decode_cursor(text, sort, key)
    except Invalid as refused:
        return refused.message.startswith("next is not a cursor of this list")
    return False


@given(st.data(), orders, st.text("abc_019", min_size=1))
def test_cursors_come_back(data: st.DataObject, sort: list[SortKey], row_id: str) -> None:
    values = [data.draw(cells) for _ in sort]

    text = encode_cursor(sort, values, row_id, KEY)

    assert set(text) <= set(string.ascii_letters + string.digits + "-_")
    assert decode_cursor(text, sort, KEY) == (values, row_id)


@pytest.mark.parametrize("length", range(6))
def test_every_alteration_of_one_character_is_refused(length: int) -> None:
    cursor = encode_cursor(DEFAULT_SORT, [10**length], "ts_a", KEY)  # other lengths leave other bits unused
    altered = {
        cursor[:at] + other + cursor[at + 1 :]
        for at in range(len(cursor))
        for other in string.ascii_letters + string.digits + "-_=+/. "
    } - {cursor}

    assert not is_refused(cursor, DEFAULT_SORT)
    assert [text for text in altered if not is_refused(text, DEFAULT_SORT)] == []


def test_every_cut_is_refused() -> None:
    cuts = [CURSOR[:at] for at in range(len(CURSOR))] + [CURSOR[at:] for at in range(1, len(CURSOR))]

    assert [text for text in cuts if not is_refused(text)] == []


@pytest.mark.parametrize("extra", ["A", "=", "==", "AAAA", ".", " ", "\n", "\0", "é"])
def test_something_added_is_refused(extra: str) -> None:
    assert is_refused(CURSOR + extra)
    assert is_refused(extra + CURSOR)


@pytest.mark.parametrize(
    "text", ["", "x", "eyJjcmVhdGVkIjoiMjAyNi0wMi0yMFQxNDozMDowMFoifQ==", "a" * 2500, "é", "\0", "=", "null", "-1", " "]
)
def test_garbage_is_refused(text: str) -> None:
    assert is_refused(text)


@given(
    st.text(max_size=40) | st.binary(max_size=60).map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="))
)
def test_any_other_text_is_refused(text: str) -> None:
    assert is_refused(text)


@pytest.mark.parametrize(
    "sort", ["", "name", "name:desc,created:desc", "name,created", "created:desc,name", "name,created:desc,status"]
)
def test_a_cursor_of_another_order_is_refused(sort: str) -> None:
    assert is_refused(CURSOR, parse_sort(sort))


@pytest.mark.parametrize(("one", "other"), [("", "created:desc"), ("name", "name:asc"), ("created", "created:asc")])
def test_the_same_order_may_be_spelt_otherwise(one: str, other: str) -> None:
    cursor = encode_cursor(parse_sort(one), ["x"], "ts_a", KEY)

    assert decode_cursor(cursor, parse_sort(other), KEY) == (["x"], "ts_a")


def test_a_cursor_of_another_key_is_refused() -> None:
    assert is_refused(CURSOR, key=b"another")
