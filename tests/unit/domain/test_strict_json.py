"""G7, R3: what JSON is read, what is refused and how, and that what was read is written again."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.strict_json import (
    MAX_DEEP_MEMBER_DEPTH,
    MAX_DEPTH,
    JSONText,
    LongInteger,
    dumps,
    excerpt,
    is_at_least_one,
    loads,
    loads_object,
)
from app.errors import Invalid

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
tricky = st.text(alphabet='[]{}"\\/u0\n,:', max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(10**60), 10**60) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | texts | tricky,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | tricky, inner, max_size=4),
    max_leaves=20,
)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def nest(depth: int, *, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + "1" + closing * depth


def depth_of(value: object) -> int:
    """The definition: a container is one deeper than the deepest of what it holds."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


def message_of(data: bytes | str) -> str:
    with pytest.raises(Invalid) as caught:
        loads(data if isinstance(data, bytes) else data.encode())
    return caught.value.message


# Reading and writing agree


@given(values, st.booleans())
def test_what_json_writes_is_read_and_written_again(value: object, escaped: bool) -> None:
    data = json.dumps(value, ensure_ascii=escaped).encode()

    assert dumps(loads(data)) == compact(value)


@given(values, st.sampled_from([None, 0, 1, "\t"]))
def test_white_space_changes_nothing(value: object, indent: int | str | None) -> None:
    data = json.dumps(value, indent=indent).encode()

    assert dumps(loads(data)) == compact(value)


@given(values, st.data())
def test_no_alteration_of_a_byte_makes_another_error(value: object, data: st.DataObject) -> None:
    text = bytearray(json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode())
    at = data.draw(st.integers(0, len(text) - 1))
    text[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3) | tricky.map(str.encode))

    try:
        got = loads(bytes(text))
    except Invalid as refused:
        refused.message.encode()
    else:
        assert dumps(got) == compact(json.loads(text))


@given(st.binary(max_size=40))
def test_no_bytes_make_another_error(data: bytes) -> None:
    try:
        loads(data)
    except Invalid as refused:
        refused.message.encode()


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-0.0",
        "1e5",
        "1E+2",
        "5e-324",
        "1.7976931348623157e308",
        "1e-400",
        '"\\ud83d\\ude80"',
        '"\\\\ud800"',
        '"\\\\u0000"',
    ],
)
def test_edges_of_numbers_and_escapes_are_read_as_json_has_them(text: str) -> None:
    assert repr(loads(text.encode())) == repr(json.loads(text))


def test_members_keep_their_order() -> None:
    assert list(loads_object(b'{"z":1,"a":2,"m":3}')) == ["z", "a", "m"]


# Integers of any length


@pytest.mark.parametrize("digits", [19, 640, 641, 4300, 4301, 60_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_of_any_length_keep_every_digit(sign: str, digits: int) -> None:
    text = f'{{"a":[{sign}7{"3" * (digits - 1)},1,"x"],"b":{sign}{"9" * digits}}}'

    assert dumps(loads(text.encode())) == text


def test_integers_are_plain_up_to_what_every_interpreter_converts() -> None:
    longest = sys.int_info.str_digits_check_threshold

    assert loads(b"7" * longest) == int("7" * longest)
    assert loads(b"-" + b"7" * (longest + 1)) == LongInteger("-" + "7" * (longest + 1))


def test_reading_long_integers_leaves_the_limit_of_the_process_alone() -> None:
    before = sys.get_int_max_str_digits()

    loads(b"1" * 100_000)

    assert sys.get_int_max_str_digits() == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", True),
        ("9" * 5000, True),
        ("0", False),
        ("-1", False),
        ("-" + "9" * 5000, False),
        ("2.0", False),
        ("true", False),
        ('"4"', False),
        ("null", False),
        ("[1]", False),
        ("1e3", False),
    ],
    ids=lambda value: str(value)[:10],
)
def test_whole_numbers_of_at_least_one(text: str, expected: bool) -> None:
    assert is_at_least_one(loads(text.encode())) is expected


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The body is empty; it must be JSON"),
        (" \n", "The body is empty; it must be JSON"),
        ('{"a":}', "The body is not valid JSON: Expecting value: line 1 column 6 (char 5)"),
        ("NaN", "The body: NaN is not JSON"),
        ('{"a":[0,-Infinity]}', "a[1]: -Infinity is not JSON"),
        ('{"a":{"b c":Infinity}}', 'a["b c"]: Infinity is not JSON'),
        ('{"files":[{"size":1e400}]}', "files[0].size: 1e400 is too large for a number"),
        ('{"a":-1.5E+309}', "a: -1.5E+309 is too large for a number"),
        ('{"a":1,"b":2,"a":3}', 'The body: the member "a" is there twice'),
        ('{"a":1,"b":2,"b":3}', 'The body: the member "b" is there twice'),
        ('{"a":1,"\\u0061":3}', 'The body: the member "a" is there twice'),
        ('{"x":[{"é":1,"é":NaN}]}', 'x[0]: the member "\\u00e9" is there twice'),
        ('{"a":NaN,"a":1}', 'The body: the member "a" is there twice'),
        ('{"files":[{"name":"a"},{"name":"b\\u0000c"}]}', "files[1].name: the text holds a NUL character"),
        ('["\\ud800"]', "[0]: the text holds half of a surrogate pair"),
        ('"\\uDFFF\\uD800"', "The body: the text holds half of a surrogate pair"),
        ('"\\\\\\ud83d\\\\ude80"', "The body: the text holds half of a surrogate pair"),
        ('{"a":{"\\u0000":1}}', 'a: the name of the member "\\u0000" holds a NUL character'),
        ('{"\\udc00":1}', 'The body: the name of the member "\\udc00" holds half of a surrogate pair'),
    ],
)
def test_refusals_say_what_and_where(text: str, message: str) -> None:
    assert message_of(text) == message


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1,]",
        '{"a":1,}',
        "01",
        "+1",
        "1.",
        ".5",
        "0x1",
        "'a'",
        '"\t"',
        '"\\x41"',
        "[1] 2",
        "nul",
        "١",
        "{1:2}",
        "\ufeff{}",
        "/**/1",
        "\x00",
    ],
)
def test_what_is_not_json_is_refused(text: str) -> None:
    message_of(text)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a":"\xff"}', "not valid UTF-8 at byte 6"),
        (b'"\xed\xa0\x80"', "not valid UTF-8 at byte 1"),
        ('{"a":1}'.encode("utf-16"), "UTF-8"),
        ('{"a":1}'.encode("utf-32-le"), "not valid JSON"),
    ],
)
def test_other_encodings_are_refused(data: bytes, part: str) -> None:
    assert part in message_of(data)


def test_very_many_faults_are_refused_without_their_places() -> None:
    assert message_of("[NaN," + "Infinity," * 1000 + "1]") == "The body: NaN is not JSON"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[]", "an array"),
        ("null", "null"),
        ("true", "a boolean"),
        ('"{}"', "a string"),
        ("1", "a number"),
        ("1.5", "a number"),
        ("1" * 5000, "a number"),
    ],
    ids=lambda value: value[:10],
)
def test_a_body_is_an_object(text: str, kind: str) -> None:
    with pytest.raises(Invalid, match=f"^The body must be a JSON object, got {kind}$"):
        loads_object(text.encode())


# Depth


@given(values, st.integers(0, 6))
def test_depth_counts_containers_and_no_brackets_in_strings(value: object, limit: int) -> None:
    data = json.dumps(value).encode()

    try:
        loads(data, max_depth=limit)
    except Invalid:
        assert depth_of(value) > limit
    else:
        assert depth_of(value) <= limit


@pytest.mark.parametrize(
    "around", ['"{}",', '"a","b",', '"[","]]]",', '"\\"[",', '"\\\\",', '"\\\\\\"{",', '"a[b","c","]",']
)
@pytest.mark.parametrize(("depth", "is_read"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_strings_around_do_not_hide_or_add_depth(around: str, depth: int, is_read: bool) -> None:
    text = "[" + around + nest(depth - 1) + "]"

    assert can_read(text) is is_read


@pytest.mark.parametrize("depth", [1, 99, 100])
def test_depth_up_to_the_limit_is_read(depth: int) -> None:
    assert dumps(loads(nest(depth).encode())) == nest(depth)


@pytest.mark.parametrize("depth", [101, 102, 1000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["arrays", "objects"])
def test_depth_beyond_the_limit_is_refused(depth: int, opening: str, closing: str) -> None:
    assert (
        message_of(nest(depth, opening=opening, closing=closing)) == "The body nests arrays and objects deeper than 100"
    )


@pytest.mark.parametrize(
    ("name", "depth", "is_read"),
    [
        ("workloadMetadata", MAX_DEEP_MEMBER_DEPTH, True),
        ("workloadMetadata", MAX_DEEP_MEMBER_DEPTH + 1, False),
        ("workloadMetadata", 10_000, False),
        ("unknown", MAX_DEPTH - 1, True),
        ("unknown", MAX_DEPTH, False),
    ],
)
def test_only_workload_metadata_may_be_deeper(name: str, depth: int, is_read: bool) -> None:
    text = f'{{"{name}":{nest(depth)}}}'

    assert can_read(text, loads_object) is is_read


def test_a_fault_at_the_bottom_of_the_deepest_member_is_found() -> None:
    text = f'{{"workloadMetadata":{nest(MAX_DEEP_MEMBER_DEPTH).replace("1", "NaN")}}}'

    with pytest.raises(Invalid, match=r"^workloadMetadata(\[0\])+: NaN is not JSON$"):
        loads_object(text.encode())


def test_a_deep_member_inside_of_another_is_no_exception() -> None:
    text = f'{{"x":{{"workloadMetadata":{nest(MAX_DEPTH)}}},"workloadMetadata":{nest(MAX_DEPTH + 20)}}}'

    assert not can_read(text, loads_object)


def can_read(text: str, read: object = loads) -> bool:
    assert callable(read)
    try:
        return dumps(read(text.encode())) == text
    except Invalid:
        return False


# Writing


def test_finished_json_is_put_in_place_as_it_is() -> None:
    body = {"a": JSONText('{"x": 1.50}'), "b": [JSONText("[ ]"), "é"], "c": LongInteger("1" * 700)}

    assert dumps(body) == '{"a":{"x": 1.50},"b":[[ ],"é"],"c":' + "1" * 700 + "}"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), [object()], {"a": b"bytes"}], ids=["nan", "inf", "object", "bytes"]
)
def test_what_is_no_json_is_never_written(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        dumps(value)


@pytest.mark.parametrize(
    ("value", "shown"), [("4", '"4"'), (2.0, "2.0"), (True, "true"), ({"a": [1, None]}, '{"a":[1,null]}')], ids=str
)
def test_an_excerpt_is_compact_json(value: object, shown: str) -> None:
    assert excerpt(value) == shown


def test_an_excerpt_of_a_hundred_characters_is_whole() -> None:
    assert excerpt("x" * 98) == '"' + "x" * 98 + '"'


def test_an_excerpt_of_a_long_value_is_cut_and_tells_the_length() -> None:
    assert excerpt(LongInteger("7" * 60_000)) == "7" * 80 + "… (60000 characters)"
