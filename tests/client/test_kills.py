"""The client is killed at random instants, and goes on from another folder."""

import os
import random
import subprocess
import sys
from pathlib import Path

from app.client.journal import journals
from tests.client.conftest import LiveService, MakeClient
from tests.client.support import count_parts, is_part, read, write
from tests.servers.http_proxy import FaultyProxy
from tests.support.server import PROJECT

N_FILES = 150
N_UPLOADS = 4
WORKERS = 4


def test_a_killed_client_goes_on_elsewhere(make_client: MakeClient, live: LiveService, tmp_path: Path) -> None:
    chance = random.Random(7)
    # 150 parts of 30 ms, four at a time, take longer than the client is first given.
    slow = FaultyProxy(live.origin, lambda method, path, query: 0.03 if is_part(method, path) else None)
    with slow as proxy:
        for number in range(N_UPLOADS):
            source = write(tmp_path / "source" / str(number), {f"rank_{n}.et": os.urandom(300) for n in range(N_FILES)})
            proxy.requests.clear()

            n_kills = _upload_under_fire(source, proxy, live.tokens["owner"], chance, tmp_path)

            sent = count_parts(proxy)
            assert n_kills > 0
            assert len(sent) == N_FILES
            assert sum(sent.values()) - N_FILES <= n_kills * WORKERS
            traceset = next(make_client().list_tracesets(search=f"killed {number}"))
            make_client().download_traceset(traceset.id, tmp_path / "back" / str(number))

    assert read(tmp_path / "back") == read(tmp_path / "source")


def _upload_under_fire(source: Path, proxy: FaultyProxy, token: str, chance: random.Random, folder: Path) -> int:
    """Upload, killed again and again; how often it was."""
    variables = {
        "TRACESETS_URL": proxy.endpoint,
        "TRACESETS_API_TOKEN": token,
        "XDG_STATE_HOME": str(folder / "state"),
        "PYTHONPATH": str(PROJECT),
    }
    anew = [str(source), "--name", f"killed {source.name}", "--ranks", str(N_FILES), "--sha256", "none"]
    arguments, n_kills = anew, 0
    while not _ends(
        arguments, variables, folder / f"cwd-{source.name}-{n_kills}", chance.uniform(0.2, 0.9) * (1 + n_kills / 2)
    ):
        n_kills += 1
        is_remembered = bool(journals(folder / "state/tracesets/uploads", proxy.endpoint))
        if not is_remembered and count_parts(proxy):
            break  # It had come to its end when it was killed.
        arguments = ["--resume"] if is_remembered else anew
    return n_kills


def _ends(arguments: list[str], variables: dict[str, str], folder: Path, seconds: float) -> bool:
    """Let the command run for so long; whether it came to its end."""
    folder.mkdir()
    command = [sys.executable, "-m", "app.client", "upload", "--workers", str(WORKERS), "--quiet", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        _, told = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    assert process.returncode == 0, told
    return True
