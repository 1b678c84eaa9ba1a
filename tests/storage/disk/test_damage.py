"""Bytes that were lost or altered behind the disk store's back."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.storage.base import ObjectDamaged, ObjectGone
from app.storage.disk import DiskStore
from app.storage.disk_format import list_segments, load_manifest
from tests.storage.disk.on_disk import (
    bytes_of,
    make,
    segment_file,
)


def _restore(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.rename(path)


def _write_with_the_same_times(path: Path, data: bytes) -> None:
    status = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


DAMAGE: dict[str, Callable[[Path, bytes], object]] = {
    "deleted": lambda path, whole: path.unlink(),
    "cut": lambda path, whole: path.write_bytes(whole[:-1]),
    "emptied": lambda path, whole: path.write_bytes(b""),
    "longer": lambda path, whole: path.write_bytes(whole + b"x"),
    "first byte": lambda path, whole: path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:]),
    "last byte": lambda path, whole: path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 255])),
    "size in the trailer": lambda path, whole: path.write_bytes(whole[:-33] + b"\x00" + whole[-32:]),
    "times kept": lambda path, whole: _write_with_the_same_times(path, b"X" + whole[1:]),
    "other content with its own trailer": lambda path, whole: path.write_bytes(path.with_name("2").read_bytes()),
}


def wait_for_the_next_tick(path: Path) -> None:
    """Until a change to the file would get another time; a few milliseconds at most, see `Segment`."""
    probe = path.with_name("probe")
    while not probe.exists() or probe.stat().st_ctime_ns == path.stat().st_ctime_ns:
        probe.write_bytes(b"")
    probe.unlink()


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_object_is_not_intact(root: Path, store: DiskStore, damage: Callable[[Path, bytes], object]) -> None:
    made, other = make(store, b"same size 1", b"same size 2"), make(store, b"same size 1", b"same size 2")
    path = segment_file(root, made.key)
    wait_for_the_next_tick(path)

    damage(path, path.read_bytes())

    assert not store.is_intact(made.key, made.stored)
    assert store.is_intact(other.key, other.stored)
    assert store.stat(made.key) == made.stored


@pytest.mark.parametrize(
    "touch",
    [
        pytest.param(os.utime, id="touched"),
        pytest.param(lambda path: path.chmod(0o600), id="mode"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()), id="written again"),
        pytest.param(
            lambda path: path.with_name("copy").write_bytes(path.read_bytes()) and path.with_name("copy").rename(path),
            id="restored",
        ),
    ],
)
def test_object_whose_bytes_are_as_they_were_is_intact(
    root: Path, store: DiskStore, touch: Callable[[Path], object]
) -> None:
    made = make(store, b"first", b"second")

    touch(segment_file(root, made.key))

    assert store.is_intact(made.key, made.stored)


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 1}\n', b"[1, 2]\n[]\n", b"\xff\n"], ids=repr)
def test_object_whose_manifest_is_damaged_is_gone_until_it_is_finished_again(
    root: Path, store: DiskStore, content: bytes
) -> None:
    made = make(store, b"first", b"second")
    (root / "objects" / made.key).write_bytes(content)

    assert store.stat(made.key) is None
    assert not store.is_intact(made.key, made.stored)
    with pytest.raises(ObjectGone):
        store.read(made.key)
    assert [found.key for found in store.objects()] == []
    store.abort(made.key, None)
    assert store.finish(made.key, made.upload.upload_id, made.parts) == made.stored
    assert bytes_of(store, made.key) == b"firstsecond"


@pytest.mark.parametrize("damage", ["cut", "emptied", "deleted"])
def test_read_of_bytes_that_are_missing_is_refused_before_the_first_of_them(
    root: Path, store: DiskStore, damage: str
) -> None:
    made = make(store, b"first", b"second" * 100)
    path = segment_file(root, made.key, 2)
    DAMAGE[damage](path, path.read_bytes()[:-80])

    with pytest.raises(ObjectDamaged):
        store.read(made.key)
    assert b"".join(store.read(made.key, 0, 5)) == b"first"


def test_what_was_read_and_found_right_need_not_be_read_again(root: Path, store: DiskStore) -> None:
    made = make(store, b"first", b"second")
    path = segment_file(root, made.key)
    manifest = root / "objects" / made.key
    wait_for_the_next_tick(path)
    (root / "link").hardlink_to(path)
    before = load_manifest(manifest)
    assert before is not None
    assert list(before.segments) != list_segments(path.parent)

    assert store.is_intact(made.key, made.stored)

    after = load_manifest(manifest)
    assert after is not None
    assert list(after.segments) == list_segments(path.parent)
    assert (after.stored, after.upload_id) == (before.stored, before.upload_id)
    path.write_bytes(b"X" + path.read_bytes()[1:])
    assert not store.is_intact(made.key, made.stored)
