"""Comparing bytes with what was recorded of them. Pure.

An ETag tells, by its form, what it was computed from: 64 hex digits are the SHA-256 of one part; 32 or 64 hex
digits, a dash and a count are the MD5 or SHA-256 of the parts' binary digests one after the other. Other forms
(such as those of encrypted objects) tell nothing.
Source: Amazon S3, "Checking object integrity"; the disk store's own form.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

_COMPOSITE = re.compile(r"([0-9a-f]{32}|[0-9a-f]{64})-([0-9]+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEX = re.compile(r"[0-9A-Fa-f]+(-[0-9]+)?")


def bare_etag(text: str) -> str:
    """The ETag without its quotes; hex in lower case, and anything else to the letter, as the store tells it apart."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    return text.lower() if _HEX.fullmatch(text) else text


def matches(chunks: Iterable[bytes], *, sha256s: Collection[str], etag: str, part_size: int) -> bool:
    """Whether the bytes hash to all these SHA-256 and to the ETag, where its form tells.

    Args:
        chunks: the whole content, in pieces of any size.
        sha256s: in lower-case hex; none: the ETag alone decides.
        etag: without quotes, in lower case.
        part_size: of the upload, in bytes; all parts but the last had it.
    """
    whole = hashlib.sha256()
    composite = _COMPOSITE.fullmatch(etag)
    parts = _PartDigests(hashlib.md5 if composite and len(composite[1]) == 32 else hashlib.sha256, part_size)
    for chunk in chunks:
        whole.update(chunk)
        if composite:
            parts.update(chunk)
    digest = whole.hexdigest()
    if any(expected != digest for expected in sha256s):
        return False
    if composite:
        return etag == parts.composite()
    return digest == etag if _SHA256.fullmatch(etag) else True


class _PartDigests:
    """The digest of each part of `part_size` bytes, computed as the bytes come."""

    def __init__(self, algorithm: Callable[[], Any], part_size: int) -> None:
        self.algorithm = algorithm
        self.part_size = part_size
        self.digests: list[bytes] = []
        self.current = algorithm()
        self.room = part_size

    def update(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            if not self.room:
                self._next_part()
            piece = view[: self.room]
            self.current.update(piece)
            self.room -= len(piece)
            view = view[len(piece) :]

    def composite(self) -> str:
        digests = [*self.digests, self.current.digest()]
        outer = self.algorithm()
        outer.update(b"".join(digests))
        return f"{outer.hexdigest()}-{len(digests)}"

    def _next_part(self) -> None:
        self.digests.append(self.current.digest())
        self.current = self.algorithm()
        self.room = self.part_size
