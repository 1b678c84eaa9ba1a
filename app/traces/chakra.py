"""Chakra execution traces in protobuf: `.et`, and `.eg` before them.

A file is a row of messages, each after its length as a base-128 varint: one GlobalMetadata, then Nodes to the
end. There is no magic number, no count and no end mark, so a file is known by walking its first frames, and a
cut is only seen where it goes through a frame. The messages are walked by their wire format alone, without
generated code: all three published schemas are told apart by which fields have which wire types.

Source: mlcommons/chakra, `schema/protobuf/et_def.proto` and its history; protobuf encoding guide.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import chain

from app.traces.findings import Finding, error, warning
from app.traces.packed import GZIP_MAGIC, BrokenGzip, inflate

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""The largest message that is taken for real; those seen are below 100 kB, and each is held in memory once."""
MAX_TRACKED_IDS = 200_000
"""How many node ids, had and waited for, are remembered at most: some 25 MB. Beyond, they are not compared."""

_VARINT, _BYTES = 0, 2  # The wire types that the schemas use at top level.
_FIXED = {1: 8, 5: 4}  # Bytes of the two others, which a schema to come may use.
_MAX_VARINT_BYTES = 10
_FRAMES_TO_KNOW_BY = 64
_LAST_FIELD = 20  # v0.0.1 has the highest field numbers.
_LAST_NODE_TYPE = 16  # The schemas end at 8; some room for those to come.
# How a GlobalMetadata begins that is longer than the bytes at hand: a version, or an attribute with its name.
_METADATA_OPENS = re.compile(rb"\x0a[\x01-\x20][0-9.]+|\x12[\x80-\xff]{0,4}[\x00-\x7f]\x0a[\x01-\x7f][A-Za-z_]\w+")


class Schema(StrEnum):
    """Which of the published message layouts a file has, as far as its fields tell."""

    V001 = "0.0.1"
    V002 = "0.0.2 or 0.0.3"
    V004 = "0.0.4"
    UNTOLD = "untold"


class BrokenChakra(Exception):
    """The bytes are no row of messages; `finding` says where and why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class CutChakra(BrokenChakra):
    """The bytes end within a frame."""


class _BadWire(Exception):
    """A message is not protobuf."""


def read_frames(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Split a byte stream into its messages, holding one frame and one chunk at a time.

    Raises: BrokenChakra where a length is no varint or above `MAX_FRAME_BYTES`; CutChakra at the end where the
        last frame is short.
    """
    buffer = bytearray()
    n_frames = 0
    for chunk in chunks:
        buffer += chunk
        at = 0
        while (frame := _find_frame(buffer, at, n_frames)) is not None:
            start, at = frame
            n_frames += 1
            yield bytes(buffer[start:at])
        del buffer[:at]
    if buffer:
        raise CutChakra(error("chakra_truncated", f"Frame {n_frames} is cut: the file ends within it"))


def is_chakra(head: bytes) -> bool:
    """Tell from a file's first bytes (some KiB; all, or cut anywhere) whether it is a Chakra protobuf trace."""
    n_good = 0
    try:
        for message in read_frames([head]):
            if message and not _is_message(message):
                return n_good >= 3
            n_good += bool(message)
            if n_good == _FRAMES_TO_KNOW_BY:
                break
    except CutChakra:
        return n_good > 0 or _opens_with_metadata(head)
    except BrokenChakra:
        return n_good >= 3
    return n_good > 0


def schema_of(head: bytes) -> Schema:
    """Tell the schema from a file's first bytes, of which `is_chakra` holds."""
    walk = _Walk()
    walk.follow([head])
    return walk.schema


def check_chakra_head(head: bytes, *, is_whole: bool) -> list[Finding]:
    """Check the frames in `head`; where it is not the whole file, a cut last frame and lost ids are no findings."""
    walk = _Walk()
    fault = walk.follow([head])
    if isinstance(fault, CutChakra) and not is_whole:
        fault = None
    return walk.findings(fault, has_seen_all=is_whole)


def check_chakra_stream(chunks: Iterable[bytes]) -> list[Finding]:
    """Check a whole Chakra file, plain or in gzip as both Chakra readers take it.

    Reads to the end or to the first error. Memory is bounded by one chunk, `MAX_FRAME_BYTES` and
    `MAX_TRACKED_IDS`, whatever the file's size.

    Args: chunks: the file's bytes in order, in pieces of any size.
    Returns: `chakra_truncated`, `chakra_bad_length`, `chakra_bad_frame`, `gzip_broken` (errors, at most one);
        `chakra_no_metadata`, `chakra_old_schema`, `chakra_empty_frame`, `chakra_no_nodes`,
        `chakra_duplicate_ids`, `chakra_dangling_deps` (warnings).
    """
    stream = iter(chunks)
    opening = b""
    while len(opening) < len(GZIP_MAGIC) and (chunk := next(stream, None)) is not None:
        opening += chunk
    stream = chain([opening], stream)
    walk = _Walk()
    try:
        fault = walk.follow(inflate(stream) if opening.startswith(GZIP_MAGIC) else stream)
    except BrokenGzip as exc:
        return [error("gzip_broken", f"The gzip stream cannot be read: {exc}")]
    return walk.findings(fault, has_seen_all=fault is None)


class _Walk:
    """What has been learnt of one file, frame by frame."""

    def __init__(self) -> None:
        self.n_nodes = 0
        self.first_is_node = False
        self.empty_frame: int | None = None
        self.layout: set[tuple[int, int]] = set()
        self.ids: set[int] = set()
        self.waited_for: dict[int, int] = {}
        self.n_duplicates = 0
        self.is_tracking = True

    def follow(self, chunks: Iterable[bytes]) -> BrokenChakra | None:
        """Walk all frames; the answer is what ended the walk before its time."""
        n_frame = 0
        try:
            for n_frame, message in enumerate(read_frames(chunks)):
                self._take(n_frame, message)
                if self.empty_frame is not None:
                    break
        except BrokenChakra as exc:
            return exc
        except _BadWire as exc:
            return BrokenChakra(error("chakra_bad_frame", f"Frame {n_frame} is not a protobuf message: {exc}"))
        return None

    def _take(self, n_frame: int, message: bytes) -> None:
        if not message and n_frame > 0:
            self.empty_frame = n_frame
            return
        fields = list(_fields(message))
        if _is_metadata(fields):
            return
        self.first_is_node = self.first_is_node or n_frame == 0
        self.n_nodes += 1
        self.layout.update((number, wire_type) for number, wire_type, _ in fields)
        if self.is_tracking:
            self._track(fields)

    def _track(self, fields: list[tuple[int, int, int | bytes]]) -> None:
        node_id = 0  # proto3 leaves zero off the wire.
        for number, _, value in fields:
            if number == 1 and isinstance(value, int):
                node_id = value
            elif number in {4, 5}:
                for dep in [value] if isinstance(value, int) else _packed(value):
                    self.waited_for[dep] = self.waited_for.get(dep, 0) + 1
        self.n_duplicates += node_id in self.ids
        self.ids.add(node_id)
        self.is_tracking = len(self.ids) + len(self.waited_for) <= MAX_TRACKED_IDS

    @property
    def schema(self) -> Schema:
        """Decided by fields that only one layout has; without any such, it stays untold."""
        is_unpacked = (4, _VARINT) in self.layout
        has_strings = any((number, _BYTES) in self.layout for number in range(5, 11))
        if (11, _BYTES) in self.layout or (is_unpacked and has_strings):
            return Schema.V002
        if is_unpacked or any((number, _VARINT) in self.layout for number in range(8, _LAST_FIELD + 1)):
            return Schema.V001
        if any((number, _BYTES) in self.layout for number in (4, 8, 9, 10)):
            return Schema.V004
        return Schema.UNTOLD

    def findings(self, fault: BrokenChakra | None, *, has_seen_all: bool) -> list[Finding]:
        """Put into words what was learnt; `has_seen_all`: nothing can follow that would resolve a dependency."""
        found = [] if fault is None else [fault.finding]
        schema = self.schema
        if schema in {Schema.V001, Schema.V002}:
            found.append(
                warning(
                    "chakra_old_schema",
                    f"This is Chakra schema {schema}, whose types and fields mean other things to today's readers",
                )
            )
        elif self.first_is_node:
            found.append(
                warning(
                    "chakra_no_metadata",
                    "The file begins with a node instead of GlobalMetadata: readers drop that node, and what depends "
                    "on it never runs",
                )
            )
        if self.empty_frame is not None:
            found.append(
                warning(
                    "chakra_empty_frame",
                    f"Frame {self.empty_frame} is empty: some readers take it for the end, and the rest is lost",
                )
            )
        if has_seen_all and fault is None:
            found += self._graph_findings(schema)
        return found

    def _graph_findings(self, schema: Schema) -> list[Finding]:
        if self.n_nodes == 0:
            return [warning("chakra_no_nodes", "The trace holds no node")]
        found = []
        if self.n_duplicates:
            found.append(warning("chakra_duplicate_ids", f"Node ids given before are given again: {self.n_duplicates}"))
        # In older schemas field 5 is text, and a walk that stopped early has not seen every id.
        if schema is Schema.V004 and self.is_tracking and self.empty_frame is None:
            n_deps = sum(self.waited_for.values())
            n_dangling = sum(count for node_id, count in self.waited_for.items() if node_id not in self.ids)
            if n_dangling:
                found.append(
                    warning(
                        "chakra_dangling_deps",
                        f"Dependencies on nodes that are not in the file: {n_dangling} of {n_deps}",
                    )
                )
        return found


def _find_frame(buffer: bytearray, at: int, n_frame: int) -> tuple[int, int] | None:
    """Give where the message of the frame at `at` starts and ends, or None where more bytes are needed."""
    try:
        length, start = _read_varint(buffer, at)
    except IndexError:
        return None
    except _BadWire as exc:
        raise BrokenChakra(error("chakra_bad_length", f"Frame {n_frame} has no length: {exc}")) from exc
    if length > MAX_FRAME_BYTES:
        raise BrokenChakra(
            error("chakra_bad_length", f"Frame {n_frame} claims {length} bytes, more than any message of a trace has")
        )
    return (start, start + length) if start + length <= len(buffer) else None


def _read_varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Give the number at `at` and where the next byte is. Raises: IndexError where it is cut."""
    value = 0
    for n_byte in range(_MAX_VARINT_BYTES):
        byte = data[at + n_byte]
        value |= (byte & 0x7F) << (7 * n_byte)
        if byte < 0x80:
            return value, at + n_byte + 1
    raise _BadWire(f"a number does not end within {_MAX_VARINT_BYTES} bytes")


def _fields(message: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Give (number, wire type, value) of each field; a value is a number for wire type 0 and bytes for the others."""
    at = 0
    try:
        while at < len(message):
            key, at = _read_varint(message, at)
            number, wire_type = key >> 3, key & 7
            if wire_type == _VARINT:
                value, at = _read_varint(message, at)
                yield number, wire_type, value
                continue
            if wire_type == _BYTES:
                length, at = _read_varint(message, at)
            elif wire_type in _FIXED:
                length = _FIXED[wire_type]
            else:
                raise _BadWire(f"there is no wire type {wire_type}")
            if at + length > len(message):
                raise _BadWire(f"field {number} is longer than the message")
            yield number, wire_type, message[at : at + length]
            at += length
    except IndexError as exc:
        raise _BadWire("it ends within a field") from exc


def _packed(data: bytes) -> Iterator[int]:
    at = 0
    try:
        while at < len(data):
            value, at = _read_varint(data, at)
            yield value
    except IndexError as exc:
        raise _BadWire("a list of dependencies ends within a number") from exc


def _is_metadata(fields: list[tuple[int, int, int | bytes]]) -> bool:
    """GlobalMetadata has text or messages in fields 1 and 2; a Node has a number in 1, and a type."""
    return all(number in {1, 2} and wire_type == _BYTES for number, wire_type, _ in fields) and (
        not fields or fields[0][0] == 1 or not _is_text(fields[0][2])
    )


def _is_text(value: int | bytes) -> bool:
    return isinstance(value, bytes) and value.isascii() and value.decode("ascii").isprintable()


def _is_message(message: bytes) -> bool:
    """Tell whether a message can be GlobalMetadata or a Node of any schema."""
    try:
        fields = list(_fields(message))
    except _BadWire:
        return False
    if _is_metadata(fields):
        return True
    wire_types = {number: wire_type for number, wire_type, _ in fields}
    node_type = next((value for number, _, value in fields if number == 3), 0)
    return (
        0 < min(wire_types) <= max(wire_types) <= _LAST_FIELD
        and {_VARINT, _BYTES}.issuperset(wire_types.values())
        and wire_types.get(1, _VARINT) == _VARINT
        and wire_types.get(2, _BYTES) == _BYTES
        and isinstance(node_type, int)
        and node_type <= _LAST_NODE_TYPE
        and not wire_types.keys().isdisjoint({2, 3})
    )


def _opens_with_metadata(head: bytes) -> bool:
    try:
        _, start = _read_varint(head, 0)
    except (IndexError, _BadWire):
        return False
    return _METADATA_OPENS.match(head, start) is not None
