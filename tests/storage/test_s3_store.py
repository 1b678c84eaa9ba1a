"""What the S3 store does beyond the suite of all stores: credentials, endpoints, prefixes, pages, processes."""

import json
import multiprocessing
import re
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from hashlib import md5
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from app import clock
from app.errors import StoreUnavailable
from app.storage.base import ObjectGone
from app.storage.keys import new_key
from app.storage.s3 import S3Store
from tests.servers.http_proxy import FaultyProxy
from tests.servers.moto_s3 import MotoServer
from tests.storage.under_test import StoreUnderTest, in_five_minutes

REAL_S3 = pytest.mark.s3


@pytest.fixture(
    params=["moto_store", pytest.param("rgw_store", marks=REAL_S3), pytest.param("rgw_tls_store", marks=REAL_S3)]
)
def s3(request: pytest.FixtureRequest) -> StoreUnderTest:
    """Each S3 store in turn."""
    store: StoreUnderTest = request.getfixturevalue(request.param)
    return store


@pytest.fixture
def at_moto(moto: MotoServer) -> Iterator[MotoServer]:
    """moto, and the credentials for it, for tests that make stores of their own."""
    with moto.credentials():
        yield moto


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


# Objects


def test_etag_of_a_finished_object_is_that_of_head_without_quotes(s3: StoreUnderTest) -> None:
    made = s3.make(b"x")

    assert made.stored.etag == md5(md5(b"x").digest()).hexdigest() + "-1"


@pytest.mark.parametrize(
    ("start", "length"), [(10, None), (10, 5), (11, 1), (10**15, None)], ids=["end", "at end", "past end", "far past"]
)
def test_reading_past_the_end_gives_nothing(s3: StoreUnderTest, start: int, length: int | None) -> None:
    made = s3.make(b"0123456789")

    assert s3.bytes_of(made.key, start, length) == b""


@pytest.mark.parametrize(("start", "length"), [(0, None), (0, 0), (0, 5), (3, None)])
def test_reading_an_empty_object_gives_nothing(s3: StoreUnderTest, start: int, length: int | None) -> None:
    made = s3.make(b"")

    assert s3.bytes_of(made.key, start, length) == b""


@pytest.mark.parametrize(("start", "length"), [(0, None), (0, 0), (0, 5), (3, None)])
def test_reading_a_missing_object_tells_that_it_is_gone(s3: StoreUnderTest, start: int, length: int | None) -> None:
    with pytest.raises(ObjectGone):
        next(s3.store.read(new_key(), start, length))


def test_more_keys_than_one_request_takes_are_deleted(s3: StoreUnderTest) -> None:
    first, last = s3.make(b"first"), s3.make(b"last")

    s3.store.delete([first.key, *(new_key() for _ in range(1000)), last.key])

    assert s3.store.stat(first.key) is None
    assert s3.store.stat(last.key) is None


def test_a_deletion_carries_the_digest_that_every_store_takes(at_moto: MotoServer) -> None:
    with FaultyProxy(at_moto.endpoint) as proxy:
        S3Store(bucket=at_moto.new_bucket(), endpoint_url=proxy.endpoint).delete([new_key()])

    [deletion] = proxy.requests
    assert deletion.headers["Content-MD5"]
    assert not [name for name in deletion.headers if name.lower().startswith("x-amz-checksum")]


# Signed URLs


@REAL_S3
@pytest.mark.parametrize(
    ("signed", "forged"),
    [
        ("partNumber=1", "partNumber=2"),
        ("uploadId=", "uploadId=x"),
        ("X-Amz-Expires=[0-9]+", "X-Amz-Expires=604800"),
        ("X-Amz-Date=2", "X-Amz-Date=3"),
        ("/lib/", "/lib//"),
        ("&X-Amz-Signature=", "&acl=&X-Amz-Signature="),
    ],
)
def test_altered_part_url_is_forbidden(rgw_store: StoreUnderTest, signed: str, forged: str) -> None:
    upload = rgw_store.begin()
    [url] = rgw_store.sign(upload, 1)

    answer = rgw_store.put(re.sub(signed, forged, url, count=1), b"x")

    assert answer.status_code == 403
    assert rgw_store.held(upload) == []
    assert rgw_store.put(url, b"x").status_code == 200


def test_a_url_for_a_moment_that_has_passed_is_good_for_no_time(s3: StoreUnderTest) -> None:
    past = clock.now() - timedelta(seconds=5)
    [part_url] = s3.store.sign_parts(new_key(), "id", [1], past)

    assert query_of(part_url)["X-Amz-Expires"] == "0"
    assert query_of(s3.store.sign_download(new_key(), "name", past))["X-Amz-Expires"] == "0"


def test_signed_urls_lead_to_the_public_endpoint_and_all_else_to_the_private_one(at_moto: MotoServer) -> None:
    with FaultyProxy(at_moto.endpoint) as public:
        store = S3Store(bucket=at_moto.new_bucket(), endpoint_url=at_moto.endpoint, public_endpoint_url=public.endpoint)
        under_test = StoreUnderTest(store, lambda key, data: None)
        made = under_test.make(b"x")
        download = store.sign_download(made.key, "name", in_five_minutes())

        assert under_test.get(download).content == b"x"

    assert download.startswith(f"{public.endpoint}/")
    assert [request.method for request in public.requests] == ["PUT", "GET"]


@pytest.mark.parametrize(
    ("options", "start"),
    [
        pytest.param({}, "https://traces.s3.eu-west-3.amazonaws.com/lib/", id="Amazon"),
        pytest.param(
            {"addressing_style": "path"}, "https://s3.eu-west-3.amazonaws.com/traces/lib/", id="Amazon by path"
        ),
        pytest.param({"endpoint_url": "https://s.example"}, "https://s.example/traces/lib/", id="another store"),
        pytest.param(
            {"endpoint_url": "https://s.example", "addressing_style": "virtual"},
            "https://traces.s.example/lib/",
            id="another store, by host",
        ),
        pytest.param(
            {"endpoint_url": "http://inside:9000", "public_endpoint_url": "https://outside"},
            "https://outside/traces/lib/",
            id="public endpoint",
        ),
    ],
)
def test_both_kinds_of_url_begin_alike(at_moto: MotoServer, options: dict[str, str], start: str) -> None:
    store = S3Store(bucket="traces", region="eu-west-3", **options)  # type: ignore[arg-type]
    key = new_key()
    [part_url] = store.sign_parts(key, "id", [1], in_five_minutes())
    download_url = store.sign_download(key, "name", in_five_minutes())

    assert part_url.startswith(start + key.removeprefix("lib/") + "?")
    assert download_url.startswith(start + key.removeprefix("lib/") + "?")


# Credentials


def test_missing_credentials_are_told_and_found_once_they_are_there(
    at_moto: MotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = S3Store(bucket=at_moto.new_bucket(), endpoint_url=at_moto.endpoint)
    with monkeypatch.context() as without:
        without.delenv("AWS_ACCESS_KEY_ID")
        without.delenv("AWS_SECRET_ACCESS_KEY")
        with pytest.raises(StoreUnavailable, match="without credentials: set AWS_ACCESS_KEY_ID"):
            store.check()

    store.check()


def test_half_of_the_credentials_are_missing_credentials(at_moto: MotoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(StoreUnavailable, match="without credentials"):
        S3Store(bucket="bucket", endpoint_url=at_moto.endpoint).check()


def test_urls_are_signed_with_the_credentials_that_a_role_has_now(
    at_moto: MotoServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A role's credentials come from a program here; they are renewed as they near their end, as these always do."""
    program = tmp_path / "role.py"
    program.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "count.write_text(count.read_text() + 'I' if count.exists() else 'I')\n"
        "answer = json.loads(pathlib.Path(__file__).with_name('answer.json').read_text())\n"
        "answer['AccessKeyId'] += count.read_text()\n"
        "print(json.dumps(answer))\n"
    )
    expiration = (clock.now() + timedelta(seconds=30)).isoformat()
    answer = {
        "Version": 1,
        "AccessKeyId": "KEY",
        "SecretAccessKey": "s",
        "SessionToken": "t/",
        "Expiration": expiration,
    }
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    config = tmp_path / "config"
    config.write_text(f"[default]\ncredential_process = {shlex.join([sys.executable, str(program)])}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    store = S3Store(bucket="bucket", endpoint_url=at_moto.endpoint)

    first, second = (query_of(store.sign_parts(new_key(), "id", [1], in_five_minutes())[0]) for _ in range(2))

    assert first["X-Amz-Security-Token"] == "t/"
    assert first["X-Amz-Credential"].startswith("KEYI")
    assert len(second["X-Amz-Credential"]) == len(first["X-Amz-Credential"]) + 1


# Prefixes and pages


@pytest.mark.parametrize(
    ("prefix", "folder"),
    [
        pytest.param("", "", id="none"),
        pytest.param("/", "", id="slash"),
        pytest.param("traces", "traces/", id="word"),
        pytest.param("/a b/c+é/", "a b/c+é/", id="path"),
    ],
)
def test_objects_lie_below_the_prefix(at_moto: MotoServer, prefix: str, folder: str) -> None:
    bucket = at_moto.new_bucket()
    store = StoreUnderTest(S3Store(bucket=bucket, endpoint_url=at_moto.endpoint, prefix=prefix), lambda key, data: None)

    made = store.make(b"x")

    [found] = at_moto.client().list_objects_v2(Bucket=bucket)["Contents"]
    assert found["Key"] == folder + made.key
    assert [found.key for found in store.store.objects()] == [made.key]


def test_what_others_keep_in_the_bucket_is_not_listed(at_moto: MotoServer) -> None:
    bucket = at_moto.new_bucket()
    store = S3Store(bucket=bucket, endpoint_url=at_moto.endpoint, prefix="ours")
    client = at_moto.client()
    for key in (new_key(), f"theirs/{new_key()}", "ours/readme", "ours/lib/readme", f"ours/{new_key()}.bak"):
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
        client.create_multipart_upload(Bucket=bucket, Key=key)

    assert list(store.objects()) == []
    assert list(store.open_uploads()) == []


def test_every_page_of_a_listing_is_read(at_moto: MotoServer) -> None:
    paged = S3Store(bucket=at_moto.new_bucket(), endpoint_url=at_moto.endpoint, page_size=2)
    store = StoreUnderTest(paged, lambda key, data: None)
    upload = store.begin()
    parts = [store.send(upload, number, b"x" * number) for number in range(1, 6)]
    uploads = {upload.upload_id, *(store.begin().upload_id for _ in range(4))}
    keys = sorted(store.make(b"x").key for _ in range(5))

    assert store.held(upload) == parts
    assert {found.upload_id for found in paged.open_uploads()} == uploads
    assert [found.key for found in paged.objects()] == keys
    assert [found.key for found in paged.objects(after=keys[1])] == keys[2:]


# Threads and processes


def test_many_threads_share_a_store_from_its_first_call_on(at_moto: MotoServer) -> None:
    store = S3Store(bucket=at_moto.new_bucket(), endpoint_url=at_moto.endpoint)

    with ThreadPoolExecutor(store.concurrency) as pool:
        ids = set(pool.map(lambda _: store.begin(new_key(), 1), range(100)))

    assert ids == {upload.upload_id for upload in store.open_uploads()}
    assert len(ids) == 100


@REAL_S3
def test_forked_processes_do_not_get_each_others_answers(rgw_store: StoreUnderTest) -> None:
    # Not moto: it closes every connection behind its answer, so there is none to be shared by mistake.
    made = [rgw_store.make(b"x" * size) for size in range(1, 5)]
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()

    def look_often(number: int) -> None:
        answers = {rgw_store.store.stat(made[number].key) for _ in range(50)}
        results.put((number, answers))

    children = [context.Process(target=look_often, args=(number,)) for number in range(4)]
    for child in children:
        child.start()
    found = dict(results.get() for _ in children)
    for child in children:
        child.join()

    assert found == {number: {one.stored} for number, one in enumerate(made)}
    assert rgw_store.store.stat(made[0].key) == made[0].stored
