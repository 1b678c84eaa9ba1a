"""Gzip, opened without trust: in small pieces, to a limit, and never past a ratio that only a bomb reaches."""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

GZIP_MAGIC = b"\x1f\x8b"
"""Source: RFC 1952, section 2.3.1."""
INFLATED_HEAD_SIZE = 1024 * 1024
"""As much as `inflate_head` gives; a head of 64 KiB could hold a thousand times that."""
MAX_RATIO = 250
"""Trace files pack 11 to 40 times smaller; deflate's own limit is about 1,032."""

_PIECE_BYTES = 16 * 1024  # Fed and drained in pieces, so that thousands of tiny members copy little.
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # Tells zlib to expect gzip's header and check sum.


class BrokenGzip(Exception):
    """The stream cannot be opened to its end; the message is the reason, as the end of a sentence."""


class CutGzip(BrokenGzip):
    """The stream is good as far as it goes, and ends too early."""


@dataclass(frozen=True, slots=True)
class InflatedHead:
    """The first `INFLATED_HEAD_SIZE` of what a gzip stream holds.

    `is_whole`: `data` is all there is. `fault`: why the stream could not be followed, if so.
    """

    data: bytes
    is_whole: bool
    fault: BrokenGzip | None


def inflate(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Open a gzip stream of any number of members, in constant memory.

    Returns: pieces of at most 16 KiB.
    Raises: BrokenGzip where a member is broken, other bytes follow the last one, or the content is more than
        `MAX_RATIO` times the size of what holds it; CutGzip where the last member does not end.
    Source: RFC 1952; zero bytes after a member are padding, as gzip(1) treats them.
    """
    inflater = None
    n_in, n_out, has_ended = 0, 0, False
    for piece in _in_pieces(chunks):
        n_in += len(piece)
        data = piece
        while data := data.lstrip(b"\0") if has_ended and inflater is None else data:
            inflater = inflater or zlib.decompressobj(_GZIP_WINDOW)
            for out in _drain(inflater, data):
                n_out += len(out)
                if n_out > INFLATED_HEAD_SIZE + MAX_RATIO * n_in:
                    raise BrokenGzip(f"its content is more than {MAX_RATIO} times as large as the file")
                yield out
            data = inflater.unused_data
            if inflater.eof:
                inflater, has_ended = None, True
    if inflater is not None or not has_ended:
        raise CutGzip("it ends too early")


def inflate_head(head: bytes) -> InflatedHead:
    """Open as much as is wanted for a look; `head` is the beginning of a gzip stream, or all of it."""
    data = bytearray()
    try:
        for piece in inflate([head]):
            data += piece
            if len(data) > INFLATED_HEAD_SIZE:
                return InflatedHead(bytes(data[:INFLATED_HEAD_SIZE]), is_whole=False, fault=None)
    except BrokenGzip as exc:
        return InflatedHead(bytes(data), is_whole=False, fault=exc)
    return InflatedHead(bytes(data), is_whole=True, fault=None)


def _in_pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _PIECE_BYTES):
            yield chunk[start : start + _PIECE_BYTES]


def _drain(inflater: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Give all that `data` inflates to, a piece at a time: zlib may hold output back after taking all input."""
    while True:
        try:
            out = inflater.decompress(data, _PIECE_BYTES)
        except zlib.error as exc:
            raise BrokenGzip("it is damaged, or bytes that are not gzip follow it") from exc
        if out:
            yield out
        data = inflater.unconsumed_tail
        if inflater.eof or (not data and len(out) < _PIECE_BYTES):
            return
