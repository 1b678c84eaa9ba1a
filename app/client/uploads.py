"""Sending the parts of one upload session until the store holds them all, and completing it (U3, S1, C1-C6).

What is left to send is what the server's list of parts does not show; it is asked for before the second round, when an
upload is continued, and shortly before the URLs run out. A part that is shown counts when its ETag is that of the local
bytes: either this process has just read and compared them, or an earlier one has and the file has not changed since, or
they are read and compared now. The last is what makes it safe to go on from another host.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.client.backoff import Backoff
from app.client.digests import bare, likely_algorithm, read_etag
from app.client.errors import (
    Conflict,
    Damaged,
    Invalid,
    RequestTimeout,
    SourceChanged,
    TracesetsError,
    UploadEnded,
    api_error,
)
from app.client.journal import Journal
from app.client.models import Upload
from app.client.rounds import Again, Rounds, Stale
from app.client.service import Reply, Service, path_of
from app.client.sources import LocalFile, Reader, digest_of
from app.client.transport import Http, Response, Unanswered, retry_after
from app.client.watcher import Watcher

Place = tuple[str, int]
"""A part: file name and part number."""

_WHOLE_SIZE = 256 * 1024
"""Bytes; a part of at most this size is read at once and sent in one piece."""
_SENDS = 3
"""How often a part is sent whose bytes arrive damaged."""
_COMPLETIONS = 3
"""How often a completion may find parts missing that were shown before."""
_RETRIED = frozenset({400, 403, 404, 408, 409, 429, 500, 502, 503, 504})
"""What a store may answer to a part, to be tried again in the next round. 403: the URL has run out, by the store's
clock. 400: the body was cut on its way, or came too slowly (S3: RequestTimeout). 404, 409: the upload is no more, or
changes; the list of the next round tells."""
_OPENING_TIMEOUT = 300.0
"""Seconds; a store takes its time to begin ten thousand uploads."""
_MARGIN = 0.2
"""Of a URL's lifetime, or `_LONGEST_MARGIN` seconds: how long before its end it is not begun with any more."""
_LONGEST_MARGIN = 120.0


@dataclass(frozen=True, slots=True)
class Job:
    """One part: to be sent to `url`, or held by the store with `etag` and to be compared."""

    file: LocalFile
    number: int
    offset: int
    size: int
    url: str
    usable_until: float
    etag: str | None

    @property
    def place(self) -> Place:
        """Which part it is."""
        return self.file.name, self.number


class Uploader:
    """Brings one session to its end.

    Args:
        service: the API.
        http: sends the parts.
        journal: of this upload; it names the session's files.
        rounds: the pool.
        watcher: is told what moves.
        patience: seconds for which a call is tried again.
    """

    def __init__(
        self, service: Service, http: Http, journal: Journal, *, rounds: Rounds[Job], watcher: Watcher, patience: float
    ) -> None:
        self._service = service
        self._http = http
        self._journal = journal
        self._rounds = rounds
        self._watcher = watcher
        self._patience = patience
        self._files = {file.name: file for file in journal.files}
        self._index = {file.name: index for index, file in enumerate(journal.files)}
        self._opened: Upload | None = None
        self._is_doubtful = False  # The store may have lost what it held.
        self._is_over = False  # Nothing can be sent any more; the session is being completed, or was.
        self._lock = threading.Lock()
        self._held: dict[Place, str] = {}  # Parts that the store holds as they are here, with their ETags.
        self._wrong: set[Place] = set()  # Parts that it holds otherwise.
        self._left: Counter[str] = Counter()  # Parts of each file that are not held.

    def open(self) -> str:
        """Open the session, or find the one that an earlier process opened for this journal; its id.

        Raises:
            ApiError: the service refuses the upload.
        """
        self._opened = self._ask_to_open()
        self._journal.opened(self._opened.id)
        return self._opened.id

    def finish(self) -> Reply:
        """Send what is missing, and complete; the reply is the traceset or mapping file.

        Raises:
            UploadEnded: the session has failed, expired or was ended.
            SourceChanged: a file is not what it was; the session stays open.
            NotReachable: the line was down for longer than the patience.
        """
        for attempt in range(1, _COMPLETIONS + 1):
            self._rounds.run(self._pending, self._do)
            self._check_sources()
            try:
                return self._complete()
            except Invalid as exc:
                # The store has lost parts since it was asked; its next list tells which.
                if attempt == _COMPLETIONS or not exc.message.startswith("Missing parts"):
                    raise
                self._is_doubtful = True
        raise AssertionError

    def _check_sources(self) -> None:
        changed = next((file for file in self._files.values() if file.has_changed()), None)
        if changed is not None and not self._is_over:
            raise SourceChanged(f"{changed.path} has changed while it was being sent")

    # What is left to do

    def _pending(self) -> Sequence[Job]:
        """The parts that are not known to be right in the store."""
        if self._left and not self._is_doubtful and not any(self._left.values()):
            return ()
        self._is_doubtful = False
        session, self._opened = self._opened or self._show(), None
        self._is_over = session.state in ("completing", "completed")
        if self._is_over:
            return ()
        if session.state != "open":
            why = f": {session.failure}" if session.failure else ""
            raise UploadEnded(f"Upload session '{session.id}' is {session.state}{why}")
        if not self._left:
            self._begin(session)
        jobs = [job for job in _jobs(session, self._files) if not self._is_right(job)]
        return jobs + self._repairs()

    def _begin(self, session: Upload) -> None:
        self._left.update({file.name: len(file.parts) for file in session.files})
        self._watcher.begin({file.name: file.size for file in self._files.values()})
        for file in session.files:
            if not file.parts and file.name in self._files:  # The service has its content already.
                self._watcher.moved(file.name, self._files[file.name].size)
                self._watcher.finished(file.name)

    def _is_right(self, job: Job) -> bool:
        """Whether a part of the list needs nothing more; one that the store has lost is sent again."""
        if job.place in self._wrong:
            return True  # Not right, but repaired.
        if job.etag is not None and self._held.get(job.place) == job.etag:
            return True
        if job.etag is not None and job.place in self._journal.compared:
            self._watcher.moved(job.file.name, job.size)
            self._count(job, job.etag)
            return True
        if self._held.pop(job.place, None) is not None:
            self._left[job.file.name] += 1
            self._watcher.moved(job.file.name, -job.size)
        return False

    def _repairs(self) -> list[Job]:
        """The parts that the store holds otherwise: its list gives no URL for them, but opening again does."""
        if not self._wrong:
            return []
        wrong, self._wrong = self._wrong, set()
        return [job for job in _jobs(self._ask_to_open(), self._files) if job.place in wrong]

    def _ask_to_open(self) -> Upload:
        headers = {"Idempotency-Key": self._journal.key}
        path = path_of(self._journal.route, "upload-url")
        reply = self._service.call("POST", path, body=self._journal.body, headers=headers, timeout=_OPENING_TIMEOUT)
        return Upload.from_reply(reply)

    def _show(self) -> Upload:
        path = path_of(self._journal.route, "upload-url", str(self._journal.upload_id))
        return Upload.from_reply(self._service.call("GET", path, patience=self._patience))

    # One part

    def _do(self, job: Job) -> None:
        if job.etag is not None:
            self._compare(job, job.etag)
        elif not job.url:
            raise UploadEnded(f"You may not send anything to upload session '{self._journal.upload_id}'")
        elif time.monotonic() >= job.usable_until:
            raise Stale
        else:
            self._send(job)

    def _compare(self, job: Job, etag: str) -> None:
        """Hold a part that the store shows against the local bytes."""
        told = read_etag(etag)
        if told is None or digest_of(job.file, job.offset, job.size, told.algorithm) == told.digest:
            self._watcher.moved(job.file.name, job.size)
            self._count(job, etag)
        elif not self._journal.key:
            raise SourceChanged(
                f"The store holds other bytes of part {job.number} of {job.file.name} than {job.file.path} has; "
                f"end upload session '{self._journal.upload_id}' and begin anew"
            )
        else:
            with self._lock:
                self._wrong.add(job.place)
            raise Again(f"The store held other bytes of part {job.number} of {job.file.name}")

    def _send(self, job: Job) -> None:
        for _ in range(_SENDS):
            etag, is_right = self._put(job)
            if is_right:
                self._count(job, etag)
                return
            self._watcher.moved(job.file.name, -job.size)
        raise Damaged(f"Part {job.number} of {job.file.name} arrived {_SENDS} times with other bytes than were sent")

    def _put(self, job: Job) -> tuple[str, bool]:
        """Send the part once: its ETag, and whether that is the one of the bytes that were read."""
        algorithm = likely_algorithm(job.url)
        reader = Reader(job.file, job.offset, job.size, algorithm)
        body = _Sending(reader, job, self._watcher, self._rounds)
        try:
            content = b"".join(iter(lambda: body.read(_WHOLE_SIZE), b"")) if job.size <= _WHOLE_SIZE else body
            headers = {"Content-Length": str(job.size)}
            answer = self._http.request("PUT", job.url, body=content, headers=headers)
            if answer.status not in (200, 201, 204):
                raise _refusal(job, answer)
            etag = answer.headers.get("ETag", "")
            told = read_etag(etag, answer.headers)
            digest = reader.digest()
        except Unanswered as exc:
            body.take_back()
            raise Again(str(exc)) from None
        except (Again, TracesetsError):
            body.take_back()
            raise
        finally:
            reader.close()
        if told is not None and told.algorithm != algorithm:
            digest = digest_of(job.file, job.offset, job.size, told.algorithm)
        return etag, told is None or told.digest == digest

    def _count(self, job: Job, etag: str) -> None:
        name = job.file.name
        with self._lock:
            self._held[job.place] = bare(etag)
            self._left[name] -= 1
            is_finished = not self._left[name]
        if job.place not in self._journal.compared:
            self._journal.part_compared(self._index[name], job.number)
        if is_finished:
            self._watcher.finished(name)

    # The end

    def _complete(self) -> Reply:
        """Complete, however long the service takes for it: 408 and 409 say that it is at work."""
        parts: dict[str, list[dict[str, object]]] = {}
        for (name, number), etag in sorted(self._held.items()):
            parts.setdefault(name, []).append({"partNumber": number, "etag": f'"{etag}"' if etag else None})
        body = {
            "uploadId": self._journal.upload_id,
            "files": [{"name": name, "parts": sent} for name, sent in parts.items()],
        }
        path = path_of(self._journal.route, "upload-url", "complete")
        backoff = Backoff(math.inf, self._service.first_wait)
        while True:
            try:
                return self._service.call("POST", path, body=body, patience=self._patience)
            except (RequestTimeout, Conflict) as exc:
                backoff.pause(exc.retry_after)


class _Sending:
    """A part on its way: counts what was read, and lets go when the run is stopped."""

    def __init__(self, reader: Reader, job: Job, watcher: Watcher, rounds: Rounds[Job]) -> None:
        self._reader = reader
        self._name = job.file.name
        self._watcher = watcher
        self._rounds = rounds
        self._n_moved = 0

    def read(self, size: int, /) -> bytes:
        """The next bytes, which are about to be sent."""
        self._rounds.check()
        block = self._reader.read(size)
        self._n_moved += len(block)
        self._watcher.moved(self._name, len(block))
        return block

    def take_back(self) -> None:
        """They did not arrive."""
        self._watcher.moved(self._name, -self._n_moved)


def _jobs(session: Upload, files: Mapping[str, LocalFile]) -> Iterator[Job]:
    """Every part of the session. Its URLs are good until shortly before they run out, by the service's own clock."""
    now = time.monotonic()
    for file in session.files:
        lifetime = (file.urls_expire_at - session.answered_at).total_seconds()
        usable_until = now + lifetime - min(lifetime * _MARGIN, _LONGEST_MARGIN)
        offset = 0
        for part in file.parts:
            etag = part.etag and bare(part.etag)
            yield Job(files[file.name], part.number, offset, part.size, part.url or "", usable_until, etag)
            offset += part.size


def _refusal(job: Job, answer: Response) -> Exception:
    """What the store's refusal of a part means; its words are not repeated, for they may hold the signature."""
    told = f"The store answered {answer.status} to part {job.number} of {job.file.name}"
    if answer.status in _RETRIED:
        return Again(told, retry_after(answer.headers))
    return api_error(answer.status, told)
