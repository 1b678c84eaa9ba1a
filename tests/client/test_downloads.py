"""Downloads from a real service."""

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from app.client import Damaged, LocalError, NotReachable, TracesetsClient
from app.client import errors as of_the_client
from app.client.models import Traceset
from app.client.pieces import PIECE_SIZE
from app.settings import MIB
from tests.client.conftest import LiveService, MakeClient
from tests.client.pipe import Pipe, always, once
from tests.client.support import Watching, fetched, is_download, read, write
from tests.servers.http_proxy import Fault, FaultyProxy

Upload = Callable[[dict[str, bytes]], Traceset]


@pytest.fixture
def upload(client: TracesetsClient, tmp_path: Path) -> Upload:
    """Makes tracesets with these files, all of them supporting."""

    def make(contents: dict[str, bytes], **options: object) -> Traceset:
        folder = write(tmp_path / f"source-{os.urandom(4).hex()}", contents)
        return client.upload_traceset([folder], name="to be fetched", rank_count=8, hashing="none", **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def twenty() -> dict[str, bytes]:
    return {f"host/rank_{n}.json": os.urandom(1000 + n) for n in range(20)}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_files_of_every_size_come_back(client: TracesetsClient, upload: Upload, out: Path) -> None:
    sizes = {"empty": 0, "one": 1, "parts": 12 * MIB + 5, "pieces/two": PIECE_SIZE + 5 * MIB + 3}
    contents = {name: os.urandom(size) for name, size in sizes.items()}
    traceset = upload(contents)
    watching = Watching()

    brought = client.download_traceset(traceset.id, out, watcher=watching)

    assert read(out) == contents
    assert sorted(brought.files) == sorted(sizes)
    assert (brought.external, brought.unverified, brought.folder, brought.subject) == ((), (), out, traceset)
    watching.assert_all_arrived()


def test_large_files_are_fetched_in_ranges(
    make_client: MakeClient, live: LiveService, upload: Upload, out: Path
) -> None:
    content = os.urandom(PIECE_SIZE + 1)
    traceset = upload({"large": content})

    with FaultyProxy(live.origin) as proxy:
        make_client(proxy.endpoint).download_traceset(traceset.id, out)
        ranges = {request.headers["Range"] for request in proxy.requests if is_download(request.method, request.path)}

    assert ranges == {f"bytes=0-{PIECE_SIZE - 1}", f"bytes={PIECE_SIZE}-{PIECE_SIZE}"}
    assert (out / "large").read_bytes() == content


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"files": ["host/rank_1*"]}, {f"host/rank_{n}.json" for n in (1, *range(10, 20))}),
        ({"ranks": "3-4,7"}, {"host/rank_3.json", "host/rank_4.json", "host/rank_7.json"}),
        ({"ranks": "0", "files": ["*_19.json"]}, {"host/rank_0.json", "host/rank_19.json"}),
    ],
)
def test_some_files_are_fetched(
    client: TracesetsClient,
    upload: Upload,
    twenty: dict[str, bytes],
    out: Path,
    options: dict[str, object],
    expected: set[str],
) -> None:
    client.download_traceset(upload(twenty).id, out, **options)  # type: ignore[arg-type]

    assert set(read(out)) == expected


@pytest.mark.parametrize("fault", ["lose", "drop", "cut", 500, 503, 403], ids=str)
def test_any_request_may_fail_once(
    make_client: MakeClient, live: LiveService, upload: Upload, twenty: dict[str, bytes], out: Path, fault: Fault
) -> None:
    traceset = upload(twenty)
    failed: set[tuple[str, str, str]] = set()
    lock = threading.Lock()

    def rule(method: str, path: str, query: str) -> Fault:
        request = (method, path.rpartition("/")[2], query)  # A file's URL ends with its name.
        with lock:
            if request in failed:
                return None
            failed.add(request)
            return fault

    watching = Watching()
    with FaultyProxy(live.origin, rule) as proxy:
        make_client(proxy.endpoint).download_traceset(traceset.id, out, watcher=watching)

    assert read(out) == twenty
    watching.assert_all_arrived()


def broken_off(make_client: MakeClient, live: LiveService, traceset: Traceset, out: Path, *, after: int) -> None:
    """Begin a download, and let the line go down after so many answers."""
    left, lock = [after], threading.Lock()

    def rule(method: str, path: str, query: str) -> Fault:
        if not is_download(method, path):
            return None
        with lock:
            left[0] -= 1
            return None if left[0] >= 0 else "cut"

    with FaultyProxy(live.origin, rule) as proxy:
        with pytest.raises(NotReachable):
            make_client(proxy.endpoint, transfer_patience=0, workers=2).download_traceset(traceset.id, out)


def fetches(make_client: MakeClient, live: LiveService, traceset: Traceset, out: Path) -> Counter[str | None]:
    """Download, and count what was asked for by range."""
    with FaultyProxy(live.origin) as proxy:
        make_client(proxy.endpoint).download_traceset(traceset.id, out)
        return Counter(
            request.headers["Range"] for request in proxy.requests if is_download(request.method, request.path)
        )


def test_a_download_goes_on_where_it_broke_off(
    make_client: MakeClient, live: LiveService, upload: Upload, twenty: dict[str, bytes], out: Path
) -> None:
    traceset = upload(twenty)
    broken_off(make_client, live, traceset, out, after=12)
    assert len([name for name in read(out) if name.startswith("host/")]) == 12

    n_fetched = fetches(make_client, live, traceset, out)

    assert n_fetched == {None: 8}
    assert read(out) == twenty


def test_pieces_that_are_here_are_not_fetched_again(
    make_client: MakeClient, live: LiveService, upload: Upload, out: Path
) -> None:
    contents = {"large": os.urandom(PIECE_SIZE + 1000)}
    traceset = upload(contents)
    broken_off(make_client, live, traceset, out, after=1)
    assert "large" not in read(out)

    n_fetched = fetches(make_client, live, traceset, out)

    assert sum(n_fetched.values()) == 1
    assert read(out) == contents


def test_fetching_some_files_keeps_what_is_here_of_others(
    make_client: MakeClient, live: LiveService, upload: Upload, out: Path
) -> None:
    contents = {"large": os.urandom(PIECE_SIZE + 1000), "small": b"small"}
    traceset = upload(contents)
    broken_off(make_client, live, traceset, out, after=1)

    make_client().download_traceset(traceset.id, out, files=["small"])
    n_fetched = fetches(make_client, live, traceset, out)

    assert sum(n_fetched.values()) == 1
    assert read(out) == contents


def test_a_piece_that_went_bad_on_the_disk_is_noticed_and_fetched_again(
    make_client: MakeClient, live: LiveService, upload: Upload, out: Path
) -> None:
    contents = {"large": os.urandom(PIECE_SIZE + 1000)}
    traceset = upload(contents)
    broken_off(make_client, live, traceset, out, after=1)
    [draft] = out.glob(".tracesets-*/0")
    with draft.open("r+b") as file:
        file.write(bytes(1000))
        file.seek(PIECE_SIZE)
        file.write(bytes(1000))

    fetches(make_client, live, traceset, out)

    assert read(out) == contents


def test_a_file_that_arrives_damaged_is_fetched_again(
    make_client: MakeClient, live: LiveService, upload: Upload, out: Path
) -> None:
    contents = {"rank_0": b"genuine content"}
    traceset = upload(contents)

    with Pipe(live.origin, down=once(b"genuine", b"altered")) as pipe:
        make_client(pipe.origin).download_traceset(traceset.id, out)

    assert read(out) == contents


@pytest.mark.parametrize("size", [0, 12 * MIB], ids=["one part", "several parts"])
def test_a_line_that_damages_every_file_is_told(
    make_client: MakeClient, live: LiveService, upload: Upload, out: Path, size: int
) -> None:
    traceset = upload({"rank_0": b"genuine content" + os.urandom(size)})

    with Pipe(live.origin, down=always(b"genuine", b"altered")) as pipe:
        with pytest.raises(Damaged, match="rank_0"):
            make_client(pipe.origin).download_traceset(traceset.id, out)
        assert not (out / "rank_0").exists()

        make_client(pipe.origin).download_traceset(traceset.id, out, is_verifying=False)
        assert (out / "rank_0").read_bytes().startswith(b"altered")


def test_nothing_that_is_there_is_replaced_unless_that_is_wanted(
    client: TracesetsClient, upload: Upload, out: Path
) -> None:
    traceset = upload({"a": b"from the service", "b": b"b"})
    write(out, {"a": b"mine"})

    with pytest.raises(LocalError, match="has a already"):
        client.download_traceset(traceset.id, out)
    assert read(out) == {"a": b"mine"}

    client.download_traceset(traceset.id, out, may_replace=True)
    assert read(out) == {"a": b"from the service", "b": b"b"}


def test_a_name_that_the_service_should_not_have_writes_nothing(
    client: TracesetsClient, live: LiveService, upload: Upload, out: Path, tmp_path: Path
) -> None:
    traceset = upload({"a": b"content"})
    url = str(live.server.settings["database_url"])
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        seq = database.execute("SELECT seq FROM traceset WHERE id = ?", (traceset.id,)).fetchone()[0]
        database.execute("UPDATE traceset_file SET name = '../evil' WHERE traceset_seq = ?", (seq,))
    database.close()
    assert client.get_traceset(traceset.id).files[0].name == "../evil"

    with pytest.raises(LocalError, match="no plain relative path"):
        client.download_traceset(traceset.id, out)

    assert not (tmp_path / "evil").exists()


def test_urls_are_signed_anew_when_they_run_out(
    make_client: MakeClient, serve: Callable[..., object], tmp_path: Path, out: Path, twenty: dict[str, bytes]
) -> None:
    server = serve(download_url_ttl=3)
    origin: str = server.origin  # type: ignore[attr-defined]
    traceset = make_client(origin).upload_traceset([write(tmp_path / "source", twenty)], name="x", rank_count=20)
    answered = []

    def rule(method: str, path: str, query: str) -> Fault:
        answered.append(path)
        return 0.2 if is_download(method, path) else None

    with FaultyProxy(origin, rule) as proxy:
        make_client(proxy.endpoint, workers=1).download_traceset(traceset.id, out)

    assert read(out) == twenty
    assert sum(path.startswith("/objects/") for path in answered) == 20


def test_files_that_lie_elsewhere_are_left_out(client: TracesetsClient, out: Path, live: LiveService) -> None:
    body = {
        "name": "far",
        "files": [
            {"name": "far.et", "role": "supporting", "externalUrl": "https://example.org/far.et"},
            {"name": "empty", "role": "supporting", "size": 0},
        ],
    }
    session = client._service.call("POST", "/tracesets/upload-url", body=body).json()
    upload_id = session["uploadId"]
    empty = write(out.with_name("source"), {"empty": b""})
    traceset = client.resume_upload(upload_id, [empty])

    brought = client.download_traceset(traceset.id, out)

    assert brought.external == ("far.et",)
    assert read(out) == {"empty": b""}


def test_a_traceset_that_is_not_ready_is_told(client: TracesetsClient, out: Path) -> None:
    body = {"name": "open", "files": [{"name": "a", "role": "supporting", "size": 1}]}
    traceset_id = client._service.call("POST", "/tracesets/upload-url", body=body).json()["tracesetId"]

    with pytest.raises(of_the_client.Invalid, match="uploading"):
        client.download_traceset(traceset_id, out)


def test_a_folder_that_cannot_be_made_is_told(client: TracesetsClient, upload: Upload) -> None:
    traceset = upload({"a": b"content"})

    with pytest.raises(LocalError):
        client.download_traceset(traceset.id, "/proc/nowhere")


def test_equal_trees_come_back(client: TracesetsClient, twenty: dict[str, bytes], tmp_path: Path, out: Path) -> None:
    device = {name.replace("host/", "device/"): os.urandom(500) for name in twenty}
    source = write(tmp_path / "set", twenty | device)

    traceset = client.upload_traceset([source], name="set", degrees={"dp": 20})

    assert fetched(client, traceset, out) == twenty | device
    assert sorted(out.rglob("*")) == sorted(out / path.relative_to(source) for path in source.rglob("*"))
