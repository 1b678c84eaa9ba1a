"""An archive of a file of more than 4 GiB: zip64, and streamed through flat memory (W2).

The file is a sparse one, laid where its part would have come to lie, so that nobody writes four gigabytes.
"""

import struct
import zipfile
from pathlib import Path

import psutil
import requests

from app.settings import MIB
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.support.api import ok
from tests.support.server import AppServer

HUGE = 4 * 1024 * MIB + 5
ZEROS = bytes(MIB)


def lay_part(store: Path, size: int) -> None:
    """Make the one part that is held so large, of zeros; its digest is not looked at.

    Source: `app.storage.disk_format` on the trailer of a segment.
    """
    [part] = [path for path in (store / "uploads").rglob("1") if path.stat().st_size == 1 + 48]
    with part.open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(struct.pack(">8sQ32s", b"TSPART\0\1", size, bytes(32)))


def fetch_sparsely(url: str, into: Path) -> None:
    """Download, without writing the zeros."""
    with requests.get(url, stream=True, timeout=60) as answer, into.open("wb") as file:
        assert answer.status_code == 200
        for chunk in answer.iter_content(MIB):
            if chunk == ZEROS[: len(chunk)]:
                file.seek(len(chunk), 1)
            else:
                file.write(chunk)
        file.truncate(int(answer.headers["Content-Length"]))
        assert file.tell() == int(answer.headers["Content-Length"])


def peak_memory(server: AppServer) -> int:
    """Bytes that the worker had at most."""
    [worker] = psutil.Process(server.pid).children()
    status = Path(f"/proc/{worker.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def test_an_archive_of_more_than_four_gigabytes_is_whole_and_takes_no_memory(
    make_app: MakeApp, serve: Serve, people_of: PeopleOf, tmp_path: Path
) -> None:
    settings = {"s3_bucket": None, "part_size": 5 * 1024 * MIB}
    app = make_app(**settings)
    here = people_of(app).owner
    opened = here.open({"before": 6, "huge.et": HUGE, "after": 5})
    before, huge, after = (file["parts"][0]["url"] for file in opened["files"])
    here.put(before, b"before")
    here.put(after, b"after")
    here.put(huge, b"x")
    lay_part(app.extensions["settings"].data_dir / "store", HUGE)
    files = [{"name": name, "parts": [{"partNumber": 1}]} for name in ("before", "huge.et", "after")]
    traceset = ok(here.complete(opened, files), 201)
    server = serve(**settings)
    owner = people_of(server).owner
    owner.read(owner.upload({"a": b"small"})["id"])
    peak = peak_memory(server)

    url = ok(owner.get(f"/tracesets/{traceset['id']}/download"))["url"]
    fetch_sparsely(url, tmp_path / "all.zip")

    assert peak_memory(server) - peak < 32 * MIB
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert [(info.filename, info.file_size) for info in archive.infolist()] == [
            ("before", 6),
            ("huge.et", HUGE),
            ("after", 5),
        ]
        assert archive.getinfo("after").header_offset > HUGE
        assert (archive.read("before"), archive.read("after")) == (b"before", b"after")
        with archive.open("huge.et") as member:
            assert member.read(MIB) == ZEROS
