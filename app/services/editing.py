"""Changing what people say about a traceset: its name, description and tags. Its bytes never change."""

from collections.abc import Iterable, Sequence

from sqlalchemy import delete
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.domain.metadata import fold
from app.errors import Forbidden, Invalid
from app.models.events import EventKind
from app.models.tracesets import DESCRIPTION_LENGTH, MAX_TAGS, NAME_LENGTH, TAG_LENGTH, Traceset, TracesetTag
from app.queries.tracesets import get_traceset
from app.services import events
from app.services.tags import insert_tags
from app.transactions import transaction


def edit_traceset(caller: Caller, traceset_id: str, *, name: str, description: str | None, tags: Sequence[str]) -> None:
    """Give a traceset this name, description and tags; doing it again changes nothing.

    Args:
        caller: sees the traceset, and is an editor of its workspace.
        traceset_id: what is changed.
        name: 1 to 255 characters after trimming.
        description: at most 10,000 characters; empty and None are the same.
        tags: at most 50 different ones of 1 to 100 characters.

    Raises:
        NotFound: there is no such traceset for this caller.
        Forbidden: the caller may only read it.
        Invalid: one of the texts will not do; the message names it.
    """
    name, description = name.strip(), description or None
    if not 1 <= len(name) <= NAME_LENGTH:
        raise Invalid(f"name must have 1 to {NAME_LENGTH} characters after trimming")
    if description is not None and len(description) > DESCRIPTION_LENGTH:
        raise Invalid(f"description must have at most {DESCRIPTION_LENGTH} characters")
    with transaction() as session:
        traceset = _changeable(session, caller, traceset_id)
        before = {"name": traceset.name, "description": traceset.description, "tags": traceset.tags}
        after = {"name": name, "description": description, "tags": _checked(tags)}
        if after == before:
            return
        traceset.name, traceset.name_key, traceset.description = name, fold(name), description
        _put_tags(session, traceset, _checked(tags))
        changes = [member for member in before if before[member] != after[member]]
        _record(session, caller, traceset, changed=changes, name=name)


def add_tags(caller: Caller, traceset_id: str, tags: Iterable[str]) -> None:
    """Add tags to those that a traceset has; those that it has already count once.

    Raises:
        NotFound: there is no such traceset for this caller.
        Forbidden: the caller may only read it.
        Invalid: a tag will not do, or there would be too many.
    """
    with transaction() as session:
        traceset = _changeable(session, caller, traceset_id)
        after = _checked([*traceset.tags, *tags])
        if after != traceset.tags:
            _put_tags(session, traceset, after)
            _record(session, caller, traceset, changed=["tags"], name=traceset.name)


def _changeable(session: Session, caller: Caller, traceset_id: str) -> Traceset:
    # Two people who add tags at once must both see the other's.
    traceset = get_traceset(session, caller, traceset_id, is_held=True)
    if not caller.may_change(traceset.workspace_id):
        raise Forbidden(f"You may not change what is in workspace '{traceset.workspace_id}'")
    return traceset


def _checked(tags: Iterable[str]) -> list[str]:
    """The tags, each once.

    Raises:
        Invalid: one of them, or their number, will not do.
    """
    distinct = list(dict.fromkeys(tags))
    for tag in distinct:
        if not 1 <= len(tag) <= TAG_LENGTH:
            raise Invalid(f"tags must have 1 to {TAG_LENGTH} characters each")
    if len(distinct) > MAX_TAGS:
        raise Invalid(f"tags must be at most {MAX_TAGS} different ones, got {len(distinct)}")
    return distinct


def _put_tags(session: Session, traceset: Traceset, tags: list[str]) -> None:
    traceset.tags = tags
    session.execute(delete(TracesetTag).where(TracesetTag.traceset_seq == traceset.seq))
    insert_tags(session, traceset)


def _record(session: Session, caller: Caller, traceset: Traceset, **detail: object) -> None:
    events.record(
        session,
        caller,
        EventKind.EDITED,
        traceset_id=traceset.id,
        workspace_id=traceset.workspace_id,
        **detail,
    )
