"""Workload metadata as a whole: what upload takes, what the list searches, what promotion demands (U5, L11, P2, P3).

Source: the document on workload metadata, "Descriptive members" and "Errors".
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from app.domain import strict_json
from app.domain.rank_count import (
    DEGREES,
    PARALLELISM,
    ROOT,
    SHAPE,
    Declaration,
    read_declaration,
    read_whole_number,
    require_rank_count,
)
from app.domain.strict_json import LongInteger, excerpt
from app.errors import Invalid

MAX_METADATA_BYTES = 65_536
"""Of the compact UTF-8 JSON. Source: the document on workload metadata, "Errors"."""

MAX_FILTER_CHARACTERS = 8190
"""Longer words cannot be asked for, so they are not kept for it; that bounds the work of folding them.

Source: gunicorn, `limit_request_line`, whose largest value this is.
"""

KEPT_CHARACTERS = 128
"""Words of more are kept as a beginning and a hash: an entry of a PostgreSQL index takes 2,704 bytes.

Source: PostgreSQL, "Multicolumn Indexes" and nbtree's `BTMaxItemSize` for pages of 8 KiB.
"""

Metadata = Mapping[str, object]


class CheckedMetadata(NamedTuple):
    """What upload stores: the JSON text (None for null) and the declared rank count."""

    text: str | None
    rank_count: int | None


@dataclass(frozen=True, slots=True)
class Descriptive:
    """The members that the list filters by; None where one is absent, no string or too long for a filter."""

    workload_family: str | None = None
    workload_name: str | None = None
    precision: str | None = None
    accelerator: str | None = None


def check_workload_metadata(value: object, has_primary: bool) -> CheckedMetadata:
    """What to store of the `workloadMetadata` that an upload came with, as `strict_json` read it (U5).

    Raises:
        Invalid: neither an object nor null, too large, or the rank count is declared wrongly or not at all.
    """
    metadata = _check_object(value)
    text = None if metadata is None else _check_size(metadata)
    return CheckedMetadata(text, require_rank_count(metadata, has_primary))


def read_stored(text: str | None) -> dict[str, object] | None:
    """The metadata behind the text that `check_workload_metadata` gave."""
    if text is None:
        return None
    value = strict_json.loads(text.encode(), max_depth=strict_json.MAX_DEEP_MEMBER_DEPTH)
    return _check_object(value)


def read_quickly(text: str) -> Mapping[str, object]:
    """The members of stored metadata, where it only is to be shown; none where it holds integers beyond all reason."""
    with suppress(ValueError):
        found: dict[str, object] = json.loads(text)
        return found
    return {}


def descriptive(metadata: Metadata | None) -> Descriptive:
    """What is kept of the descriptive members for comparison (L11)."""
    members = metadata or {}
    return Descriptive(*(_kept_word(members.get(name)) for name in Descriptive.__slots__))


def fold(text: str) -> str:
    """The form in which names and words are compared and sorted: case-folded, in NFC (L3, L8, L11).

    Texts that differ in case or in their spelling of accented letters have one form; folding it again changes nothing.

    Source: Unicode 14, 3.13, D145 (canonical caseless matching): the folding goes between two normalisations.
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def filter_word(text: str) -> str:
    """What is kept of a descriptive member to be compared: equal for words that differ in case alone (L11).

    A word that is kept whole is never one character longer than `KEPT_CHARACTERS`, so no two words share what is kept.
    """
    folded = fold(text)
    if len(folded) <= KEPT_CHARACTERS:
        return folded
    digest = hashlib.sha256(folded.encode()).hexdigest()
    return folded[: KEPT_CHARACTERS + 1 - len(digest)] + digest


def check_promotion(new: object, stored: Metadata | None, held: int | None) -> Metadata | None:
    """The metadata that a promoted traceset gets (P2, P3).

    Args:
        new: the metadata that came with the request; None where there is none, then the stored one goes along.
        stored: the traceset's metadata.
        held: the traceset's rank count.

    Raises:
        Invalid: one message with every fault, each with its member and value.
    """
    metadata = stored if new is None else _check_object(new)
    if new is not None:
        _check_size(metadata)
    declaration = read_declaration(metadata)
    faults = [*declaration.faults, *_model_faults(metadata, declaration)]
    if new is not None and not declaration.faults and declaration.count != held:
        faults.append(
            f"{ROOT} must declare the rank count that the traceset holds ({_show_count(held)}), "
            f"by shape.rankCount or the parallelism degrees, but declares {_show_count(declaration.count)}"
        )
    if faults:
        raise Invalid("; ".join(faults))
    return metadata


def _check_object(value: object) -> dict[str, object] | None:
    if value is None or isinstance(value, dict):
        return value
    raise Invalid(f"{ROOT} must be an object or null, got {excerpt(value)}")


def _check_size(metadata: object) -> str:
    """The metadata as compact JSON, which may have `MAX_METADATA_BYTES` at most."""
    text = strict_json.dumps(metadata)
    size_bytes = len(text.encode())
    if size_bytes > MAX_METADATA_BYTES:
        raise Invalid(f"{ROOT} must be at most {MAX_METADATA_BYTES} bytes of compact JSON, got {size_bytes}")
    return text


def _kept_word(value: object) -> str | None:
    return filter_word(value) if isinstance(value, str) and len(value) <= MAX_FILTER_CHARACTERS else None


def _show_count(count: int | None) -> str:
    return "none" if count is None else str(count)


def _model_faults(metadata: Metadata | None, declaration: Declaration) -> list[str]:
    """What P3 demands beyond the rules of upload."""
    members = metadata or {}
    faults = [
        f"{ROOT}.{name} must be a string or null, got {excerpt(members[name])}"
        for name in Descriptive.__slots__
        if not isinstance(members.get(name), str | None)
    ]
    for name in ("global_batch_size", "sequence_length"):
        read_whole_number(declaration.shape.get(name), f"{SHAPE}.{name}", faults)
    if declaration.parallelism is not None:
        faults += _parallelism_faults(declaration.parallelism)
    old, product = declaration.shape.get("rank_count"), declaration.product
    if product is not None and old is not None and (type(old) is not int or old != product):
        faults.append(f"{SHAPE}.rank_count must be the product of the degrees ({product}), got {excerpt(old)}")
    return faults


def _parallelism_faults(parallelism: Metadata) -> list[str]:
    faults: list[str] = []
    if all(parallelism.get(name) is None for name in DEGREES):
        faults.append(f"{PARALLELISM} must have at least one of {', '.join(DEGREES)}, got {excerpt(parallelism)}")
    read_whole_number(parallelism.get("cp"), f"{PARALLELISM}.cp", faults)
    fsdp = read_whole_number(parallelism.get("fsdp"), f"{PARALLELISM}.fsdp", faults)
    dp = 1 if parallelism.get("dp") is None else parallelism["dp"]
    # A `dp` that is no good is told of already. A long `fsdp` is larger than any good `dp`.
    if fsdp is not None and type(dp) is int and dp >= 1 and (isinstance(fsdp, LongInteger) or dp % fsdp):
        faults.append(f"{PARALLELISM}.fsdp must divide {PARALLELISM}.dp ({excerpt(dp)}), got {excerpt(fsdp)}")
    return faults
