"""Completing an upload (C1-C9).

The request claims the session and hands the work to a thread, which renews the claim while it lives and goes on
when the request has timed out or its client has hung up. The work is: list the parts of all files, compare them
with what was declared and with what the client names, let the store finish each file, and announce it all in one
transaction. Everything before that transaction can be repeated, so whoever takes over from a dead process does
the same again; the transaction counts only while the claim is held, so nothing is ever counted twice.
"""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import NoReturn

import structlog
from flask import Flask, current_app
from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.domain.completion import NamedParts, check_named_files, check_named_parts
from app.errors import AppError, Conflict, Forbidden, Gone, Invalid, RequestTimeout, TooLarge
from app.extensions import app_settings, object_store
from app.models.events import EventKind
from app.models.tracesets import Kind, LibraryFile, LibraryState, MetadataStatus, Status, Traceset, TracesetFile
from app.models.uploads import SessionState, UploadFile, UploadSession
from app.observability import COMPLETED_BYTES, COMPLETIONS
from app.queries.tracesets import not_found
from app.queries.uploads import ROUTES, FileToSend, files_to_send, get_upload
from app.services import events, library, multipart, sessions
from app.services.store_calls import in_parallel
from app.storage.base import Part, PartsRefused, Stored, UploadGone
from app.transactions import change_each, changed, reading, transaction

log = structlog.get_logger()

BEING_COMPLETED = "Upload session is already being completed by another request"


@dataclass(frozen=True, slots=True)
class Completion:
    """The traceset that is ready, and whether this call made it so."""

    traceset_id: str
    is_first: bool


def complete_upload(caller: Caller, upload_id: str, kind: Kind, named: Sequence[tuple[str, NamedParts]]) -> Completion:
    """Complete the session; a second call answers that it is completed.

    Args:
        caller: must be an editor of the traceset's workspace.
        upload_id: the session.
        kind: what the route completes; a session of the other kind is refused.
        named: file names, each with its (part number, ETag or None) pairs in any order.

    Raises:
        NotFound, Forbidden, Gone: C4.
        Conflict: another request is completing it (C5).
        RequestTimeout: the work goes on without this request (C6).
        Invalid: something is missing or wrong; the session is open again (C2).
        TooLarge: a file is larger than declared; the session has failed (C3).
    """
    done = _completed_or_claimable(caller, upload_id, kind)
    if done is not None:
        return done
    claim = sessions.claim(upload_id)
    if claim is None:
        return _completed_or_claimable(caller, upload_id, kind) or _being_completed()
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    work = _Work(app, caller, upload_id, claim, named)
    try:
        return work.start().result(app_settings().complete_timeout)
    except FutureTimeout as exc:
        raise RequestTimeout(
            "The completion takes longer than this request may. It goes on: retry the same request until it answers 200"
        ) from exc


def _completed_or_claimable(caller: Caller, upload_id: str, kind: Kind) -> Completion | None:
    """The answer that the session's state gives, or None where it may be claimed."""
    with reading() as session:
        upload, traceset = get_upload(session, caller, upload_id, kind)
    if not caller.may_change(traceset.workspace_id):
        raise Forbidden(f"You may not change what is in workspace '{traceset.workspace_id}'")
    route = ROUTES[kind]
    match multipart.state_now(upload):
        case SessionState.COMPLETED:
            if traceset.deleted_at is not None:
                raise not_found(traceset.id, kind)
            return Completion(traceset.id, is_first=False)
        case SessionState.FAILED:
            raise Invalid(f"Upload session '{upload_id}' has failed: {upload.failure}. Open a new one by POST {route}")
        case SessionState.ABORTED:
            raise Invalid(f"Upload session '{upload_id}' was aborted. Open a new one by POST {route}")
        case SessionState.EXPIRED:
            raise Gone(f"Upload session '{upload_id}' has expired")
        case SessionState.COMPLETING if sessions.is_held(upload, clock.now()):
            _being_completed()
    return None


def _being_completed() -> NoReturn:
    raise Conflict(BEING_COMPLETED)


class _Work:
    """One completion under one claim, in a thread of its own beside the one that renews the claim."""

    def __init__(
        self, app: Flask, caller: Caller, upload_id: str, claim: str, named: Sequence[tuple[str, NamedParts]]
    ) -> None:
        self.app = app
        self.caller = caller
        self.upload_id = upload_id
        self.claim = claim
        self.named = named
        self.future: Future[Completion] = Future()
        self.ended = threading.Event()

    def start(self) -> Future[Completion]:
        for target in (self._run, self._keep_claim):
            threading.Thread(target=target, name=f"complete-{self.upload_id}", daemon=True).start()
        return self.future

    def _keep_claim(self) -> None:
        with self.app.app_context():
            while not self.ended.wait(app_settings().complete_lease / 3):
                try:
                    with transaction() as session:
                        if not sessions.renew(session, self.upload_id, self.claim):
                            return
                except AppError as exc:
                    # The next turn may succeed; should the lease run out before, another process takes over.
                    log.warning("claim.not_renewed", upload_id=self.upload_id, error=exc.message)

    def _run(self) -> None:
        with self.app.app_context():
            try:
                answer = self._complete()
            except BaseException as exc:  # noqa: BLE001 - the request that waits raises it, or nobody is left to
                self._give_up(exc)
                self.future.set_exception(exc)
            else:
                COMPLETIONS.labels("completed").inc()
                self.future.set_result(answer)
            finally:
                self.ended.set()

    def _give_up(self, exc: BaseException) -> None:
        COMPLETIONS.labels(type(exc).__name__).inc()
        level = log.info if isinstance(exc, AppError) else log.error
        level("completion.failed", upload_id=self.upload_id, error=str(exc), exc_info=not isinstance(exc, AppError))
        try:
            sessions.release(self.upload_id, self.claim)
        except AppError as again:
            log.warning("claim.not_released", upload_id=self.upload_id, error=again.message)

    def _complete(self) -> Completion:
        with reading() as session:
            upload = session.get_one(UploadSession, self.upload_id)
            traceset = session.get_one(Traceset, upload.traceset_seq)
            files = files_to_send(session, upload)
        sent = [file for file in files if file.library_key is not None]
        held = in_parallel(object_store(), multipart.held, sent)
        self._refuse_oversize(traceset, sent, held)
        self._restart_lost(sent, held)
        parts_named = check_named_files(self.named, {file.name: file.plan for file in files})
        for file, stored in zip(sent, held, strict=True):
            check_named_parts(file.name, file.plan, parts_named.get(file.name, ()), _by_number(stored))
        finished = in_parallel(object_store(), _finish, list(zip(sent, held, strict=True)))
        self._restart_lost(sent, finished)
        objects = {str(f.library_key): stored for f, stored in zip(sent, finished, strict=True) if stored}
        if not announce(self.caller, self.upload_id, self.claim, objects):
            raise Conflict(BEING_COMPLETED)
        return Completion(traceset.id, is_first=True)

    def _refuse_oversize(
        self, traceset: Traceset, sent: Sequence[FileToSend], held: Sequence[list[Part] | Stored | None]
    ) -> None:
        """Oversize is told before anything else that is wrong, and ends the session (C3)."""
        for file, stored in zip(sent, held, strict=True):
            size = _size_of(stored)
            if size <= file.size:
                continue
            reason = f"File {file.name} is {size} bytes, larger than its declared size of {file.size} bytes"
            with transaction() as session:
                if not sessions.fail(session, self.upload_id, self.claim, reason):
                    raise Conflict(BEING_COMPLETED)
                sessions.fail_traceset(session, self.caller, traceset, self.upload_id, reason)
            library.discard_quietly(self.upload_id)
            raise TooLarge(reason)

    def _restart_lost(self, sent: Sequence[FileToSend], held: Sequence[object]) -> None:
        """Where the store has lost an upload (None), let a new one be begun under the same session."""
        lost = [file for file, stored in zip(sent, held, strict=True) if stored is None]
        if not lost:
            return
        with transaction() as session:
            if not sessions.renew(session, self.upload_id, self.claim):
                raise Conflict(BEING_COMPLETED)
            multipart.forget(session, self.upload_id, lost)
        raise Invalid(f"Missing parts for file '{lost[0].name}'")


def _size_of(stored: list[Part] | Stored | None) -> int:
    if stored is None:
        return 0
    return stored.size if isinstance(stored, Stored) else sum(part.size for part in stored)


def _by_number(stored: list[Part] | Stored | None) -> Mapping[int, tuple[int, str]] | None:
    if isinstance(stored, Stored):
        return None
    return {part.number: (part.size, part.etag) for part in stored or ()}


def _finish(item: tuple[FileToSend, list[Part] | Stored | None]) -> Stored | None:
    """The finished object, or None where the store has lost the upload."""
    file, held = item
    if held is None or isinstance(held, Stored):
        return held if held and held.size == file.size else None
    try:
        return object_store().finish(str(file.library_key), str(file.multipart_id), held)
    except UploadGone:
        return None
    except PartsRefused as exc:
        raise Invalid(f"A part of file '{file.name}' was sent again during the completion; retry") from exc


def announce(caller: Caller, upload_id: str, claim: str, objects: Mapping[str, Stored]) -> bool:
    """The one transaction that makes a traceset ready.

    Args:
        caller: who completes, for the event.
        upload_id: the session.
        claim: the claim under which the work was done.
        objects: the finished object by library key, for every file that was sent.

    Returns:
        Whether it was done; False, and nothing has changed, where the claim was lost.
    """
    with transaction() as session:
        if not sessions.finish(session, upload_id, claim):
            return False
        upload = session.get_one(UploadSession, upload_id)
        traceset = session.get_one(Traceset, upload.traceset_seq)
        _store_files(session, upload, objects)
        traceset.status = Status.READY
        events.record(
            session,
            caller,
            EventKind.COMPLETED,
            traceset_id=traceset.id,
            workspace_id=traceset.workspace_id,
            upload_id=upload_id,
        )
    COMPLETED_BYTES.inc(sum(stored.size for stored in objects.values()))
    return True


def _store_files(session: Session, upload: UploadSession, objects: Mapping[str, Stored]) -> None:
    if objects:
        change_each(
            session,
            update(LibraryFile)
            .where(LibraryFile.key == bindparam("library_key"))
            .values(state=LibraryState.STORED, ref_count=1, etag=bindparam("new_etag"), sha256=bindparam("new_sha256")),
            [
                {"library_key": key, "new_etag": stored.etag, "new_sha256": stored.sha256}
                for key, stored in objects.items()
            ],
        )
    sent = (
        select(UploadFile.library_key)
        .where(UploadFile.session_id == upload.id, UploadFile.position == TracesetFile.position)
        .scalar_subquery()
    )
    own = TracesetFile.traceset_seq == upload.traceset_seq
    matched = TracesetFile.library_key.is_not(None)
    changed(session, update(TracesetFile).where(own, ~matched).values(library_key=sent))
    changed(session, update(TracesetFile).where(own).values(metadata_status=MetadataStatus.COMPLETE))
