"""Help pages."""

import pytest

from app.models.tracesets import MAX_FILES
from tests.support.pages import Browser

PAGES = ("/help", "/help/quick-start", "/help/metadata", "/help/roles", "/help/limits")


@pytest.mark.parametrize("path", PAGES)
def test_everyone_reads_them(nobody: Browser, owner_page: Browser, path: str) -> None:
    assert nobody.page(path).heading == owner_page.page(path).heading


def test_every_page_leads_to_the_others(nobody: Browser) -> None:
    found = {href for path in PAGES for href in nobody.page(path).links().values()}

    assert set(PAGES) <= found


def test_limits_are_those_of_the_code(nobody: Browser) -> None:
    text = nobody.page("/help/limits").text

    assert f"1 to {MAX_FILES:,}".replace(",", " ") in text
    assert "64.0 KiB of JSON" in text


def test_an_unknown_page_is_not_there(nobody: Browser) -> None:
    nobody.page("/help/other", 404)
