"""What a client says it has sent, compared with the plan and with what the store holds (C2). Pure."""

from collections.abc import Mapping, Sequence

from app.domain.checksums import bare_etag
from app.domain.part_plan import PartPlan
from app.errors import Invalid

NamedParts = Sequence[tuple[int, str | None]]
"""(part number, ETag) pairs in any order; the ETag as the client wrote it, None where it could not read it."""


def check_named_files(
    named: Sequence[tuple[str, NamedParts]], plans: Mapping[str, PartPlan | None]
) -> dict[str, NamedParts]:
    """The parts named for each file.

    Args:
        named: what the client sent, in its order.
        plans: every file of the session by name; None for one that has no parts.

    Raises:
        Invalid: a file that the session does not have, one that is named twice, a part outside the plan or named
            twice; the message names file and part.
    """
    parts_of: dict[str, NamedParts] = {}
    for name, parts in named:
        if name not in plans:
            raise Invalid(f"File '{name}' is not part of this upload session")
        if name in parts_of:
            raise Invalid(f"File '{name}' is named twice")
        _check_numbers(name, parts, plans[name])
        parts_of[name] = parts
    return parts_of


def _check_numbers(name: str, parts: NamedParts, plan: PartPlan | None) -> None:
    count = plan.count if plan else 0
    seen = set()
    for number, _ in parts:
        if not 1 <= number <= count:
            has = f"it has parts 1 to {count}" if count else "it has no parts"
            raise Invalid(f"Part {number} of file '{name}' does not exist: {has}")
        if number in seen:
            raise Invalid(f"Part {number} of file '{name}' is named twice")
        seen.add(number)


def check_named_parts(
    name: str, plan: PartPlan | None, parts: NamedParts, held: Mapping[int, tuple[int, str]] | None
) -> None:
    """Whether every part of this file was named, is held, has its planned size and the ETag that was named.

    Args:
        name: the file's.
        plan: the file's, whose part numbers `parts` keeps to.
        parts: what the client named.
        held: part number to (size in bytes, ETag as `bare_etag` gives it), as the store lists them; None where
            an earlier completion that died has finished the file, so that its parts have been compared already.

    Raises:
        Invalid: the message names the file, and the part where it is one.
    """
    if plan is None:
        return
    named = dict(parts)
    numbers = range(1, plan.count + 1)
    if any(number not in named or (held is not None and number not in held) for number in numbers):
        raise Invalid(f"Missing parts for file '{name}'")
    if held is None:
        return
    for number in numbers:
        size, etag = held[number]
        said = named[number]
        if said is not None and bare_etag(said) != etag:
            raise Invalid(f"Part {number} of file '{name}' has another ETag: got {said}, the store holds \"{etag}\"")
        planned = plan.size_of(number)
        if size < planned:
            raise Invalid(f"Part {number} of file '{name}' is {size} bytes, shorter than its size of {planned} bytes")
