"""A line on which every tenth request fails, in one of seven ways, at the API and at the store alike."""

import os
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.client.conftest import LiveService, MakeClient
from tests.client.support import is_part, part_of, read, write
from tests.servers.http_proxy import Fault, FaultyProxy

N_TRANSFERS = 20
N_FILES = 200
N_AT_A_TIME = 5
STALLED = 3600.0  # Longer than the proxy lives: such a request is never forwarded.
# A stall costs its whole timeout, so there are fewer of them.
FAULTS: tuple[Fault, ...] = (*("drop", "lose", "cut", 500, 503, 403) * 5, STALLED)


class BadLine:
    """Decides on each request, and counts the parts that came through to the store."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.arrived: Counter[tuple[str, str]] = Counter()
        self.n_faults: Counter[Fault] = Counter()

    def __call__(self, method: str, path: str, query: str) -> Fault:
        with self.lock:
            fault = self.random.choice(FAULTS) if self.random.random() < 0.1 else None
            self.n_faults[fault] += 1
            if is_part(method, path) and fault in (None, "lose", "cut"):
                self.arrived[part_of(path)] += 1
            return fault


@pytest.mark.xdist_group("faults")
def test_twenty_transfers_of_two_hundred_parts_come_to_their_end(
    make_client: MakeClient, live: LiveService, tmp_path: Path
) -> None:
    line = BadLine(seed=20)

    with FaultyProxy(live.origin, line) as proxy:

        def there_and_back(number: int) -> bool:
            contents = {f"rank_{n}.et": os.urandom(500 + n) for n in range(N_FILES)}
            source = write(tmp_path / f"source-{number}", contents)
            client = make_client(
                proxy.endpoint, timeout=8.0, patience=120.0, transfer_patience=120.0, state=tmp_path / f"state-{number}"
            )
            traceset = client.upload_traceset([source], name=f"{number}", rank_count=N_FILES, hashing="none")
            client.download_traceset(traceset.id, tmp_path / f"back-{number}")
            return read(tmp_path / f"back-{number}") == contents

        with ThreadPoolExecutor(N_AT_A_TIME) as pool:
            are_equal = list(pool.map(there_and_back, range(N_TRANSFERS)))

    assert are_equal == [True] * N_TRANSFERS
    assert len(line.arrived) == N_TRANSFERS * N_FILES
    # Nothing that the store had is sent again, although many an answer was lost.
    assert set(line.arrived.values()) == {1}
    assert all(line.n_faults[fault] > 0 for fault in FAULTS)
