"""The header that names a download (W1)."""

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage.disposition import attachment


@pytest.mark.parametrize(
    ("name", "header"),
    [
        pytest.param("rank_0.chakra.json", 'attachment; filename="rank_0.chakra.json"', id="plain"),
        pytest.param("run 1/rank 0.et", 'attachment; filename="rank 0.et"', id="last segment"),
        pytest.param('a"b\\c.et', 'attachment; filename="a\\"b\\\\c.et"', id="quote and backslash"),
        pytest.param("a; filename=b.exe", 'attachment; filename="a; filename=b.exe"', id="parameter inside"),
        pytest.param(
            "Läufe 日本.et",
            "attachment; filename=\"L_ufe __.et\"; filename*=UTF-8''L%C3%A4ufe%20%E6%97%A5%E6%9C%AC.et",
            id="not ASCII",
        ),
        pytest.param("50%41.et", "attachment; filename=\"50_41.et\"; filename*=UTF-8''50%2541.et", id="percent sign"),
        pytest.param("a\r\nSet-Cookie: b\x85\x7f\ud800.et", 'attachment; filename="aSet-Cookie: b.et"', id="controls"),
        pytest.param("", 'attachment; filename="download"', id="empty"),
        pytest.param("folder/", 'attachment; filename="download"', id="no last segment"),
        pytest.param("\n", 'attachment; filename="download"', id="controls alone"),
    ],
)
def test_attachment_names_the_file(name: str, header: str) -> None:
    assert attachment(name) == header


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="/"), min_size=1))
def test_attachment_keeps_every_name_whole(name: str) -> None:
    value = attachment(name)

    assert value.isascii()
    assert value.isprintable()
    if "filename*=" in value:
        assert unquote(value.split("filename*=UTF-8''")[1]) == name
    else:
        quoted = value.removeprefix('attachment; filename="').removesuffix('"')
        assert re.sub(r"\\(.)", r"\1", quoted) == name
