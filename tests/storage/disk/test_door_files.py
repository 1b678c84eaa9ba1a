"""Downloads through a real gunicorn."""

from collections.abc import Callable

import pytest
import requests

from tests.storage.disk.door import TIMEOUT_SECONDS, Door, error_of
from tests.storage.disk.on_disk import make, segment_file
from tests.storage.under_test import MIB, in_five_minutes


def test_download_has_the_headers_that_a_browser_needs(door: Door) -> None:
    made = door.make(b"0123456789")

    answer = door.get(door.disk.sign_download(made.key, "folder/Läufe.json", in_five_minutes()))

    told = {name: value for name, value in answer.headers.items() if name not in {"Date", "Server", "Connection"}}
    assert told == {
        "Accept-Ranges": "bytes",
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": "ETag, Content-Length, Content-Range, Accept-Ranges, Content-Disposition",
        "Cache-Control": "private, no-store",
        "Content-Disposition": "attachment; filename=\"L_ufe.json\"; filename*=UTF-8''L%C3%A4ufe.json",
        "Content-Length": "10",
        "Content-Type": "application/octet-stream",
        "ETag": f'"{made.stored.etag}"',
        "X-Content-Type-Options": "nosniff",
    }


@pytest.mark.parametrize(
    "name", ['x"; filename="y', "a\r\nSet-Cookie: b=c", "\x00\x7f", "é" * 512, "😀", "%0d%0a"], ids=ascii
)
def test_download_of_any_name_arrives_under_one_header(door: Door, name: str) -> None:
    made = door.make(b"x")

    answer = door.get(door.disk.sign_download(made.key, name, in_five_minutes()))

    assert (answer.status_code, answer.content) == (200, b"x")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="')
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=2-4"}], ids=["plain", "with a range"])
def test_head_tells_what_get_would_and_sends_nothing(door: Door, headers: dict[str, str]) -> None:
    made = door.make(b"0123456789")
    url = door.disk.sign_download(made.key, "digits", in_five_minutes())

    answer = requests.head(url, headers=headers, timeout=TIMEOUT_SECONDS)

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Content-Length"] == "10"
    assert answer.headers["ETag"] == f'"{made.stored.etag}"'


PARTIAL = {
    "bytes=0-0": (b"0", "bytes 0-0/10"),
    "bytes=2-4": (b"234", "bytes 2-4/10"),
    "bytes=7-": (b"789", "bytes 7-9/10"),
    "bytes=7-700": (b"789", "bytes 7-9/10"),
    "bytes=-4": (b"6789", "bytes 6-9/10"),
    "bytes=-400": (b"0123456789", "bytes 0-9/10"),
    "bytes=0-": (b"0123456789", "bytes 0-9/10"),
}
IGNORED = [
    "",
    "bytes",
    "bytes=",
    "bytes=-",
    "bytes=4-2",
    "bytes=a-b",
    "bytes=0-1,4-5",
    "lines=0-1",
    "bytes=0-1x",
    "bytes=²-",
]
UNSATISFIABLE = ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"]


@pytest.mark.parametrize("asked", PARTIAL)
def test_range_gets_its_bytes(door: Door, asked: str) -> None:
    made = door.make(b"01234", b"56789")
    url = door.disk.sign_download(made.key, "digits", in_five_minutes())

    answer = door.get(url, {"Range": asked})

    assert answer.status_code == 206
    assert (answer.content, answer.headers["Content-Range"]) == PARTIAL[asked]
    assert answer.headers["Content-Length"] == str(len(answer.content))
    assert answer.headers["ETag"] == f'"{made.stored.etag}"'


@pytest.mark.parametrize("asked", [*IGNORED, pytest.param(f"bytes={'9' * 5000}-", id="endless number")])
def test_range_that_says_nothing_gets_everything(door: Door, asked: str) -> None:
    made = door.make(b"0123456789")
    url = door.disk.sign_download(made.key, "digits", in_five_minutes())

    answer = door.get(url, {"Range": asked})

    assert (answer.status_code, answer.content) == (200, b"0123456789")
    assert "Content-Range" not in answer.headers


@pytest.mark.parametrize("asked", UNSATISFIABLE)
def test_range_without_any_byte_is_refused(door: Door, asked: str) -> None:
    made = door.make(b"0123456789")
    url = door.disk.sign_download(made.key, "digits", in_five_minutes())

    answer = door.get(url, {"Range": asked})

    assert (answer.status_code, answer.content) == (416, b"")
    assert answer.headers["Content-Range"] == "bytes */10"


def test_file_of_no_bytes_is_sent_whole_and_has_no_range(door: Door) -> None:
    made = door.make(b"")
    url = door.disk.sign_download(made.key, "nothing", in_five_minutes())

    assert (door.get(url).status_code, door.get(url).headers["Content-Length"]) == (200, "0")
    assert door.get(url, {"Range": "bytes=0-"}).status_code == 416


@pytest.mark.parametrize(
    ("validator", "status"),
    [
        pytest.param('"{etag}"', 206, id="the same"),
        pytest.param('W/"{etag}"', 200, id="a weak one"),
        pytest.param('"other"', 200, id="another"),
        pytest.param("Sun, 29 Nov 2026 12:00:00 GMT", 200, id="a date"),
    ],
)
def test_range_holds_only_for_the_file_that_if_range_names(door: Door, validator: str, status: int) -> None:
    made = door.make(b"0123456789")
    url = door.disk.sign_download(made.key, "digits", in_five_minutes())

    answer = door.get(url, {"Range": "bytes=2-4", "If-Range": validator.format(etag=made.stored.etag)})

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("validator", "status"),
    [
        pytest.param('"{etag}"', 304, id="the same"),
        pytest.param('"other", W/"{etag}"', 304, id="one of several"),
        pytest.param("*", 304, id="any"),
        pytest.param('"other"', 200, id="another"),
    ],
)
def test_file_that_the_client_has_is_not_sent_again(door: Door, validator: str, status: int) -> None:
    made = door.make(b"0123456789")
    url = door.disk.sign_download(made.key, "digits", in_five_minutes())

    answer = door.get(url, {"If-None-Match": validator.format(etag=made.stored.etag)})

    assert answer.status_code == status
    assert answer.content == (b"" if status == 304 else b"0123456789")


def test_download_of_a_deleted_file_is_not_found(door: Door) -> None:
    made = door.make(b"x")
    url = door.disk.sign_download(made.key, "x", in_five_minutes())
    door.disk.delete([made.key])

    assert error_of(door.get(url)) == (404, {"error": {"message": "This file is no longer there"}})


def test_download_of_damaged_bytes_is_no_success(door: Door, some_bytes: Callable[[int], bytes]) -> None:
    made = make(door.disk, some_bytes(2 * MIB), some_bytes(2 * MIB))
    url = door.disk.sign_download(made.key, "x", in_five_minutes())
    segment_file(door.root, made.key, 2).write_bytes(b"short")

    assert error_of(door.get(url)) == (404, {"error": {"message": "This file is no longer there"}})
    assert requests.head(url, timeout=10).status_code == 404
