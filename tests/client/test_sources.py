"""Which files an upload means, what they are called, and how a change of one is noticed."""

import hashlib
import os
from contextlib import closing
from pathlib import Path

import pytest

from app.client.errors import LocalError, SourceChanged
from app.client.sources import Reader, collect, digest_of, sha256_of


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder of traces, with folders in it."""
    for name in ("run/host/r2.json", "run/host/r10.json", "run/device/r2.json", "run/notes.txt", "other/x.et"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(*paths: Path | str) -> list[str]:
    return [file.name for file in collect(paths)]


def test_files_of_one_folder_are_named_below_it_in_natural_order(tree: Path) -> None:
    assert names(tree / "run") == ["device/r2.json", "host/r2.json", "host/r10.json", "notes.txt"]


def test_one_file_is_named_without_its_folder(tree: Path) -> None:
    assert names(tree / "run/host/r2.json") == ["r2.json"]


def test_several_paths_are_named_below_the_folder_that_holds_them(tree: Path) -> None:
    assert names(tree / "run/host/r2.json", tree / "run/device/r2.json") == ["device/r2.json", "host/r2.json"]
    assert names(tree / "run/host", tree / "other/x.et") == ["other/x.et", "run/host/r2.json", "run/host/r10.json"]


def test_a_path_given_twice_is_sent_once(tree: Path) -> None:
    assert names(tree / "run/notes.txt", tree / "run/host/../notes.txt") == ["notes.txt"]


def test_patterns_are_expanded(tree: Path) -> None:
    assert names(str(tree / "run/**/*.json")) == ["device/r2.json", "host/r2.json", "host/r10.json"]
    assert names(str(tree / "run/*/r2.json")) == ["device/r2.json", "host/r2.json"]


def test_a_relative_path_counts_from_the_working_directory(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "run")

    assert names(".") == names("../run") == names(tree / "run")


def test_links_to_files_are_followed_and_links_to_folders_are_not(tree: Path) -> None:
    (tree / "run/link.txt").symlink_to(tree / "other/x.et")
    (tree / "run/folder").symlink_to(tree / "other")

    assert "link.txt" in names(tree / "run")
    assert not any(name.startswith("folder") for name in names(tree / "run"))


@pytest.mark.parametrize("path", ["missing", "run/*.et", "empty"])
def test_nothing_to_send_is_an_error(tree: Path, path: str) -> None:
    (tree / "empty").mkdir()

    with pytest.raises(LocalError):
        collect([tree / path])


def test_what_is_no_file_is_refused(tree: Path) -> None:
    os.mkfifo(tree / "run/fifo")

    with pytest.raises(LocalError, match="not a regular file"):
        collect([tree / "run"])


def test_a_name_that_is_not_utf8_is_refused(tree: Path) -> None:
    Path(os.fsdecode(os.fsencode(tree / "run") + b"/caf\xe9.et")).write_text("x")

    with pytest.raises(LocalError, match="not UTF-8"):
        collect([tree / "run"])


def test_a_part_is_read_with_its_digest(tmp_path: Path) -> None:
    content = os.urandom(100_000)
    (tmp_path / "a").write_bytes(content)
    [file] = collect([tmp_path / "a"])

    assert digest_of(file, 1000, 50_000, "md5") == hashlib.md5(content[1000:51_000]).hexdigest()
    assert sha256_of(file) == hashlib.sha256(content).hexdigest()


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _replace(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def _touch(path: Path) -> None:
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize("change", [_append, _replace, _touch, Path.unlink])
def test_a_file_that_changed_before_it_is_read_is_noticed(tmp_path: Path, change: object) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"content")
    [file] = collect([path])
    assert not file.has_changed()

    change(path)  # type: ignore[operator]

    assert file.has_changed()
    with pytest.raises(SourceChanged, match="/a "):
        digest_of(file, 0, 7, "sha256")


@pytest.mark.parametrize("change", [_append, _touch, lambda path: os.truncate(path, 3)], ids=["append", "touch", "cut"])
def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path, change: object) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"content")
    [file] = collect([path])
    reader = Reader(file, 0, 7, "sha256")
    reader.read(3)

    change(path)  # type: ignore[operator]

    with pytest.raises(SourceChanged), closing(reader):
        _read_to_the_end(reader)


def _read_to_the_end(reader: Reader) -> None:
    while reader.read(7):
        pass
    reader.digest()
