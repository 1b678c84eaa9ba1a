"""Uploading in a real browser: progress, breaks, expired URLs, two tabs, thousands of files."""

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.settings import MIB
from tests.browser.conftest import STORES, WireOf, store_settings
from tests.browser.uploading import (
    PATIENCE_MS,
    UPLOAD,
    choose,
    expect_state,
    fill_in,
    puts,
    sign_in,
    start,
    unsteady,
    wait_for_traceset,
    written,
)
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.servers.http_proxy import Fault, FaultyProxy
from tests.support.api import Api, ok
from tests.support.server import until

PART = 5 * MIB


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder as a simulator leaves it: two ranks, one of them in two parts, and a description."""
    folder = tmp_path / "et-stg-dp2"
    (folder / "more").mkdir(parents=True)
    (folder / "workload.0.et").write_bytes(os.urandom(PART + 1000))
    (folder / "workload.1.et").write_bytes(os.urandom(1000))
    (folder / "more" / "system.json").write_text("{}")
    (folder / "empty.log").write_bytes(b"")
    return folder


@pytest.fixture(params=[*STORES, "moto that shows no ETag"])
def stored(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings of each store, and of one whose CORS rule keeps ETags from pages."""
    name, _, is_shy = request.param.partition(" ")
    return store_settings(request, monkeypatch, name, **({"ExposeHeaders": []} if is_shy else {}))


@pytest.fixture
def proxied(serve: Serve) -> Iterator[FaultyProxy]:
    """A server behind a proxy that fails on demand; it is reached through the proxy alone."""
    with FaultyProxy(serve(s3_bucket="").origin) as proxy:
        yield proxy


@pytest.fixture
def owner_at(make_app: MakeApp, people_of: PeopleOf) -> Api:
    """The owner, who asks the database behind all servers of the test."""
    return people_of(make_app(s3_bucket="")).owner


def test_a_folder_goes_up_and_comes_back_byte_for_byte(
    page: Page, serve: Serve, make_app: MakeApp, people_of: PeopleOf, stored: dict[str, Any], run: Path
) -> None:
    server = serve(**stored)
    owner = people_of(server).owner
    sign_in(page, make_app(**stored), server.origin)

    page.goto(server.origin + UPLOAD)
    choose(page, run)
    expect(page.locator("[data-coverage]")).to_have_text("2 primary files cover ranks 0 to 1")
    fill_in(
        page, "GPT-3, step 12", dp="2", precision="bf16", tag="nightly", description="From a simulator", ttlDays="30"
    )
    expect(page.locator("[data-product]")).to_have_text("dp 2 = 2")
    start(page)
    traceset = owner.show(wait_for_traceset(page))

    contents = {path.relative_to(run).as_posix(): path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert {file["name"]: owner.read(traceset["id"], file["name"]) for file in traceset["files"]} == contents
    assert {file["name"]: file["role"] for file in traceset["files"]} == {
        "empty.log": "supporting",
        "more/system.json": "supporting",
        "workload.0.et": "primary",
        "workload.1.et": "primary",
    }
    assert traceset["workloadMetadata"] == {"precision": "bf16", "parallelism": {"dp": 2}}
    assert (traceset["status"], traceset["rankCountDerived"], traceset["tags"]) == ("ready", 2, ["nightly"])
    assert traceset["description"] == "From a simulator"


def test_every_rule_is_told_before_anything_is_sent(page: Page, serve: Serve, make_app: MakeApp, run: Path) -> None:
    server = serve(s3_bucket="")
    sign_in(page, make_app(s3_bucket=""), server.origin)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))

    page.goto(server.origin + UPLOAD)
    button = page.get_by_role("button", name="Upload", exact=True)
    faults = page.locator("[data-faults]")
    button.click()
    expect(faults).to_contain_text("Give the traceset a name")
    expect(faults).to_contain_text("Choose the files of the traceset")

    choose(page, run)
    fill_in(page, "x" * 256, ttlDays="366", dp="2.0")
    expect(faults).to_contain_text("The name has 256 characters")
    expect(faults).to_contain_text("ttlDays must be at most 365, got 366")
    expect(page.locator("#dp-fault")).to_have_text("dp must be a whole number of at least 1, got “2.0”")
    fill_in(page, "Good", ttlDays="", dp="4", tp="536870912")
    expect(page.locator("#parallelism-fault")).to_contain_text("at most 2147483647, got 2147483648")
    fill_in(page, "Good", tp="2", rankCount="2", fsdp="3")
    expect(page.locator("#rankCount-fault")).to_have_text("The rank count is 2, but the product of the degrees is 8")
    expect(page.locator("#fsdp-fault")).to_have_text("fsdp must divide dp")
    fill_in(page, "Good", dp="", tp="", rankCount="", fsdp="")
    expect(page.locator("#rankCount-fault")).to_contain_text("Primary files need a rank count")
    page.get_by_role("button", name="The names tell of 2: use that").click()
    expect(faults).to_be_hidden()
    page.get_by_text("Further members, as JSON").click()
    page.locator("#members").fill('{"n": 12345678901234567890}')
    expect(page.locator("#members-fault")).to_contain_text("too long for a browser")

    assert set(asked) == {"GET"}


def test_ranks_are_changed_by_hand_and_go_into_the_names(
    page: Page, serve: Serve, make_app: MakeApp, owner_at: Api, tmp_path: Path
) -> None:
    server = serve(s3_bucket="")
    sign_in(page, make_app(s3_bucket=""), server.origin)
    page.goto(server.origin + UPLOAD)
    choose(page, written(tmp_path / "run", {"trace.0.et": b"0", "trace.2.et": b"2", "trace.02.et": b"two"}))
    fill_in(page, "Ranked", rankCount="3")
    coverage = page.locator("[data-coverage]")
    expect(coverage).to_have_text("No file for rank 1; several files for rank 2: trace.02.et, trace.2.et")

    page.get_by_label("Rank of trace.02.et").fill("1")
    page.get_by_label("Rank of trace.02.et").blur()
    expect(coverage).to_have_text("3 primary files cover ranks 0 to 2")
    start(page)

    traceset = owner_at.show(wait_for_traceset(page))
    assert {file["name"]: owner_at.read(traceset["id"], file["name"]) for file in traceset["files"]} == {
        "rank_0.trace.0.et": b"0",
        "rank_1.trace.02.et": b"two",
        "rank_2.trace.2.et": b"2",
    }


def test_hostile_names_are_shown_as_text(
    page: Page, serve: Serve, make_app: MakeApp, owner_at: Api, tmp_path: Path
) -> None:
    server = serve(s3_bucket="")
    sign_in(page, make_app(s3_bucket=""), server.origin)
    name = "<img src=x onerror='document.title=1'>\u202e\"&\U0001f600.et"
    page.goto(server.origin + UPLOAD)
    choose(page, written(tmp_path / "run", {name: b"content"}))
    fill_in(page, name, rankCount="1")
    shown = name.replace("\u202e", "⟨U+202E⟩")

    expect(page.locator("[data-files-rows] [data-name]")).to_have_text(shown)
    page.locator("#tag").fill("<b>bold</b>")
    page.locator("#tag").press("Enter")
    expect(page.locator("[data-tags] bdi")).to_have_text("<b>bold</b>")
    start(page)

    traceset = owner_at.show(wait_for_traceset(page))
    assert (traceset["name"], traceset["files"][0]["name"], traceset["tags"]) == (name, name, ["<b>bold</b>"])


def test_after_a_break_and_a_reload_only_what_is_missing_is_sent(
    context: BrowserContext, wire_of: WireOf, tmp_path: Path
) -> None:
    wire = wire_of()
    content = {"big.0.et": os.urandom(8 * PART), "small.1.et": os.urandom(10)}
    wire.proxy.rule = lambda method, path, query: "drop" if method == "PUT" and len(arrived(path)) >= 3 else None
    paths: list[str] = []

    def arrived(path: str) -> list[str]:
        paths.append(path)
        return paths[:-1]

    with unsteady(context) as page:
        sign_in(page, wire.app, wire.origin)
        page.goto(wire.origin + UPLOAD)
        files = written(tmp_path / "run", content)
        choose(page, files)
        fill_in(page, "Broken", rankCount="2")
        upload_id = start(page)
        expect(page.locator("[data-trouble]")).to_contain_text("The connection is bad", timeout=PATIENCE_MS)
        expect(page.locator("[data-percent]")).not_to_have_text("0 %")
        expect(page.locator("[data-bytes]")).to_contain_text("of 40.0 MiB")
        page.reload()
        wire.proxy.rule = lambda method, path, query: None

        expect(page.locator("[data-resume-state]")).to_contain_text("Choose the same files again")
        before = parts_there(wire.owner, upload_id)
        wire.proxy.requests.clear()
        choose(page, written(tmp_path / "other", {"big.0.et": b"another size", "small.1.et": b""}), to="resume")
        expect(page.locator("[data-resume-faults]")).to_contain_text("have another size")
        choose(page, files, to="resume")
        traceset_id = wait_for_traceset(page)

    assert before
    assert len(puts(wire.proxy)) == 9 - len(before)
    assert {name: wire.owner.read(traceset_id, name) for name in content} == content


def test_an_upload_that_another_browser_began_is_continued_from_the_start_page(
    page: Page, serve: Serve, make_app: MakeApp, owner_at: Api, tmp_path: Path
) -> None:
    server = serve(s3_bucket="")
    content = {"a.0.et": b"zero", "a.1.et": b"one"}
    session = owner_at.open({name: len(data) for name, data in content.items()}, name="Begun elsewhere")
    owner_at.put(session["files"][0]["parts"][0]["url"], content["a.0.et"])
    sign_in(page, make_app(s3_bucket=""), server.origin)

    page.get_by_role("link", name="Continue").click()
    expect(page.locator("[data-resume-state]")).to_contain_text("Of 2 files, 1 file arrived in full")
    choose(page, written(tmp_path / "run", content), to="resume")

    traceset_id = wait_for_traceset(page)
    assert traceset_id == session["tracesetId"]
    assert {name: owner_at.read(traceset_id, name) for name in content} == content


def test_a_server_that_dies_and_comes_back_is_waited_for(
    context: BrowserContext, serve: Serve, make_app: MakeApp, owner_at: Api, tmp_path: Path
) -> None:
    server = serve(s3_bucket="")
    content = {f"t.{n}.et": os.urandom(MIB) for n in range(12)}
    with unsteady(context) as page, FaultyProxy(server.origin) as proxy:
        sign_in(page, make_app(s3_bucket=""), proxy.endpoint)
        page.goto(proxy.endpoint + UPLOAD)
        choose(page, written(tmp_path / "run", content))
        fill_in(page, "Waits", rankCount="12")
        proxy.rule = lambda method, path, query: 0.3 if method == "PUT" else None
        start(page)
        expect(page.locator("[data-files-done]")).not_to_have_text(re.compile("^0 of"), timeout=PATIENCE_MS)
        server.kill()
        expect(page.locator("[data-trouble]")).to_contain_text("trying again", timeout=PATIENCE_MS)
        server.start()
        traceset_id = wait_for_traceset(page)

    assert {name: owner_at.read(traceset_id, name) for name in content} == content


def test_part_urls_that_run_out_on_the_way_are_replaced(
    context: BrowserContext, wire_of: WireOf, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    ttl, n_parts = 2, 7
    wire = wire_of(part_url_ttl=ttl)
    is_lenient = request.node.callspec.params["store"] == "moto"
    content = {"a.0.et": os.urandom(n_parts * PART)}
    asked: list[str] = []

    def hold(method: str, path: str, query: str) -> Fault:
        # The first ones are so long on the way that their URLs have run out when they arrive.
        if method == "PUT" and len(puts(wire.proxy)) <= 4:
            threading.Event().wait(ttl + 1.0)
            return 403 if is_lenient else None
        return None

    with unsteady(context) as page:
        page.on("request", lambda request: asked.append(f"{request.method} {urlsplit(request.url).path}"))
        sign_in(page, wire.app, wire.origin)
        page.goto(wire.origin + UPLOAD)
        choose(page, written(tmp_path / "run", content))
        fill_in(page, "Late", rankCount="1")
        wire.proxy.rule = hold
        upload_id = start(page)
        traceset_id = wait_for_traceset(page)

    assert wire.owner.read(traceset_id, "a.0.et") == content["a.0.et"]
    assert f"GET /api/v1/tracesets/upload-url/{upload_id}" in asked
    assert len({(put.path, put.query) for put in puts(wire.proxy)}) > n_parts


def test_an_upload_is_paused_resumed_and_cancelled(
    context: BrowserContext, proxied: FaultyProxy, make_app: MakeApp, owner_at: Api, tmp_path: Path
) -> None:
    with unsteady(context) as page:
        sign_in(page, make_app(s3_bucket=""), proxied.endpoint)
        page.goto(proxied.endpoint + UPLOAD)
        choose(page, written(tmp_path / "run", {"a.0.et": os.urandom(6 * PART)}))
        fill_in(page, "Paused", rankCount="1")
        proxied.rule = lambda method, path, query: 60.0 if method == "PUT" else None
        upload_id = start(page)
        page.get_by_role("button", name="Pause").click()
        expect_state(page, "Paused")
        sent = len(puts(proxied))
        proxied.rule = lambda method, path, query: 60.0 if method == "PUT" and not path.endswith(("/1", "/2")) else None
        page.get_by_role("button", name="Resume").click()
        until(lambda: parts_there(owner_at, upload_id) == [1, 2])
        page.get_by_role("button", name="Cancel the upload").click()
        page.get_by_role("button", name="Discard the upload").click()
        expect_state(page, "cancelled")

    assert sent <= 4
    assert ok(owner_at.get(f"/tracesets/upload-url/{upload_id}"))["state"] == "aborted"


def test_two_tabs_send_two_uploads_and_do_not_disturb_each_other(
    context: BrowserContext, wire_of: WireOf, tmp_path: Path
) -> None:
    wire = wire_of()
    contents = [{f"{tab}.{n}.et": os.urandom(PART + n) for n in range(3)} for tab in ("left", "right")]
    with unsteady(context) as left, unsteady(context) as right:
        sign_in(left, wire.app, wire.origin)
        wire.proxy.rule = lambda method, path, query: 60.0 if method == "PUT" else None
        left.goto(wire.origin + UPLOAD)
        choose(left, written(tmp_path / "left", contents[0]))
        fill_in(left, "Left", rankCount="3")
        first = start(left)
        right.goto(wire.origin + UPLOAD)
        item = right.locator(f"[data-upload-id={first}]")
        expect(item).to_contain_text("being sent in another tab")
        expect(item.get_by_role("button", name="Continue")).to_be_disabled()
        choose(right, written(tmp_path / "right", contents[1]))
        fill_in(right, "Right", rankCount="3")
        start(right)
        left.get_by_role("button", name="Pause").click()
        expect_state(left, "Paused")
        wire.proxy.rule = lambda method, path, query: None
        left.get_by_role("button", name="Resume").click()
        right.get_by_role("button", name="Pause").click()
        expect_state(right, "Paused")
        right.get_by_role("button", name="Resume").click()
        ids = [wait_for_traceset(page) for page in (left, right)]

    for traceset_id, content in zip(ids, contents, strict=True):
        assert {name: wire.owner.read(traceset_id, name) for name in content} == content


def test_leaving_the_page_in_mid_upload_warns(
    context: BrowserContext, proxied: FaultyProxy, make_app: MakeApp, tmp_path: Path
) -> None:
    warnings: list[str] = []
    with unsteady(context) as page:
        sign_in(page, make_app(s3_bucket=""), proxied.endpoint)
        page.goto(proxied.endpoint + UPLOAD)
        choose(page, written(tmp_path / "run", {"a.0.et": os.urandom(PART)}))
        fill_in(page, "Left", rankCount="1")
        proxied.rule = lambda method, path, query: 60.0 if method == "PUT" else None
        start(page)
        with page.expect_event("dialog") as asked:
            page.once("dialog", lambda dialog: (warnings.append(dialog.type), dialog.dismiss()))
            page.close(run_before_unload=True)

    assert asked.value.type == "beforeunload"
    assert warnings == ["beforeunload"]


def test_two_thousand_small_files_go_up(
    page: Page, serve: Serve, make_app: MakeApp, owner_at: Api, tmp_path: Path
) -> None:
    server = serve(s3_bucket="")
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(2000):
        (folder / f"rank_{n}.et").write_text(f"rank {n}")
    sign_in(page, make_app(s3_bucket=""), server.origin)
    page.goto(server.origin + UPLOAD)
    choose(page, folder)
    expect(page.locator("[data-coverage]")).to_have_text("2000 primary files cover ranks 0 to 1999")
    fill_in(page, "Many", rankCount="2000")

    start(page)

    page.wait_for_url(re.compile(r"/tracesets/ts_\w+$"), timeout=4 * PATIENCE_MS)
    traceset = owner_at.show(page.url.rpartition("/")[2])
    assert (len(traceset["files"]), traceset["status"]) == (2000, "ready")
    assert owner_at.read(traceset["id"], "rank_1999.et") == b"rank 1999"


def parts_there(api: Api, upload_id: str) -> list[int]:
    """The numbers of the parts that the store holds."""
    files = ok(api.get(f"/tracesets/upload-url/{upload_id}"))["files"]
    return [part["partNumber"] for file in files for part in file["parts"] if part["uploaded"]]
