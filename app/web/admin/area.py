"""The area that the pages of the administration share: who may enter it, its parts, and how its lists are leafed."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from flask import Blueprint, request, url_for

from app.errors import Invalid, NotFound
from app.queries.leaves import Leaf, Turn
from app.web.auth import caller

blueprint = Blueprint("admin", __name__, url_prefix="/admin")

K = TypeVar("K", int, str)

PARTS = {
    "upload_sessions": "Upload sessions",
    "people": "People",
    "library": "Library",
    "settings": "Settings",
    "health": "Health",
}
"""The first page of each part, by the name of its view."""
MAX_KEY = 2**63 - 1


class Neighbours(NamedTuple):
    """Where the pages before and behind lead; None where there is none."""

    previous_url: str | None
    next_url: str | None


@blueprint.before_request
def admit() -> None:
    """Let administrators in. The others learn as little as from an address that does not exist.

    Raises:
        NotFound: for everybody else.
    """
    if not caller().is_admin:
        raise NotFound(f"There is nothing at {request.path}")


@blueprint.context_processor
def parts() -> dict[str, Any]:
    """The parts of the area, for its own navigation."""
    return {"admin_parts": PARTS}


def number_of(text: str) -> int:
    """The key of a list that is ordered by numbers.

    Raises:
        Invalid: it is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MAX_KEY):
        raise Invalid("This is not a page of the list; go to its first one")
    return int(text)


def turn_of(read_key: Callable[[str], K]) -> Turn:
    """The place in the list that the address names, as `next` or `previous`."""
    for name, is_backward in (("previous", True), ("next", False)):
        if text := request.args.get(name):
            return Turn(read_key(text), is_backward)
    return Turn()


def neighbours(leaf: Leaf[Any], key_of: Callable[[Any], K], **more: object) -> Neighbours:
    """Links to the pages on both sides, with the filters that the address has now.

    Args:
        leaf: this page.
        key_of: gives the key of a row.
        more: arguments of the path.
    """
    if not leaf.rows:
        return Neighbours(None, None)
    kept = {name: text for name, text in request.args.items() if name not in ("next", "previous") and text}

    def to(**place: K) -> str:
        arguments: dict[str, Any] = {**kept, **more, **place}
        return url_for(request.endpoint or "", **arguments)

    return Neighbours(
        to(previous=key_of(leaf.rows[0])) if leaf.has_previous else None,
        to(next=key_of(leaf.rows[-1])) if leaf.has_next else None,
    )
