"""What names are searched by: pieces of three characters, and for shorter texts the beginnings of pieces."""

import pytest

from app.queries.listing_search import piece_values


@pytest.mark.parametrize(
    ("text", "sqlite", "postgres"),
    [
        ("abc", {"pieces": '"abc"'}, "'abc'"),
        ("abcd", {"pieces": '"abc" AND "bcd"'}, "'abc' & 'bcd'"),
        ("aaaaa", {"pieces": '"aaa"'}, "'aaa'"),
        ('a"b', {"pieces": '"a""b"'}, "'a\"b'"),
        ("a'b", {"pieces": '"a\'b"'}, "'a''b'"),
        ("a\\b", {"pieces": '"a\\b"'}, "'a\\\\b'"),
        ("ab", {"first_piece": "ab", "last_piece": "ab" + "\U0010ffff" * 3}, "'ab':*"),
        ("'", {"first_piece": "'", "last_piece": "'" + "\U0010ffff" * 3}, "'''':*"),
    ],
)
def test_a_text_is_told_to_each_database_in_its_language(text: str, sqlite: dict[str, str], postgres: str) -> None:
    assert piece_values(text, is_postgres=False) == sqlite
    assert piece_values(text, is_postgres=True) == {"pieces": postgres}


def test_a_long_text_is_told_by_its_beginning() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 8000)))

    pieces = piece_values(text, is_postgres=False)["pieces"].split(" AND ")

    assert pieces == [f'"{text[start : start + 3]}"' for start in range(40)]
