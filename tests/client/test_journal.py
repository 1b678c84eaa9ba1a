"""What is remembered of an upload."""

import os
import stat
from pathlib import Path

import pytest

from app.client.errors import LocalError, SourceChanged
from app.client.journal import Journal, journals
from app.client.sources import collect

URL = "http://traces.example.org"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / "data" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_text(name)
    return tmp_path / "data"


@pytest.fixture
def journal(data: Path, state: Path) -> Journal:
    return Journal.begin(state, url=URL, route="tracesets", body={"name": "x"}, files=collect([data]))


def read_again(journal: Journal) -> Journal:
    again = Journal.read(journal.path)
    assert again is not None
    return again


def test_all_of_it_comes_back(journal: Journal) -> None:
    journal.opened("upload_1")
    journal.part_compared(1, 2)
    journal.close()

    again = read_again(journal)

    assert (again.url, again.route, again.body, again.key) == (URL, "tracesets", {"name": "x"}, journal.key)
    assert again.files == journal.files
    assert again.upload_id == "upload_1"
    assert again.compared == {("b", 2)}


def test_a_line_that_was_cut_is_left_out(journal: Journal) -> None:
    journal.opened("upload_1")
    journal.close()
    with journal.path.open("a") as file:
        file.write("[1, ")

    assert read_again(journal).compared == set()


def test_only_its_user_reads_it(journal: Journal) -> None:
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("text", ["", "{}", "[]", "no", '{"version": 99}'])
def test_what_is_no_journal_is_left_out(journal: Journal, text: str) -> None:
    (journal.path.parent / "other.jsonl").write_text(text)

    assert [each.key for each in journals(journal.path.parent, URL)] == [journal.key]


def test_uploads_to_another_service_are_left_out(journal: Journal) -> None:
    assert journals(journal.path.parent, "http://other.example.org") == []
    assert journals(journal.path.parent / "none", URL) == []


def test_the_newest_is_first(journal: Journal, data: Path, state: Path) -> None:
    newer = Journal.begin(state, url=URL, route="tracesets", body={}, files=collect([data]))
    os.utime(journal.path, ns=(0, 0))

    assert [each.key for each in journals(state, URL)] == [newer.key, journal.key]


def test_of_a_file_that_was_touched_nothing_counts_as_compared(journal: Journal, data: Path) -> None:
    journal.compared = {("a", 1), ("b", 1)}
    os.utime(data / "a", ns=(0, 0))

    journal.renew()

    assert journal.compared == {("b", 1)}
    assert not any(file.has_changed() for file in journal.files)


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("longer")], ids=["gone", "longer"])
def test_a_file_of_another_size_ends_it(journal: Journal, data: Path, change: object) -> None:
    change(data / "a")  # type: ignore[operator]

    with pytest.raises(SourceChanged, match="/a "):
        journal.renew()


def test_a_state_folder_that_cannot_be_made_is_told(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(LocalError, match="cannot be kept"):
        Journal.begin(tmp_path / "file", url=URL, route="tracesets", body={}, files=collect([data]))


def test_forgetting_leaves_nothing(journal: Journal) -> None:
    journal.opened("upload_1")

    journal.forget()

    assert list(journal.path.parent.iterdir()) == []
