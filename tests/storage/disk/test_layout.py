"""Where the disk store keeps things, and what becomes a path there."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from app import clock
from app.storage.base import MAX_PARTS, Stored, UploadGone
from app.storage.disk import DiskStore
from tests.storage.disk.on_disk import (
    bytes_of,
    files_below,
    make,
    segment_file,
    send,
)

SHA256_OF_A, SHA256_OF_B = (
    "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
)
SHA256_OF_BOTH_DIGESTS = "e5a01fee14e0ed5c48714f22180f25ad8365b53f9779f79dc4a3d7e93963f94a"

Store = Callable[[DiskStore, str], object]


def test_etag_of_a_part_is_the_sha256_of_its_bytes(store: DiskStore) -> None:
    _, [part] = send(store, b"a")

    assert part.etag == SHA256_OF_A


def test_etag_of_an_object_is_that_of_its_part_or_a_digest_of_digests(store: DiskStore) -> None:
    assert make(store, b"a").stored == Stored(1, SHA256_OF_A)
    assert make(store, b"a", b"b").stored == Stored(2, f"{SHA256_OF_BOTH_DIGESTS}-2")


def test_finished_object_is_the_very_files_that_were_put(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"first", b"second")
    before = {segment_file(root, upload.key, number).stat().st_ino for number in (1, 2)}

    store.finish(upload.key, upload.upload_id, parts)

    assert {segment_file(root, upload.key, number).stat().st_ino for number in (1, 2)} == before


def test_nothing_is_left_of_a_deleted_object_and_an_aborted_upload(root: Path, store: DiskStore) -> None:
    made, (upload, _) = make(store, b"a", b"b"), send(store, b"c")

    store.delete([made.key])
    store.abort(upload.key, upload.upload_id)

    assert files_below(root) == []
    assert list((root / "tmp").iterdir()) == []


def test_parts_of_a_finished_upload_are_still_told(store: DiskStore) -> None:
    made = make(store, b"a", b"b")

    assert store.parts(made.key, made.upload.upload_id) == made.parts


def test_object_of_the_largest_number_of_parts(store: DiskStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)  # Ten thousand of them would be most of the test's time.
    made = make(store, *(b"%05d" % number for number in range(MAX_PARTS)))

    assert made.stored.size == 5 * MAX_PARTS
    assert store.is_intact(made.key, made.stored)
    assert bytes_of(store, made.key, 5 * 9_998) == b"0999809999"


def test_other_files_in_an_upload_are_no_parts(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"a")
    folder = segment_file(root, upload.key).parent
    for name in ("2", "03", "10001", "x", "²"):
        (folder / name).write_bytes(b"not a segment of ours, but long enough for the trailer of one")

    assert store.parts(upload.key, upload.upload_id) == parts


@pytest.mark.parametrize(
    "key",
    ["", ".", "..", "../../etc/passwd", "/etc/passwd", "lib/ab/../../x", "lib/aa/" + "a" * 25, "lib/aa/" + "A" * 26]
    + ["lib/aa/" + "a" * 26 + tail for tail in ("\n", "\0", "/", "/x", ".json")],
)
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda store, key: store.begin(key, 1), id="begin"),
        pytest.param(lambda store, key: store.write_part(key, "0" * 24, 1, [b""]), id="write_part"),
        pytest.param(lambda store, key: store.parts(key, "0" * 24), id="parts"),
        pytest.param(lambda store, key: store.finish(key, "0" * 24, []), id="finish"),
        pytest.param(lambda store, key: store.abort(key, None), id="abort"),
        pytest.param(lambda store, key: store.stat(key), id="stat"),
        pytest.param(lambda store, key: store.is_intact(key, Stored(1, "")), id="is_intact"),
        pytest.param(lambda store, key: store.read(key), id="read"),
        pytest.param(lambda store, key: store.delete([key]), id="delete"),
    ],
)
def test_only_keys_of_our_own_form_become_paths(root: Path, store: DiskStore, key: str, call: Store) -> None:
    before = sorted(root.parent.rglob("*"))

    with pytest.raises(ValueError, match="Not a key"):
        call(store, key)

    assert sorted(root.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "upload_id", ["", ".", "../x", "0" * 23, "0" * 24 + "/..", "0" * 24 + "\n", "G" * 24, "2~Ab/+="]
)
def test_only_upload_ids_of_our_own_form_become_paths(store: DiskStore, upload_id: str) -> None:
    upload, parts = send(store, b"a")

    with pytest.raises(UploadGone):
        store.parts(upload.key, upload_id)
    with pytest.raises(UploadGone):
        store.write_part(upload.key, upload_id, 1, [b"x"])
    with pytest.raises(UploadGone):
        store.finish(upload.key, upload_id, parts)
    store.abort(upload.key, upload_id)
    assert store.parts(upload.key, upload.upload_id) == parts


def test_litter_goes_when_it_is_old(root: Path, store: DiskStore) -> None:
    (root / "tmp" / "draft").write_bytes(b"half a part")
    (root / "tmp" / "trash").mkdir()
    (root / "tmp" / "trash" / "1").write_bytes(b"a part")

    kept = store.remove_litter(clock.now() - timedelta(hours=1))
    removed = store.remove_litter(clock.now() + timedelta(seconds=1))

    assert (kept, removed) == (0, 2)
    assert files_below(root) == []
