"""The client's memory does not grow with what it moves."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from app.settings import MIB
from tests.client.conftest import LiveService
from tests.support.measured import MEASURED
from tests.support.server import PROJECT


@pytest.mark.xdist_group("memory")
def test_memory_is_flat(live: LiveService, tmp_path: Path) -> None:
    peaks = {}
    for size in (8 * MIB, 512 * MIB):
        source = tmp_path / f"{size}.et"
        with source.open("wb") as file:
            os.truncate(file.fileno(), size)
        answer, up = _measure(live, ["upload", str(source), "--ranks", "1"], tmp_path)
        _, down = _measure(live, ["download", answer["id"], "-o", str(tmp_path / f"back-{size}")], tmp_path)
        peaks[size] = up, down
        assert (tmp_path / f"back-{size}" / source.name).stat().st_size == size

    (up_small, down_small), (up_large, down_large) = peaks.values()
    assert max(up_large, down_large) < 200 * MIB
    assert up_large - up_small < 32 * MIB
    assert down_large - down_small < 32 * MIB


def _measure(live: LiveService, arguments: list[str], folder: Path) -> tuple[dict[str, str], int]:
    """The command's answer, and the most memory that it held, in bytes."""
    done = subprocess.run(
        [*MEASURED, *arguments, "--json", "--quiet"],
        env={
            "TRACESETS_URL": live.origin,
            "TRACESETS_API_TOKEN": live.tokens["owner"],
            "HOME": str(folder),
            "PYTHONPATH": str(PROJECT),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), int(done.stderr) * 1024
