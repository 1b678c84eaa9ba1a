"""G4, L9: times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.times import format_time, parse_time
from app.errors import Invalid

offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=offsets)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (datetime(2026, 2, 20, 14, 30, tzinfo=UTC), "2026-02-20T14:30:00Z"),
        (datetime(2026, 2, 20, 14, 30, 59, 999_999, tzinfo=UTC), "2026-02-20T14:30:59Z"),
        (datetime(2026, 2, 20, 0, 30, tzinfo=timezone(timedelta(hours=2))), "2026-02-19T22:30:00Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_times_go_out_in_utc_cut_to_the_second(time: datetime, text: str) -> None:
    assert format_time(time) == text


def test_a_naive_time_is_not_told() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        format_time(datetime(2026, 2, 20))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-02-20T14:30:00Z", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("2026-02-20t14:30:00z", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("2026-02-20T14:30:00", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("2026-02-20T14:30", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("2026-02-20T14:30Z", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("2026-02-20", datetime(2026, 2, 20, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("2026-02-20T14:30:00+02:00", datetime(2026, 2, 20, 12, 30, tzinfo=UTC)),
        ("2026-02-20T14:30:00 02:00", datetime(2026, 2, 20, 12, 30, tzinfo=UTC)),
        ("2026-02-20T14:30:00.25 0530", datetime(2026, 2, 20, 9, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-02-20T00:15:00+05:45", datetime(2026, 2, 19, 18, 30, tzinfo=UTC)),
        ("2026-02-20T14:30:00-0330", datetime(2026, 2, 20, 18, 0, tzinfo=UTC)),
        ("2026-02-20T14:30:00-08", datetime(2026, 2, 20, 22, 30, tzinfo=UTC)),
        ("2026-02-20T14:30:00-00:00", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("2026-02-20 14:30:00Z", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("2026-02-20 14:30:00 01:00", datetime(2026, 2, 20, 13, 30, tzinfo=UTC)),
        ("2026-02-20T14:30:00.5", datetime(2026, 2, 20, 14, 30, 0, 500_000, tzinfo=UTC)),
        ("2026-02-20T14:30:00,000001Z", datetime(2026, 2, 20, 14, 30, 0, 1, tzinfo=UTC)),
        ("2026-02-20T14:30:00.123456789Z", datetime(2026, 2, 20, 14, 30, 0, 123_456, tzinfo=UTC)),
        ("2026-02-20T14:30:00.999999999Z", datetime(2026, 2, 20, 14, 30, 0, 999_999, tzinfo=UTC)),
        ("20260220T143000Z", datetime(2026, 2, 20, 14, 30, tzinfo=UTC)),
        ("20260220", datetime(2026, 2, 20, tzinfo=UTC)),
    ],
)
def test_times_come_in_as_iso_8601(text: str, expected: datetime) -> None:
    got = parse_time(text, "createdAfter")

    assert got == expected
    assert got.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "yesterday", "now", "2026-02-30", "2025-02-29", "2026-13-01", "2026-00-10", "2026-1-1"),
        *("20", "2026", "2026-02", "1e3", "-1", "99999-01-01", "2026-02-20T25:00:00Z", "2026-02-20T24:00:01Z"),
        *("2026-02-20T14:61:00Z", "2026-02-20T14:30:61Z", "2026-02-20T14:30:00ZZ", "2026-02-20T14:30:00+99:00"),
        *("2026-02-20T14:30:00+24:00", "2026-02-20T14:30:00+01:60", "2026-02-20T14:30:00+1"),
        *("2026-02-20T14:30:00+", "2026-02-20T14:30:00.Z", "2026-02-20T", "T14:30:00Z", "2026/02/20"),
        *("20.02.2026", "2026-0220", "202602-20", "2026-02-20T14:30:00Europe/Paris", "\0", "２０２６-02-20"),
        *("2026-02-20T1４:30:00Z", "2026-02-20T14:30:00Z; drop", "2026-02-20\n", " 2026-02-20"),
        *("2026-02-20  14:30", "null", "2026-02-20Z", "2026-02-20T14:30:00.1234567890Z", "0000-01-01"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9" * 5000, "2026-W08-5", "1740061800"),
    ],
    ids=lambda text: repr(text)[:30],
)
def test_what_cannot_be_read_is_refused_naming_the_field(text: str) -> None:
    with pytest.raises(
        Invalid, match=r"^createdBefore must be an ISO 8601 time such as 2026-02-20T14:30:00Z, got '"
    ) as caught:
        parse_time(text, "createdBefore")

    assert len(caught.value.message) < 500


@given(moments)
def test_every_moment_comes_back(moment: datetime) -> None:
    assert parse_time(moment.isoformat(), "f") == moment
    assert parse_time(moment.isoformat().replace("+", " "), "f") == moment
    assert parse_time(format_time(moment), "f") == moment.astimezone(UTC).replace(microsecond=0)


@given(moments)
def test_times_without_an_offset_are_utc(moment: datetime) -> None:
    naive = moment.replace(tzinfo=None)

    assert parse_time(naive.isoformat(), "f") == naive.replace(tzinfo=UTC)
    assert parse_time(naive.date().isoformat(), "f") == datetime(naive.year, naive.month, naive.day, tzinfo=UTC)


@given(st.text(alphabet="0123456789-:T.Z+ W", max_size=30) | st.text(max_size=10))
def test_no_text_makes_another_error(text: str) -> None:
    try:
        got = parse_time(text, "f")
    except Invalid as refused:
        refused.message.encode()
    else:
        assert got.tzinfo is UTC
