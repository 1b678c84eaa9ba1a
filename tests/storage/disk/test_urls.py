"""The disk store's tokens and URLs: what they open, and what they do not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from app import clock
from app.errors import Forbidden, NotFound
from app.storage.disk_urls import DiskURLs, SignedTokens
from app.storage.keys import new_key

ORIGIN = "http://traces.example:8000"
UPLOAD_ID = "0123456789abcdef01234567"


@pytest.fixture
def urls() -> DiskURLs:
    """URLs under one key."""
    return DiskURLs("one key", lambda: ORIGIN)


def soon() -> datetime:
    return clock.now() + timedelta(minutes=1)


def parts_token(url: str) -> str:
    return url.removeprefix(f"{ORIGIN}/objects/parts/").partition("/")[0]


def file_words(url: str) -> list[str]:
    return url.removeprefix(f"{ORIGIN}/objects/files/").split("/")


def test_part_url_opens_the_upload_that_it_was_made_for(urls: DiskURLs) -> None:
    key = new_key()

    first, last = urls.parts(key, UPLOAD_ID, [2, 64], soon())

    assert first == f"{ORIGIN}/objects/parts/{parts_token(first)}/2"
    assert last == f"{ORIGIN}/objects/parts/{parts_token(first)}/64"
    assert urls.open_part(parts_token(first), 64) == (key, UPLOAD_ID)


def test_no_parts_have_no_urls(urls: DiskURLs) -> None:
    assert urls.parts(new_key(), UPLOAD_ID, [], soon()) == []


@pytest.mark.parametrize("number", [0, 65, 10_001])
def test_part_url_opens_no_number_outside_the_plan(urls: DiskURLs, number: int) -> None:
    [url] = urls.parts(new_key(), UPLOAD_ID, [64], soon())

    with pytest.raises(NotFound, match=f"no part {number} "):
        urls.open_part(parts_token(url), number)


@pytest.mark.parametrize("name", ["rank_0.json", "a b?c#d&e=%41.json", "Läufe α.json", "x" * 255, "\n\"'", "é" * 512])
def test_download_url_opens_its_object_under_its_name(urls: DiskURLs, name: str) -> None:
    key = new_key()

    token, shown = file_words(urls.download(key, f"folder/{name}", soon()))

    assert shown == quote(name, safe="")
    assert urls.open_download(token, name) == key


def test_download_url_of_the_longest_name_fits_a_request_line(urls: DiskURLs) -> None:
    url = urls.download(new_key(), "é" * 512, soon())

    assert len(f"GET {url.removeprefix(ORIGIN)} HTTP/1.1\r\n") < 4094


def test_download_url_opens_under_no_other_name(urls: DiskURLs) -> None:
    token, _ = file_words(urls.download(new_key(), "trace.json", soon()))

    with pytest.raises(Forbidden, match="not valid"):
        urls.open_download(token, "trace.exe")


def test_token_of_one_purpose_is_none_for_another(urls: DiskURLs) -> None:
    [url] = urls.parts(new_key(), UPLOAD_ID, [1], soon())
    token, name = file_words(urls.download(new_key(), "1", soon()))

    with pytest.raises(Forbidden):
        urls.open_download(parts_token(url), "")
    with pytest.raises(Forbidden):
        urls.open_part(token, int(name))


def test_token_of_another_key_is_not_valid(urls: DiskURLs) -> None:
    [url] = DiskURLs("another key", lambda: ORIGIN).parts(new_key(), UPLOAD_ID, [1], soon())

    with pytest.raises(Forbidden, match="not valid"):
        urls.open_part(parts_token(url), 1)


@pytest.mark.parametrize(
    "alter",
    [
        pytest.param(lambda token, at: token[:at] + ("B" if token[at] == "A" else "A") + token[at + 1 :], id="changed"),
        pytest.param(lambda token, at: token[:at] + token[at + 1 :], id="missing"),
        pytest.param(lambda token, at: token[:at] + "=" + token[at:], id="added"),
        pytest.param(lambda token, at: token[:at] + "é" + token[at:], id="not ascii"),
    ],
)
def test_altered_token_is_not_valid_whichever_character_it_is(alter: Callable[[str, int], str]) -> None:
    tokens = SignedTokens("one key")
    token = tokens.seal("purpose", ["a", 1], soon())

    for at in range(len(token)):
        with pytest.raises(Forbidden, match="not valid"):
            tokens.open("purpose", alter(token, at))


@pytest.mark.parametrize("token", ["", ".", "..", "e30", "e30.", ".x", "\0", "a" * 10_000])
def test_what_is_no_token_is_not_valid(token: str) -> None:
    with pytest.raises(Forbidden, match="not valid"):
        SignedTokens("one key").open("purpose", token)


def test_token_gives_back_its_fields() -> None:
    tokens = SignedTokens("one key")

    assert tokens.open("purpose", tokens.seal("purpose", ["ä/b", 12], soon())) == ["ä/b", 12]


def test_token_ends_at_its_second(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = SignedTokens("one key")
    until = datetime(2026, 11, 29, 12, 0, 30, 900_000, tzinfo=UTC)
    token = tokens.seal("purpose", ["a"], until)

    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 11, 29, 12, 0, 29, 999_999, tzinfo=UTC))
    assert tokens.open("purpose", token) == ["a"]
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC))
    with pytest.raises(Forbidden, match="expired"):
        tokens.open("purpose", token)
