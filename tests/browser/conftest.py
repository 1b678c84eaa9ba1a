"""A real browser, and a page in it that may show no fault and load nothing from elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

from tests.conftest import MakeApp, PeopleOf, Serve
from tests.servers.ceph import RadosGateway
from tests.servers.http_proxy import FaultyProxy
from tests.servers.s3 import S3Server
from tests.support import chromium as support
from tests.support.api import Api
from tests.support.server import AppServer

PATIENCE_MS = 60_000
"""Machines that test are busy; a page that is stuck is stuck for longer."""


CORS = {"AllowedMethods": ["PUT", "GET"], "AllowedOrigins": ["*"], "AllowedHeaders": ["*"], "ExposeHeaders": ["ETag"]}
STORES = ["disk", "moto", pytest.param("ceph", marks=pytest.mark.s3)]
"""The disk store, and S3 servers, which are another origin than the pages."""


@pytest.fixture(scope="session")
def ceph() -> Iterator[RadosGateway]:
    """Ceph's gateway, shared by all tests of the process."""
    with RadosGateway() as server:
        yield server


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings of each store, for a flow that must go on all of them."""
    return store_settings(request, monkeypatch, request.param)


def store_settings(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str, **rule: Any
) -> dict[str, Any]:
    """The settings of the disk store, or of a new bucket that takes browsers' requests; `rule` changes its CORS."""
    if name == "disk":
        return {"s3_bucket": ""}
    server: S3Server = request.getfixturevalue(name)
    for variable, value in server.environment.items():
        monkeypatch.setenv(variable, value)
    settings = server.new_bucket_settings()
    server.client().put_bucket_cors(Bucket=settings["s3_bucket"], CORSConfiguration={"CORSRules": [CORS | rule]})
    return settings


@dataclass(frozen=True)
class Wire:
    """A deployment whose parts go through a proxy that fails on demand.

    `origin` is where its pages are; `app` and `owner` reach it past the proxy.
    """

    server: AppServer
    origin: str
    proxy: FaultyProxy
    app: Flask
    owner: Api


WireOf = Callable[..., Wire]


@pytest.fixture
def wire_of(serve: Serve, make_app: MakeApp, people_of: PeopleOf, store: dict[str, Any]) -> Iterator[WireOf]:
    """Makes such deployments of each store. The disk store's parts go the same way as its pages."""
    with ExitStack() as stack:

        def make(**more: Any) -> Wire:
            settings = store | more
            if not store["s3_bucket"]:
                server = serve(**settings)
                proxy = stack.enter_context(FaultyProxy(server.origin))
                return Wire(server, proxy.endpoint, proxy, make_app(**settings), people_of(server).owner)
            proxy = stack.enter_context(FaultyProxy(store["s3_endpoint_url"]))
            server = serve(**settings, s3_public_endpoint_url=proxy.endpoint)
            return Wire(server, server.origin, proxy, make_app(**settings), people_of(server).owner)

        yield make


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium."""
    with support.chromium() as browser:
        yield browser


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser without any history."""
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page; the test fails where it logged an error (a breach of its policy is one) or asked another host."""
    page = context.new_page()
    faults: list[str] = []
    hosts: set[str] = set()

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(message.text)

    def on_request(request: Request) -> None:
        if (host := urlsplit(request.url).hostname) is not None:
            hosts.add(host)

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", on_request)
    yield page
    assert faults == []
    assert hosts <= {"127.0.0.1"}
