"""Whether a primary trace file can be read by the tools that read traces, and is what its name says (V6).

A file is refused where no reader can use it: nothing in it, a stand-in for the data, broken, or neither what its
name promises nor anything else we know. It is only told where a reader may stumble, and where the content is
unknown and the name promises nothing: people may keep what we do not know. Supporting files are not checked.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from app.traces.chakra import check_chakra_head, check_chakra_stream
from app.traces.findings import Finding, error, has_error, warning
from app.traces.packed import CutGzip, inflate_head
from app.traces.sniff import HEAD_SIZE, JSON_FORMATS, UTF8_MARK, Format, Identity, identify_packed, identify_plain

__all__ = ["HEAD_SIZE", "check_trace_file", "check_whole_file"]

_PROMISES = {
    ".et": frozenset({Format.CHAKRA}),
    ".eg": frozenset({Format.CHAKRA}),
    ".chakra": frozenset({Format.CHAKRA}),
    ".json": JSON_FORMATS,
    ".zip": frozenset({Format.ZIP}),
    ".tar": frozenset({Format.TAR}),
    ".tgz": frozenset({Format.TAR}),
    ".zst": frozenset({Format.ZSTD}),
    ".xz": frozenset({Format.XZ}),
    ".sqlite": frozenset({Format.SQLITE}),
}
_REFUSED = {
    Format.EMPTY: ("empty", "The file holds nothing"),
    Format.GIT_LFS_POINTER: ("git_lfs_pointer", "This is a Git LFS pointer; the data it stands for was never pulled"),
    Format.APPLE_DOUBLE: ("apple_double", "This is a macOS resource fork (a ._ file), not a trace"),
    Format.ERROR_PAGE: ("error_page", "This is an error page of a web server or object store, not a trace"),
    Format.UTF16: ("utf16", "The text is UTF-16, which no trace reader takes; convert it to UTF-8"),
}
_TOLD = {
    Format.GZIP: ("gzip_twice", "The file is packed with gzip twice; readers open one layer"),
    Format.ZSTD: ("not_opened", "Trace readers do not open zstd by themselves"),
    Format.XZ: ("not_opened", "Trace readers do not open xz by themselves"),
    Format.COMM_GROUPS: ("companion", "These are communicator groups: a supporting file, not a trace"),
    Format.COLLECTIVE_XML: ("companion", "This is a collective algorithm in XML: a supporting file, not a trace"),
    Format.JSON_OBJECT: ("unknown_format", "This is JSON, but none of the trace formats that we know"),
    Format.JSON_ARRAY: ("unknown_format", "This is a JSON array, but not of trace events"),
    Format.JSON_LINES: ("unknown_format", "These are several JSON texts, but of none of the formats that we know"),
}
_UNKNOWN = {
    Format.TEXT: ("unknown_format", "This is text, but none of the trace formats that we know"),
    Format.UNKNOWN: ("unknown_format", "We do not know this format"),
}
# One JSON text each, so that a strict reader can be asked.
_ONE_JSON_TEXT = JSON_FORMATS - {Format.CHAKRA_JSONIZER, Format.JSON_LINES}


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a file's name says: `last` is its extension, `inner` the one before `.gz`; both lower case, with dot."""

    last: str
    inner: str

    @classmethod
    def of(cls, name: str) -> "_Promise":
        suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes[-2:]]
        last = suffixes[-1] if suffixes else ""
        return cls(last, suffixes[0] if last == ".gz" else last)

    @property
    def formats(self) -> frozenset[Format]:
        """The formats that go by this name; none where it promises nothing."""
        return _PROMISES.get(self.inner, frozenset())


def check_trace_file(name: str, size: int, head: bytes) -> list[Finding]:
    """Check a primary file by its first bytes; where they are the whole file, its content to the end.

    Args:
        name: its path in the traceset; only the extension is read.
        size: its size in bytes.
        head: its first `HEAD_SIZE` bytes, or all where it has fewer.
    Returns: what there is to tell, errors first; nothing for a file that is as it should be.
    """
    identity, content, is_whole, findings = _open(size, head)
    if has_error(findings):
        return findings
    promise = _Promise.of(name)
    findings += _name_findings(promise, identity)
    if identity.format is Format.CHAKRA:
        findings += check_chakra_head(content, is_whole=is_whole)
    if identity.format in _TOLD:
        findings.append(warning(*_TOLD[identity.format]))
    if content.startswith(UTF8_MARK):
        findings.append(warning("utf8_mark", "The text begins with a byte-order mark; strict JSON readers refuse it"))
    # A log line may begin as JSON does: what is no trace and does not call itself JSON is not held to it.
    if is_whole and identity.format in _ONE_JSON_TEXT - (_TOLD.keys() - promise.formats):
        findings += _json_findings(identity.format, content)
    return _ordered(findings)


def check_whole_file(name: str, size: int, chunks: Iterable[bytes]) -> list[Finding]:
    """Check a primary file as `check_trace_file` does, and a Chakra trace frame by frame to its end.

    Takes from `chunks` as much as it needs: for other formats than Chakra no more than the head.

    Args: chunks: the file's bytes in order, in pieces of any size.
    """
    stream = iter(chunks)
    head = _take_head(stream)
    identity, _, is_whole, findings = _open(size, head[:HEAD_SIZE])
    if is_whole or has_error(findings) or identity.format is not Format.CHAKRA:
        return check_trace_file(name, size, head[:HEAD_SIZE])
    return _ordered(findings + _name_findings(_Promise.of(name), identity) + check_chakra_stream(chain([head], stream)))


def _open(size: int, head: bytes) -> tuple[Identity, bytes, bool, list[Finding]]:
    """Give what the file is, its content as far as seen, whether that is all, and what opening it found."""
    is_whole = len(head) >= size
    identity = identify_plain(head)
    if identity.format is not Format.GZIP:
        return identity, head, is_whole, _stand_in(identity.format)
    inflated = inflate_head(head)
    identity = identify_packed(inflated)
    findings = _stand_in(identity.format)
    if inflated.fault is not None and (is_whole or not isinstance(inflated.fault, CutGzip)):
        findings.append(error("gzip_broken", f"The gzip stream cannot be read: {inflated.fault}"))
    return identity, inflated.data, is_whole and inflated.is_whole, findings


def _stand_in(content: Format) -> list[Finding]:
    return [error(*_REFUSED[content])] if content in _REFUSED else []


def _name_findings(promise: _Promise, identity: Identity) -> list[Finding]:
    """Compare what the extensions promise with what the file is."""
    findings = []
    says_packed = promise.last in {".gz", ".tgz"}
    if says_packed and not identity.is_gzipped:
        findings.append(warning("not_packed", f"The name ends in {promise.last}, but the file is not packed with gzip"))
    # Chakra's own readers open gzip whatever the name; nothing else does.
    if identity.is_gzipped and not says_packed and identity.format is not Format.CHAKRA:
        findings.append(warning("packed", "The file is packed with gzip, which readers expect under a .gz name only"))
    if identity.format in _UNKNOWN:
        findings.append(
            error("unreadable", f"The name says {promise.inner}, but the content is neither that nor known to us")
            if promise.formats
            else warning(*_UNKNOWN[identity.format])
        )
    elif promise.formats and identity.format not in promise.formats | {Format.GZIP}:
        findings.append(warning("misnamed", f"The name says {promise.inner}, but the content is {identity.format}"))
    return findings


def _json_findings(kind: Format, content: bytes) -> list[Finding]:
    """Read a whole JSON text strictly, but for what its own readers are known to take."""
    extra: list[str] = []
    try:
        text = content.removeprefix(UTF8_MARK).decode("utf-8")
        # Numbers are kept as text: Python refuses to read very long ones, which is no fault of the file.
        json.loads(text, parse_int=str, parse_float=str, parse_constant=extra.append)
    except UnicodeDecodeError as exc:
        return [error("json_not_utf8", f"The JSON text is not UTF-8 at byte {exc.start}")]
    except json.JSONDecodeError as exc:
        if kind is Format.CHROME_EVENTS and not text[exc.pos :].strip():
            return [warning("json_unclosed", "The array of events is not closed; only trace viewers take that")]
        return [error("json_broken", f"The JSON text is broken at line {exc.lineno}, column {exc.colno}: {exc.msg}")]
    except RecursionError:
        return [warning("json_deep", "The JSON text is nested too deeply to be checked")]
    if extra:
        return [warning("json_constant", f"{extra[0]} is not in the JSON standard; some readers refuse it")]
    return []


def _take_head(stream: Iterator[bytes]) -> bytes:
    head = bytearray()
    while len(head) < HEAD_SIZE and (chunk := next(stream, None)) is not None:
        head += chunk
    return bytes(head)


def _ordered(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.severity)
