"""Full disks, missing volumes, sources that fail and parts that come too late."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import StoreFull, StoreUnavailable
from app.storage.base import PartsRefused, Stored, UploadGone
from app.storage.disk import DiskStore
from app.storage.keys import new_key
from tests.storage.disk.on_disk import (
    bytes_of,
    make,
    open_store,
    run_other_process,
    send,
)

Store = Callable[[DiskStore, str], object]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT], ids=["ENOSPC", "EDQUOT"])
def test_full_disk_takes_no_part_and_leaves_nothing(
    root: Path, store: DiskStore, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    upload, parts = send(store, b"before")
    write = os.write

    def write_until_full(file: int, data: bytes) -> int:
        if bytes(data[:5]) == b"after":
            raise OSError(code, os.strerror(code))
        return write(file, data)

    monkeypatch.setattr(os, "write", write_until_full)
    with pytest.raises(StoreFull):
        store.write_part(upload.key, upload.upload_id, 1, [b"just", b"after"])

    assert list((root / "tmp").iterdir()) == []
    assert store.parts(upload.key, upload.upload_id) == parts


def test_write_that_the_kernel_cuts_is_a_full_disk(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"before")

    assert run_other_process(root, "write on a full disk", upload) == ("The file store is full", 0)

    assert list((root / "tmp").iterdir()) == []
    assert store.parts(upload.key, upload.upload_id) == parts


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda store, key: store.begin(key, 1), id="begin"),
        pytest.param(lambda store, key: store.write_part(key, "0" * 24, 1, [b""]), id="write_part"),
        pytest.param(lambda store, key: store.parts(key, "0" * 24), id="parts"),
        pytest.param(lambda store, key: store.finish(key, "0" * 24, []), id="finish"),
        pytest.param(lambda store, key: store.stat(key), id="stat"),
        pytest.param(lambda store, key: store.is_intact(key, Stored(1, "")), id="is_intact"),
        pytest.param(lambda store, key: store.read(key), id="read"),
        pytest.param(lambda store, key: list(store.objects()), id="objects"),
        pytest.param(lambda store, key: list(store.open_uploads()), id="open_uploads"),
        pytest.param(lambda store, key: store.check(), id="check"),
    ],
)
def test_volume_that_is_not_mounted_is_no_empty_store(root: Path, store: DiskStore, call: Store) -> None:
    root.rename(root.with_name("elsewhere"))
    root.mkdir()

    with pytest.raises(StoreUnavailable):
        call(store, new_key())

    assert list(root.iterdir()) == []


def test_root_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnavailable):
        open_store(tmp_path / "file" / "store")


def test_part_that_was_on_its_way_when_the_upload_was_finished_is_refused(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"promised")

    def finish_meanwhile() -> "list[bytes]":
        store.finish(upload.key, upload.upload_id, parts)
        return [b"replaced"]

    with pytest.raises(UploadGone):
        store.write_part(upload.key, upload.upload_id, 1, (chunk for _ in "x" for chunk in finish_meanwhile()))

    assert bytes_of(store, upload.key) == b"promised"
    assert list((root / "tmp").iterdir()) == []


def test_part_whose_source_fails_is_not_kept(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"before")

    with pytest.raises(ZeroDivisionError):
        store.write_part(upload.key, upload.upload_id, 1, (b"%d" % (1 // n) for n in (1, 0)))

    assert list((root / "tmp").iterdir()) == []
    assert store.parts(upload.key, upload.upload_id) == parts


def test_second_upload_of_a_finished_key_does_not_replace_it(store: DiskStore) -> None:
    made = make(store, b"first")
    second = store.begin(made.key, 5)
    part = store.write_part(made.key, second, 1, [b"other"])

    with pytest.raises(PartsRefused):
        store.finish(made.key, second, [part])
    store.abort(made.key, second)

    assert bytes_of(store, made.key) == b"first"
    assert list(store.open_uploads()) == []
