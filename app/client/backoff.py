"""How long to wait before the next try, and when to give up.

Why patience and not a number of tries: on a bad line a transfer of hours meets hundreds of faults and is still worth
going on with, as long as something arrives. What counts is the time since the last success.
"""

import secrets
import threading
import time

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0


class Backoff:
    """Waits that double from `FIRST_WAIT` to `LONGEST_WAIT` seconds, each with jitter, until the patience ends.

    Args:
        patience: seconds since the last success after which there is no further try.
        first_wait: seconds, before the first repetition.
    """

    def __init__(self, patience: float, first_wait: float = FIRST_WAIT) -> None:
        self._patience = patience
        self._first_wait = first_wait
        self.succeeded()

    def succeeded(self) -> None:
        """Something went well: begin anew."""
        self._since = time.monotonic()
        self._wait = self._first_wait

    def pause(self, at_least: float | None = None, stop: threading.Event | None = None) -> bool:
        """Wait for the next try; False, at once, where there should be none.

        Args:
            at_least: seconds that the other side asked for.
            stop: ends the waiting when it is set.
        """
        # Half of the wait is random, so that many clients that failed together do not come back together.
        seconds = self._wait * (0.5 + secrets.randbelow(1000) / 2000)
        seconds = max(seconds, at_least or 0.0)
        if time.monotonic() + seconds - self._since > self._patience:
            return False
        self._wait = min(self._wait * 2, LONGEST_WAIT)
        (stop or threading.Event()).wait(seconds)
        return True
