"""Processes that die in the middle of a step, or rival for one."""

from datetime import timedelta
from pathlib import Path

import pytest

from app import clock
from app.storage.base import PartsRefused, UploadGone
from app.storage.disk import DiskStore
from tests.storage.disk.on_disk import (
    DIED,
    OtherProcess,
    bytes_of,
    files_below,
    make,
    run_other_process,
    send,
)

FINISH = {
    "before the key's folder is synced": 1,
    "before its subfolder is synced": 2,
    "before the freeze": 3,
    "after the freeze": 4,
    "before the manifest is synced": 5,
    "before the manifest is in place": 6,
    "before the manifest's folder is synced": 7,
}


@pytest.mark.parametrize("call", FINISH.values(), ids=FINISH)
def test_finish_again_after_a_death_makes_the_object(root: Path, store: DiskStore, call: int) -> None:
    upload, parts = send(store, b"first", b"second")

    assert run_other_process(root, "finish", upload, dies_before=call) == ("", DIED)
    seen_between = store.stat(upload.key), upload.upload_id in {one.upload_id for one in store.open_uploads()}
    listed_between = store.parts(upload.key, upload.upload_id)
    stored = store.finish(upload.key, upload.upload_id, parts)

    assert seen_between == ((stored, False) if call == 7 else (None, True))
    assert listed_between == parts
    assert store.is_intact(upload.key, stored)
    assert bytes_of(store, upload.key) == b"firstsecond"
    assert list(store.open_uploads()) == []


@pytest.mark.parametrize("call", [3, 4, 6], ids=["before the freeze", "after the freeze", "before the manifest"])
def test_abort_after_a_death_leaves_nothing(root: Path, store: DiskStore, call: int) -> None:
    upload, parts = send(store, b"first", b"second")
    run_other_process(root, "finish", upload, dies_before=call)

    store.abort(upload.key, upload.upload_id)

    with pytest.raises(UploadGone):
        store.finish(upload.key, upload.upload_id, parts)
    store.remove_litter(clock.now() + timedelta(seconds=1))
    assert files_below(root) == []


def test_refusal_that_died_before_its_end_is_healed_by_the_next_one(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"first", b"second")

    assert run_other_process(root, "finish with other parts", upload, dies_before=4) == ("", DIED)
    with pytest.raises(PartsRefused):
        store.finish(upload.key, upload.upload_id, parts[:1])
    store.write_part(upload.key, upload.upload_id, 1, [b"first"])

    assert store.finish(upload.key, upload.upload_id, parts).size == 11


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5], ids=["manifest", "folder", "first part", "last part", "empty folder"])
def test_delete_again_after_a_death_leaves_nothing(root: Path, store: DiskStore, call: int) -> None:
    made = make(store, b"first", b"second")

    assert run_other_process(root, "delete", made.upload, dies_before=call) == ("", DIED)
    seen_between = store.stat(made.key)
    store.delete([made.key])
    store.remove_litter(clock.now() + timedelta(seconds=1))

    assert seen_between == (made.stored if call == 1 else None)
    assert store.stat(made.key) is None
    assert files_below(root) == []


def test_part_whose_writer_is_killed_is_not_seen(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"before")

    process = OtherProcess(root, "write forever", upload)
    process.go()
    process.kill_when("written")

    assert store.parts(upload.key, upload.upload_id) == parts
    assert store.remove_litter(clock.now() + timedelta(seconds=1)) == 1
    assert store.finish(upload.key, upload.upload_id, parts).size == 6


def test_finish_by_many_processes_at_once_makes_one_object(root: Path, store: DiskStore) -> None:
    upload, parts = send(store, b"first", b"second")

    rivals = [OtherProcess(root, "finish", upload) for _ in range(4)]
    for rival in rivals:
        rival.go()
    answers = {rival.said() for rival in rivals}

    assert answers == {(str(store.stat(upload.key)), 0)}
    assert store.parts(upload.key, upload.upload_id) == parts
    assert bytes_of(store, upload.key) == b"firstsecond"
