"""What a transfer tells of its progress; the methods are called from many threads."""

from collections.abc import Mapping


class Watcher:
    """Is told what moves, and does nothing about it: the base of those that do."""

    def opened(self, upload_id: str) -> None:
        """An upload is in this session, with which it can go on after any end."""

    def begin(self, sizes: Mapping[str, int]) -> None:
        """A transfer of these files begins.

        Args:
            sizes: file name to bytes.
        """

    def moved(self, name: str, size: int) -> None:
        """Bytes of this file have moved; a negative number takes back those of a try that failed."""

    def finished(self, name: str) -> None:
        """The file is where it belongs, whole."""
