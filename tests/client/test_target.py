"""Names that must not leave their folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.client.errors import LocalError
from app.client.target import Target, shown

HOSTILE = [
    "../evil",
    "a/../../evil",
    "/etc/evil",
    "a//b",
    "a/",
    "./a",
    "..",
    ".",
    "",
    "a\\..\\evil",
    "nul\0byte",
    "bell\x07",
    "half\ud800",
    ".tracesets-ts_1/journal",
]


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    target = Target(tmp_path / "out", "ts_1")
    yield target
    target.close(is_complete=False)


def draft(target: Target, content: bytes = b"content") -> None:
    fd = target.open_draft(0, len(content))
    os.pwrite(fd, content, 0)
    os.close(fd)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_could_leave_the_folder_is_refused(target: Target, name: str) -> None:
    with pytest.raises(LocalError):
        target.check([name])


@pytest.mark.parametrize("name", ["a", "a/b/c", "...", "..a", "a b/ü.json", "-rf", "~", "$HOME", "a:b"])
def test_plain_names_are_placed(target: Target, name: str) -> None:
    target.check([name])
    draft(target)

    target.place(0, name)

    assert (target.root / name).read_bytes() == b"content"


def test_a_file_cannot_be_the_folder_of_another(target: Target) -> None:
    with pytest.raises(LocalError, match="is a file of the same download"):
        target.check(["a", "a/b"])


def test_a_link_in_the_folder_does_not_lead_out_of_it(target: Target, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (target.root / "a").symlink_to(outside)
    draft(target)

    with pytest.raises(LocalError, match="cannot be placed"):
        target.place(0, "a/passwd")

    assert not list(outside.iterdir())


def test_a_link_at_the_name_is_replaced_and_not_followed(target: Target, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (target.root / "a").symlink_to(precious)
    draft(target)

    assert target.has("a")
    target.place(0, "a")

    assert precious.read_text() == "mine"
    assert (target.root / "a").read_bytes() == b"content"


def test_the_folder_of_drafts_is_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/.tracesets-ts_1").symlink_to(outside)

    with pytest.raises(LocalError):
        Target(tmp_path / "out", "ts_1")


def test_a_draft_is_no_link(target: Target, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (target.drafts / "0").symlink_to(precious)

    with pytest.raises(LocalError):
        target.open_draft(0, 1)

    assert precious.read_text() == "mine"


def test_two_downloads_of_the_same_keep_out_of_each_others_way(target: Target) -> None:
    with pytest.raises(LocalError, match="Another process"):
        Target(target.root, "ts_1")


def test_what_was_noted_is_remembered(tmp_path: Path) -> None:
    target = Target(tmp_path / "out", "ts_1")
    target.note(3, 0, "etag")
    target.note(3, 1, "etag")
    target.close(is_complete=False)
    with (target.drafts / "journal").open("a") as journal:
        journal.write("[3, 2, ")  # The process was killed.

    again = Target(target.root, "ts_1")

    assert again.remembered() == {3: {0: "etag", 1: "etag"}}
    again.close(is_complete=True)
    assert list(target.root.iterdir()) == []


def test_shown_names_cannot_move_the_cursor() -> None:
    assert shown("a\x1b[2Jb\nc\u202e") == "a\\x1b[2Jb\\nc\\u202e"
