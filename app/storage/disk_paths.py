"""Where things lie below the disk store's root, and how folders are made and removed there.

Keys and upload ids come from the database and from signed tokens; all the same nothing becomes a path here that has
not the form of our own.
"""

import os
import re
import secrets
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from app.storage.base import UploadGone
from app.storage.keys import is_key

_UPLOAD_ID = re.compile(r"[0-9a-f]{24}")


def new_upload_id(now: datetime) -> str:
    """A fresh id: the time in seconds, by which the age of an upload is told, and 64 random bits, all in hex."""
    return f"{int(now.timestamp()):08x}{secrets.token_hex(8)}"


def is_upload_id(text: str) -> bool:
    """Whether the text has the form that `new_upload_id` gives."""
    return _UPLOAD_ID.fullmatch(text) is not None


def begun_at(upload_id: str) -> datetime:
    """The time at which the id was made, in whole seconds."""
    return datetime.fromtimestamp(int(upload_id[:8], 16), UTC)


def object_path(objects: Path, key: str) -> Path:
    """Where the object's manifest lies: the one place that makes paths of keys.

    Raises:
        ValueError: the key is none of ours.
    """
    if not is_key(key):
        raise ValueError(f"Not a key of this store: {key!r}")
    return objects / key


def upload_folder(area: Path, key: str, upload_id: str) -> Path:
    """Where the upload's parts lie, be it open (below `uploads`) or frozen (below `objects`).

    Raises:
        UploadGone: the id is none of ours, so there is no such upload.
    """
    if not is_upload_id(upload_id):
        raise UploadGone(upload_id)
    path = object_path(area, key)
    return path.with_name(f"{path.name}.{upload_id}")


def upload_folders(area: Path, key: str) -> list[Path]:
    """The folders of all uploads of a key."""
    path = object_path(area, key)
    try:
        return [path.with_name(name) for name in names_in(path.parent) if name.startswith(f"{path.name}.")]
    except FileNotFoundError:
        return []


def names_in(folder: Path | int) -> list[str]:
    """The names of what lies in a folder, which may be given as an open descriptor; in no order."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def shards(area: Path) -> list[Path]:
    """The folders that hold keys, in their order."""
    top = area / "lib"
    return [top / name for name in sorted(names_in(top))] if top.is_dir() else []


def make_parents(path: Path, *, below: Path) -> list[Path]:
    """Make the folders between, and tell which folders were changed by that."""
    changed = []
    for parent in reversed(path.relative_to(below).parents[:-1]):
        with suppress(FileExistsError):
            (below / parent).mkdir()
            changed.append((below / parent).parent)
    return changed


def sync_folder(folder: Path) -> None:
    """Bring the folder's entries down to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
