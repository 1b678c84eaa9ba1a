"""Rounds of jobs."""

import threading
import time
from collections import Counter

import pytest

from app.client.backoff import Backoff
from app.client.errors import LocalError, NotReachable
from app.client.rounds import Again, Rounds, Stale


def rounds(*, workers: int = 4, patience: float = 5.0) -> Rounds[int]:
    return Rounds(workers=workers, patience=patience, first_wait=0.01)


class Work:
    """Jobs that fail as often as they are told to."""

    def __init__(self, failures: dict[int, int], n_jobs: int = 10) -> None:
        self.failures = failures
        self.left = set(range(n_jobs))
        self.n_tries: Counter[int] = Counter()
        self.n_rounds = 0
        self.lock = threading.Lock()

    def pending(self) -> list[int]:
        self.n_rounds += 1
        return sorted(self.left)

    def do(self, job: int) -> None:
        with self.lock:
            self.n_tries[job] += 1
            if self.n_tries[job] <= self.failures.get(job, 0):
                raise Again(f"job {job} failed")
            self.left.discard(job)


def test_what_failed_is_done_in_the_next_round() -> None:
    work = Work({3: 1, 5: 2})

    rounds().run(work.pending, work.do)

    assert work.n_tries == {job: {3: 2, 5: 3}.get(job, 1) for job in range(10)}
    assert work.n_rounds == 4  # The last finds nothing left.


def test_it_gives_up_when_nothing_succeeds_for_so_long() -> None:
    work = Work({0: 1000}, n_jobs=1)

    with pytest.raises(NotReachable, match="job 0 failed"):
        rounds(patience=0.1).run(work.pending, work.do)


def test_a_success_renews_the_patience() -> None:
    backoff = Backoff(patience=0.05, first_wait=0.01)
    while backoff.pause():
        pass

    backoff.succeeded()

    assert backoff.pause()


def test_waits_grow() -> None:
    backoff = Backoff(patience=60, first_wait=0.01)
    waits = []
    for _ in range(5):
        began = time.monotonic()
        backoff.pause()
        waits.append(time.monotonic() - began)

    assert waits[4] > 4 * waits[0]  # 16 times as long, of which half is chance.


def test_a_line_that_is_down_is_not_tried_for_every_job() -> None:
    work = Work(dict.fromkeys(range(1000), 1000), n_jobs=1000)

    with pytest.raises(NotReachable):
        rounds(workers=2, patience=0).run(work.pending, work.do)

    assert sum(work.n_tries.values()) < 10


def test_a_wait_that_is_asked_for_ends_the_round() -> None:
    n_done = []

    def do(job: int) -> None:
        n_done.append(job)
        raise Again("slowly", wait=60)

    with pytest.raises(NotReachable):
        rounds(workers=1).run(lambda: list(range(100)), do)

    assert n_done == [0]


def test_a_stale_job_ends_the_round_without_a_wait() -> None:
    left = [1, 2, 3]
    fresh = threading.Event()

    def pending() -> list[int]:
        return left

    def do(job: int) -> None:
        if job == 2 and not fresh.is_set():
            fresh.set()
            raise Stale
        left.remove(job)

    rounds(workers=1, patience=0).run(pending, do)

    assert not left


def test_any_other_failure_ends_the_run_and_is_raised() -> None:
    def do(job: int) -> None:
        if job == 1:
            raise LocalError("no room")

    running = rounds()
    with pytest.raises(LocalError, match="no room"):
        running.run(lambda: [0, 1, 2], do)

    assert running.stop.is_set()


def test_no_more_than_so_many_are_done_at_a_time() -> None:
    busy, most, lock = [0], [0], threading.Lock()
    left = set(range(60))

    def do(job: int) -> None:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        threading.Event().wait(0.002)
        with lock:
            busy[0] -= 1
            left.discard(job)

    rounds(workers=3).run(lambda: sorted(left), do)

    assert most[0] == 3
