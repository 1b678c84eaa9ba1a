"""The default store: objects as folders of segments below one root.

    tmp/<random>                      what is being written, and what is being removed
    uploads/lib/ab/<name>.<id>/<n>    the parts of an open upload
    objects/lib/ab/<name>.<id>/<n>    the same folder, frozen
    objects/lib/ab/<name>             the manifest, which makes an object of the frozen folder
    locks/ab                          held while an upload ends or an object goes, one for all keys of a folder

Why: an upload ends by renaming its folder. From then on a part that arrives late finds no folder to go to, so what
was listed is what is kept (C8), and nothing is copied, whatever the size (C9). Only then is the list compared and the
manifest written; a death on the way leaves a frozen folder, which `finish` takes up and `abort` removes.

Why locks: two ends of one upload at once (finish, finish; finish, abort) would otherwise have to undo each other's
renames. They are advisory locks of the operating system, so that a dead process holds none.

Parts are on the disk when their PUT is answered; folders are synced when the object is finished.
"""

import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from app import clock
from app.errors import StoreFull, StoreUnavailable
from app.storage.base import (
    FoundObject,
    ObjectDamaged,
    ObjectGone,
    OpenUpload,
    Part,
    PartsRefused,
    Stored,
    UploadGone,
)
from app.storage.disk_format import (
    Manifest,
    list_segments,
    load_manifest,
    load_stored,
    read_exactly,
    write_segment,
)
from app.storage.disk_paths import (
    begun_at,
    is_upload_id,
    make_parents,
    names_in,
    new_upload_id,
    object_path,
    remove,
    shards,
    sync_folder,
    upload_folder,
    upload_folders,
)
from app.storage.disk_urls import DiskURLs
from app.storage.keys import is_key
from app.storage.metrics import metered

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@metered
class DiskStore:
    """The object store in one folder, on one file system, local or a network one that keeps locks and renames.

    Args:
        root: the folder; made where there is none. Any number of processes may share it.
        signing_key: the secret under which URLs are signed.
        origin: gives scheme, host and port of the door that serves the URLs.
    """

    concurrency = 8

    def __init__(self, root: Path, signing_key: str, origin: Callable[[], str]) -> None:
        self.urls = DiskURLs(signing_key, origin)
        self._tmp, self._uploads, self._objects, self._locks = (
            root / name for name in ("tmp", "uploads", "objects", "locks")
        )
        with _disk_errors():
            for folder in (self._tmp, self._uploads, self._objects, self._locks):
                folder.mkdir(parents=True, exist_ok=True)

    # Uploads

    def begin(self, key: str, size: int) -> str:  # noqa: ARG002  # a disk needs no plan
        """As `ObjectStore.begin`; the id begins with the time, by which `open_uploads` tells the age."""
        upload_id = new_upload_id(clock.now())
        with _disk_errors():
            folder = upload_folder(self._uploads, key, upload_id)
            make_parents(folder, below=self._uploads)
            folder.mkdir()
        return upload_id

    def sign_parts(self, key: str, upload_id: str, numbers: Sequence[int], until: datetime) -> list[str]:
        """As `ObjectStore.sign_parts`."""
        return self.urls.parts(key, upload_id, numbers, until)

    def write_part(self, key: str, upload_id: str, number: int, chunks: Iterable[bytes]) -> Part:
        """Store a part; it replaces one of the same number as a whole, or not at all.

        Args:
            number: from 1; the caller has checked it.
            chunks: the part's bytes. What reading them raises passes through, and nothing is kept; an OSError of
                theirs would be taken for one of the disk.

        Raises:
            UploadGone: the upload has ended, or never began.
            StoreFull: the disk has no room.
        """
        with _disk_errors():
            folder = upload_folder(self._uploads, key, upload_id)
            if not folder.is_dir():
                self._require_root()
                raise UploadGone(upload_id)
            with self._draft() as draft:
                with draft.open("xb", buffering=0) as file:
                    size, sha256 = write_segment(file.fileno(), chunks)
                try:
                    draft.rename(folder / str(number))
                except FileNotFoundError as exc:
                    raise UploadGone(upload_id) from exc
        return Part(number, size, sha256)

    def parts(self, key: str, upload_id: str) -> list[Part]:
        """As `ObjectStore.parts`; those of a finished upload are still told."""
        with _disk_errors():
            # A finish may move the folder there, and back, while we look.
            for area in (self._uploads, self._objects, self._uploads):
                with suppress(FileNotFoundError):
                    return [segment.part for segment in list_segments(upload_folder(area, key, upload_id))]
            self._require_root()
        raise UploadGone(upload_id)

    def finish(self, key: str, upload_id: str, parts: Sequence[Part]) -> Stored:
        """As `ObjectStore.finish`; may be called by any number of processes at once.

        Raises:
            UploadGone: neither the upload nor an object is there.
            PartsRefused: the store holds other parts; an upload that was open is open still.
        """
        with _disk_errors(), self._locked(key):
            manifest = load_manifest(object_path(self._objects, key)) or self._seal(key, upload_id, parts)
            if [segment.part for segment in manifest.segments] != list(parts):
                raise PartsRefused(upload_id)
            # Also when the manifest was there: who wrote it may have died before this line.
            sync_folder(object_path(self._objects, key).parent)
        return manifest.stored

    def abort(self, key: str, upload_id: str | None) -> None:
        """As `ObjectStore.abort`."""
        with _disk_errors(), self._locked(key):
            is_finished = object_path(self._objects, key).exists()
            for area in [self._uploads] if is_finished else [self._uploads, self._objects]:
                for folder in upload_folders(area, key):
                    if upload_id is None or folder.name.endswith(f".{upload_id}"):
                        self._discard(folder)

    def open_uploads(self) -> Iterator[OpenUpload]:
        """As `ObjectStore.open_uploads`; folders that were frozen and have no manifest are open too."""
        with _disk_errors():
            self._require_root()
            for shard in shards(self._uploads):
                yield from _open_uploads(shard, set(names_in(shard)))
            for shard in shards(self._objects):
                names = set(names_in(shard))
                yield from _open_uploads(shard, {name for name in names if name.partition(".")[0] not in names})

    # Objects

    def stat(self, key: str) -> Stored | None:
        """As `ObjectStore.stat`; reads the manifest's first line and nothing else."""
        with _disk_errors():
            stored = load_stored(object_path(self._objects, key))
            if stored is None:
                self._require_root()
            return stored

    def is_intact(self, key: str, stored: Stored) -> bool:
        """As `ObjectStore.is_intact`; the bytes are read where a file's times have changed, and then not again."""
        with _disk_errors():
            manifest = load_manifest(object_path(self._objects, key))
            if manifest is None:
                self._require_root()
            if manifest is None or manifest.stored != stored:
                return False
            folder = upload_folder(self._objects, key, manifest.upload_id)
            seen = manifest.seen_in(folder)
            if seen is not None and seen != manifest:
                self._remember(key, manifest, seen)
            return seen is not None

    def read(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """As `ObjectStore.read`; that there is such an object, of whole segments, is checked at the call."""
        with _disk_errors():
            manifest = load_manifest(object_path(self._objects, key))
            if manifest is None:
                self._require_root()
                raise ObjectGone(key)
            end = manifest.stored.size if length is None else min(start + length, manifest.stored.size)
            folder = upload_folder(self._objects, key, manifest.upload_id)
            spans = list(manifest.spans(start, end))
            if not all(segment.has_its_length(folder) for segment, _, _ in spans):
                raise ObjectDamaged(key)
        return chain.from_iterable(_read_segment(folder / str(s.number), first, n) for s, first, n in spans)

    def delete(self, keys: Sequence[str]) -> None:
        """As `ObjectStore.delete`; the manifest goes first, and with it the object."""
        with _disk_errors():
            for key in keys:
                with self._locked(key):
                    object_path(self._objects, key).unlink(missing_ok=True)
                    for folder in upload_folders(self._objects, key):
                        self._discard(folder)

    def sign_download(self, key: str, name: str, until: datetime) -> str:
        """As `ObjectStore.sign_download`."""
        return self.urls.download(key, name, until)

    def objects(self, after: str | None = None, *, closely: bool = False) -> Iterator[FoundObject]:
        """As `ObjectStore.objects`; closely: all segments are there, and of the right length."""
        with _disk_errors():
            self._require_root()
            for shard in shards(self._objects):
                yield from self._objects_in(shard, after or "", closely=closely)

    def copy_to(self, other: "DiskStore", key: str) -> Stored | None:
        """Put the object into another store too, by hard links where both lie on one file system; may be repeated.

        It is the caller's to see that the copy reaches the disk. The manifest keeps the times of the files that were
        copied, so that the first look at the copy reads its bytes.

        Returns:
            The object; None where it is not here, or not whole.
        """
        with _disk_errors():
            manifest = load_manifest(object_path(self._objects, key))
            if manifest is None:
                self._require_root()
                return None
            if other._whole(key) == manifest.stored:
                return manifest.stored
            other.delete([key])
            source, target = (upload_folder(at._objects, key, manifest.upload_id) for at in (self, other))
            draft = other._tmp / secrets.token_hex(16)
            draft.mkdir()
            if not manifest.copy_segments(source, draft):
                remove(draft)
                return None
            make_parents(target, below=other._objects)
            draft.rename(target)
            other._write_manifest(key, manifest, is_synced=False)
        return manifest.stored

    # Care

    def check(self) -> None:
        """As `ObjectStore.check`: the root is there and takes a file."""
        probe = self._tmp / secrets.token_hex(16)
        with _disk_errors():
            self._require_root()
            probe.touch(exist_ok=False)
            probe.unlink()

    def remove_litter(self, older_than: datetime) -> int:
        """Remove what dead processes left half written or half removed; tells how much it was."""
        removed = 0
        with _disk_errors(), os.scandir(self._tmp) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime < older_than.timestamp():
                        remove(Path(entry.path))
                        removed += 1
        return removed

    def _seal(self, key: str, upload_id: str, parts: Sequence[Part]) -> Manifest:
        """Freeze the upload's folder and, if it holds these parts, make it an object; the lock is held."""
        folder, frozen = (upload_folder(area, key, upload_id) for area in (self._uploads, self._objects))
        for changed in make_parents(frozen, below=self._objects):
            sync_folder(changed)
        try:
            folder.rename(frozen)
        except FileNotFoundError as exc:
            if not frozen.is_dir():
                self._require_root()
                raise UploadGone(upload_id) from exc
        manifest = Manifest.of(upload_id, list_segments(frozen))
        if not parts or [segment.part for segment in manifest.segments] != list(parts):
            frozen.rename(folder)
            raise PartsRefused(upload_id)
        sync_folder(frozen)
        self._write_manifest(key, manifest)
        return manifest

    def _write_manifest(self, key: str, manifest: Manifest, *, is_synced: bool = True) -> None:
        with self._draft() as draft:
            with draft.open("xb", buffering=0) as file:
                file.write(manifest.dump())
                if is_synced:
                    os.fsync(file.fileno())
            draft.rename(object_path(self._objects, key))

    def _remember(self, key: str, known: Manifest, seen: Manifest) -> None:
        """Keep the times of files that were read and found right, so that the next look need not read them."""
        with suppress(OSError), self._locked(key):
            if load_manifest(object_path(self._objects, key)) == known:
                self._write_manifest(key, seen)

    def _objects_in(self, shard: Path, after: str, *, closely: bool) -> Iterator[FoundObject]:
        if f"lib/{shard.name}/~" <= after:
            return
        for name in sorted(names_in(shard)):
            key = f"lib/{shard.name}/{name}"
            if key <= after or not is_key(key):
                continue
            stored = self._whole(key) if closely else load_stored(shard / name)
            if stored is not None:
                with suppress(FileNotFoundError):
                    modified_at = datetime.fromtimestamp((shard / name).stat().st_mtime, UTC)
                    yield FoundObject(key, stored.size, stored.etag, modified_at)

    def _whole(self, key: str) -> Stored | None:
        """The object, where all its segments are there; their bytes are not read."""
        manifest = load_manifest(object_path(self._objects, key))
        if manifest is None:
            return None
        return manifest.stored if manifest.is_in(upload_folder(self._objects, key, manifest.upload_id)) else None

    @contextmanager
    def _draft(self) -> Iterator[Path]:
        """A fresh path on the same file system; after a failure nothing is left there."""
        draft = self._tmp / secrets.token_hex(16)
        try:
            yield draft
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def _discard(self, folder: Path) -> None:
        """Take a folder out of sight at once, then remove it."""
        trash = self._tmp / secrets.token_hex(16)
        with suppress(FileNotFoundError):
            folder.rename(trash)
            remove(trash)

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Nobody else ends an upload of this key, or deletes its object, meanwhile."""
        shard = object_path(self._objects, key).parent.name
        file = os.open(self._locks / shard, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def _require_root(self) -> None:
        """Before anything is said to be gone: a volume that is not mounted is no empty store."""
        if not self._objects.is_dir():
            raise StoreUnavailable("The file store is not there")


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turns the operating system's errors into ours."""
    try:
        yield
    except OSError as exc:
        if exc.errno in _FULL:
            raise StoreFull("The file store is full") from exc
        raise StoreUnavailable("The file store does not work as it should") from exc


def _open_uploads(shard: Path, names: set[str]) -> Iterator[OpenUpload]:
    for name in sorted(names):
        stem, _, upload_id = name.partition(".")
        if is_upload_id(upload_id):
            yield OpenUpload(f"lib/{shard.name}/{stem}", upload_id, begun_at(upload_id))


def _read_segment(path: Path, start: int, length: int) -> Iterator[bytes]:
    with _disk_errors():
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError as exc:
            raise ObjectDamaged(f"Segment {path.name} is missing") from exc
        try:
            yield from read_exactly(file, start, length)
        finally:
            os.close(file)
