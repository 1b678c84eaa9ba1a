"""Fetching files in parallel ranges into a folder, each verified before it gets its name (W1).

A piece that has arrived is noted in the folder, with the ETag of the object that it is of: a later run fetches the
others. What an earlier run has written is hashed from the disk when the whole is verified, never taken on trust.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from urllib3.exceptions import HTTPError

from app.client.digests import bare, read_etag
from app.client.errors import Damaged, LocalError, api_error
from app.client.models import DownloadURL, TracesetFile
from app.client.pieces import Arriving, Fetched, verify
from app.client.rounds import Again, Rounds
from app.client.target import Target, shown
from app.client.transport import Http, Response, Unanswered, fault, retry_after
from app.client.watcher import Watcher

_RECEIVED = 1024 * 1024
"""Bytes that are written and hashed at a time. Measured with eight threads: 7 % less CPU than with 256 KiB, 16 % less
than with 64 KiB, for the threads hand the interpreter to each other less often."""
_PLACED = -1
"""The number under which it is noted that a file has its name."""
_RETRIED = frozenset({403, 408, 429, 500, 502, 503, 504})
"""What a store may answer to a range, to be tried again in the next round. 403: the URL has run out."""
_MARGIN = 0.2
"""Of a URL's lifetime: how long before its end it is not begun with any more."""
_TRIES = 2
"""How often a file is fetched whose bytes are not those of its ETag."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece to be fetched, by its number; None: all of the file is here, but it lacks its name."""

    file: Fetched
    number: int | None


class Downloader:
    """Brings files into a folder.

    Args:
        http: fetches the bytes.
        sign: gives a URL for a file's name.
        target: where the files go.
        rounds: the pool.
        watcher: is told what moves.
        is_verifying: hold the bytes against the ETags.
    """

    def __init__(
        self,
        http: Http,
        sign: Callable[[str], DownloadURL],
        target: Target,
        *,
        rounds: Rounds[Piece],
        watcher: Watcher,
        is_verifying: bool,
    ) -> None:
        self._http = http
        self._sign = sign
        self._target = target
        self._rounds = rounds
        self._watcher = watcher
        self._is_verifying = is_verifying
        self._files: list[Fetched] = []
        self.unverified: list[str] = []
        """Names of files of which no more than the size could be verified."""

    def run(self, files: Sequence[tuple[int, TracesetFile]], *, may_replace: bool) -> None:
        """Fetch the files, each with its index in the traceset; those that an earlier run has placed stay.

        Raises:
            LocalError: a name is unsafe, something lies there already, or nothing can be written.
            Damaged: the bytes are not those of the ETag.
            NotReachable: the line was down for longer than the patience.
        """
        self._target.check(file.name for _, file in files)
        noted = self._target.remembered()
        self._files = [self._recall(index, file, noted.get(index, {})) for index, file in files]
        if not may_replace:
            self._refuse_taken()
        self._watcher.begin({file.name: file.size for file in self._files})
        for file in self._files:
            here = [number for number in file.numbers if number not in file.missing]
            self._watcher.moved(file.name, sum(len(file.range_of(number)) for number in here))
            if file.is_placed:
                self._watcher.finished(file.name)
        self._rounds.run(self._pending, self._do)

    def _recall(self, index: int, file: TracesetFile, noted: dict[int, str]) -> Fetched:
        fetched = Fetched(index, file.name, file.size)
        if _PLACED in noted and self._target.has(file.name):
            fetched.is_placed = True
        elif _PLACED in noted or not self._target.has_draft(index, file.size):
            fetched.missing = set(fetched.numbers)
        else:
            fetched.missing = set(fetched.numbers) - noted.keys()
            fetched.etag = next(iter(noted.values()), None)
            fetched.told = read_etag(fetched.etag) if fetched.etag else None
        return fetched

    def _refuse_taken(self) -> None:
        taken = [file.name for file in self._files if not file.is_placed and self._target.has(file.name)]
        if taken:
            more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
            raise LocalError(f"{self._target.root} has {shown(taken[0])}{more} already; nothing was replaced")

    def _pending(self) -> Sequence[Piece]:
        waiting = [file for file in self._files if not file.is_placed]
        return [Piece(file, number) for file in waiting for number in sorted(file.missing) or (None,)]

    def _do(self, piece: Piece) -> None:
        file = piece.file
        if piece.number is not None:
            self._fetch(file, piece.number)
        with file.lock:
            if not file.missing and not file.is_placed:
                self._finish(file)

    # One piece

    def _fetch(self, file: Fetched, number: int) -> None:
        wanted = file.range_of(number)
        is_all = len(file.numbers) == 1
        headers = {} if is_all else {"Range": f"bytes={wanted.start}-{wanted.stop - 1}"}
        url = self._url(file)
        with self._answer(url, headers) as answer:
            self._check(file, answer, None if is_all else wanted)
            digest = self._receive(file, answer, wanted)
        self._target.note(file.index, number, file.etag if file.told and file.etag else "")
        with file.lock:
            file.missing.discard(number)
            if digest is not None:
                file.digests[number] = digest

    @contextmanager
    def _answer(self, url: str, headers: dict[str, str]) -> Iterator[Response]:
        """The answer to a GET; its connection is kept only if it was read without a fault."""
        try:
            answer = self._http.request("GET", url, headers=headers, stream=True)
        except Unanswered as exc:
            raise Again(str(exc)) from None
        try:
            yield answer
        except (HTTPError, OSError) as exc:
            answer.close()
            raise Again(str(fault(exc, url))) from None
        except BaseException:
            answer.close()
            raise
        answer.release_conn()

    def _url(self, file: Fetched) -> str:
        """A URL that is good for a while yet, by the service's own clock."""
        with file.lock:
            if time.monotonic() >= file.usable_until:
                signed = self._sign(file.name)
                lifetime = (signed.expires_at - signed.answered_at).total_seconds()
                file.url, file.usable_until = signed.url, time.monotonic() + lifetime * (1 - _MARGIN)
            return file.url

    def _check(self, file: Fetched, answer: Response, wanted: range | None) -> None:
        """Whether the answer has the bytes that were asked for (None: all), of the object that the others are of."""
        if answer.status not in (200, 206):
            file.usable_until = 0.0
            told = f"The store answered {answer.status} when asked for {shown(file.name)}"
            if answer.status in _RETRIED:
                raise Again(told, retry_after(answer.headers))
            raise api_error(answer.status, told)
        expected = None if wanted is None else f"bytes {wanted.start}-{wanted.stop - 1}/{file.size}"
        if answer.headers.get("Content-Range") != expected:
            raise Damaged(f"The store has not the {file.size} bytes of {shown(file.name)} that were declared")
        etag = bare(answer.headers.get("ETag", ""))
        with file.lock:
            if file.etag is None:
                file.etag, file.told = etag, read_etag(etag, answer.headers)
            elif file.told is not None and file.etag != etag:
                raise Damaged(f"The store has another {shown(file.name)} than when its download began")

    def _receive(self, file: Fetched, answer: Response, wanted: range) -> str | None:
        """Write what arrives to its place; its digest, where one helps to verify the file."""
        fd = self._target.open_draft(file.index, file.size)
        arriving = Arriving(file, fd, wanted, lambda size: self._watcher.moved(file.name, size))
        try:
            for block in answer.stream(_RECEIVED, decode_content=False):
                self._rounds.check()
                if not arriving.take(block):
                    break
            if not arriving.is_whole:
                # Either it ends early, or it goes on; a file of another size than declared never ends well.
                self._refuse_size(file)
        except BaseException:
            arriving.take_back()
            raise
        finally:
            os.close(fd)
        return arriving.digest

    def _refuse_size(self, file: Fetched) -> None:
        raise Again(f"The store sent another number of bytes for {shown(file.name)} than were declared")

    # The whole file

    def _finish(self, file: Fetched) -> None:
        """Verify the file, and give it its name; called with the lock held."""
        fd = self._target.open_draft(file.index, file.size)
        try:
            is_right = verify(file, fd) if self._is_verifying else None
        finally:
            os.close(fd)
        if is_right is False:
            self._forget(file)
            raise Again(f"{shown(file.name)} arrived damaged")
        if is_right is None:
            self.unverified.append(file.name)
        self._target.place(file.index, file.name)
        self._target.note(file.index, _PLACED, "")
        file.is_placed = True
        self._watcher.finished(file.name)

    def _forget(self, file: Fetched) -> None:
        """Let the file be fetched again, unless that was done before.

        Raises:
            Damaged: it was.
        """
        file.n_damaged += 1
        if file.n_damaged >= _TRIES:
            raise Damaged(f"The bytes of {shown(file.name)} are not those of its ETag, also when fetched again")
        file.missing = set(file.numbers)
        file.digests.clear()
        self._watcher.moved(file.name, -file.size)
