"""The `tracesets` command beside what people would use instead, against the same server on the same machine.

    python -m tests.benchmarks.client [--only s3|small|memory] [--rounds N]

s3: 1 GiB in one file, and 64 files of 16 MiB, up to a Ceph RADOS Gateway and down from it, in turn with `aws s3 cp`
(awscli, installed into an environment of its own). Seconds and CPU seconds are of the whole commands, from start to
end; for `tracesets` that includes opening and completing the traceset. Goal: no slower, and no more CPU, than `aws`.

small: 10,000 files of 100 bytes to the disk store, beside `curl` that PUTs them over one connection, one after the
other. Goal: the parts go up three times as fast. The whole upload is shown too; what is not parts is the server's work.

memory: the most memory that the command held for 1 GiB and for 16 GiB (a sparse file), up and down. Goal: below
200 MiB, and the same for both.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from flask_migrate import upgrade

from app import create_app
from app.client import TracesetsClient, Watcher
from app.services import people
from app.settings import MIB, Settings
from tests.servers.ceph import RadosGateway
from tests.support.measured import MEASURED
from tests.support.server import PROJECT, AppServer

AWSCLI = "awscli==1.46.3"
GIB = 1024 * MIB
TRACESETS = (sys.executable, "-m", "app.client")
_QUIET = ("--quiet", "--json")


@dataclass(frozen=True)
class Cost:
    """Of one command: seconds of time and of CPU."""

    seconds: float
    cpu_seconds: float


@dataclass
class Contest:
    """One piece of work, and what it cost each contestant in every round."""

    work: str
    costs: dict[str, list[Cost]] = field(default_factory=dict)

    def note(self, contestant: str, cost: Cost) -> None:
        """Another round of this contestant."""
        self.costs.setdefault(contestant, []).append(cost)

    def report(self) -> None:
        """Print medians, and their ratio."""
        medians = {}
        for contestant, costs in self.costs.items():
            seconds = statistics.median(cost.seconds for cost in costs)
            cpu = statistics.median(cost.cpu_seconds for cost in costs)
            medians[contestant] = seconds, cpu
            span = f"{min(cost.seconds for cost in costs):.2f}-{max(cost.seconds for cost in costs):.2f}"
            print(f"  {self.work:18} {contestant:10} {seconds:6.2f} s ({span})   CPU {cpu:5.2f} s", flush=True)
        (aws, aws_cpu), (ours, ours_cpu) = medians["aws"], medians["tracesets"]
        print(f"  {'':18} aws/tracesets: {aws / ours:.2f} by time, {aws_cpu / ours_cpu:.2f} by CPU", flush=True)


def main() -> None:
    """Measure, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=("s3", "small", "memory"))
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--files", type=int, default=10_000, help="small ones (default: %(default)s)")
    parser.add_argument("--large", type=int, default=16, help="GiB of the sparse file (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        if options.only in (None, "s3"):
            measure_s3(Path(folder), options.rounds)
        if options.only in (None, "small"):
            measure_small(Path(folder), options.files, options.rounds)
        if options.only in (None, "memory"):
            measure_memory(Path(folder), options.large)


def measure_s3(folder: Path, rounds: int) -> None:
    """Let `tracesets` and `aws` take turns at a fresh gateway in each round."""
    aws = _install_awscli(folder)
    sources = {
        "1 GiB": _random_files(folder / "one", 1, GIB),
        "64 x 16 MiB": _random_files(folder / "many", 64, 16 * MIB),
    }
    print(f"\nCeph RADOS Gateway, {rounds} rounds, medians")
    for work, source in sources.items():
        up, down = Contest(f"{work} up"), Contest(f"{work} down")
        for number in range(rounds):
            with RadosGateway() as gateway, gateway.credentials():
                with _service(folder / f"{work} {number}", gateway) as ours:
                    _race(aws, ours, gateway, source, up, down)
        up.report()
        down.report()


def _race(aws: Path, ours: dict[str, str], gateway: RadosGateway, source: Path, up: Contest, down: Contest) -> None:
    back = source.with_name("back")
    bucket = f"s3://{gateway.new_bucket()}/"
    theirs = {"AWS_DEFAULT_REGION": gateway.region}
    cp = (str(aws), "s3", "cp", "--recursive", "--only-show-errors", "--endpoint-url", gateway.endpoint)
    up.note("aws", _run([*cp, str(source), bucket], theirs)[0])
    cost, answer = _run([*TRACESETS, "upload", str(source), "--ranks", "1", *_QUIET], ours)
    up.note("tracesets", cost)
    down.note("aws", _run([*cp, bucket, str(back)], theirs)[0])
    _compare_and_remove(source, back)
    traceset_id = json.loads(answer)["id"]
    down.note("tracesets", _run([*TRACESETS, "download", traceset_id, "-o", str(back), *_QUIET], ours)[0])
    _compare_and_remove(source, back)


def measure_small(folder: Path, n_files: int, rounds: int) -> None:
    """Let `curl` and the client take turns at the disk store."""
    source = _random_files(folder / "small", n_files, 100)
    curls, parts, wholes = [], [], []
    with _service(folder / "small service") as variables:
        for _ in range(rounds):
            curls.append(_curl(variables, source, folder))
            with TracesetsClient(variables["TRACESETS_URL"], variables["TRACESETS_API_TOKEN"], state=folder) as client:
                watcher, began = _Parts(), time.perf_counter()
                client.upload_traceset([source], name="small", rank_count=n_files, hashing="none", watcher=watcher)
                wholes.append(time.perf_counter() - began)
            parts.append(watcher.ended - watcher.began)
    curl, ours, whole = map(statistics.median, (curls, parts, wholes))
    print(f"\n{n_files} files of 100 B to the disk store, {rounds} rounds, medians")
    print(f"  curl, one connection {curl:6.2f} s    tracesets, parts {ours:6.2f} s, whole upload {whole:6.2f} s")
    print(f"  curl/tracesets: {curl / ours:.2f} (goal: 3)", flush=True)


class _Parts(Watcher):
    """When the first part began and the last one ended."""

    began = ended = 0.0

    def begin(self, sizes: Mapping[str, int]) -> None:
        self.began = time.perf_counter()

    def finished(self, name: str) -> None:
        self.ended = time.perf_counter()


def _curl(variables: Mapping[str, str], source: Path, folder: Path) -> float:
    """The seconds that curl needs for the parts of a session, over one connection."""
    paths = sorted(source.iterdir())
    files = [{"name": path.name, "size": 100, "role": "supporting"} for path in paths]
    answer = requests.post(
        f"{variables['TRACESETS_URL']}/api/v1/tracesets/upload-url",
        json={"name": "curl", "files": files},
        headers={"Authorization": f"Bearer {variables['TRACESETS_API_TOKEN']}"},
        timeout=600,
    )
    urls = [file["parts"][0]["url"] for file in answer.json()["files"]]
    script = folder / "curl.txt"
    script.write_text(
        "\nnext\n".join(
            f'upload-file = "{path}"\nurl = "{url}"\noutput = "{os.devnull}"\nfail\nsilent'
            for path, url in zip(paths, urls, strict=True)
        )
    )
    return _run(["curl", "--config", str(script)], {})[0].seconds


def measure_memory(folder: Path, large: int) -> None:
    """Send and fetch a small and a large sparse file, and print the peaks."""
    print("\nthe command's peak memory (goal: below 200 MiB, and flat)")
    with _service(folder / "memory service") as variables:
        for size in (1, large):
            source, back = folder / f"{size}GiB.et", folder / "back"
            source.touch()
            os.truncate(source, size * GIB)
            answer = _peak(f"{size} GiB up", ["upload", str(source), "--ranks", "1"], variables)
            _peak(f"{size} GiB down", ["download", json.loads(answer)["id"], "-o", str(back)], variables)
            source.unlink()
            shutil.rmtree(back)


def _peak(what: str, arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run the command, print the most memory that it held, and give its answer."""
    began = time.perf_counter()
    done = subprocess.run(
        [*MEASURED, *arguments, *_QUIET],
        env={**os.environ, "PYTHONPATH": str(PROJECT), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - began
    print(f"  {what:12} {int(done.stderr) / 1024:6.1f} MiB   {seconds:6.1f} s", flush=True)
    return done.stdout


@contextmanager
def _service(folder: Path, gateway: RadosGateway | None = None) -> Iterator[dict[str, str]]:
    """A service on the disk store, or on S3; gives the environment of the client."""
    settings: dict[str, Any] = {"data_dir": folder}
    if gateway is not None:
        settings |= gateway.new_bucket_settings()
    app = create_app(Settings(secret_key="a key for tests", log_level="ERROR", **settings))
    with app.app_context():
        upgrade()
        people.create_user("admin@localhost", is_admin=True)
        token = people.create_token("admin@localhost")
    server = AppServer({"log_level": "ERROR", **settings}, folder / "server", workers=2)
    yield {"TRACESETS_URL": server.origin, "TRACESETS_API_TOKEN": token, "XDG_STATE_HOME": str(folder / "state")}
    server.stop()
    shutil.rmtree(folder)


def _run(command: Sequence[str], variables: Mapping[str, str]) -> tuple[Cost, str]:
    """Run a command to its end; what it cost, and what it wrote."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), **variables}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        answer = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime), answer


def _random_files(folder: Path, count: int, size: int) -> Path:
    folder.mkdir()
    for number in range(count):
        with (folder / f"rank_{number}.et").open("wb") as file:
            for start in range(0, size, MIB):
                file.write(os.urandom(min(MIB, size - start)))
    return folder


def _compare_and_remove(source: Path, back: Path) -> None:
    subprocess.run(["diff", "--recursive", str(source), str(back)], check=True)
    shutil.rmtree(back)


def _install_awscli(folder: Path) -> Path:
    """The reference, in an environment of its own."""
    environment = folder / "aws"
    venv.create(environment, with_pip=True)
    pip = [str(environment / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", AWSCLI]
    subprocess.run(pip, check=True)
    return environment / "bin/aws"


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
