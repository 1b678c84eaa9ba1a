"""What an ETag tells of the bytes that it stands for.

An ETag is compared by its form. Of a part: 32 hex digits are its MD5 (S3), 64 its SHA-256 (the disk store). Of a
whole object also: either of them, a dash and a count: the digest of the parts' binary digests one after the other.
Any other form tells nothing, and neither does one of an object that the store encrypts with a key of its customer's.
Source: Amazon S3, "Checking object integrity"; the disk store's own form.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

Algorithm = Literal["md5", "sha256"]

MIB = 1024 * 1024
MIN_PART_SIZE = 5 * MIB
"""Source: Amazon S3, multipart upload limits."""
_MOST_HASHED = 32 * 1024 * MIB
"""Bytes that finding the size of the parts may cost; only a file that is damaged costs as much."""

_ETAG = re.compile(r"([0-9a-f]{64}|[0-9a-f]{32})(?:-([1-9][0-9]{0,4}))?")


class Told(NamedTuple):
    """What an ETag holds: the digest, by which algorithm, and of how many parts (None: of the bytes themselves)."""

    algorithm: Algorithm
    digest: str
    n_parts: int | None


def bare(etag: str) -> str:
    """The ETag without its quotes, in lower case."""
    return etag.strip().removeprefix("W/").strip('"').lower()


def read_etag(etag: str, headers: Mapping[str, str] | None = None) -> Told | None:
    """What an ETag tells, or None where it tells nothing.

    Args:
        etag: with or without quotes.
        headers: of the answer that it came with, which say whether it is one of an encrypted object.
    """
    match = _ETAG.fullmatch(bare(etag))
    if match is None or _is_encrypted(headers or {}):
        return None
    algorithm: Algorithm = "sha256" if len(match[1]) == 64 else "md5"
    return Told(algorithm, match[1], int(match[2]) if match[2] else None)


def likely_algorithm(url: str) -> Algorithm:
    """By which digest the store behind this part URL makes its ETags: those that sign like S3 answer with the MD5."""
    return "md5" if "X-Amz-Signature=" in url else "sha256"


def new_hash(algorithm: Algorithm) -> Any:
    """A fresh hash; MD5 only finds accidents here, so it may be used where it is barred for security."""
    return hashlib.new(algorithm, usedforsecurity=False)


def composite(algorithm: Algorithm, digests: Iterable[str]) -> str:
    """The digest, in hex, of the parts' digests (in hex, in their order)."""
    outer = new_hash(algorithm)
    for digest in digests:
        outer.update(bytes.fromhex(digest))
    text: str = outer.hexdigest()
    return text


def part_sizes(size: int, n_parts: int, *, likely: int) -> tuple[list[int], bool]:
    """The sizes of parts, in bytes, that cut a file into so many, the likeliest first; and whether these are all.

    All parts but the last are equal. Services are set to whole MiB, so other sizes are left out.

    Args:
        size: of the file, in bytes.
        n_parts: how many there were.
        likely: the size to try first.
    """
    if n_parts == 1:
        return [max(size, 1)], True
    smallest = max(-(-size // n_parts), MIN_PART_SIZE)
    largest = (size - 1) // (n_parts - 1)
    fitting = range(-(-smallest // MIB) * MIB, largest + 1, MIB)
    sizes = sorted(fitting, key=lambda each: (each != likely, each & (each - 1) != 0, each))
    n_tried = max(1, _MOST_HASHED // size)
    return sizes[:n_tried], len(sizes) <= n_tried


def _is_encrypted(headers: Mapping[str, str]) -> bool:
    kind = headers.get("x-amz-server-side-encryption")
    return kind not in (None, "AES256") or "x-amz-server-side-encryption-customer-algorithm" in headers
