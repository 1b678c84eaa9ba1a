"""Archives beyond what a zip of old could hold."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from flask import Flask

from app.models.tracesets import TracesetFile
from app.services import downloads

ZEROS = bytes(1024 * 1024)
N_PIECES = 4097
"""Of a mebibyte each: a little more than 32 bits can count."""


class Endless:
    """A store of one large file of zeros and a small one."""

    concurrency = 1

    def read(self, key: str) -> Iterator[bytes]:
        yield from (b"small",) if key == "small" else (ZEROS for _ in range(N_PIECES))


def file(name: str, size: int, key: str) -> TracesetFile:
    return TracesetFile(name=name, size=size, library_key=key)


def test_an_archive_may_be_larger_than_four_gibibytes(
    app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [file("large", N_PIECES * len(ZEROS), "large"), file("behind/it", 5, "small")]
    monkeypatch.setattr(downloads, "object_store", lambda: cast("Any", Endless()))
    path = tmp_path / "large.zip"

    with app.app_context():
        archive = downloads._zipped("large.zip", files)
        with path.open("wb") as out:
            for chunk in archive.chunks:
                # Zeros are left out of the file, as holes, so that it takes no space.
                out.seek(len(chunk), 1) if chunk == ZEROS else out.write(chunk)

    assert path.stat().st_size == archive.size
    with zipfile.ZipFile(path) as opened:
        assert [(member.filename, member.file_size) for member in opened.infolist()] == [
            ("large", N_PIECES * len(ZEROS)),
            ("behind/it", 5),
        ]
        assert opened.read("behind/it") == b"small"
