"""What the README promises to a newcomer."""

import re
import subprocess
import zipfile
from pathlib import Path

from app.settings import Settings
from tests.conftest import Databases, Serve

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def test_the_quick_start_uploads_finds_checks_and_downloads(serve: Serve, databases: Databases, tmp_path: Path) -> None:
    server, token = serve(), databases.tokens["admin"]
    contents = {f"workload.{rank}.et": bytes([rank]) * (1000 + rank) for rank in range(8)} | {"workload.json": b"{}"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    script = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert script
    lines = script[1].replace("http://127.0.0.1:8000", server.origin)
    lines = re.sub(r"^TOKEN=.*$", f"TOKEN={token}", lines, flags=re.MULTILINE)

    done = subprocess.run(["bash", "-e"], input=lines, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert '"status":"ready"' in done.stdout
    assert '"valid":true' in done.stdout
    digests = re.findall(r"^.*?([0-9a-f]{64})  -$", done.stdout, re.MULTILINE)
    assert len(digests) == 2
    assert digests[0] == digests[1]
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == contents


def test_every_setting_is_in_the_readme() -> None:
    named = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", README))

    assert {name.upper() for name in Settings.model_fields} - named == set()
