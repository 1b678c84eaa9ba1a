"""What parts and downloads have in common: links that open nothing, pages of other origins, load."""

import pytest
import requests

from tests.storage.disk.door import TIMEOUT_SECONDS, Door, error_of
from tests.storage.under_test import MIB, in_five_minutes


@pytest.mark.parametrize("path", ["parts/x/1", "parts/x.y/1", "files/x/name", "files/e30.x/name"])
def test_made_up_link_is_forbidden(door: Door, path: str) -> None:
    method = requests.put if path.startswith("parts") else requests.get

    answer = method(f"{door.server.origin}/objects/{path}", timeout=TIMEOUT_SECONDS)

    assert error_of(answer) == (403, {"error": {"message": "This link is not valid"}})


def test_link_serves_no_other_method(door: Door) -> None:
    [part] = door.sign(door.begin(), 1)
    file = door.disk.sign_download(door.make(b"x").key, "x", in_five_minutes())

    assert [requests.request(method, part, timeout=TIMEOUT_SECONDS).status_code for method in ("GET", "POST")] == [
        405
    ] * 2
    assert [requests.request(method, file, timeout=TIMEOUT_SECONDS).status_code for method in ("PUT", "DELETE")] == [
        405
    ] * 2


@pytest.mark.parametrize("path", ["parts/x/1", "files/x/name"])
def test_preflight_allows_what_any_page_asks_for(door: Door, path: str) -> None:
    asked = {
        "Origin": "https://pages.example",
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "content-type, x-mine",
    }

    answer = requests.options(f"{door.server.origin}/objects/{path}", headers=asked, timeout=TIMEOUT_SECONDS)

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Allow-Methods"] == "GET, HEAD, PUT"
    assert answer.headers["Access-Control-Allow-Headers"] == "content-type, x-mine"
    assert int(answer.headers["Access-Control-Max-Age"]) > 0


def test_any_page_may_read_the_answers_and_the_refusals(door: Door) -> None:
    [url] = door.sign(door.begin(), 1)

    answers = [door.put(url, b"x", {"Origin": "https://pages.example"}), door.put(url + "0", b"x")]

    assert [answer.status_code for answer in answers] == [200, 404]
    assert {answer.headers["Access-Control-Allow-Origin"] for answer in answers} == {"*"}
    assert all("ETag" in answer.headers["Access-Control-Expose-Headers"] for answer in answers)


def test_memory_does_not_grow_with_the_bytes(door: Door) -> None:
    upload = door.begin()
    [url] = door.sign(upload, 1)
    door.put(url, bytes(4 * MIB))
    before = door.server.peak_memory()

    part = door.send(upload, 1, bytes(128 * MIB))
    door.finish(upload, [part])
    answer = door.get(door.disk.sign_download(upload.key, "zeros", in_five_minutes()))

    assert len(answer.content) == 128 * MIB
    assert door.server.peak_memory() - before < 16 * MIB
