"""Uploads to a real service."""

import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.client import LocalError, NotReachable, SourceChanged, TracesetsClient, UploadEnded, Watcher
from app.client import errors as of_the_client
from app.client.models import MappingFile, Traceset
from app.settings import MIB
from tests.client.conftest import LiveService, MakeClient
from tests.client.pipe import Pipe, always, once
from tests.client.support import Watching, count_parts, fetched, is_part, part_of, read, write
from tests.servers.http_proxy import Fault, FaultyProxy

PART = 5 * MIB


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Twenty small files."""
    return write(tmp_path / "small", {f"rank_{n}.json": os.urandom(1000) for n in range(20)})


def test_files_of_every_size_arrive(client: TracesetsClient, live: LiveService, tmp_path: Path) -> None:
    sizes = {"empty": 0, "one": 1, "just": PART, "over": PART + 1, "parts/three": 2 * PART + 7, "ü n.json": 300_000}
    data = write(tmp_path / "data", {name: os.urandom(size) for name, size in sizes.items()})
    watching = Watching()

    ready = client.upload_traceset(
        [data],
        name=" Run 17 ",
        rank_count=8,
        degrees={"dp": 4, "tp": 2},
        metadata={"workload_family": "gpt", "shape": {"global_batch_size": 8}},
        workspace_id=live.workspace_id,
        description="words",
        tags=["a", "b"],
        ttl_days=7,
        watcher=watching,
    )

    assert (ready.name, ready.status, ready.rank_count, ready.tags) == ("Run 17", "ready", 8, ("a", "b"))
    assert (ready.description, ready.workspace_id) == ("words", live.workspace_id)
    assert ready.expires_at is not None
    assert (ready.expires_at - ready.created_at).days == 7
    assert ready.workload_metadata == {
        "workload_family": "gpt",
        "shape": {"global_batch_size": 8, "rankCount": 8},
        "parallelism": {"dp": 4, "tp": 2},
    }
    assert {file.name: file.size for file in ready.files} == sizes
    assert client.get_traceset(ready.id) == ready
    assert fetched(client, ready, tmp_path / "back") == read(data)
    watching.assert_all_arrived()
    assert client.unfinished_uploads() == []


def test_roles_go_along(client: TracesetsClient, tmp_path: Path) -> None:
    data = write(tmp_path / "data", {"rank_0.et": b"0", "system.json": b"{}"})

    ready = client.upload_traceset([data], name="roles", rank_count=1)

    assert {file.name: file.role for file in ready.files} == {"rank_0.et": "primary", "system.json": "supporting"}
    assert ready.files[0].rank_range == (0, 0)


def test_a_host_and_device_set_goes_up_and_comes_back(client: TracesetsClient, tmp_path: Path) -> None:
    names = [f"{kind}/rank-{rank}.json.gz" for kind in ("host", "device") for rank in range(8)]
    data = write(tmp_path / "set", {name: os.urandom(2000) for name in names})

    ready = client.upload_traceset([data], name="host and device", degrees={"dp": 8})

    assert ready.rank_count == 8
    assert fetched(client, ready, tmp_path / "back") == read(data)


def test_what_the_service_refuses_is_raised_and_leaves_nothing(client: TracesetsClient, small: Path) -> None:
    with pytest.raises(of_the_client.Invalid, match="must declare a rank count"):
        client.upload_traceset([small], name="no ranks")

    assert client.unfinished_uploads() == []


def test_many_small_files_need_few_calls_and_few_connections(
    make_client: MakeClient, live: LiveService, tmp_path: Path
) -> None:
    data = write(tmp_path / "many", {f"{n:04}": b"%0100d" % n for n in range(1000)})
    with Pipe(live.origin) as pipe:
        proxy = FaultyProxy(pipe.origin)
        with proxy, Pipe(proxy.endpoint) as front:
            make_client(front.origin, workers=4).upload_traceset([data], name="many", rank_count=1000)

            calls = [request for request in proxy.requests if request.path.startswith("/api/")]
            assert [(call.method, call.path.rpartition("/")[2]) for call in calls] == [
                ("POST", "upload-url"),
                ("POST", "complete"),
            ]
            assert len(proxy.requests) == 1002
            assert front.n_connections <= 5


def test_a_part_that_arrives_damaged_is_sent_again(make_client: MakeClient, live: LiveService, tmp_path: Path) -> None:
    content = b"genuine content"
    data = write(tmp_path / "data", {"rank_0": content})
    with Pipe(live.origin, up=once(b"genuine", b"altered")) as pipe:
        client = make_client(pipe.origin)
        ready = client.upload_traceset([data], name="damaged", rank_count=1, hashing="none")

        assert fetched(client, ready, tmp_path / "back") == {"rank_0": content}


def test_a_line_that_damages_every_part_is_told(make_client: MakeClient, live: LiveService, tmp_path: Path) -> None:
    # Content that no other test has sent, since what the service knows is not sent at all.
    data = write(tmp_path / "data", {"rank_0": b"genuine content" + os.urandom(16)})
    with Pipe(live.origin, up=always(b"genuine", b"altered")) as pipe:
        client = make_client(pipe.origin)
        with pytest.raises(of_the_client.Damaged, match="rank_0"):
            client.upload_traceset([data], name="damaged", rank_count=1)

        assert len(client.unfinished_uploads()) == 1


@pytest.mark.parametrize("fault", ["lose", "drop", "cut", 500, 503, 403], ids=str)
def test_any_request_may_fail_once(
    make_client: MakeClient, live: LiveService, small: Path, tmp_path: Path, fault: Fault
) -> None:
    failed: set[tuple[str, object]] = set()
    lock = threading.Lock()

    def rule(method: str, path: str, query: str) -> Fault:
        request = (method, part_of(path) if is_part(method, path) else path)
        with lock:
            if request in failed:
                return None
            failed.add(request)
            return fault

    with FaultyProxy(live.origin, rule) as proxy:
        client = make_client(proxy.endpoint)
        watching = Watching()
        ready = client.upload_traceset([small], name="faulty", rank_count=20, watcher=watching, hashing="none")
        sent = count_parts(proxy)

    watching.assert_all_arrived()
    assert fetched(make_client(), ready, tmp_path / "back") == read(small)
    # What was lost on its way back had arrived, and is not sent again. (An empty answer cannot be cut.)
    assert set(sent.values()) == ({1} if fault in ("lose", "cut") else {2})


def interrupted(make_client: MakeClient, live: LiveService, data: Path, *, after: int) -> None:
    """Begin an upload, and let the line go down after so many parts."""
    left, lock = [after], threading.Lock()

    def rule(method: str, path: str, query: str) -> Fault:
        if not is_part(method, path):
            return "drop" if path.endswith("/complete") else None
        with lock:
            left[0] -= 1
            return None if left[0] >= 0 else "drop"

    with FaultyProxy(live.origin, rule) as proxy:
        client = make_client(proxy.endpoint, transfer_patience=0.1, workers=2)
        with pytest.raises(NotReachable):
            client.upload_traceset([data], name="interrupted", rank_count=20, hashing="none")
        [journal] = client.unfinished_uploads()
        # The same service, found at another address.
        text = journal.path.read_text()
        journal.path.write_text(text.replace(proxy.endpoint, live.origin))


def parts_sent(
    live: LiveService, make_client: MakeClient, resume: Callable[[TracesetsClient], Traceset | MappingFile]
) -> tuple[Traceset | MappingFile, int]:
    """What a resumed upload made, and how many parts it sent for it."""
    with FaultyProxy(live.origin) as proxy:
        client = make_client(proxy.endpoint)
        for journal in client._state.glob("*.jsonl"):
            journal.write_text(journal.read_text().replace(live.origin, proxy.endpoint))
        ready = resume(client)
        return ready, sum(is_part(request.method, request.path) for request in proxy.requests)


def test_resuming_sends_only_what_is_missing(
    make_client: MakeClient, live: LiveService, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(make_client, live, small, after=12)
    monkeypatch.chdir(tmp_path)

    ready, n_sent = parts_sent(live, make_client, lambda client: client.resume_upload())

    assert n_sent == 8
    assert fetched(make_client(), ready, tmp_path / "back") == read(small)
    assert make_client().unfinished_uploads() == []


def test_another_host_resumes_by_the_id_and_compares_what_is_there(
    make_client: MakeClient, live: LiveService, small: Path, tmp_path: Path
) -> None:
    interrupted(make_client, live, small, after=12)
    [journal] = make_client().unfinished_uploads()
    copy = write(tmp_path / "copy", read(small))

    def resume(client: TracesetsClient) -> Traceset | MappingFile:
        client._state = tmp_path / "state of another host"
        return client.resume_upload(journal.upload_id, [copy])

    ready, n_sent = parts_sent(live, make_client, resume)

    assert n_sent == 8
    assert fetched(make_client(), ready, tmp_path / "back") == read(small)


@pytest.mark.parametrize("change", ["other bytes", "other size", "one less"])
def test_another_host_with_other_files_is_told(
    make_client: MakeClient, live: LiveService, small: Path, tmp_path: Path, change: str
) -> None:
    interrupted(make_client, live, small, after=20)
    [journal] = make_client().unfinished_uploads()
    copy = write(tmp_path / "copy", read(small))
    path = copy / "rank_3.json"
    {
        "other bytes": lambda: path.write_bytes(os.urandom(1000)),
        "other size": lambda: path.write_bytes(b"short"),
        "one less": path.unlink,
    }[change]()

    with pytest.raises((LocalError, SourceChanged), match="rank_3"):
        make_client(state=tmp_path / "other state").resume_upload(journal.upload_id, [copy])


def test_a_file_that_changed_between_is_sent_again_where_it_differs(
    make_client: MakeClient, live: LiveService, small: Path, tmp_path: Path
) -> None:
    interrupted(make_client, live, small, after=12)
    held = next(iter(sorted(_held(make_client()))))
    (small / held).write_bytes(os.urandom(1000))
    os.utime(small / "rank_19.json")

    ready, n_sent = parts_sent(live, make_client, lambda client: client.resume_upload())

    assert n_sent == 9
    assert fetched(make_client(), ready, tmp_path / "back") == read(small)


def _held(client: TracesetsClient) -> list[str]:
    [journal] = client.unfinished_uploads()
    session = client.get_upload(str(journal.upload_id))
    return [file.name for file in session.files if all(part.etag for part in file.parts)]


def test_a_death_before_the_answer_to_the_opening_leaves_no_second_upload(
    make_client: MakeClient, live: LiveService, small: Path
) -> None:
    interrupted(make_client, live, small, after=5)
    client = make_client()
    [journal] = client.unfinished_uploads()
    upload_id = journal.upload_id
    first, *_ = journal.path.read_text().splitlines()
    journal.path.write_text(first + "\n")  # As if the process had died right after it was written.
    [journal] = client.unfinished_uploads()
    assert journal.upload_id is None

    ready = client.resume_upload()

    assert client.get_upload(str(upload_id)).subject_id == ready.id


def test_a_part_that_the_store_has_lost_is_sent_again(
    make_client: MakeClient, live: LiveService, small: Path, tmp_path: Path
) -> None:
    lost = (small / "rank_7.json").read_bytes()
    completions = []

    def rule(method: str, path: str, query: str) -> Fault:
        if path.endswith("/complete"):
            completions.append(path)
            if len(completions) == 1:
                _lose(Path(live.server.settings["data_dir"]), lost)
        return None

    with FaultyProxy(live.origin, rule) as proxy:
        client = make_client(proxy.endpoint)
        ready = client.upload_traceset([small], name="lossy", rank_count=20, hashing="none")
        sent = count_parts(proxy)

    assert len(completions) == 2
    assert sorted(sent.values()) == [1] * 19 + [2]
    assert fetched(make_client(), ready, tmp_path / "back") == read(small)


def _lose(folder: Path, content: bytes) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size >= len(content) and content in path.read_bytes():
            path.unlink()


def test_an_upload_that_was_ended_cannot_go_on_and_is_forgotten(
    make_client: MakeClient, live: LiveService, small: Path
) -> None:
    interrupted(make_client, live, small, after=5)
    client = make_client()
    [journal] = client.unfinished_uploads()
    client.abort_upload(str(journal.upload_id))

    with pytest.raises(UploadEnded, match="aborted"):
        client.resume_upload()

    assert client.unfinished_uploads() == []


def test_an_upload_that_another_process_completed_is_found_complete(
    make_client: MakeClient, live: LiveService, small: Path
) -> None:
    interrupted(make_client, live, small, after=5)
    client = make_client()
    [journal] = client.unfinished_uploads()
    text = journal.path.read_text()
    first = client.resume_upload()
    journal.path.write_text(text)

    again = client.resume_upload(journal.upload_id)

    assert again == first


@pytest.mark.parametrize("upload_id", [None, "upload_unknown"])
def test_nothing_to_resume_is_told(client: TracesetsClient, upload_id: str | None) -> None:
    with pytest.raises(LocalError):
        client.resume_upload(upload_id)


def test_a_file_that_changes_while_it_is_sent_is_noticed(
    make_client: MakeClient, live: LiveService, tmp_path: Path
) -> None:
    data = write(tmp_path / "data", {"rank_0": os.urandom(3 * PART)})
    touched = threading.Event()

    def rule(method: str, path: str, query: str) -> Fault:
        if is_part(method, path) and not touched.is_set():
            touched.set()
            os.utime(data / "rank_0", ns=(0, 0))
        return None

    with FaultyProxy(live.origin, rule) as proxy:
        client = make_client(proxy.endpoint, workers=1)
        with pytest.raises(SourceChanged, match="rank_0"):
            client.upload_traceset([data], name="changing", rank_count=1)

        assert len(client.unfinished_uploads()) == 1


def test_a_file_that_changes_after_it_was_sent_is_noticed(
    make_client: MakeClient, live: LiveService, small: Path
) -> None:
    class Touching(Watcher):
        def finished(self, name: str) -> None:
            os.utime(small / name, ns=(0, 0))

    with pytest.raises(SourceChanged):
        make_client().upload_traceset([small], name="changing", rank_count=20, watcher=Touching())


def test_urls_are_fetched_anew_before_they_run_out(
    make_client: MakeClient, serve: Callable[..., object], people_of: object, small: Path, databases: object
) -> None:
    server = serve(part_url_ttl=10)

    def rule(method: str, path: str, query: str) -> Fault:
        return 0.8 if is_part(method, path) else None

    with FaultyProxy(server.origin, rule) as proxy:  # type: ignore[attr-defined]
        client = make_client(proxy.endpoint, workers=1)
        ready = client.upload_traceset([small], name="slow", rank_count=20, hashing="none")
        sent = count_parts(proxy)
        shown = [request for request in proxy.requests if request.method == "GET"]

    assert ready.status == "ready"
    assert shown
    assert set(sent.values()) == {1}  # No URL had run out, though all together took longer than one lives.


def test_content_that_the_service_knows_is_not_sent(make_client: MakeClient, live: LiveService, small: Path) -> None:
    client = make_client()
    client.upload_traceset([small], name="first", rank_count=20, workspace_id=live.workspace_id)
    watching = Watching()

    with FaultyProxy(live.origin) as proxy:
        make_client(proxy.endpoint).upload_traceset(
            [small], name="again", rank_count=20, workspace_id=live.workspace_id, watcher=watching
        )
        n_sent = sum(is_part(request.method, request.path) for request in proxy.requests)

    assert n_sent == 0
    watching.assert_all_arrived()


def test_hashes_are_declared_as_asked(make_client: MakeClient, live: LiveService, tmp_path: Path) -> None:
    content = os.urandom(9 * MIB)
    data = write(tmp_path / "data", {"large": content, "small": b"small"})
    declared = {}
    for hashing in ("none", "small", "all"):
        with FaultyProxy(live.origin, lambda method, path, query: "drop" if is_part(method, path) else None) as proxy:
            client = make_client(proxy.endpoint, transfer_patience=0)
            with pytest.raises(NotReachable):
                client.upload_traceset([data], name="hashes", rank_count=1, hashing=hashing)
            [journal] = client.unfinished_uploads()
            declared[hashing] = [file.get("sha256") for file in journal.body["files"]]
            journal.forget()

    of_small, of_large = hashlib.sha256(b"small").hexdigest(), hashlib.sha256(content).hexdigest()
    assert declared == {"none": [None, None], "small": [None, of_small], "all": [of_large, of_small]}


def test_a_mapping_file_goes_up_and_comes_back(client: TracesetsClient, small: Path, tmp_path: Path) -> None:
    ready = client.upload_mapping_file([small], name="places")

    client.download_mapping_file(ready.id, tmp_path / "back")

    assert client.get_mapping_file(ready.id) == ready
    assert read(tmp_path / "back") == read(small)
    assert ready.id in {item.id for item in client.list_mapping_files()}
    client.delete_mapping_file(ready.id)
    with pytest.raises(of_the_client.NotFound):
        client.get_mapping_file(ready.id)


def test_the_state_holds_no_token_and_no_url(make_client: MakeClient, live: LiveService, small: Path) -> None:
    interrupted(make_client, live, small, after=5)
    [journal] = make_client().unfinished_uploads()

    text = journal.path.read_text()

    assert json.loads(text.splitlines()[0])["url"] == live.origin
    assert "/objects/" not in text
    assert live.tokens["owner"] not in text
