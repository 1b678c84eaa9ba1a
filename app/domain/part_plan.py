"""How a file is cut into parts (U2).

One rule for the server, the Python client and the browser's uploader. A file of `size` bytes, where the service is
set to parts of `part_size` bytes (64 MiB by default):

1. part size = `part_size`, unless the file would need more than 10,000 parts of it; then the smallest whole number
   of MiB with which 10,000 are enough;
2. part count = size / part size, rounded up, and at least 1;
3. every part but the last has the part size; the last has the rest. A file of 0 bytes is one part of 0 bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat

from app.errors import Invalid

MIB = 1024 * 1024
MAX_PARTS = 10_000
"""Source: Amazon S3, multipart upload limits."""
MAX_FILE_SIZE = 5 * 1024**4
"""Bytes (5 TiB), which every store that we know of takes. Source: Amazon S3, multipart upload limits."""


@dataclass(frozen=True, slots=True)
class PartPlan:
    """The parts of a file of `size` bytes, numbered from 1; each but the last has `part_size` bytes."""

    size: int
    part_size: int

    @property
    def count(self) -> int:
        """How many parts there are, at least 1."""
        return max(1, _divide_up(self.size, self.part_size))

    def size_of(self, number: int) -> int:
        """The bytes of the part of this number.

        Raises:
            IndexError: there is no such part.
        """
        if not 1 <= number <= self.count:
            raise IndexError(f"there is no part {number}, only 1 to {self.count}")
        return min(self.part_size, self.size - (number - 1) * self.part_size)

    def sizes(self) -> Iterator[int]:
        """The bytes of each part, in the order of their numbers."""
        before_last = self.count - 1
        return chain(repeat(self.part_size, before_last), (self.size - before_last * self.part_size,))


def plan_parts(size: int, part_size: int, field: str = "size") -> PartPlan:
    """The parts of a file of `size` >= 0 bytes where parts of `part_size` bytes are wanted.

    Raises:
        Invalid: the file is larger than `MAX_FILE_SIZE`; the message names `field`.
    """
    if size > MAX_FILE_SIZE:
        raise Invalid(f"{field} must be at most {MAX_FILE_SIZE} bytes (5 TiB), got {size}")
    if size > MAX_PARTS * part_size:
        part_size = _divide_up(size, MAX_PARTS * MIB) * MIB
    return PartPlan(size, part_size)


def _divide_up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)
