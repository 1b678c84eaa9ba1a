"""The `tracesets` command, against a real service."""

import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from app.client.cli import main
from tests.client.conftest import LiveService
from tests.client.support import count_parts, is_part, read, write
from tests.servers.http_proxy import FaultyProxy
from tests.servers.process import free_port
from tests.support.server import PROJECT

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def variables(live: LiveService, tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has set the two variables."""
    return {
        "TRACESETS_URL": live.origin,
        "TRACESETS_API_TOKEN": live.tokens["owner"],
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(PROJECT),
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def run(variables: dict[str, str], tmp_path: Path) -> Run:
    """Runs the command to its end."""

    def call(*arguments: str, told: str = "", code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "app.client", *arguments],
            cwd=tmp_path,
            env={name: value for name, value in (variables | more).items() if value},
            input=told,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert variables["TRACESETS_API_TOKEN"] not in done.stdout + done.stderr
        return done

    return call


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A host and a device trace of each of four ranks, and what describes the system."""
    names = [f"{kind}/rank_{rank}.json" for kind in ("host", "device") for rank in range(4)]
    return write(tmp_path / "run-17", {name: os.urandom(700) for name in names} | {"system.json": b"{}"})


def uploaded(run: Run, source: Path, *more: str) -> str:
    """The id of a traceset of these files."""
    traceset_id: str = json.loads(run("upload", str(source), "--dp", "4", "--json", *more).stdout)["id"]
    return traceset_id


def test_up_and_down(run: Run, source: Path, tmp_path: Path) -> None:
    traceset_id = uploaded(run, source, "--tag", "a", "--tag", "b", "--description", "words", "--ttl-days", "3")

    shown = json.loads(run("show", traceset_id, "--json").stdout)
    brought = run("download", traceset_id, "--output", "back")

    assert (shown["name"], shown["tags"], shown["description"]) == ("run-17", ["a", "b"], "words")
    assert shown["workloadMetadata"] == {"parallelism": {"dp": 4}}
    assert shown["rankCountDerived"] == 4
    assert {file["name"]: file["role"] for file in shown["files"]}["system.json"] == "supporting"
    assert brought.stdout == "9 files in back\n"
    assert read(tmp_path / "back") == read(source)


def test_the_plan_is_told_before_anything_is_sent(run: Run, source: Path) -> None:
    told = run("upload", str(source), "--dp", "4").stderr

    assert re.search(r"primary +rank 3 +host/rank_3.json \(700 B\)", told)
    assert re.search(r"supporting +system.json", told)
    assert told.index("8 primary files cover ranks 0 to 3 in 2 series") < told.index("sent 1/9")
    assert len(re.findall(r"^sent \d/9 .+ \(.+ B\)$", told, re.MULTILINE)) == 9


def test_names_that_do_not_cover_the_ranks_are_told(run: Run, source: Path) -> None:
    warned = run("upload", str(source), "--ranks", "8")
    refused = run("upload", str(source), "--ranks", "8", "--strict", code=5)

    assert "Warning: In the series of device/rank_0.json: no file for ranks 4 to 7" in warned.stderr
    assert "Nothing was sent" in refused.stderr
    assert refused.stdout == ""


def test_ranks_have_to_be_declared(run: Run, source: Path) -> None:
    told = run("upload", str(source), code=2).stderr

    assert "Declare the ranks: --ranks, or degrees such as --dp; the names suggest --ranks 4" in told


def test_roles_can_be_chosen(run: Run, source: Path) -> None:
    answer = run("upload", str(source), "--supporting", "*", "--name", "all", "--quiet", "--json")

    assert {file["role"] for file in json.loads(answer.stdout)["files"]} == {"supporting"}
    assert answer.stderr == ""


def test_metadata_come_from_a_file(run: Run, source: Path, tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text('{"workload_family": "gpt", "shape": {"rankCount": 4}}')

    answer = run("upload", str(source), "--metadata", "@metadata.json", "--pp", "4", "--json")

    assert json.loads(answer.stdout)["workloadMetadata"] == {
        "workload_family": "gpt",
        "shape": {"rankCount": 4},
        "parallelism": {"pp": 4},
    }


@pytest.mark.parametrize("text", ["{", "[]", "@missing.json"])
def test_metadata_that_are_none_are_refused(run: Run, source: Path, text: str) -> None:
    assert "--metadata" in run("upload", str(source), "--metadata", text, code=2).stderr


def test_some_files_are_downloaded(run: Run, source: Path, tmp_path: Path) -> None:
    traceset_id = uploaded(run, source)

    run("download", traceset_id, "-o", "ranks", "--ranks", "1-2")
    run("download", traceset_id, "-o", "files", "--files", "host/*", "--files", "system.json")

    assert set(read(tmp_path / "ranks")) == {f"{kind}/rank_{n}.json" for kind in ("host", "device") for n in (1, 2)}
    assert set(read(tmp_path / "files")) == {"system.json", *(f"host/rank_{n}.json" for n in range(4))}


def test_files_that_are_there_are_replaced_by_force_alone(run: Run, source: Path, tmp_path: Path) -> None:
    traceset_id = uploaded(run, source)
    write(tmp_path / "back", {"system.json": b"mine"})

    refused = run("download", traceset_id, "-o", "back", code=5)
    run("download", traceset_id, "-o", "back", "--force", "--json")

    assert "back has system.json already; nothing was replaced" in refused.stderr
    assert read(tmp_path / "back") == read(source)


def test_lists_are_filtered_and_paged(run: Run, source: Path) -> None:
    word = os.urandom(5).hex()
    ids = [uploaded(run, source, "--name", f"{word} {n}", "--tag", "even" if n % 2 == 0 else "odd") for n in range(4)]

    lines = run("list", "--search", word.upper(), "--sort", "name:asc").stdout.splitlines()
    even = json.loads(run("list", "--search", word, "--tag", "even", "--json").stdout)
    first = run("list", "--search", word, "--limit", "3", "--json").stdout
    cursor = json.loads(first)["pagination"]["nextCursor"]
    rest = json.loads(run("list", "--search", word, "--limit", "3", "--next", cursor, "--json").stdout)
    everything = json.loads(run("list", "--search", word, "--limit", "3", "--all", "--json").stdout)

    assert [line.split("\t")[0] for line in lines] == ids
    assert lines[0].split("\t")[1:6] == [f"{word} 0", "ready", "9", "5.5 KiB", "4"]
    assert {item["id"] for item in even["items"]} == {ids[0], ids[2]}
    assert [item["id"] for item in json.loads(first)["items"] + rest["items"]] == ids[::-1]
    assert [item["id"] for item in everything["items"]] == ids[::-1]
    assert everything["pagination"] == {"count": 4, "hasMore": False, "nextCursor": None}


def test_a_list_on_a_terminal_has_a_head(run: Run, source: Path, variables: Mapping[str, str]) -> None:
    traceset_id = uploaded(run, source)

    shown = on_a_terminal(["list", "--limit", "1"], variables)

    assert re.search(r"ID +NAME +STATUS", shown)
    assert traceset_id[:12] in shown


def test_a_check_that_fails_is_an_exit_code(run: Run, source: Path, live: LiveService) -> None:
    traceset_id = uploaded(run, source, "--sha256", "none")
    whole = run("validate", traceset_id)
    content = (source / "host/rank_0.json").read_bytes()
    for path in Path(live.server.settings["data_dir"]).rglob("*"):
        if path.is_file() and content in path.read_bytes():
            path.write_bytes(b"x" * path.stat().st_size)

    broken = run("validate", traceset_id, "--json", code=1)

    assert "passed  file_integrity" in whole.stdout
    assert json.loads(broken.stdout)["valid"] is False


def test_promoting_and_deleting(run: Run, source: Path, live: LiveService) -> None:
    traceset_id = uploaded(run, source)

    promoted = json.loads(run("promote", traceset_id, "--workspace", live.workspace_id, "--json").stdout)
    run("delete", traceset_id)
    gone = run("show", traceset_id, code=3)
    left = run("show", promoted["id"])
    answer = run("delete", promoted["id"], "--json", "--yes")

    assert promoted["promotedFrom"] == traceset_id
    assert "not found" in gone.stderr
    assert f"promoted from: {traceset_id}" in left.stdout
    assert json.loads(answer.stdout) is None


def test_signing_in_keeps_the_token_for_its_user_alone(run: Run, live: LiveService, tmp_path: Path) -> None:
    nothing = {"TRACESETS_URL": "", "TRACESETS_API_TOKEN": ""}
    before = run("list", code=5, **nothing)

    run("login", "--url", f"{live.origin}/", "--token-stdin", told=live.tokens["owner"] + "\n", **nothing)
    after = run("list", "--json", **nothing)
    elsewhere = run("list", code=5, TRACESETS_URL="https://other.example.org", TRACESETS_API_TOKEN="")

    kept = tmp_path / "home/.config/tracesets/login.json"
    assert "tracesets login" in before.stderr
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(after.stdout)["items"] is not None
    assert "is not the service that you are signed in to" in elsewhere.stderr


def test_signing_in_with_a_bad_token_keeps_nothing(run: Run, live: LiveService, tmp_path: Path) -> None:
    run("login", "--url", live.origin, "--token-stdin", told="no-token\n", code=3)

    assert not (tmp_path / "home/.config").exists()


def test_exit_codes(run: Run, source: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"

    assert "not known" in run("list", code=3, TRACESETS_API_TOKEN="x").stderr
    assert "did not answer" in run("show", "ts_1", code=4, TRACESETS_URL=nobody).stderr
    assert "does not exist" in run("upload", str(source / "missing"), "--ranks", "1", code=5).stderr
    run("upload", code=2)
    run("frobnicate", code=2)


def test_ctrl_c_leaves_an_upload_that_can_go_on(
    run: Run, source: Path, variables: dict[str, str], live: LiveService, tmp_path: Path
) -> None:
    with FaultyProxy(live.origin, lambda method, path, query: 0.2 if is_part(method, path) else None) as proxy:
        variables["TRACESETS_URL"] = proxy.endpoint
        command = ["upload", str(source), "--dp", "4", "--workers", "1", "--sha256", "none"]
        process = start(command, variables, tmp_path)
        while not count_parts(proxy):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=60)[1]
        sessions = json.loads(run("sessions", "--json").stdout)["items"]
        resumed = run("upload", "--resume", "--json")
        sent = count_parts(proxy)

    [session] = sessions
    assert process.returncode == 130
    assert f"To go on: tracesets upload --resume {session['uploadId']}" in told
    assert session["state"] == "open"
    assert "/objects/" not in json.dumps(session)
    assert json.loads(resumed.stdout)["id"] == session["tracesetId"]
    assert sum(sent.values()) <= 10
    assert run("sessions").stdout == ""


def test_a_session_can_be_ended(run: Run, source: Path, variables: dict[str, str], live: LiveService) -> None:
    with FaultyProxy(live.origin, lambda method, path, query: "drop" if is_part(method, path) else None) as proxy:
        variables["TRACESETS_URL"] = proxy.endpoint
        stuck = ["--patience", "0", "--name", "stuck", "--sha256", "none"]
        told = run("upload", str(source), "--dp", "4", *stuck, code=4).stderr
        [upload_id] = re.findall(r"--resume (upload_\w+)", told)
        listed = run("sessions").stdout
        ended = run("sessions", "--end", upload_id).stdout
        after = run("sessions").stdout
        lost = run("upload", "--resume", upload_id, code=5).stderr

    assert listed.startswith(f"{upload_id}\topen\tstuck\t0 of 9 parts\t")
    assert ended.startswith(f"{upload_id}\taborted\t")
    assert after == ""
    assert "name its files" in lost


def test_another_machine_resumes_with_the_files(
    run: Run, source: Path, variables: dict[str, str], live: LiveService, tmp_path: Path
) -> None:
    with FaultyProxy(live.origin, lambda method, path, query: "drop" if is_part(method, path) else None) as proxy:
        variables["TRACESETS_URL"] = proxy.endpoint
        told = run("upload", str(source), "--dp", "4", "--patience", "0", code=4).stderr
    [upload_id] = re.findall(r"--resume (upload_\w+)", told)
    variables |= {"TRACESETS_URL": live.origin, "HOME": str(tmp_path / "another home")}

    resumed = run("upload", "--resume", upload_id, str(source), "--json")

    assert json.loads(resumed.stdout)["status"] == "ready"


def test_progress_on_a_terminal_is_a_bar(source: Path, variables: dict[str, str]) -> None:
    shown = on_a_terminal(["upload", str(source), "--dp", "4"], variables)

    assert "sent 9/9 files" in shown
    assert "is ready: 9 files" in shown


def test_a_person_is_asked_where_names_and_ranks_do_not_fit(source: Path, variables: dict[str, str]) -> None:
    shown = on_a_terminal(["upload", str(source), "--dp", "5"], variables, types="n\n")

    assert "Send it all the same? [y/N]" in shown
    assert "Nothing was sent" in shown
    assert "sent 1" not in shown


def test_names_cannot_move_the_cursor(run: Run, source: Path) -> None:
    traceset_id = uploaded(run, source, "--name", "red \x1b[31m", "--tag", "\x1b[2J")

    shown = run("show", traceset_id).stdout + run("list", "--limit", "1").stdout

    assert "\x1b" not in shown
    assert "red \\x1b[31m" in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_the_command(run: Run, shell: str) -> None:
    assert "_TRACESETS_COMPLETE" in run("completion", shell).stdout


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_is_on_the_page_of_the_client(command: str) -> None:
    page = (PROJECT / "docs/client.md").read_text()

    assert f"tracesets {command}" in page


def start(arguments: list[str], variables: Mapping[str, str], folder: Path) -> subprocess.Popen[str]:
    """The command, running; Ctrl-C ends it even where the tests themselves run in the background."""
    command = ["env", "--default-signal=INT", sys.executable, "-m", "app.client", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=dict(variables), stdout=pipe, stderr=pipe, text=True)


def on_a_terminal(arguments: list[str], variables: Mapping[str, str], *, types: str = "") -> str:
    """All that a person sees who runs the command in a terminal of 100 columns, and types this."""
    ours, theirs = pty.openpty()
    environment = {**variables, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-m", "app.client", *arguments]
    process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    os.write(ours, types.encode())
    seen = b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # The other end is closed.
            break
    process.wait(timeout=60)
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
