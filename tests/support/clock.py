"""Moving the application's time."""

from datetime import UTC, datetime, timedelta

import pytest

from app import clock


class Clock:
    """The time that the application reads; it goes on, but may be moved."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        """The present moment, moved."""
        return datetime.now(UTC) + self.ahead

    def pass_by(self, **duration: float) -> None:
        """Let so much time pass: `hours=1`, `seconds=2`."""
        self.ahead += timedelta(**duration)


@pytest.fixture
def moved_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all apps of this process."""
    moved = Clock()
    monkeypatch.setattr(clock, "now", moved.now)
    return moved
