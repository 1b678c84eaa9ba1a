"""G7: no body, however it is made, costs more than time that grows with its size."""

import time

import pytest

from app.domain.strict_json import LongInteger, loads_object
from app.errors import Invalid

LARGE = 8 * 1024 * 1024
SECONDS = 10.0
"""Of processor time. Linear work on a large body takes a tenth of this at most, quadratic work many minutes."""


@pytest.mark.parametrize(
    ("piece", "around"),
    [
        (b"[", b""),
        (b'{"a":', b""),
        (b"1", b""),
        (b"-1", b""),
        (b"\0", b""),
        (b" ", b""),
        (b'\\"', b'"'),
        (b"\\", b""),
        (b'"', b""),
        (b'"[', b""),
        (b"\\ud800", b'"'),
        (b"9" * 600 + b",", b"["),
        (b"1e999,", b"["),
    ],
    ids=[
        "arrays",
        "objects",
        "digits",
        "signs",
        "nul",
        "spaces",
        "quotes escaped",
        "backslashes",
        "quotes",
        "brackets in strings",
        "surrogates",
        "long numbers",
        "overflows",
    ],
)
def test_a_large_body_is_refused_soon(piece: bytes, around: bytes) -> None:
    data = around + piece * (LARGE // len(piece)) + around
    start = time.thread_time()

    with pytest.raises(Invalid):
        loads_object(data)

    assert time.thread_time() - start < SECONDS


def test_a_large_body_of_digits_is_read_soon() -> None:
    digits = "7" * LARGE
    start = time.thread_time()

    body = loads_object(f'{{"a":{digits}}}'.encode())

    assert time.thread_time() - start < SECONDS
    assert body == {"a": LongInteger(digits)}
