"""Times as the API writes and reads them (G4, L9)."""

import re
from datetime import UTC, datetime, timedelta

from app.errors import Invalid

# ISO 8601 calendar dates with the time of day, both in the extended (2026-02-20T14:30) or the basic form
# (20260220T1430). The offset's sign may be a space: that is what a query string makes of an unescaped `+`.
_TIME = re.compile(
    r"(?P<year>\d{4})(?P<dash>-?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)"
    r"(?:[Tt ](?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?:[Zz]|(?P<sign>[-+ ])(?P<offset_hours>[01]\d|2[0-3])(?::?(?P<offset_minutes>[0-5]\d))?)?)?",
    re.ASCII,
)
_UNITS = ("year", "month", "day", "hour", "minute", "second")


def format_time(time: datetime) -> str:
    """An aware time in UTC, cut to the second: `2026-02-20T14:30:00Z`.

    Raises:
        ValueError: the time is naive, so nobody knows which moment it is.
    """
    if time.tzinfo is None:
        raise ValueError("a time without a zone cannot be told")
    if time.tzinfo is not UTC:
        time = time.astimezone(UTC)
    return time.isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def parse_time(text: str, field: str) -> datetime:
    """The moment that ISO 8601 text tells, aware, in UTC, cut to the microsecond.

    With `Z` or an offset; without one it is UTC, and a date alone is its midnight.

    Raises:
        Invalid: it cannot be read, there is no such day or hour, or it is outside of the years 1 to 9999.

    Source: ISO 8601-1:2019, 5.2.2 (calendar date), 5.3 (time of day), 4.3.13 (difference from UTC).
    """
    try:
        return _read(text)
    except (ValueError, OverflowError) as exc:
        raise Invalid(f"{field} must be an ISO 8601 time such as 2026-02-20T14:30:00Z, got {text[:100]!r}") from exc


def _read(text: str) -> datetime:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("not ISO 8601")
    year, month, day, hour, minute, second = (int(found[unit] or 0) for unit in _UNITS)
    microsecond = int((found["fraction"] or "")[:6].ljust(6, "0"))
    local = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)
    offset = timedelta(hours=int(found["offset_hours"] or 0), minutes=int(found["offset_minutes"] or 0))
    return local + offset if found["sign"] == "-" else local - offset
