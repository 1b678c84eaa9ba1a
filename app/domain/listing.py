"""What the query parameters of a list mean (L3 to L6, L11), without the database."""

import base64
import hmac
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from app.domain.rank_count import MAX_RANK_COUNT
from app.errors import Invalid

SORT_FIELDS = ("created", "name", "status")
DEFAULT_LIMIT = 50
MAX_LIMIT = 500

_NUMBER = re.compile(r"0*([0-9]+)")  # ASCII digits, and no sign, point or exponent
_BASE64 = re.compile(r"[A-Za-z0-9_-]+")
_MAC_BYTES = 16


class SortKey(NamedTuple):
    """One field of a sort order; written as `created:desc`."""

    field: str
    descending: bool

    def __str__(self) -> str:
        return f"{self.field}:{'desc' if self.descending else 'asc'}"


DEFAULT_SORT = (SortKey("created", descending=True),)


def parse_sort(text: str | None) -> tuple[SortKey, ...]:
    """The sort order that `created:desc,name` asks for; newest first where there is no text (L4, L12).

    Ties are broken by id, in the direction of the last key (L3).

    Raises:
        Invalid: unknown field, unknown direction, or a field that is there twice.
    """
    if not text:
        return DEFAULT_SORT
    keys = tuple(map(_parse_sort_key, text.split(",")))
    fields = [key.field for key in keys]
    if len(set(fields)) < len(fields):
        raise Invalid(f"sort names a field twice: {', '.join(fields[: len(SORT_FIELDS) + 1])}")
    return keys


def parse_limit(text: str | None) -> int:
    """The size of a page, at most `MAX_LIMIT` whatever is asked for; `DEFAULT_LIMIT` where there is no text (L5, L12).

    Raises:
        Invalid: not a whole number of at least 1.
    """
    return _parse_number(text, "limit", least=1, most=MAX_LIMIT) if text else DEFAULT_LIMIT


def parse_rank(text: str, field: str, least: int = 1) -> int:
    """A bound of the rank count, one above the largest possible count where it is above all of them (L11).

    Args:
        least: 0 for a lower bound, where it asks for nothing but a declaration.

    Raises:
        Invalid: not a whole number of at least `least`; the message names `field`.
    """
    return _parse_number(text, field, least=least, most=MAX_RANK_COUNT + 1)


def encode_cursor(sort: Sequence[SortKey], values: Sequence[str | int], row_id: str, key: bytes) -> str:
    """A cursor behind a row: URL-safe text that `decode_cursor` reads, and nobody else can make or alter (L6).

    Args:
        values: the row's sort keys, one for each of `sort`: microseconds, folded name, status.
        key: the secret; lists whose cursors must not be mixed up take different ones.
    """
    payload = json.dumps([*values, row_id], ensure_ascii=False, separators=(",", ":")).encode()
    return _encode(_mac(sort, payload, key) + payload)


def decode_cursor(text: str, sort: Sequence[SortKey], key: bytes) -> tuple[list[str | int], str]:
    """The sort keys and the id that a cursor stands behind.

    Raises:
        Invalid: it is not exactly what `encode_cursor` made for this sort order.
    """
    raw = _decode(text)
    mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(sort, payload, key)):
        raise _not_a_cursor()
    *values, row_id = json.loads(payload)
    return values, row_id


def _parse_sort_key(text: str) -> SortKey:
    field, colon, direction = text.partition(":")
    if field not in SORT_FIELDS:
        raise Invalid(f"Invalid sort field: '{field[:100]}'. Valid fields: {', '.join(SORT_FIELDS)}")
    if colon and direction not in ("asc", "desc"):
        raise Invalid(f"Invalid sort direction: '{direction[:100]}'. Valid directions: asc, desc")
    return SortKey(field, descending=direction == "desc")


def _parse_number(text: str, field: str, *, least: int, most: int) -> int:
    """The number that ASCII digits write, at most `most`; digits that are too many to be converted are above it."""
    found = _NUMBER.fullmatch(text)
    if found:
        number = int(found[1]) if len(found[1]) <= len(str(most)) else most
        if number >= least:
            return min(number, most)
    raise Invalid(f"{field} must be a whole number of at least {least}, got {text[:100]!r}")


def _mac(sort: Sequence[SortKey], payload: bytes, key: bytes) -> bytes:
    """Binds the payload to the sort order; the first word keeps it apart from other uses of the key."""
    message = b"\0".join((b"cursor", ",".join(map(str, sort)).encode(), payload))
    return hmac.digest(key, message, "sha256")[:_MAC_BYTES]


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """The bytes of unpadded base64; the bits left over at its end must be zeros, as we write them."""
    if not _BASE64.fullmatch(text) or len(text) % 4 == 1:
        raise _not_a_cursor()
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _encode(raw) != text:
        raise _not_a_cursor()
    return raw


def _not_a_cursor() -> Invalid:
    return Invalid("next is not a cursor of this list in this sort order; leave it out to start from the beginning")
