"""How many requests one token may make.

Counted in each process by itself, so a deployment of N processes lets through up to N times the limit; a limit for
all of them belongs into the proxy in front.
"""

import time
from math import ceil

from flask import current_app
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.domain.access import Caller
from app.errors import RateLimited
from app.extensions import app_settings


def make_limiter() -> SlidingWindowCounterRateLimiter:
    """The counters of one process."""
    return SlidingWindowCounterRateLimiter(MemoryStorage())


def count_request(caller: Caller) -> None:
    """Count one request of this caller's token, or of their browser.

    Raises:
        RateLimited: there were more than `RATE_LIMIT_PER_MINUTE` in the last minute.
    """
    limit = app_settings().rate_limit_per_minute
    if not limit:
        return
    limiter: SlidingWindowCounterRateLimiter = current_app.extensions["rate_limiter"]
    item, who = RateLimitItemPerMinute(limit), f"{caller.user_id}:{caller.token_id}"
    if not limiter.hit(item, who):
        seconds = limiter.get_window_stats(item, who).reset_time - time.time()  # the limiter's own clock
        raise RateLimited(
            f"More than {limit} requests a minute came with this token", retry_after=max(1, ceil(seconds))
        )
