"""U4, W2: the names of files."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.file_names import MAX_NAME_BYTES, archive_name, check_file_name, find_twin, last_segment
from app.errors import Invalid

characters = st.characters(exclude_categories=["Cs"])


def message_of(name: object) -> str:
    with pytest.raises(Invalid) as caught:
        check_file_name(name, "files[3].name")
    return caught.value.message


@pytest.mark.parametrize(
    "name",
    [
        *("a", "rank_0.chakra.json", "m/a.bin", "...", ".hidden", "a..b/c.", " ", "a b/ c", "é/漢字🚀", "~"),
        *("C:/x", "%2e%2e/x", "\u2028", "a\u200db", "-", "*?<>|\"'", "x" * 1024, "é" * 512),
        "/".join("x" * 512),
    ],
    ids=lambda name: name[:12],
)
def test_relative_paths_are_names(name: str) -> None:
    assert check_file_name(name, "files[3].name") is name


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", 'must not be empty, got ""'),
        ("/etc/passwd", 'must be a relative path, without / in front, got "/etc/passwd"'),
        ("a//b", 'must not have an empty segment, got "a//b"'),
        ("a/", 'must not have an empty segment, got "a/"'),
        ("/", 'must be a relative path, without / in front, got "/"'),
        (".", 'must not have . or .. as a segment, got "."'),
        ("..", 'must not have . or .. as a segment, got ".."'),
        ("../x", 'must not have . or .. as a segment, got "../x"'),
        ("a/../b", 'must not have . or .. as a segment, got "a/../b"'),
        ("a/./b", 'must not have . or .. as a segment, got "a/./b"'),
        ("a/..", 'must not have . or .. as a segment, got "a/.."'),
        ("a\\b", 'must not hold a backslash; folders are separated by /, got "a\\\\b"'),
        ("a\nb", 'must not hold control characters, got "a\\nb"'),
        ("a\x00", 'must not hold control characters, got "a\\u0000"'),
        ("a\x7f", 'must not hold control characters, got "a\x7f"'),
        ("\x85a", 'must not hold control characters, got "\x85a"'),
        ("a\ud800", 'must not hold half of a surrogate pair, got "a?"'),
        ("x" * 1025, f'must be at most 1024 bytes in UTF-8, got "{"x" * 79}… (1027 characters)'),
        ("x" + "é" * 512, f'must be at most 1024 bytes in UTF-8, got "x{"é" * 78}… (515 characters)'),
    ],
    ids=lambda text: repr(text)[:20],
)
def test_other_texts_are_refused_with_the_field_and_the_value(name: str, told: str) -> None:
    assert message_of(name) == f"files[3].name {told}"


@pytest.mark.parametrize(("name", "shown"), [(None, "null"), (5, "5"), (["a"], '["a"]'), (True, "true"), ({}, "{}")])
def test_a_name_is_a_string(name: object, shown: str) -> None:
    assert message_of(name) == f"files[3].name must be a string, got {shown}"


def test_every_control_character_is_refused_and_no_other() -> None:
    refused = [chr(code) for code in range(0x3000) if is_refused(f"a{chr(code)}b") and chr(code) not in "/\\"]

    assert refused == [chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) == "Cc"]


def is_refused(name: str) -> bool:
    try:
        check_file_name(name, "name")
    except Invalid:
        return True
    return False


@given(st.text(characters | st.sampled_from("/.\\"), max_size=12))
def test_a_good_name_stays_below_its_folder(name: str) -> None:
    segments = name.split("/")
    is_bad = (
        any(segment in ("", ".", "..") for segment in segments)
        or "\\" in name
        or any(unicodedata.category(character) == "Cc" for character in name)
        or len(name.encode()) > MAX_NAME_BYTES
    )

    assert is_refused(name) is is_bad


@pytest.mark.parametrize(
    ("names", "twin"),
    [
        ([], None),
        (["a"], None),
        (["a", "A", "a/b", "b/a"], None),
        (["x", "a", "b", "a", "x"], (1, 3)),
        (["caf\u00e9", "b", "cafe\u0301"], (0, 2)),
        (["\u212b", "\u00c5"], (0, 1)),
        (["ﬁ", "fi"], None),
        (["a", "a", "a"], (0, 1)),
    ],
    ids=str,
)
def test_twins_are_names_of_one_normal_form(names: list[str], twin: tuple[int, int] | None) -> None:
    assert find_twin(names) == twin


@pytest.mark.parametrize(("name", "last"), [("a", "a"), ("m/a.bin", "a.bin"), ("x/y/z", "z")])
def test_last_segment(name: str, last: str) -> None:
    assert last_segment(name) == last


@pytest.mark.parametrize(
    ("name", "archive"),
    [
        ("GPT-175B Training Traces", "GPT-175B Training Traces.zip"),
        ('a/b\\c:d*e?f"g<h>i|j', "a_b_c_d_e_f_g_h_i_j.zip"),
        ("../../etc", "_.._etc.zip"),
        ("Été à Paris", "Été à Paris.zip"),
        ("evil\u202egnp\n", "evil_gnp_.zip"),
        (".hidden. ", "hidden.zip"),
        ("...", "traceset.zip"),
        ("", "traceset.zip"),
        ("漢" * 255, "漢" * 66 + ".zip"),
    ],
    ids=lambda text: repr(text)[:20],
)
def test_archive_names(name: str, archive: str) -> None:
    assert archive_name(name) == archive


@given(st.text(max_size=255))
def test_any_name_makes_a_safe_archive_name(name: str) -> None:
    archive = archive_name(name)

    assert check_file_name(archive, "name") == last_segment(archive) == archive
    assert archive.endswith(".zip")
    assert not archive.startswith(".")
    assert len(archive.encode()) <= 204
