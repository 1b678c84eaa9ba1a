"""JSON read strictly and written compactly (G7, R3, U5).

Why not plain `json`: it takes NaN, keeps the last of repeated members, makes strings that no database stores, turns
1e400 into infinity, and falls over long integers and deep nesting. The standard scanner still does the work here,
between a linear look at the bytes before it and, only where something is wrong, a walk for the place after it.

Integers too long for `int` are kept as their digits (`LongInteger`). Python's limit on converting integers guards the
whole process against quadratic work, so it is left as it is.
"""

import json
import re
import secrets
import sys
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, chain, zip_longest
from math import isinf
from typing import NoReturn, TypeGuard

from app.errors import Invalid

MAX_DEPTH = 100
"""How many arrays and objects of a body may lie inside each other, the body itself included (G7)."""
DEEP_MEMBER = "workloadMetadata"
"""The member of a body that is stored and given back as it came."""
MAX_DEEP_MEMBER_DEPTH = 160
"""The same for the value of that member alone.

The document on workload metadata takes any object there, and it goes before G7. What reads and writes JSON recurses,
however, and shares the interpreter's limit of 1000 calls with the web framework, so there has to be some end.
"""
MAX_INT_DIGITS = sys.int_info.str_digits_check_threshold
"""Digits, a sign included, up to which `int` and `str` convert under every setting of the interpreter."""
MAX_EXCERPT = 100
"""Characters of a value that are shown in a message."""

MAX_FAULTS = 100
"""After so many faults nobody looks for their places any more."""

_IRRELEVANT = bytes(set(range(256)) - set(b'[]{}"'))
_STRING = re.compile(rb'"[^"]*+"?')  # an unfinished one takes the rest, which keeps the search linear
_SIGNS = bytes.maketrans(b"[]{}", b"\x01\xff\x01\xff")  # +1 and -1 as signed bytes
_BLOCK = 65_536
_SOUND_ESCAPES = re.compile(
    r"(?:[^\\]++|\\[^u]|\\u(?!0000|[dD][89a-fA-F])....|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*+", re.DOTALL
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class JSONText:
    """A piece of JSON that is written already; `dumps` puts it in place as it is."""

    text: str


class LongInteger(JSONText):
    """An integer of more than `MAX_INT_DIGITS` digits, sign and digits as they were written."""

    __slots__ = ()

    @property
    def is_negative(self) -> bool:
        """Whether it is below zero."""
        return self.text.startswith("-")


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands in the parsed value where JSON was read that we refuse."""

    what: str


def loads(data: bytes, *, max_depth: int = MAX_DEPTH) -> object:
    """The value of a JSON text; integers of more than `MAX_INT_DIGITS` digits as `LongInteger`.

    Raises:
        Invalid: `data` is not JSON, or holds something that G7 refuses; the message tells what and where (the
            member's path, or an offset). Never anything else, and in time that grows with the size alone.

    Source: RFC 8259; sections 4 and 8 leave repeated members, byte order marks and surrogates to the reader.
    """
    text = _decode(data)
    if _depth(data, max_depth) > max_depth:
        raise _too_deep(max_depth)
    return _parse(text)


def loads_object(data: bytes) -> dict[str, object]:
    """The members of a request's body, which must be an object; as `loads`, but for the depth of `DEEP_MEMBER`."""
    text = _decode(data)
    depth = _depth(data, MAX_DEEP_MEMBER_DEPTH + 1)
    if depth > MAX_DEEP_MEMBER_DEPTH + 1:
        raise _too_deep(MAX_DEPTH)
    value = _parse(text)
    if not isinstance(value, dict):
        raise Invalid(f"The body must be a JSON object, got {_kind(value)}")
    if depth > MAX_DEPTH:
        _check_depths(value)
    return value


def dumps(value: object) -> str:
    """Compact JSON of a value: members in their order, non-ASCII characters as they are, `JSONText` verbatim.

    Whatever `loads` gave comes back equal. The text is whole JSON and may be put into another one by `JSONText`.
    """
    pieces: list[str] = []
    mark = secrets.token_hex(16)  # no string of the value can hold it by design or by accident

    def keep(part: object) -> str:
        if not isinstance(part, JSONText):
            raise TypeError(f"{type(part).__name__} is not a JSON value")
        pieces.append(part.text)
        return mark

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=keep)
    if not pieces:
        return text
    return "".join(chain.from_iterable(zip_longest(text.split(f'"{mark}"'), pieces, fillvalue="")))


def excerpt(value: object) -> str:
    """A value as compact JSON for a message, cut where it is long."""
    text = dumps(value)
    if len(text) <= MAX_EXCERPT:
        return text
    return f"{text[: MAX_EXCERPT - 20]}… ({len(text)} characters)"


def is_at_least_one(value: object) -> TypeGuard[int | LongInteger]:
    """Whether a JSON value is a whole number of at least 1; `true`, `2.0` and `"4"` are none (G7)."""
    if isinstance(value, LongInteger):
        return not value.is_negative
    return type(value) is int and value >= 1


def _decode(data: bytes) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        raise Invalid("The body begins with a byte order mark; send JSON in UTF-8 without one")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise Invalid(f"The body is not valid UTF-8 at byte {exc.start}") from exc


def _depth(data: bytes, enough: int) -> int:
    """How deep brackets outside of strings nest, up to the first error of syntax at least.

    The count stops soon after `enough` is passed. All loops over single bytes run inside of the standard library.
    """
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _IRRELEVANT)
    # Two quotes with no bracket between them change nothing for what stands around them.
    signs = array("b", _STRING.sub(b"", bare.replace(b'""', b"")).translate(_SIGNS))
    depth = deepest = 0
    for start in range(0, len(signs), _BLOCK):
        depths = list(accumulate(signs[start : start + _BLOCK], initial=depth))
        depth, deepest = depths[-1], max(deepest, *depths)
        if deepest > enough:
            break
    return deepest


def _check_depths(body: dict[str, object]) -> None:
    """Raise where a part of a body other than `DEEP_MEMBER` is too deep."""
    rest = {name: value for name, value in body.items() if name != DEEP_MEMBER}
    if _depth(dumps(rest).encode(), MAX_DEPTH) > MAX_DEPTH:
        raise _too_deep(MAX_DEPTH)


def _too_deep(limit: int) -> Invalid:
    return Invalid(f"The body nests arrays and objects deeper than {limit}")


def _parse(text: str) -> object:
    """The parsed text, searched for the place of what is refused where there is something."""
    faults: list[_Fault] = []
    value = _scan(text, faults)
    if (faults or not _SOUND_ESCAPES.fullmatch(text)) and (found := _find_fault(value)):
        place, what = found
        raise Invalid(f"{place.removeprefix('.') or 'The body'}: {what}")
    return value


def _scan(text: str, faults: list[_Fault]) -> object:
    """The parsed text; what is refused has a `_Fault` in its place, which is also added to `faults`."""

    def refuse(what: str) -> _Fault:
        if len(faults) == MAX_FAULTS:
            raise Invalid(f"The body: {faults[0].what}")
        faults.append(_Fault(what))
        return faults[-1]

    def read_object(pairs: list[tuple[str, object]]) -> object:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        return refuse(f"the member {_quote(_first_repeated(name for name, _ in pairs))} is there twice")

    def read_integer(digits: str) -> object:
        return int(digits) if len(digits) <= MAX_INT_DIGITS else LongInteger(digits)

    def read_float(digits: str) -> object:
        number = float(digits)
        return refuse(f"{_cut(digits)} is too large for a number") if isinf(number) else number

    def read_constant(word: str) -> object:
        return refuse(f"{word} is not JSON")

    decoder = json.JSONDecoder(
        object_pairs_hook=read_object, parse_int=read_integer, parse_float=read_float, parse_constant=read_constant
    )
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as exc:
        _refuse_syntax(text, exc)


def _refuse_syntax(text: str, exc: json.JSONDecodeError) -> NoReturn:
    if not text.strip():
        raise Invalid("The body is empty; it must be JSON") from exc
    raise Invalid(f"The body is not valid JSON: {exc}") from exc


def _find_fault(value: object) -> tuple[str, str] | None:
    """The place (`.files[3].name`) and the nature of the first fault in a parsed value."""
    if isinstance(value, _Fault):
        return "", value.what
    if isinstance(value, str) and (what := _unstorable(value)):
        return "", f"the text holds {what}"
    if isinstance(value, dict):
        return _find_fault_among(value.items())
    if isinstance(value, list):
        return _find_fault_among(enumerate(value))
    return None


def _find_fault_among(children: Iterable[tuple[str | int, object]]) -> tuple[str, str] | None:
    for key, child in children:
        if isinstance(key, str) and (what := _unstorable(key)):
            return "", f"the name of the member {_quote(key)} holds {what}"
        if found := _find_fault(child):
            place, what = found
            return _step(key) + place, what
    return None


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN_NAME.fullmatch(key) else f"[{_quote(key)}]"


def _unstorable(text: str) -> str | None:
    found = _UNSTORABLE.search(text)
    if not found:
        return None
    return "a NUL character" if found[0] == "\0" else "half of a surrogate pair"


def _first_repeated(names: Iterable[str]) -> str:
    counts = Counter(names)
    return next(name for name, count in counts.items() if count > 1)


def _quote(name: str) -> str:
    """A member's name in plain ASCII, so that a message can show what cannot be encoded."""
    return _cut(json.dumps(name))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_EXCERPT else f"{text[: MAX_EXCERPT - 20]}…"


def _kind(value: object) -> str:
    """What a JSON value that is no object is called."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", str: "a string", list: "an array"}
    return kinds.get(type(value), "a number")
