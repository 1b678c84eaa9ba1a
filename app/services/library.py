"""Library files: who refers to them, and their end.

A library file's reference count is the number of traceset files that name it. It changes only here and where a
completion or a promotion makes new references, always in the transaction that changes those rows.

The end comes in two steps, so that nothing can refer to bytes that are about to go: a transaction condemns the
file (from then on no statement here raises its count), then its bytes and its row are deleted by `discard`,
which may be repeated.
"""

from collections.abc import Collection, Sequence

import structlog
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from app.errors import AppError, Unavailable
from app.extensions import object_store
from app.models.tracesets import LibraryFile, LibraryState, TracesetFile
from app.models.uploads import UploadFile
from app.queries.consistency import is_named, is_sent
from app.services.store_calls import in_parallel
from app.transactions import changed, reading, transaction

log = structlog.get_logger()


def add_references(session: Session, traceset_seq: int) -> None:
    """Count what this traceset's files, none of which was counted before, name.

    Raises:
        Unavailable: some of it is being deleted at this moment; a retry finds it gone.
    """
    _count(session, traceset_seq, 1)
    going = select(TracesetFile.position).join(LibraryFile, LibraryFile.key == TracesetFile.library_key)
    going = going.where(TracesetFile.traceset_seq == traceset_seq, LibraryFile.state != LibraryState.STORED)
    if session.execute(going.limit(1)).first() is not None:
        raise Unavailable("Some of this content is being deleted at this moment; please try again")


def drop_references(session: Session, traceset_seq: int) -> None:
    """Let this traceset's files name no bytes any more, and lower the counts of those that they named."""
    _count(session, traceset_seq, -1)
    named = (TracesetFile.traceset_seq == traceset_seq, TracesetFile.library_key.is_not(None))
    changed(session, update(TracesetFile).where(*named).values(library_key=None))


def _count(session: Session, traceset_seq: int, sign: int) -> None:
    named = (TracesetFile.traceset_seq == traceset_seq, TracesetFile.library_key.is_not(None))
    keys = select(TracesetFile.library_key).where(*named)
    # The rows are locked in one order, so that two transactions that share files never wait for each other; and so
    # that each may go on while the other's new traceset files hold the keys that they name.
    in_order = select(LibraryFile.key).where(LibraryFile.key.in_(keys)).order_by(LibraryFile.key)
    session.execute(in_order.with_for_update(key_share=True))
    times = select(func.count()).where(*named, TracesetFile.library_key == LibraryFile.key).scalar_subquery()
    counted = update(LibraryFile).where(LibraryFile.key.in_(keys))
    changed(session, counted.values(ref_count=LibraryFile.ref_count + sign * times))


def recount(keys: Collection[str]) -> None:
    """Set these files' counts to what they should be; may be done at any time, as whoever changes them waits."""
    locked = select(LibraryFile.key).where(LibraryFile.key.in_(keys)).order_by(LibraryFile.key)
    n_names = select(func.count()).where(TracesetFile.library_key == LibraryFile.key).scalar_subquery()
    with transaction() as session:
        session.execute(locked.with_for_update())
        changed(session, update(LibraryFile).where(LibraryFile.key.in_(keys)).values(ref_count=n_names))


def condemn_abandoned(keys: Collection[str]) -> int:
    """Condemn those of these staged files that no session sends any more, and nothing names; answers how many."""
    abandoned = (LibraryFile.key.in_(keys), LibraryFile.state == LibraryState.STAGED, ~is_sent(), ~is_named())
    with transaction() as session:
        return changed(session, update(LibraryFile).where(*abandoned).values(state=LibraryState.CONDEMNED))


def condemn_staged(session: Session, upload_id: str) -> None:
    """Condemn what this session has sent; it never became anybody's."""
    keys = select(UploadFile.library_key).where(UploadFile.session_id == upload_id)
    staged = (LibraryFile.key.in_(keys), LibraryFile.state == LibraryState.STAGED)
    changed(session, update(LibraryFile).where(*staged).values(state=LibraryState.CONDEMNED))


def condemn_unreferenced(limit: int) -> int:
    """Condemn up to `limit` stored files that nothing refers to; answers how many."""
    idle = (LibraryFile.state == LibraryState.STORED, LibraryFile.ref_count == 0)
    keys = select(LibraryFile.key).where(*idle).limit(limit)
    with transaction() as session:
        condemn = update(LibraryFile).where(LibraryFile.key.in_(keys), *idle)
        return changed(session, condemn.values(state=LibraryState.CONDEMNED))


def discard(condemned: Sequence[LibraryFile]) -> None:
    """Delete the bytes of condemned files, finished or not, and then their rows."""
    store = object_store()
    in_parallel(store, lambda key: store.abort(key, None), [file.key for file in condemned if file.etag is None])
    keys = [file.key for file in condemned]
    store.delete(keys)
    _forget(keys)


def _forget(keys: Collection[str]) -> None:
    with transaction() as session:
        session.execute(
            delete(LibraryFile).where(LibraryFile.key.in_(keys), LibraryFile.state == LibraryState.CONDEMNED)
        )


def condemned_of(session: Session, upload_id: str) -> list[LibraryFile]:
    """The condemned files that this session sent."""
    sent = select(UploadFile.library_key).where(UploadFile.session_id == upload_id)
    statement = select(LibraryFile).where(LibraryFile.key.in_(sent), LibraryFile.state == LibraryState.CONDEMNED)
    return list(session.scalars(statement))


def discard_quietly(upload_id: str) -> None:
    """Discard what an ended session had sent; what cannot be discarded now, a sweep deletes."""
    try:
        with reading() as session:
            condemned = condemned_of(session, upload_id)
        discard(condemned)
    except AppError as exc:
        log.warning("discard.postponed", upload_id=upload_id, error=exc.message)
