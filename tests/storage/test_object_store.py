"""What every object store does, whichever it is: the promises of `app.storage.base`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import monotonic

import pytest

from app import clock
from app.storage.base import ObjectGone, PartsRefused, Stored, UploadGone
from app.storage.disposition import attachment
from app.storage.keys import new_key
from tests.storage.under_test import MIB, StoreUnderTest

Bytes = Callable[[int], bytes]

NAMES = {
    "plain": "rank_0.json",
    "in a folder": "traces/run 7/rank_0.json",
    "not ascii": "Läufe/Kernel-Übersicht α.json",
    "quotes": 'a "quoted" name; filename=x%41.json',
}


def test_store_answers_a_check(store: StoreUnderTest) -> None:
    store.store.check()


# Uploads


def test_begun_upload_holds_no_parts_and_is_no_object(store: StoreUnderTest) -> None:
    upload = store.begin()

    assert store.held(upload) == []
    assert store.store.stat(upload.key) is None


def test_two_uploads_of_one_key_have_ids_of_their_own(store: StoreUnderTest) -> None:
    key = new_key()

    assert store.store.begin(key, 1) != store.store.begin(key, 1)


def test_part_urls_come_in_the_order_of_the_numbers(store: StoreUnderTest) -> None:
    upload = store.begin(7)

    third, first = store.sign(upload, 3, 1)
    store.put(third, b"third")
    store.put(first, b"1.")

    assert [(part.number, part.size) for part in store.held(upload)] == [(1, 2), (3, 5)]


def test_parts_are_listed_in_ascending_number_with_the_etags_of_their_puts(store: StoreUnderTest) -> None:
    upload = store.begin(6)

    sent = [store.send(upload, number, b"x" * number) for number in (10, 2, 1)]

    assert store.held(upload) == sent[::-1]


def test_part_that_is_put_again_counts_with_its_last_bytes(store: StoreUnderTest) -> None:
    upload = store.begin(6)
    store.send(upload, 1, b"first and longer")
    last = store.send(upload, 1, b"second")

    assert store.held(upload) == [last]
    assert store.finish(upload, [last]).size == 6
    assert store.bytes_of(upload.key) == b"second"


def test_open_upload_is_listed_until_it_is_finished_or_aborted(faithful_store: StoreUnderTest) -> None:
    finished, aborted = faithful_store.begin(1), faithful_store.begin(1)
    both = {finished.key, aborted.key}
    begun = {upload.key: upload for upload in faithful_store.store.open_uploads() if upload.key in both}
    faithful_store.finish(finished, [faithful_store.send(finished, 1, b"x")])
    faithful_store.store.abort(aborted.key, aborted.upload_id)

    assert {key: upload.upload_id for key, upload in begun.items()} == {
        finished.key: finished.upload_id,
        aborted.key: aborted.upload_id,
    }
    assert all(abs(clock.now() - upload.begun_at) < timedelta(minutes=1) for upload in begun.values())
    assert not faithful_store.is_open(finished)
    assert not faithful_store.is_open(aborted)


# Finishing


def test_finished_object_has_the_bytes_of_its_only_part(store: StoreUnderTest, some_bytes: Bytes) -> None:
    content = some_bytes(300_000)

    made = store.make(content)

    assert made.stored == store.store.stat(made.key)
    assert made.stored.size == 300_000
    assert store.bytes_of(made.key) == content


def test_finished_object_has_the_bytes_of_its_parts_in_order(store: StoreUnderTest, some_bytes: Bytes) -> None:
    contents = [some_bytes(5 * MIB), some_bytes(5 * MIB), some_bytes(1234)]

    made = store.make(*contents)

    assert made.stored == store.store.stat(made.key)
    assert store.bytes_of(made.key) == b"".join(contents)


def test_object_of_no_bytes_is_an_object(store: StoreUnderTest) -> None:
    made = store.make(b"")

    assert made.stored.size == 0
    assert store.store.stat(made.key) == made.stored
    assert store.bytes_of(made.key) == b""


def test_second_finish_answers_as_the_first_did(store: StoreUnderTest) -> None:
    made = store.make(b"once")

    assert store.finish(made.upload, made.parts) == made.stored
    assert store.bytes_of(made.key) == b"once"


def test_finish_by_many_at_once_makes_one_object(faithful_store: StoreUnderTest, some_bytes: Bytes) -> None:
    contents = [some_bytes(5 * MIB), some_bytes(100)]
    upload, parts = faithful_store.upload(*contents)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: faithful_store.finish(upload, parts), range(8)))

    assert set(answers) == {faithful_store.store.stat(upload.key)}
    assert faithful_store.bytes_of(upload.key) == b"".join(contents)


def test_finish_refuses_a_part_that_was_replaced_and_leaves_the_upload_open(store: StoreUnderTest) -> None:
    upload, [before] = store.upload(b"before")
    now = store.send(upload, 1, b"behind")

    with pytest.raises(PartsRefused):
        store.finish(upload, [before])

    assert store.store.stat(upload.key) is None
    assert store.is_open(upload)
    repaired = store.send(upload, 1, b"before")
    assert repaired != now
    assert store.finish(upload, [repaired]).size == 6
    assert store.bytes_of(upload.key) == b"before"


def test_finish_refuses_a_part_that_was_never_put(store: StoreUnderTest, some_bytes: Bytes) -> None:
    upload, [first] = store.upload(some_bytes(5 * MIB))
    _, [elsewhere] = store.upload(b"tail")

    with pytest.raises(PartsRefused):
        store.finish(upload, [first, type(first)(2, elsewhere.size, elsewhere.etag)])

    assert store.held(upload) == [first]


def test_finish_of_an_aborted_upload_tells_that_it_is_gone(store: StoreUnderTest) -> None:
    upload, parts = store.upload(b"x")
    store.store.abort(upload.key, upload.upload_id)

    with pytest.raises(UploadGone):
        store.finish(upload, parts)


def test_finish_again_after_the_object_was_deleted_tells_that_it_is_gone(store: StoreUnderTest) -> None:
    made = store.make(b"x")
    store.store.delete([made.key])

    with pytest.raises(UploadGone):
        store.finish(made.upload, made.parts)


def test_part_url_changes_nothing_after_finish(store: StoreUnderTest) -> None:
    upload, parts = store.upload(b"promised")
    urls = store.sign(upload, 1, 2)
    stored = store.finish(upload, parts)

    answers = [store.put(url, b"replaced") for url in urls]

    assert all(answer.status_code >= 400 for answer in answers)
    assert store.store.stat(upload.key) == stored
    assert store.bytes_of(upload.key) == b"promised"


# Aborting


def test_aborted_upload_is_gone_and_takes_no_more_parts(store: StoreUnderTest) -> None:
    upload, _ = store.upload(b"x")
    [url] = store.sign(upload, 1)

    store.store.abort(upload.key, upload.upload_id)

    with pytest.raises(UploadGone):
        store.held(upload)
    assert store.put(url, b"y").status_code >= 400
    assert store.store.stat(upload.key) is None


def test_abort_of_an_unknown_upload_is_a_success(store: StoreUnderTest) -> None:
    upload = store.begin()
    store.store.abort(upload.key, upload.upload_id)

    store.store.abort(upload.key, upload.upload_id)
    store.store.abort(new_key(), None)

    assert not store.is_open(upload)


def test_abort_without_an_id_ends_all_uploads_of_the_key_and_no_other(store: StoreUnderTest) -> None:
    key, other = new_key(), store.begin()
    ids = {store.store.begin(key, 1), store.store.begin(key, 1)}

    store.store.abort(key, None)

    assert ids.isdisjoint(upload.upload_id for upload in store.store.open_uploads() if upload.key == key)
    assert store.is_open(other)


@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "by key"])
def test_abort_leaves_a_finished_object_alone(store: StoreUnderTest, by_id: bool) -> None:
    made = store.make(b"stays")

    store.store.abort(made.key, made.upload.upload_id if by_id else None)

    assert store.store.stat(made.key) == made.stored
    assert store.bytes_of(made.key) == b"stays"


# Reading


@pytest.mark.parametrize(
    ("start", "length"),
    [
        pytest.param(0, None, id="all"),
        pytest.param(0, 1, id="first byte"),
        pytest.param(5 * MIB - 3, 6, id="across parts"),
        pytest.param(5 * MIB, 10, id="from the border"),
        pytest.param(5 * MIB + 10, None, id="to the end"),
        pytest.param(5 * MIB + 999, 1, id="last byte"),
        pytest.param(100, 5 * MIB, id="more than a chunk"),
    ],
)
def test_read_gives_the_bytes_that_were_asked_for(
    store: StoreUnderTest, some_bytes: Bytes, start: int, length: int | None
) -> None:
    contents = [some_bytes(5 * MIB), some_bytes(1000)]
    whole = b"".join(contents)
    made = store.make(*contents)

    chunks = list(store.store.read(made.key, start, length))

    assert b"".join(chunks) == whole[start : None if length is None else start + length]
    assert max(map(len, chunks)) <= MIB


def test_read_and_stat_of_nothing(store: StoreUnderTest) -> None:
    key = new_key()

    assert store.store.stat(key) is None
    with pytest.raises(ObjectGone):
        next(store.store.read(key))


def test_intact_object_is_intact_and_no_other(store: StoreUnderTest) -> None:
    made = store.make(b"as it was")

    assert store.store.is_intact(made.key, made.stored)
    assert not store.store.is_intact(made.key, Stored(made.stored.size + 1, made.stored.etag))
    assert not store.store.is_intact(made.key, Stored(made.stored.size, "0" * 32))
    assert not store.store.is_intact(new_key(), made.stored)


@pytest.mark.parametrize("other", [b"as it is!", b"as it", b"", b"as it was and more"], ids=len)
def test_object_that_was_overwritten_is_not_intact(store: StoreUnderTest, other: bytes) -> None:
    made = store.make(b"as it was")

    store.overwrite(made.key, other)

    assert not store.store.is_intact(made.key, made.stored)


def test_deleted_objects_are_gone_and_deleting_them_again_is_a_success(store: StoreUnderTest) -> None:
    made, other, kept = store.make(b"1"), store.make(b"2"), store.make(b"3")

    store.store.delete([made.key, new_key(), other.key])
    store.store.delete([made.key, other.key])
    store.store.delete([])

    assert [store.store.stat(key) for key in (made.key, other.key, kept.key)] == [None, None, kept.stored]
    assert not store.store.is_intact(made.key, made.stored)


def test_objects_are_listed_in_the_order_of_keys_from_where_one_left_off(store: StoreUnderTest) -> None:
    made = sorted((store.make(b"x" * size) for size in range(1, 6)), key=lambda one: one.key)
    keys = [one.key for one in made]
    store.begin()

    listed = [found for found in store.store.objects() if found.key in keys]
    rest = [found.key for found in store.store.objects(after=keys[1]) if found.key in keys]

    assert [(found.key, Stored(found.size, found.etag)) for found in listed] == [(one.key, one.stored) for one in made]
    assert all(abs(clock.now() - found.modified_at) < timedelta(minutes=1) for found in listed)
    assert rest == keys[2:]


# Signed URLs


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_download_url_gives_the_bytes_as_an_attachment_of_its_name(store: StoreUnderTest, name: str) -> None:
    made = store.make(b"the bytes")

    answer = store.get(store.store.sign_download(made.key, name, clock.now() + timedelta(minutes=5)))

    assert (answer.status_code, answer.content) == (200, b"the bytes")
    assert answer.headers["Content-Disposition"] == attachment(name)
    assert answer.headers["Content-Length"] == "9"
    assert answer.headers["ETag"].strip('"') == made.stored.etag


@pytest.mark.parametrize(
    ("asked", "content", "content_range"),
    [
        pytest.param("bytes=2-4", b"234", "bytes 2-4/10", id="middle"),
        pytest.param("bytes=7-", b"789", "bytes 7-9/10", id="open end"),
        pytest.param("bytes=-4", b"6789", "bytes 6-9/10", id="suffix"),
    ],
)
def test_download_url_answers_a_range(store: StoreUnderTest, asked: str, content: bytes, content_range: str) -> None:
    made = store.make(b"0123456789")
    url = store.store.sign_download(made.key, "digits", clock.now() + timedelta(minutes=5))

    answer = store.get(url, {"Range": asked})

    assert (answer.status_code, answer.content) == (206, content)
    assert answer.headers["Content-Range"] == content_range


def test_range_behind_the_end_is_refused(store: StoreUnderTest) -> None:
    made = store.make(b"0123456789")
    url = store.store.sign_download(made.key, "digits", clock.now() + timedelta(minutes=5))

    assert store.get(url, {"Range": "bytes=10-"}).status_code == 416


@pytest.mark.parametrize("at", [-1, -3], ids=["last character", "third last character"])
def test_altered_part_url_takes_no_bytes(faithful_store: StoreUnderTest, at: int) -> None:
    upload = faithful_store.begin()
    [url] = faithful_store.sign(upload, 1)
    letters = list(url)
    letters[at] = "3" if letters[at] == "2" else "2"

    answer = faithful_store.put("".join(letters), b"x")

    assert answer.status_code in {403, 404}
    assert faithful_store.held(upload) == []


def test_download_url_takes_no_bytes(faithful_store: StoreUnderTest) -> None:
    made = faithful_store.make(b"as it was")
    url = faithful_store.store.sign_download(made.key, "name", clock.now() + timedelta(minutes=5))

    assert faithful_store.put(url, b"otherwise").status_code in {403, 405}
    assert faithful_store.bytes_of(made.key) == b"as it was"


def test_part_url_stops_when_it_was_said_to(faithful_store: StoreUnderTest) -> None:
    upload = faithful_store.begin(1)
    [url] = faithful_store.sign(upload, 1, until=clock.now() + timedelta(seconds=2))

    assert faithful_store.put(url, b"x").status_code == 200
    assert _refused_within(8, lambda: faithful_store.put(url, b"y").status_code)


def test_download_url_stops_when_it_was_said_to(faithful_store: StoreUnderTest) -> None:
    made = faithful_store.make(b"x")
    url = faithful_store.store.sign_download(made.key, "name", clock.now() + timedelta(seconds=2))

    assert faithful_store.get(url).status_code == 200
    assert _refused_within(8, lambda: faithful_store.get(url).status_code)


def _refused_within(seconds: float, ask: Callable[[], int]) -> bool:
    """Whether the URL is forbidden before that time is over; asked again and again."""
    end = monotonic() + seconds
    while monotonic() < end:
        if ask() == 403:
            return True
    return False
