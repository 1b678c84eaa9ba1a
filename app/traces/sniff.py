"""What a file is, from its first bytes: names lie (protobuf called `.json`, a pointer called `.tgz`).

Nothing here raises, whatever the bytes; all regular expressions run in linear time.
"""

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum

from app.traces.chakra import Schema, is_chakra, schema_of
from app.traces.packed import GZIP_MAGIC, InflatedHead, inflate_head

HEAD_SIZE = 64 * 1024
"""How many first bytes of a file to hand to `identify`; it looks at no more of what it finds within gzip either."""
UTF8_MARK = codecs.BOM_UTF8


class Format(StrEnum):
    """The kinds of content that are told apart; each value is its name in code and JSON."""

    EMPTY = "empty"
    CHAKRA = "chakra"
    CHAKRA_FEEDER_JSON = "chakra_feeder_json"
    CHAKRA_JSONIZER = "chakra_jsonizer"
    PYTORCH_HOST = "pytorch_host"
    KINETO = "kineto"
    CHROME_EVENTS = "chrome_events"
    ASTRA_TEXT = "astra_text"
    SIMAI_TEXT = "simai_text"
    DOT = "dot"
    COMM_GROUPS = "comm_groups"
    COLLECTIVE_XML = "collective_xml"
    JSON_OBJECT = "json_object"
    JSON_ARRAY = "json_array"
    JSON_LINES = "json_lines"
    GZIP = "gzip"
    ZIP = "zip"
    TAR = "tar"
    ZSTD = "zstd"
    XZ = "xz"
    SQLITE = "sqlite"
    GIT_LFS_POINTER = "git_lfs_pointer"
    APPLE_DOUBLE = "apple_double"
    ERROR_PAGE = "error_page"
    UTF16 = "utf16"
    TEXT = "text"
    UNKNOWN = "unknown"


JSON_FORMATS = frozenset(
    {
        Format.CHAKRA_FEEDER_JSON,
        Format.CHAKRA_JSONIZER,
        Format.PYTORCH_HOST,
        Format.KINETO,
        Format.CHROME_EVENTS,
        Format.COMM_GROUPS,
        Format.JSON_OBJECT,
        Format.JSON_ARRAY,
        Format.JSON_LINES,
    }
)


@dataclass(frozen=True, slots=True)
class Identity:
    """A file's format; where `is_gzipped`, that of what the gzip stream holds (GZIP for gzip in gzip).

    `schema`: of a Chakra trace, as far as its first frames tell; None for every other format.
    """

    format: Format
    is_gzipped: bool
    schema: Schema | None = None


# Source of each magic number: the format's own specification; RFC 1952, APPNOTE.TXT 4.3, RFC 8878 3.1.1, the .xz
# file format 2.1.1.1, SQLite file format 1.3, git-lfs pointer specification, RFC 1740 appendix A, Unicode 23.8.
_MAGIC = {
    GZIP_MAGIC: Format.GZIP,
    b"PK\x03\x04": Format.ZIP,
    b"PK\x05\x06": Format.ZIP,
    b"\x28\xb5\x2f\xfd": Format.ZSTD,
    b"\xfd7zXZ\x00": Format.XZ,
    b"SQLite format 3\x00": Format.SQLITE,
    b"version https://git-lfs": Format.GIT_LFS_POINTER,
    b"\x00\x05\x16\x07": Format.APPLE_DOUBLE,
    codecs.BOM_UTF16_LE: Format.UTF16,
    codecs.BOM_UTF16_BE: Format.UTF16,
}
_TEXT_OPENS = (
    (re.compile(rb"\s*+(?:<!doctype html|<html)", re.IGNORECASE), Format.ERROR_PAGE),
    # What an S3 store answers in place of an object.
    (re.compile(rb"\s*+(?:<\?xml[^>]*+>\s*+)?<Error[ >]"), Format.ERROR_PAGE),
    (re.compile(rb"\s*+(?:<\?xml[^>]*+>\s*+)?<algo[ >]"), Format.COLLECTIVE_XML),
    (re.compile(rb"\s*+(?:strict\s++)?digraph\b"), Format.DOT),
    # The parallelism in capitals and its options; the number of layers; a first layer: name, -1, a time.
    (re.compile(rb"[A-Z][A-Z_]++ [^\n]*\ball_gpus:[^\n]*+\n\d++[ \t\r]*+\n\S++[ \t]++-?\d"), Format.SIMAI_TEXT),
    (re.compile(rb"[A-Z][A-Z_]++(?:[ \t][^\n]*+)?\r?\n\d++[ \t\r]*+\n\S++[ \t]++-?\d"), Format.ASTRA_TEXT),
    (re.compile(rb'\s*+\{\s*+(?:"|\}|\Z)'), Format.JSON_OBJECT),
    (re.compile(rb"\s*+\[\s*+(?:[\[{\]\"tfn0-9-]|\Z)"), Format.JSON_ARRAY),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
# A string, closed or cut, that may be a key; or a bracket. Possessive, so that no string is walked twice.
_JSON_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)"?(\s*+:)?|[\[\]{}]', re.DOTALL)
_JSON_KEYS = (
    (frozenset({b"workload_graph"}), Format.CHAKRA_FEEDER_JSON),
    (frozenset({b"traceEvents"}), Format.KINETO),
    # The list of events may begin after the head.
    (frozenset({b"schemaVersion", b"deviceProperties"}), Format.KINETO),
    (frozenset({b"schemaVersion", b"computeProperties"}), Format.KINETO),
    (frozenset({b"schemaVersion", b"distributedInfo"}), Format.KINETO),
    (frozenset({b"schema", b"nodes"}), Format.PYTORCH_HOST),
    (frozenset({b"schema", b"start_ts"}), Format.PYTORCH_HOST),
)
_JSONIZER_KEYS = frozenset({b"ctrlDeps", b"dataDeps", b"durationMicros", b"attr"})
_TAR_MAGIC_AT, _TAR_SUM_AT, _TAR_BLOCK_BYTES = 257, 148, 512


def identify(head: bytes) -> Identity:
    """Tell what a file is, looking through one layer of gzip.

    Args: head: its first bytes, `HEAD_SIZE` of them or all; with fewer the answer is less sure.
    """
    identity = identify_plain(head)
    return identify_packed(inflate_head(head)) if identity.format is Format.GZIP else identity


def identify_plain(head: bytes) -> Identity:
    """Tell what a file is without opening it."""
    return _identity(content_format(head), head, is_gzipped=False)


def identify_packed(inflated: InflatedHead) -> Identity:
    """Tell what a gzip stream holds; where nothing came out of it, that is only nothing if it was read to its end."""
    is_untold = not inflated.data and not inflated.is_whole
    content = Format.UNKNOWN if is_untold else content_format(inflated.data)
    return _identity(content, inflated.data, is_gzipped=True)


def content_format(head: bytes) -> Format:
    """Tell what these bytes begin, without opening anything."""
    if not head:
        return Format.EMPTY
    for magic, of_magic in _MAGIC.items():
        if head.startswith(magic):
            return of_magic
    head = head[:HEAD_SIZE].removeprefix(UTF8_MARK)
    if _is_tar(head):
        return Format.TAR
    for opening, of_text in _TEXT_OPENS:
        if opening.match(head):
            return _json_kind(head) if of_text in JSON_FORMATS else of_text
    if is_chakra(head):
        return Format.CHAKRA
    return Format.TEXT if _is_text(head) else Format.UNKNOWN


def _identity(content: Format, head: bytes, *, is_gzipped: bool) -> Identity:
    return Identity(content, is_gzipped, schema_of(head[:HEAD_SIZE]) if content is Format.CHAKRA else None)


def _is_tar(head: bytes) -> bool:
    """By its magic, or, before POSIX gave it one, by the check sum of its first header."""
    if head[_TAR_MAGIC_AT:].startswith(b"ustar"):
        return True
    block = head[:_TAR_BLOCK_BYTES]
    digits = block[_TAR_SUM_AT : _TAR_SUM_AT + 8].strip(b" \0")
    if len(block) < _TAR_BLOCK_BYTES or not re.fullmatch(rb"[0-7]{1,7}", digits):
        return False
    return sum(block[:_TAR_SUM_AT]) + 8 * ord(" ") + sum(block[_TAR_SUM_AT + 8 :]) == int(digits, 8)


def _is_text(head: bytes) -> bool:
    if _CONTROL.search(head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # The head may end within a character.
    except UnicodeDecodeError:
        return False
    return True


def _json_kind(head: bytes) -> Format:
    """Tell the JSON formats apart by the keys of the outermost objects, whatever their order."""
    outermost, keys, n_objects = _outline(head)
    if outermost == b"[":
        return Format.CHROME_EVENTS if {b"ph", b"ts"} <= keys else Format.JSON_ARRAY
    if n_objects > 1:
        return Format.JSON_LINES if keys.isdisjoint(_JSONIZER_KEYS) else Format.CHAKRA_JSONIZER
    if keys and all(re.fullmatch(rb"[0-9]+", key) for key in keys):
        return Format.COMM_GROUPS
    return next((kind for wanted, kind in _JSON_KEYS if wanted <= keys), Format.JSON_OBJECT)


def _outline(head: bytes) -> tuple[bytes, set[bytes], int]:
    """Give the first bracket, the keys of the outermost objects (in an array: of its items), and how many there are."""
    outermost, keys, n_objects, depth = b"", set(), 0, 0
    for token in _JSON_TOKEN.finditer(head):
        match token[0][:1]:
            case b"{" | b"[":
                n_objects += depth == 0
                outermost = outermost or token[0]
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case _:
                if token[2] and depth == (2 if outermost == b"[" else 1):
                    keys.add(token[1])
    return outermost, keys, n_objects
