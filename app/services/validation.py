"""Whether a traceset is whole (V1-V6)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.domain.checksums import matches
from app.domain.rank_names import rank_coverage
from app.extensions import object_store
from app.models.tracesets import FileRole, LibraryFile, MetadataStatus, Traceset, TracesetFile
from app.models.uploads import UploadFile
from app.models.validations import Validation
from app.queries.tracesets import get_traceset
from app.services.store_calls import in_parallel
from app.storage.base import ObjectGone, Stored
from app.traces.check import HEAD_SIZE, check_trace_file
from app.traces.findings import Severity
from app.transactions import reading, transaction

NAMED_FILES = 10
"""How many files a message names before it counts the rest."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check's result; the message says what is wrong, or what passed with a reservation."""

    name: str
    passed: bool
    message: str | None = None


@dataclass(frozen=True, slots=True)
class _Bytes:
    """What is recorded of a file's bytes; `part_size` is the one they were uploaded with."""

    library: LibraryFile
    part_size: int


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is checked: the traceset, and each of its files with its bytes (None for an external one)."""

    traceset: Traceset
    files: Sequence[tuple[TracesetFile, _Bytes | None]]

    @property
    def held(self) -> list[tuple[TracesetFile, _Bytes]]:
        return [(file, held) for file, held in self.files if held is not None]

    @property
    def primary(self) -> list[TracesetFile]:
        return [file for file, _ in self.files if file.role is FileRole.PRIMARY]


def validate_traceset(caller: Caller, traceset_id: str, *, is_deep: bool = False) -> list[Check]:
    """Run the checks against the database and the store as they are now.

    The deep checks read every byte. May be repeated; the newest result is kept for the pages.

    Raises:
        NotFound: there is no such traceset for this caller.
        StoreUnavailable: the store does not answer, so that nothing can be said.
    """
    with reading() as session:
        traceset = get_traceset(session, caller, traceset_id)
        subject = _subject(session, traceset)
    checks: list[Callable[[_Subject], Check]] = [_file_integrity, _metadata_complete, _topology_correlation]
    if is_deep:
        checks += [_rank_coverage, _content_checksum, _trace_format]
    results = [check(subject) for check in checks]
    _remember(traceset.seq, results, is_deep=is_deep)
    return results


def _remember(seq: int, results: Sequence[Check], *, is_deep: bool) -> None:
    checks = [asdict(check) for check in results]
    # Where somebody else validates it at this moment too, one of the results will do.
    with suppress(IntegrityError), transaction() as session:
        session.merge(Validation(traceset_seq=seq, at=clock.now(), is_deep=is_deep, checks=checks))


def _subject(session: Session, traceset: Traceset) -> _Subject:
    statement = (
        select(TracesetFile, LibraryFile, UploadFile.part_size)
        .outerjoin(LibraryFile, LibraryFile.key == TracesetFile.library_key)
        .outerjoin(UploadFile, UploadFile.library_key == LibraryFile.key)
        .where(TracesetFile.traceset_seq == traceset.seq)
        .order_by(TracesetFile.position)
    )
    rows = session.execute(statement)
    return _Subject(traceset, [(file, _Bytes(held, part_size) if held else None) for file, held, part_size in rows])


def _file_integrity(subject: _Subject) -> Check:
    """Every file's object is in the store now, as it was when it was finished (V3)."""
    store = object_store()

    def is_intact(item: tuple[TracesetFile, _Bytes | None]) -> bool:
        file, held = item
        if held is None:
            return file.external_url is not None
        return store.is_intact(held.library.key, Stored(file.size, held.library.etag or ""))

    intact = in_parallel(store, is_intact, subject.files)
    lost = [file.name for (file, _), whole in zip(subject.files, intact, strict=True) if not whole]
    return _naming("file_integrity", lost, "missing from the store or altered there")


def _metadata_complete(subject: _Subject) -> Check:
    pending = [file.name for file, _ in subject.files if file.metadata_status is not MetadataStatus.COMPLETE]
    if pending:
        return _naming("metadata_complete", pending, "not complete")
    if subject.primary and subject.traceset.rank_count is None:
        return Check("metadata_complete", passed=False, message="There are primary files, but no rank count")
    return Check("metadata_complete", passed=True)


def _topology_correlation(_: _Subject) -> Check:
    return Check("topology_correlation", passed=True, message="Not yet implemented — always passes")


def _rank_coverage(subject: _Subject) -> Check:
    names = [file.name for file in subject.primary]
    count = subject.traceset.rank_count
    if not names or count is None:
        return Check("rank_coverage", passed=not names, message="There are no primary files" if not names else None)
    passed, message = rank_coverage(names, count)
    return Check("rank_coverage", passed=passed, message=message or None)


def _content_checksum(subject: _Subject) -> Check:
    """The bytes hash to what was recorded of them, and to the SHA-256 that the client declared."""
    store = object_store()

    def is_right(item: tuple[TracesetFile, _Bytes]) -> bool:
        library = item[1].library
        known = [digest for digest in (library.sha256, library.declared_sha256) if digest]
        try:
            chunks = store.read(library.key)
            return matches(chunks, sha256s=known, etag=library.etag or "", part_size=item[1].part_size)
        except ObjectGone:
            return False

    right = in_parallel(store, is_right, subject.held, is_reading=True)
    wrong = [file.name for (file, _), good in zip(subject.held, right, strict=True) if not good]
    return _naming("content_checksum", wrong, "not the content that was uploaded, or not the SHA-256 that was declared")


def _trace_format(subject: _Subject) -> Check:
    """What the first bytes of the primary files are, and whether tools can read it."""
    store = object_store()

    def findings(item: tuple[TracesetFile, _Bytes]) -> list[tuple[bool, str]]:
        file, held = item
        try:
            head = b"".join(store.read(held.library.key, 0, min(HEAD_SIZE, file.size)))
        except ObjectGone:
            return [(True, f"{file.name}: its bytes are missing")]
        found = check_trace_file(file.name, file.size, head)
        return [(finding.severity is Severity.ERROR, f"{file.name}: {finding.message}") for finding in found]

    primary = [item for item in subject.held if item[0].role is FileRole.PRIMARY]
    found = [finding for one in in_parallel(store, findings, primary) for finding in one]
    errors = [message for is_error, message in found if is_error]
    told = errors or [message for _, message in found]
    return Check("trace_format", passed=not errors, message=_some(told) or None)


def _naming(name: str, files: Sequence[str], fault: str) -> Check:
    if not files:
        return Check(name, passed=True)
    return Check(name, passed=False, message=f"{_some(files, ', ')}: {fault}")


def _some(texts: Sequence[str], separator: str = "; ") -> str:
    rest = len(texts) - NAMED_FILES
    shown = separator.join(texts[:NAMED_FILES])
    return f"{shown} and {rest} more" if rest > 0 else shown
