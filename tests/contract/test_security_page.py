"""docs/security.md names tests that exist, and says of each line how it stands."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
LINES = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| # ")]
"""Of its tables."""


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_it_names_exists(file: str, name: str) -> None:
    assert re.search(rf"^\s*def {name}\(", (TESTS / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_a_line_says_how_it_stands_and_what_is_kept_is_shown(line: str) -> None:
    _, _, asked, state, shown, _ = (cell.strip() for cell in line.split("|"))

    assert asked
    assert state in ("kept", "not applicable", "open")
    assert shown or state != "kept"


def test_it_names_many() -> None:
    assert len(NAMED) > 60
    assert len(LINES) > 60
