"""PUTs of parts through a real gunicorn: what a browser, a tool or an intruder meets."""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import requests

from app import clock
from app.storage.base import MAX_PART_SIZE
from tests.storage.disk.door import TIMEOUT_SECONDS, Door, converse, error_of, head_of
from tests.storage.under_test import MIB, StoreUnderTest


def test_put_answers_with_the_sha256_as_etag_and_an_empty_body(door: Door) -> None:
    upload = door.begin()
    [url] = door.sign(upload, 1)

    answer = door.put(url, b"the bytes")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["ETag"] == f'"{hashlib.sha256(b"the bytes").hexdigest()}"'
    assert answer.headers["Content-Length"] == "0"


def test_put_without_a_length_takes_the_chunks(door: Door, some_bytes: Callable[[int], bytes]) -> None:
    upload = door.begin()
    [url] = door.sign(upload, 1)
    pieces = [some_bytes(size) for size in (1, 3 * MIB, 70_000)]

    answer = requests.put(url, data=iter(pieces), timeout=TIMEOUT_SECONDS)

    assert answer.headers["ETag"].strip('"') == hashlib.sha256(b"".join(pieces)).hexdigest()
    assert [part.size for part in door.held(upload)] == [3 * MIB + 70_001]


def test_put_with_neither_length_nor_chunks_is_a_part_of_no_bytes(door: Door) -> None:
    upload = door.begin()
    [url] = door.sign(upload, 1)

    answer = converse(door, head_of(url, "Connection: close"))

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert [part.size for part in door.held(upload)] == [0]


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(["Content-Length: 100"], b"x" * 99, id="shorter than its length"),
        pytest.param(["Content-Length: 9000000"], b"x" * 5_000_000, id="cut in the middle"),
        pytest.param(["Transfer-Encoding: chunked"], b"5\r\nfirst\r\n9\r\nsec", id="within a chunk"),
        pytest.param(["Transfer-Encoding: chunked"], b"5\r\nfirst\r\n", id="between chunks"),
        pytest.param(["Transfer-Encoding: chunked"], b"5\r\nfirst\r\n0\r\n", id="before the last line"),
    ],
)
def test_body_that_ends_early_is_not_stored(door: Door, headers: list[str], body: bytes) -> None:
    upload = door.begin()
    [url] = door.sign(upload, 1)
    kept = door.send(upload, 1, b"before")

    answer = converse(door, head_of(url, *headers) + body)

    assert not answer.startswith(b"HTTP/1.1 2")
    assert door.held(upload) == [kept]
    assert list((door.root / "tmp").iterdir()) == []


def test_body_that_ends_early_is_told_so(door: Door) -> None:
    [url] = door.sign(door.begin(), 1)

    answer = converse(door, head_of(url, "Content-Length: 100") + b"x" * 90)

    assert error_of(answer) == (400, {"error": {"message": "The body ends 10 bytes before its length of 100"}})


def test_part_above_the_limit_is_refused_before_it_is_sent(door: Door) -> None:
    upload = door.begin()
    [url] = door.sign(upload, 1)

    answer = converse(door, head_of(url, f"Content-Length: {MAX_PART_SIZE + 1}"))

    assert error_of(answer) == (413, {"error": {"message": f"A part may have {MAX_PART_SIZE} bytes"}})
    assert door.held(upload) == []


@pytest.mark.parametrize("by_chunks", [True, False], ids=["chunked", "with its length"])
def test_part_above_the_limit_is_refused_while_it_is_sent(
    disk_store: StoreUnderTest, monkeypatch: pytest.MonkeyPatch, by_chunks: bool
) -> None:
    upload, [kept] = disk_store.upload(b"before")
    [url] = disk_store.sign(upload, 1)
    monkeypatch.setattr("app.web.objects.MAX_PART_SIZE", 3 * MIB)
    data = bytes(3 * MIB + 1)

    answer = requests.put(url, data=iter([data]) if by_chunks else data, timeout=TIMEOUT_SECONDS)

    assert answer.status_code == 413
    assert disk_store.held(upload) == [kept]


@pytest.mark.parametrize("by_chunks", [True, False], ids=["chunked", "with its length"])
def test_part_of_just_the_limit_is_taken(
    disk_store: StoreUnderTest, monkeypatch: pytest.MonkeyPatch, by_chunks: bool
) -> None:
    upload = disk_store.begin()
    [url] = disk_store.sign(upload, 1)
    monkeypatch.setattr("app.web.objects.MAX_PART_SIZE", 3 * MIB)
    data = bytes(3 * MIB)

    answer = requests.put(url, data=iter([data]) if by_chunks else data, timeout=TIMEOUT_SECONDS)

    assert answer.status_code == 200
    assert [part.size for part in disk_store.held(upload)] == [3 * MIB]


def test_part_that_finds_the_disk_full_is_told_so(disk_store: StoreUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = disk_store.begin()
    [url] = disk_store.sign(upload, 1)

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    answer = disk_store.put(url, b"x")

    assert error_of(answer) == (507, {"error": {"message": "The file store is full"}})


def test_store_that_is_away_is_told_with_a_time_to_retry(disk_store: StoreUnderTest, tmp_path: Path) -> None:
    [url] = disk_store.sign(disk_store.begin(), 1)
    (tmp_path / "store").rename(tmp_path / "elsewhere")

    answer = disk_store.put(url, b"x")

    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.parametrize("number", ["0", "2", "10001"])
def test_number_outside_the_plan_is_not_found(door: Door, number: str) -> None:
    [url] = door.sign(door.begin(), 1)

    answer = door.put(url.removesuffix("1") + number, b"x")

    assert error_of(answer) == (404, {"error": {"message": f"There is no part {number} in this upload"}})


def test_part_of_an_upload_that_has_ended_is_not_found(door: Door) -> None:
    upload, parts = door.upload(b"x")
    [url] = door.sign(upload, 1)
    door.finish(upload, parts)

    assert error_of(door.put(url, b"y")) == (404, {"error": {"message": "This upload is no longer there"}})


def test_refused_body_is_heard_out_so_that_the_client_sees_the_answer(door: Door) -> None:
    [url] = door.sign(door.begin(), 1, until=clock.now() - timedelta(seconds=1))

    with requests.Session() as client:
        answers = [client.put(url, data=bytes(9 * MIB), timeout=TIMEOUT_SECONDS) for _ in range(2)]

    assert [error_of(answer) for answer in answers] == [(403, {"error": {"message": "This link has expired"}})] * 2
