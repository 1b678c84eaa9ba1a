"""Chakra protobuf, walked by its wire format."""

import gzip
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.traces import chakra
from app.traces.chakra import (
    MAX_FRAME_BYTES,
    CutChakra,
    Schema,
    check_chakra_stream,
    is_chakra,
    read_frames,
    schema_of,
)


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(message: bytes) -> bytes:
    return varint(len(message)) + message


def node(node_id: int, *deps: int) -> bytes:
    return frame(
        number(1, node_id) + text(2, b"n") + number(3, 4) + text(5, b"".join(map(varint, deps))) + text(10, b"")
    )


METADATA = frame(text(1, b"0.0.4"))


def codes(chunks: list[bytes] | Iterator[bytes]) -> list[str]:
    return [finding.code for finding in check_chakra_stream(chunks)]


@given(messages=st.lists(st.binary(max_size=300)), size=st.integers(1, 50))
def test_frames_come_out_as_they_went_in_however_the_bytes_are_cut(messages: list[bytes], size: int) -> None:
    data = b"".join(map(frame, messages))

    assert list(read_frames(data[at : at + size] for at in range(0, len(data), size))) == messages


@given(messages=st.lists(st.binary(min_size=1, max_size=200), min_size=1), data=st.data())
def test_a_cut_within_a_frame_is_seen(messages: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(map(frame, messages))
    n_lost = data.draw(st.integers(1, len(messages[-1])))

    with pytest.raises(CutChakra):
        list(read_frames([whole[:-n_lost]]))


@given(st.binary(max_size=500), st.booleans())
def test_any_bytes_give_findings_and_no_exception(data: bytes, is_framed: bool) -> None:
    check_chakra_stream([METADATA + (frame(data) if is_framed else data)])
    schema_of(data)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([number(1, 1) + text(2, b"a") + number(3, 3) + number(4, 0) + number(7, 5)], Schema.V001),
        ([number(1, 1) + text(2, b"a") + number(3, 3) + number(17, 5)], Schema.V001),
        ([number(1, 1) + text(2, b"a") + number(3, 5) + text(5, b"[]") + text(11, b"")], Schema.V002),
        ([number(1, 1) + text(2, b"a") + number(3, 4) + text(4, b"\0")], Schema.V004),
        ([text(2, b"a") + number(3, 4) + text(10, b"")], Schema.V004),
        ([text(2, b"a") + number(3, 4) + number(7, 5)], Schema.UNTOLD),
    ],
    ids=["unpacked parents", "high field", "strings", "packed deps", "attributes", "nothing telling"],
)
def test_the_schema_is_told_by_fields_that_only_it_has(messages: list[bytes], expected: Schema) -> None:
    data = b"".join(map(frame, messages))

    assert is_chakra(data)
    assert schema_of(data) is expected


@pytest.mark.parametrize(
    "message",
    [
        number(1, 1),
        number(3, 99),
        text(1, b"a") + number(3, 4),
        text(3, b"a"),
        number(2, 1) + number(3, 4),
        text(2, b"a") + number(21, 4),
        number(3, 4) + number(0, 4),
        number(3, 4) + b"\x0d\x00\x00\x00\x00",
    ],
    ids=["id alone", "type", "text id", "text type", "number name", "high field", "field zero", "fixed"],
)
def test_messages_of_another_shape_are_not_taken_for_chakra(message: bytes) -> None:
    assert not is_chakra(frame(message))


def test_a_file_with_good_frames_before_a_bad_one_is_chakra() -> None:
    assert is_chakra(METADATA + node(1) + node(2) + frame(b"\xff"))
    assert not is_chakra(METADATA + frame(b"\xff"))


def test_metadata_longer_than_the_head_is_chakra() -> None:
    long_text = text(1, b"input_file") + text(29, b"x" * 100_000)

    assert is_chakra(frame(text(2, long_text))[:1000])
    assert is_chakra(frame(text(1, b"0.0.4") + text(2, long_text))[:1000])


def test_a_first_frame_of_no_bytes_is_metadata_without_content() -> None:
    assert codes([b"\x00" + node(1)]) == []


def test_the_first_node_may_leave_out_id_zero() -> None:
    first = frame(text(2, b"n") + number(3, 4) + text(10, b""))

    assert codes([METADATA + first + node(1, 0)]) == []
    assert codes([first + node(1, 0)]) == ["chakra_no_metadata"]


def test_a_field_of_a_schema_to_come_is_passed_over() -> None:
    assert (
        codes([METADATA + frame(number(1, 1) + number(3, 4) + b"\xf9\x01" + bytes(8) + b"\xf5\x01" + bytes(4))]) == []
    )


def test_dependencies_may_point_forwards() -> None:
    assert codes([METADATA + node(1, 2) + node(2)]) == []


def test_dangling_dependencies_are_counted() -> None:
    (finding,) = check_chakra_stream([METADATA + node(1, 7, 8) + node(2, 1, 7)])

    assert finding.message == "Dependencies on nodes that are not in the file: 3 of 4"


def test_a_list_of_dependencies_that_is_cut_is_a_bad_frame() -> None:
    assert codes([METADATA + frame(number(1, 1) + number(3, 4) + text(5, b"\x80"))]) == ["chakra_bad_frame"]


def test_packed_and_plain_give_the_same_findings() -> None:
    data = METADATA + node(1) + node(1) + node(2, 9)

    assert codes([data]) == ["chakra_duplicate_ids", "chakra_dangling_deps"]
    assert codes([b"\x1f", gzip.compress(data)[1:]]) == codes([data])


def test_a_packed_stream_that_is_cut_is_broken() -> None:
    assert codes([gzip.compress(METADATA + node(1))[:-1]]) == ["gzip_broken"]


def test_a_frame_too_large_is_refused_before_it_is_held() -> None:
    assert codes([METADATA + node(1) + varint(MAX_FRAME_BYTES + 1)]) == ["chakra_bad_length"]
    assert codes([METADATA + node(1) + varint(MAX_FRAME_BYTES)]) == ["chakra_truncated"]


def test_a_bomb_is_given_up() -> None:
    bomb = gzip.compress(METADATA + frame(number(1, 1) + number(3, 4) + text(10, bytes(10_000))) * 1000, 9)

    (finding,) = check_chakra_stream([bomb])

    assert finding.code == "gzip_broken"
    assert "more than 250 times" in finding.message


def test_beyond_the_tracked_ids_nothing_is_said_of_dependencies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chakra, "MAX_TRACKED_IDS", 10)

    assert codes([METADATA + b"".join(node(n) for n in range(20)) + node(20, 99)]) == []


def test_memory_does_not_grow_with_the_file() -> None:
    nodes = b"".join(node(n) for n in range(200))

    def peak(n_chunks: int) -> int:
        tracemalloc.start()
        codes(nodes for _ in range(n_chunks))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(20) < 1.5 * peak(2)
