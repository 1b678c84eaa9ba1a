"""What `flask storage check` tries, and what it says of a store that is not as it should be (operators' interface)."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.services import store_trial
from tests.conftest import MakeApp
from tests.functional.conftest import FaultyStore
from tests.servers.http_proxy import Rule
from tests.support.clock import Clock
from tests.support.upkeep import open_uploads, stored_keys

ORIGIN = "https://traces.example.org"
CORS_RULE = {
    "AllowedOrigins": [ORIGIN],
    "AllowedMethods": ["PUT", "GET", "HEAD"],
    "AllowedHeaders": ["*"],
    "ExposeHeaders": ["ETag"],
}


def check(app: Flask) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit status; by what was tried, the word and the message. Nothing is left in the store."""
    result = app.test_cli_runner().invoke(args=["storage", "check"])
    lines = [line.partition(": ") for line in result.stdout.splitlines()]
    told = {head[11:]: (head[:9].strip(), message) for head, _, message in lines}
    assert len(told) == len(lines) > 10, result.output
    return result.exit_code, told


def wrong(told: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {what: message for what, (word, message) in told.items() if word == "WRONG"}


@pytest.fixture
def bucket_app(make_app: MakeApp, faulty_store: FaultyStore) -> Flask:
    """An app whose bucket is right; clients too reach it through the proxy."""
    rules = {"CORSRules": [CORS_RULE]}
    faulty_store.client.put_bucket_cors(Bucket=faulty_store.bucket, CORSConfiguration=rules)
    endpoint = {"s3_public_endpoint_url": faulty_store.proxy.endpoint}
    return make_app(**faulty_store.settings | endpoint, base_url=f"{ORIGIN}/")


def test_a_bucket_that_is_right(bucket_app: Flask, faulty_store: FaultyStore) -> None:
    status, told = check(bucket_app)

    assert {word for word, _ in told.values()} == {"right"}
    assert status == 0
    assert (faulty_store.keys(), faulty_store.open_uploads()) == ([], [])


def test_a_folder_that_is_right(make_app: MakeApp) -> None:
    app = make_app(s3_bucket=None)

    status, told = check(app)

    assert ({word for word, _ in told.values()}, status) == ({"right"}, 0)
    assert (stored_keys(app), open_uploads(app)) == ([], [])


def refused(method: str, part_of_query: str) -> Rule:
    """A store that lacks a right."""
    return lambda asked, _, query: 403 if asked == method and part_of_query in query else None


FAULTS: dict[str, tuple[Rule, str]] = {
    "list": (refused("GET", "max-keys=1&"), "s3:ListBucket"),
    "missing": (refused("HEAD", ""), "s3:ListBucket"),
    "begin": (refused("POST", "uploads"), "s3:PutObject"),
    "send by URL": (refused("PUT", "partNumber"), "answered 403"),
    "CORS preflight": (refused("OPTIONS", ""), "CORS rule"),
    "list parts": (refused("GET", "uploadId"), "s3:ListMultipartUploadParts"),
    "list uploads": (refused("GET", "uploads"), "s3:ListBucketMultipartUploads"),
    "complete": (refused("POST", "uploadId"), "s3:PutObject"),
    "list objects": (refused("GET", "start-after"), "s3:ListBucket"),
    "read": (
        lambda method, path, query: 403 if method == "GET" and "/lib/" in path and not query else None,
        "GetObject",
    ),
    "download by URL": (refused("GET", "response-content-disposition"), "S3_PUBLIC_ENDPOINT_URL"),
    "abort": (refused("DELETE", "uploadId"), "s3:AbortMultipartUpload"),
    "delete": (refused("POST", "delete"), "s3:DeleteObject"),
}


@pytest.mark.parametrize(("what", "rule", "advice"), [(what, *fault) for what, fault in FAULTS.items()], ids=FAULTS)
def test_a_right_that_is_missing_is_told_with_what_to_do(
    bucket_app: Flask, faulty_store: FaultyStore, what: str, rule: Rule, advice: str
) -> None:
    faulty_store.proxy.rule = rule

    status, told = check(bucket_app)

    assert status == 1
    assert advice in wrong(told)[what]
    assert not any("X-Amz" in message for _, message in told.values())


def test_a_store_that_is_away(bucket_app: Flask, faulty_store: FaultyStore) -> None:
    faulty_store.proxy.rule = lambda *_: "drop"

    status, told = check(bucket_app)

    assert status == 1
    assert {"list", "begin", "clock"} <= set(wrong(told))
    assert "there was no answer" in wrong(told)["clock"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (None, {"CORS answer"}),  # moto lets every preflight pass where there is no rule
        ({"AllowedOrigins": ["https://other.example"]}, {"CORS preflight", "CORS answer"}),
        ({"AllowedMethods": ["GET"]}, {"CORS preflight"}),
        ({"ExposeHeaders": ["Content-Length"]}, {"CORS answer"}),
    ],
    ids=["no rule", "another origin", "no PUT", "no ETag"],
)
def test_a_bucket_that_pages_cannot_send_to(
    bucket_app: Flask, faulty_store: FaultyStore, change: dict[str, Any] | None, what: set[str]
) -> None:
    client, bucket = faulty_store.client, faulty_store.bucket
    client.delete_bucket_cors(Bucket=bucket)
    if change:
        client.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [CORS_RULE | change]})

    status, told = check(bucket_app)

    assert (status, set(wrong(told))) == (1, what)


def test_without_an_origin_cors_is_not_tried(make_app: MakeApp, faulty_store: FaultyStore) -> None:
    status, told = check(make_app(**faulty_store.settings))

    assert status == 0
    assert {what for what, (word, _) in told.items() if word == "not tried"} == {"CORS preflight", "CORS answer"}
    assert "TRACESETS_BASE_URL" in told["CORS answer"][1]


ABORT = {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (ABORT, ("right", "one ends incomplete uploads")),
        ({"Expiration": {"Days": 30}}, ("WRONG", "rule 'x' deletes objects")),
        ({"Expiration": {"Days": 30}, "Filter": {"Prefix": "logs/"}, "ID": "x"}, ("right", "second net")),
        ({"Expiration": {"Days": 30}, "Status": "Disabled"}, ("right", "second net")),
        ({"Transitions": [{"Days": 30, "StorageClass": "GLACIER"}]}, ("WRONG", "not read at once")),
        ({"Transitions": [{"Days": 30, "StorageClass": "STANDARD_IA"}]}, ("right", "second net")),
        ({"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}}, ("WRONG", "ends uploads after 1 days")),
    ],
    ids=["good", "deletes", "elsewhere", "off", "slow", "cheap", "too early"],
)
def test_the_buckets_own_rules_are_judged(
    make_app: MakeApp, faulty_store: FaultyStore, rule: dict[str, Any], told: tuple[str, str]
) -> None:
    rules = {"Rules": [{"ID": "x", "Status": "Enabled", "Filter": {"Prefix": ""}, **rule}]}
    faulty_store.client.put_bucket_lifecycle_configuration(Bucket=faulty_store.bucket, LifecycleConfiguration=rules)
    app = make_app(**faulty_store.settings, session_ttl=2 * 86_400)

    _, each = check(app)

    assert (each["lifecycle"][0], told[1] in each["lifecycle"][1]) == (told[0], True)


def test_rules_that_may_not_be_read_are_no_fault(bucket_app: Flask, faulty_store: FaultyStore) -> None:
    faulty_store.proxy.rule = refused("GET", "lifecycle")

    status, told = check(bucket_app)

    assert (status, told["lifecycle"][0]) == (0, "not tried")


def test_clocks_that_differ(bucket_app: Flask, moved_clock: Clock) -> None:
    moved_clock.pass_by(hours=-1)

    status, told = check(bucket_app)

    assert status == 1
    seconds = re.search(r"differs from ours by \+(\d+) seconds", wrong(told)["clock"])
    assert seconds is not None
    assert 3590 < int(seconds[1]) < 3660  # The store tells whole seconds.


def test_a_folder_that_takes_no_files(make_app: MakeApp) -> None:
    app = make_app(s3_bucket=None)
    root: Path = app.extensions["settings"].data_dir / "store"
    shutil.rmtree(root / "tmp")

    status, told = check(app)

    assert status == 1
    assert "write below" in wrong(told)["write"]
    assert "missing" not in wrong(told)


def test_a_disk_that_is_nearly_full(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_trial, "MIN_FREE_BYTES", 2**60)

    status, told = check(make_app(s3_bucket=None))

    assert (status, set(wrong(told))) == (1, {"free space"})
