"""Formats told from first bytes, and how long that may take."""

import gzip
import json
import time

import pytest

from app.traces.chakra import Schema
from app.traces.packed import INFLATED_HEAD_SIZE, inflate_head
from app.traces.sniff import HEAD_SIZE, Format, Identity, identify


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"SQLite format 3\x00" + bytes(100), Format.SQLITE),
        (b"PK\x05\x06" + bytes(18), Format.ZIP),
        (b"\xfe\xff\x00{", Format.UTF16),
        (b"  \n{", Format.JSON_OBJECT),
        (b"{ not json", Format.TEXT),
        (b"[warning] 3 ranks", Format.TEXT),
        (b"strict digraph g {}", Format.DOT),
        (b"<HTML>", Format.ERROR_PAGE),
        (b"\x00" * 600, Format.UNKNOWN),
        ("Übersicht".encode()[:-1], Format.TEXT),
        ("é".encode()[:1], Format.TEXT),
        (b"\xffabc", Format.UNKNOWN),
    ],
    ids=[
        "sqlite",
        "empty zip",
        "utf-16be",
        "cut object",
        "brace",
        "bracket",
        "strict",
        "html",
        "zeros",
        "text",
        "cut",
        "latin",
    ],
)
def test_first_bytes_tell_the_format(head: bytes, expected: Format) -> None:
    assert identify(head) == Identity(expected, is_gzipped=False)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["traceEvents"], Format.KINETO),
        (["schemaVersion", "deviceProperties"], Format.KINETO),
        (["schemaVersion"], Format.JSON_OBJECT),
        (["schema", "pid", "start_ts"], Format.PYTORCH_HOST),
        (["schema"], Format.JSON_OBJECT),
        (["workload_name", "workload_graph"], Format.CHAKRA_FEEDER_JSON),
        (["0", "12"], Format.COMM_GROUPS),
        (["0", "twelve"], Format.JSON_OBJECT),
    ],
)
def test_the_outermost_keys_tell_which_json_it_is(keys: list[str], expected: Format) -> None:
    decoy = {"traceEvents": '{"workload_graph": 1}', "nodes": []}

    assert identify(json.dumps({key: [decoy] for key in keys}).encode()).format is expected


def test_a_key_in_a_string_is_no_key() -> None:
    assert identify(rb'{"a": "\"traceEvents\": ", "b": 1}').format is Format.JSON_OBJECT


def test_gzip_is_looked_through_once() -> None:
    data = b"MODEL\n1\nlayer -1 5"

    assert identify(gzip.compress(data)) == Identity(Format.ASTRA_TEXT, is_gzipped=True)
    assert identify(gzip.compress(gzip.compress(data))) == Identity(Format.GZIP, is_gzipped=True)


def test_of_a_chakra_trace_the_schema_is_told() -> None:
    v001 = b"\x0b\x08\x01\x12\x01a\x18\x03\x20\x00\x38\x05"

    assert identify(v001) == Identity(Format.CHAKRA, is_gzipped=False, schema=Schema.V001)
    assert identify(gzip.compress(v001)) == Identity(Format.CHAKRA, is_gzipped=True, schema=Schema.V001)


def test_the_head_of_a_packed_file_is_enough() -> None:
    packed = gzip.compress(b'{"traceEvents": [' + bytes(range(48, 58)) * 10_000, 1)

    assert identify(packed[: len(packed) // 2]) == Identity(Format.KINETO, is_gzipped=True)


def test_a_bomb_is_opened_no_further_than_the_limit() -> None:
    bomb = gzip.compress(bytes(64 * 1024 * 1024), 9)[:HEAD_SIZE]

    inflated = inflate_head(bomb)

    assert len(inflated.data) == INFLATED_HEAD_SIZE
    assert not inflated.is_whole


@pytest.mark.parametrize(
    "head",
    [
        b'{"' + b'\\"' * (HEAD_SIZE // 2),
        b'{"a' * (HEAD_SIZE // 3),
        b'{"a":' + b'""   ' * (HEAD_SIZE // 5),
        b"[" * HEAD_SIZE,
        b" " * HEAD_SIZE,
        b"A" * HEAD_SIZE,
        b"AA all_gpus:" * (HEAD_SIZE // 12),
        b"<?xml " * (HEAD_SIZE // 6),
        b"\x02\x18\x04" * (HEAD_SIZE // 3),
        b"".join(gzip.compress(b"") for _ in range(HEAD_SIZE // 20)),
    ],
    ids=["escapes", "open strings", "blanks", "brackets", "spaces", "letters", "options", "xml", "frames", "members"],
)
def test_awkward_bytes_take_no_longer_than_plain_ones(head: bytes) -> None:
    begun_at = time.process_time()

    identify(head)

    # A quadratic walk of 64 KiB takes many seconds; a linear one some milliseconds.
    assert time.process_time() - begun_at < 1
