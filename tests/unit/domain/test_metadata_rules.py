"""U5, L3, L8, L11: what is stored of workload metadata, and what is compared."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.metadata import (
    KEPT_CHARACTERS,
    MAX_FILTER_CHARACTERS,
    MAX_METADATA_BYTES,
    Descriptive,
    check_workload_metadata,
    descriptive,
    filter_word,
    fold,
    read_stored,
)
from app.domain.strict_json import MAX_DEEP_MEMBER_DEPTH, loads_object
from app.errors import Invalid


def message_of(value: object, has_primary: bool = False) -> str:
    with pytest.raises(Invalid) as caught:
        check_workload_metadata(value, has_primary)
    return caught.value.message


# What is stored


@pytest.mark.parametrize(
    "text",
    [
        '{"z":1,"a":{"y":[null,true,1.0]},"é":"漢"}',
        "{}",
        '{"n":' + "7" * 5000 + "}",
        '{"shape":{"rank_count":6,"RankCount":"x"}}',
    ],
    ids=["order", "empty", "long integer", "spelling"],
)
def test_metadata_is_stored_as_given(text: str) -> None:
    checked = check_workload_metadata(loads_object(text.encode()), has_primary=False)

    assert checked == (text, None)
    assert read_stored(checked.text) == loads_object(text.encode())


def test_the_deepest_metadata_is_stored_and_read_again() -> None:
    text = '{"a":' * MAX_DEEP_MEMBER_DEPTH + "1" + "}" * MAX_DEEP_MEMBER_DEPTH
    body = loads_object(f'{{"workloadMetadata":{text}}}'.encode())

    checked = check_workload_metadata(body["workloadMetadata"], has_primary=False)

    assert checked.text == text
    assert read_stored(text) == body["workloadMetadata"]


def test_null_is_no_metadata() -> None:
    assert check_workload_metadata(None, has_primary=False) == (None, None)
    assert read_stored(None) is None


def test_the_declared_count_comes_along() -> None:
    assert check_workload_metadata({"shape": {"rankCount": 8}}, has_primary=True) == ('{"shape":{"rankCount":8}}', 8)


@pytest.mark.parametrize(
    ("value", "shown"), [([], "[]"), ("x", '"x"'), (0, "0"), (False, "false"), (1.5, "1.5")], ids=str
)
def test_metadata_is_an_object_or_null(value: object, shown: str) -> None:
    assert message_of(value) == f"workloadMetadata must be an object or null, got {shown}"


@pytest.mark.parametrize("letter", ["x", "é", "漢", "🚀"])
def test_the_size_is_that_of_compact_utf8(letter: str) -> None:
    frame = len('{"a":["",1]}')
    width = len(letter.encode())
    count = (MAX_METADATA_BYTES - frame) // width
    filled = letter * count + "x" * (MAX_METADATA_BYTES - frame - width * count)

    stored = check_workload_metadata({"a": [filled, 1]}, has_primary=False).text

    assert stored is not None
    assert len(stored.encode()) == MAX_METADATA_BYTES
    assert (
        message_of({"a": [filled + "x", 1]})
        == "workloadMetadata must be at most 65536 bytes of compact JSON, got 65537"
    )


def test_white_space_and_escapes_of_the_request_do_not_count() -> None:
    text = '{ "a" : "' + "\\u0041" * 60_000 + '"}' + " " * 10_000

    assert (
        check_workload_metadata(loads_object(text.encode()), has_primary=False).text == '{"a":"' + "A" * 60_000 + '"}'
    )


def test_primary_files_need_a_declaration() -> None:
    assert message_of(None, has_primary=True).startswith("Uploads with primary trace files must declare a rank count")


def test_the_rank_rules_apply() -> None:
    assert message_of({"parallelism": {"dp": "4"}}) == (
        'workloadMetadata.parallelism.dp must be a whole number of at least 1, got "4"'
    )


# What is compared


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (None, Descriptive()),
        ({}, Descriptive()),
        (
            {"workload_family": "LLM", "workload_name": "GPT-É", "precision": "BF16", "accelerator": "H100"},
            Descriptive("llm", "gpt-é", "bf16", "h100"),
        ),
        ({"workload_family": 5, "workload_name": None, "precision": ["x"], "accelerator": True}, Descriptive()),
        ({"workloadFamily": "LLM", "Precision": "x", "shape": {"accelerator": "x"}}, Descriptive()),
        ({"precision": "", "accelerator": "x" * (MAX_FILTER_CHARACTERS + 1)}, Descriptive(precision="")),
        ({"precision": "X" * MAX_FILTER_CHARACTERS}, Descriptive(precision=filter_word("x" * MAX_FILTER_CHARACTERS))),
    ],
    ids=["null", "empty", "all", "no strings", "other places", "too long", "long"],
)
def test_descriptive_members_are_strings_at_the_top(metadata: dict[str, object] | None, expected: Descriptive) -> None:
    assert descriptive(metadata) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("É", "e\u0301"),
        ("ÉCLAIR", "éclair"),
        ("STRASSE", "straße"),
        ("ﬁn", "FIN"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("İ", "i\u0307"),
        ("Å", "\u212b"),
        ("ᾳ\u0301", "α\u0301\u0345"),
        ("ŁÓDŹ", "łódź"),
        ("ⅷ", "Ⅷ"),
        ("\u1100\u1161", "가"),
    ],
)
def test_fold_makes_alike(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("e", "é"), ("i", "İ"), ("ı", "i"), ("l", "ł"), ("o", "0"), ("a ", "a")])
def test_fold_keeps_apart(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize("length", [KEPT_CHARACTERS, KEPT_CHARACTERS + 1, MAX_FILTER_CHARACTERS])
def test_long_words_are_told_apart_by_what_is_kept_of_them(length: int) -> None:
    words = ["É" * length, "É" * (length - 1) + "e", "e" + "é" * (length - 1), "É" * (length + 1)]

    kept = [filter_word(word) for word in words]

    assert len(set(kept)) == 4
    assert max(map(len, kept)) <= KEPT_CHARACTERS + 1
    assert [filter_word(word.lower()) for word in words] == kept


marks = st.characters(categories=["Mn", "Mc"])
letters = st.characters(exclude_categories=["Cs"])
words = st.text(letters | marks | st.sampled_from("ßİıﬁΐŉǰάᾳ\u0345\u0307\u0301가\u1100\u1161"), max_size=6)


@given(words)
def test_fold_is_stable_and_blind_to_spelling(word: str) -> None:
    folded = fold(word)

    assert unicodedata.is_normalized("NFC", folded)
    assert fold(folded) == folded
    assert fold(word.casefold()) == folded
    assert {fold(unicodedata.normalize(form, word)) for form in ("NFC", "NFD")} == {folded}


def test_fold_is_stable_for_every_character() -> None:
    characters = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]

    assert [character for character in characters if fold(fold(character)) != fold(character)] == []
