"""Many small jobs over a bad line: a bounded pool, and rounds until nothing is left to do.

A transfer is a list of jobs that do not depend on each other (a part to send, a range to fetch). One round does each
of them once; what fails is not tried again on the spot. After the round the owner of the jobs says what is still
to be done, for which an upload asks the server what the store holds: an answer may have been lost where the bytes have
arrived, and those are not sent again. So lost answers, expired URLs, a crash and a change of hosts are one case.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from app.client.backoff import FIRST_WAIT, Backoff
from app.client.errors import NotReachable

T = TypeVar("T")

_JOIN_SECONDS = 5.0


class Again(Exception):
    """The job came to nothing; it may do better in the next round.

    Args:
        reason: what happened, for the case that it goes on happening; it holds no secret.
        wait: the seconds that the other side asked to wait.
    """

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


class Stale(Exception):
    """The job was not begun: what it needs has to be fetched anew, for which the round ends."""


class Rounds(Generic[T]):
    """Runs rounds of jobs in threads.

    Args:
        workers: jobs at a time.
        patience: seconds without any success after which the run gives up.
        first_wait: seconds before the second round, where the first brought nothing.
    """

    def __init__(self, *, workers: int, patience: float, first_wait: float = FIRST_WAIT) -> None:
        self._workers = workers
        self._backoff = Backoff(patience, first_wait)
        self.stop = threading.Event()

    def check(self) -> None:
        """Let go of a job where the run has been stopped; to be called between the blocks of a long one."""
        if self.stop.is_set():
            raise Again("The transfer was stopped")

    def run(self, pending: Callable[[], Sequence[T]], do: Callable[[T], None]) -> None:
        """Do all jobs; returns when `pending` gives none any more.

        Args:
            pending: the jobs that are left; called before each round.
            do: does one, in any thread. It raises `Again` where that failed for now, `Stale` to end the round; any
                other exception ends the run, and is raised.

        Raises:
            NotReachable: there was no success for so long; the message tells the last failure.
        """
        while jobs := pending():
            last = _Round(jobs, do, self._workers, self.stop)
            last.run()
            if last.n_done:
                self._backoff.succeeded()
            if last.failure is not None and not self._backoff.pause(last.failure.wait, self.stop):
                raise NotReachable(f"Gave up after many tries: {last.failure.reason}")


class _Round(Generic[T]):
    """One round; it ends early where job after job fails, for then the line is down."""

    def __init__(self, jobs: Sequence[T], do: Callable[[T], None], workers: int, stop: threading.Event) -> None:
        self._jobs = iter(jobs)
        self._do = do
        self._stop = stop
        self._n_threads = min(workers, len(jobs))
        self._lock = threading.Lock()
        self._n_failed_in_row = 0
        self._has_ended = False
        self._fatal: Exception | None = None
        self.n_done = 0
        self.failure: Again | None = None

    def run(self) -> None:
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._n_threads)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            # Ctrl-C: every block that is sent or received looks at `stop`; who hangs in the network is left behind.
            self._stop.set()
            for thread in threads:
                thread.join(_JOIN_SECONDS / len(threads))
            raise
        if self._fatal is not None:
            raise self._fatal

    def _work(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                job = None if self._has_ended else next(self._jobs, None)
            if job is None:
                return
            try:
                self._do(job)
            except Again as exc:
                self._failed(exc)
            except Stale:
                self._has_ended = True
            except Exception as exc:  # noqa: BLE001 - it is raised in the thread that waits
                self._fatal = self._fatal or exc
                self._stop.set()
            else:
                with self._lock:
                    self.n_done += 1
                    self._n_failed_in_row = 0

    def _failed(self, exc: Again) -> None:
        with self._lock:
            self.failure = exc
            self._n_failed_in_row += 1
            if exc.wait is not None or self._n_failed_in_row >= 2 * self._n_threads:
                self._has_ended = True
