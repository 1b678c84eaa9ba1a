"""The browsers of the pages' tests, here too."""

from tests.functional.web.conftest import browser_at  # noqa: F401 - a fixture
