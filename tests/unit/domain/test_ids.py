"""G3, L10: ids."""

import re

import pytest

from app.domain.ids import UNIVERSAL_WORKSPACE_ID, is_workspace_id, new_id


@pytest.mark.parametrize("prefix", ["ts", "upload", "workspace", "mapping"])
def test_ids_are_a_prefix_and_lower_case_letters_and_digits(prefix: str) -> None:
    ids = {new_id(prefix) for _ in range(1000)}  # type: ignore[arg-type]

    assert len(ids) == 1000
    assert all(re.fullmatch(prefix + "_[a-z0-9]{26}", new) for new in ids)


def test_every_place_of_an_id_varies() -> None:
    ids = [new_id("ts") for _ in range(1000)]

    assert min(len(set(column)) for column in zip(*(new[3:] for new in ids), strict=True)) == 32


@pytest.mark.parametrize(
    "text",
    [UNIVERSAL_WORKSPACE_ID, "workspace_a", "workspace_0_", "workspace__", "workspace_" + "z" * 64, "workspace_def456"],
)
def test_forms_of_a_workspace_id(text: str) -> None:
    assert is_workspace_id(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "foo", "workspace_", "ts_abc", "workspace_ABC", "workspace_a/b", "workspace_a b", "workspace_é"),
        *("Workspace_abc", " workspace_abc", "workspace_abc ", "workspace-abc", "workspace_a%"),
        *("workspace_a\n", "\0", "workspace_" + "z" * 65, "workspace_１", "xworkspace_a"),
    ],
)
def test_other_texts_are_no_workspace_id(text: str) -> None:
    assert not is_workspace_id(text)


def test_a_new_workspace_id_has_the_form_of_one() -> None:
    assert is_workspace_id(new_id("workspace"))
