"""One change made to many tracesets, each in a transaction of its own: what cannot be done is told, the rest done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from app.domain.access import Caller
from app.errors import AppError, Unavailable
from app.services.deletion import delete_traceset
from app.services.editing import add_tags
from app.services.promotion import promote_traceset

MAX_SELECTED = 500
"""As many as a page of the list can show."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many were changed, and for each other one its id with the reason."""

    n_done: int
    refused: Sequence[tuple[str, str]]


def delete_selected(caller: Caller, traceset_ids: Sequence[str]) -> Outcome:
    """Delete these tracesets (D1-D3)."""
    return _each(traceset_ids, partial(delete_traceset, caller))


def tag_selected(caller: Caller, traceset_ids: Sequence[str], tags: Sequence[str]) -> Outcome:
    """Add these tags to each of these tracesets."""
    return _each(traceset_ids, lambda traceset_id: add_tags(caller, traceset_id, tags))


def promote_selected(caller: Caller, traceset_ids: Sequence[str], workspace_id: str) -> Outcome:
    """Publish these tracesets into this workspace under their own names (P1)."""
    return _each(traceset_ids, lambda traceset_id: promote_traceset(caller, traceset_id, workspace_id=workspace_id))


def _each(traceset_ids: Sequence[str], change: Callable[[str], object]) -> Outcome:
    """Change each.

    Raises:
        Unavailable: the database or the store went away; those before are done, and all of this can be repeated.
    """
    refused, distinct = [], list(dict.fromkeys(traceset_ids))[:MAX_SELECTED]
    for traceset_id in distinct:
        try:
            change(traceset_id)
        except Unavailable:
            raise
        except AppError as exc:
            refused.append((traceset_id, exc.message))
    return Outcome(len(distinct) - len(refused), refused)
