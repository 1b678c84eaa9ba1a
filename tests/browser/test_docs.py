"""The API's page: reading the document and trying a request."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.conftest import People, Serve
from tests.support.server import AppServer


def test_the_api_is_listed_and_can_be_tried_with_a_token(
    page: Page, serve: Serve, people_of: Callable[[AppServer], People]
) -> None:
    server = serve()
    token = people_of(server).owner.token

    page.goto(f"{server.origin}/docs/api")

    operation = page.locator("#operations-workspaces-workspaces_list_all")
    expect(operation).to_be_visible()
    expect(page.locator(".opblock")).to_have_count(_n_operations(page, server))

    page.get_by_role("button", name="Authorize", exact=True).click()
    page.locator(".auth-container input").fill(token or "")
    page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close", exact=True).first.click()
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()

    answer = operation.locator(".live-responses-table .response")
    expect(answer.locator(".response-col_status")).to_contain_text("200")
    expect(answer).to_contain_text("workspace_universal")


def _n_operations(page: Page, server: AppServer) -> int:
    document = page.request.get(f"{server.origin}/api/v1/openapi.json").json()
    return sum(len(methods) for methods in document["paths"].values())
