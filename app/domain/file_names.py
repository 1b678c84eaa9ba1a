"""The names of files within a traceset (U4), and of what is downloaded (W2)."""

import re
import unicodedata
from collections.abc import Iterable

from app.domain.strict_json import excerpt
from app.errors import Invalid

MAX_NAME_BYTES = 1024
"""Of a file's name in UTF-8. Source: Amazon S3, object key names, of which some stores derive their limit."""
MAX_ARCHIVE_STEM_BYTES = 200
"""Leaves room for the ending and for the ` (2)` of browsers in the 255 bytes that file systems take."""

_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")  # all of Unicode's category Cc
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_file_name(name: object, field: str) -> str:
    """A file's name: a relative path of segments joined by `/`, such as `rank 0/trace.json`.

    Args:
        field: where the name stands in the request, such as `files[3].name`; every message begins with it.

    Raises:
        Invalid: it is not such a path, or longer than `MAX_NAME_BYTES`.
    """
    if not isinstance(name, str):
        raise Invalid(f"{field} must be a string, got {excerpt(name)}")
    if fault := _fault_of(name):
        raise Invalid(f"{field} {fault}, got {_show(name)}")
    return name


def find_twin(names: Iterable[str]) -> tuple[int, int] | None:
    """The positions of the first name that was there before, and of that one before it: (earlier, later).

    Two spellings of one Unicode normal form are the same name: on some file systems they are one file.
    """
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        earlier = seen.setdefault(unicodedata.normalize("NFC", name), index)
        if earlier != index:
            return earlier, index
    return None


def last_segment(name: str) -> str:
    """What a file is called without its folders."""
    return name.rpartition("/")[2]


def archive_name(name: str) -> str:
    """A file name for the archive of a traceset of this name, safe on every file system; it ends in `.zip`."""
    safe = "".join("_" if _is_unsafe(character) else character for character in name)
    stem = safe.encode()[:MAX_ARCHIVE_STEM_BYTES].decode(errors="ignore").strip(" .")
    return f"{stem or 'traceset'}.zip"


def _fault_of(name: str) -> str | None:
    """What is wrong with a file's name, as it goes on after the field's."""
    segments = name.split("/")
    rules = (
        (not name, "must not be empty"),
        (_SURROGATE.search(name), "must not hold half of a surrogate pair"),
        (_CONTROL.search(name), "must not hold control characters"),
        ("\\" in name, "must not hold a backslash; folders are separated by /"),
        (name.startswith("/"), "must be a relative path, without / in front"),
        ("" in segments, "must not have an empty segment"),
        ("." in segments or ".." in segments, "must not have . or .. as a segment"),
        (len(name.encode(errors="replace")) > MAX_NAME_BYTES, f"must be at most {MAX_NAME_BYTES} bytes in UTF-8"),
    )
    return next((what for is_broken, what in rules if is_broken), None)


def _show(name: str) -> str:
    """The name as text that can be encoded, cut where it is long."""
    return excerpt(name.encode(errors="replace").decode())


def _is_unsafe(character: str) -> bool:
    """Separators, what Windows refuses, and what cannot be seen (controls, formats, line separators)."""
    return character in '\\/:*?"<>|' or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
