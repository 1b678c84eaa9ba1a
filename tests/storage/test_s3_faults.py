"""What the S3 store makes of a store that fails: every fault is told as one, and none is taken for an answer."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

import pytest

from app.errors import StoreUnavailable
from app.storage.base import ObjectStore, PartsRefused, Stored, UploadGone
from app.storage.keys import new_key
from app.storage.s3 import S3Store
from tests.servers.ceph import RadosGateway
from tests.servers.http_proxy import Fault, FaultyProxy
from tests.servers.moto_s3 import MotoServer
from tests.servers.s3 import S3Server
from tests.storage.under_test import StoreUnderTest

HANG = 600.0
OPERATIONS: dict[str, Callable[[ObjectStore], object]] = {
    "begin": lambda store: store.begin(new_key(), 1),
    "parts": lambda store: store.parts(new_key(), "id"),
    "finish": lambda store: store.finish(new_key(), "id", []),
    "abort": lambda store: store.abort(new_key(), "id"),
    "abort by key": lambda store: store.abort(new_key(), None),
    "stat": lambda store: store.stat(new_key()),
    "is_intact": lambda store: store.is_intact(new_key(), Stored(0, "")),
    "read": lambda store: list(store.read(new_key())),
    "read nothing": lambda store: list(store.read(new_key(), 0, 0)),
    "delete": lambda store: store.delete([new_key()]),
    "open_uploads": lambda store: list(store.open_uploads()),
    "objects": lambda store: list(store.objects()),
}


@dataclass(frozen=True)
class Faulty(StoreUnderTest):
    """A store behind a proxy; a test sets the proxy's rule once it has made what it needs."""

    proxy: FaultyProxy

    @property
    def n_requests(self) -> int:
        """How many requests have come to the proxy."""
        return len(self.proxy.requests)


def behind_proxy(server: S3Server, *, tries: int) -> Iterator[Faulty]:
    with server.credentials(), FaultyProxy(server.endpoint) as proxy:
        store = S3Store(bucket=server.new_bucket(), endpoint_url=proxy.endpoint, read_timeout=0.5, tries=tries)
        store.check()
        yield Faulty(store, lambda key, data: None, proxy)


@pytest.fixture(scope="module")
def moto_proxied(moto: MotoServer) -> Iterator[Faulty]:
    yield from behind_proxy(moto, tries=1)


@pytest.fixture(scope="module")
def moto_proxied_with_retries(moto: MotoServer) -> Iterator[Faulty]:
    yield from behind_proxy(moto, tries=3)


@pytest.fixture(scope="module")
def rgw_proxied_with_retries(rgw: RadosGateway) -> Iterator[Faulty]:
    yield from behind_proxy(rgw, tries=3)


@pytest.fixture
def faulty(moto_proxied: Faulty) -> Iterator[Faulty]:
    """A store that asks once, and does not wait long."""
    yield moto_proxied
    moto_proxied.proxy.rule = lambda *_: None


@pytest.fixture(params=["moto_proxied_with_retries", pytest.param("rgw_proxied_with_retries", marks=pytest.mark.s3)])
def patient(request: pytest.FixtureRequest) -> Iterator[Faulty]:
    """A store that asks three times, as in a deployment."""
    proxied: Faulty = request.getfixturevalue(request.param)
    yield proxied
    proxied.proxy.rule = lambda *_: None


def error(code: str) -> bytes:
    """An error document of S3's."""
    return f"<Error><Code>{code}</Code><Message>a message with a secret</Message></Error>".encode()


def at_completion(*answers: Fault) -> Callable[[str, str, str], Fault]:
    """A rule: these faults for the first requests to complete an upload, one each."""
    left = iter(answers)
    return lambda method, path, query: next(left, None) if method == "POST" and "uploadId=" in query else None


# Every operation, every fault


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(500, id="500"),
        pytest.param(503, id="503"),
        pytest.param(403, id="403"),
        pytest.param("drop", id="connection closed"),
        pytest.param(HANG, id="silence"),
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_fault_is_told_as_one(faulty: Faulty, operation: Callable[[ObjectStore], object], fault: Fault) -> None:
    faulty.proxy.rule = lambda *_: fault

    with pytest.raises(StoreUnavailable):
        operation(faulty.store)


def test_a_page_of_somebody_else_in_the_stores_place_is_a_fault(faulty: Faulty) -> None:
    faulty.proxy.rule = lambda method, path, query: (200, b"<html><body>Please sign in</body></html>")

    for operation in ("begin", "stat", "finish", "parts", "abort", "abort by key", "open_uploads", "objects"):
        with pytest.raises(StoreUnavailable):
            OPERATIONS[operation](faulty.store)
    with pytest.raises(StoreUnavailable):
        faulty.store.check()


def test_a_store_that_is_away_is_told_at_once(moto: MotoServer) -> None:
    with moto.credentials():
        store = S3Store(bucket="bucket", endpoint_url="http://127.0.0.1:1")

        with pytest.raises(StoreUnavailable, match="could not show a sign of life: EndpointConnectionError"):
            store.check()


def test_a_silent_store_shows_no_sign_of_life_within_seconds(patient: Faulty) -> None:
    patient.proxy.rule = lambda *_: HANG
    start = monotonic()

    with pytest.raises(StoreUnavailable, match="ReadTimeout"):
        patient.store.check()

    assert monotonic() - start < 8


def test_a_fault_is_told_by_its_code_and_without_addresses_or_secrets(faulty: Faulty) -> None:
    faulty.proxy.rule = lambda *_: (503, error("SlowDown"))

    with pytest.raises(StoreUnavailable) as failure:
        faulty.store.begin(new_key(), 1)

    assert failure.value.message == "The object store could not begin an upload: SlowDown."


def test_a_missing_bucket_is_a_fault_and_no_empty_answer(moto: MotoServer) -> None:
    with moto.credentials():
        store = S3Store(bucket="no-such-bucket", endpoint_url=moto.endpoint, tries=1)

        for operation in (store.check, lambda: list(store.objects()), lambda: store.parts(new_key(), "id")):
            with pytest.raises(StoreUnavailable, match="NoSuchBucket"):
                operation()


@pytest.mark.s3
def test_wrong_credentials_are_told_by_the_stores_code(rgw: RadosGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    with rgw.credentials():
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        store = S3Store(bucket="bucket", endpoint_url=rgw.endpoint)

        with pytest.raises(StoreUnavailable, match="could not show a sign of life: SignatureDoesNotMatch"):
            store.check()


def test_a_passing_fault_is_overcome(patient: Faulty) -> None:
    faults: Iterator[Fault] = iter([503, "drop"])
    patient.proxy.rule = lambda *_: next(faults, None)
    before = patient.n_requests

    upload = patient.begin()

    assert patient.n_requests == before + 3
    assert patient.held(upload) == []


def test_reading_stops_with_a_fault_where_the_answer_breaks_off(faulty: Faulty) -> None:
    made = faulty.make(b"0123456789")
    faulty.proxy.rule = lambda *_: "cut"

    with pytest.raises(StoreUnavailable, match="could not read on in an object"):
        faulty.bytes_of(made.key)


def test_objects_that_the_store_would_not_delete_are_a_fault(faulty: Faulty) -> None:
    refusal = b"<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code></Error></DeleteResult>"
    faulty.proxy.rule = lambda *_: (200, refusal)

    with pytest.raises(StoreUnavailable, match="could not delete objects: AccessDenied"):
        faulty.store.delete([new_key()])


def test_deleted_objects_that_some_stores_report_as_missing_are_a_success(faulty: Faulty) -> None:
    answer = b"<DeleteResult><Error><Key>k</Key><Code>NoSuchKey</Code></Error></DeleteResult>"
    faulty.proxy.rule = lambda *_: (200, answer)

    faulty.store.delete([new_key()])


# Completion


@pytest.mark.parametrize("fault", ["lose", "cut", 500, 503], ids=str)
def test_completion_is_made_again_where_its_answer_was_lost(patient: Faulty, fault: Fault) -> None:
    upload, parts = patient.upload(b"x" * 1000)
    patient.proxy.rule = at_completion(fault)

    stored = patient.finish(upload, parts)

    assert stored == patient.store.stat(upload.key)
    assert patient.bytes_of(upload.key) == b"x" * 1000


def test_completion_that_outlasts_every_try_is_healed_by_the_next_call(patient: Faulty) -> None:
    upload, parts = patient.upload(b"x" * 1000)
    patient.proxy.rule = at_completion("lose", HANG, HANG)
    with pytest.raises(StoreUnavailable):
        patient.finish(upload, parts)

    assert patient.finish(upload, parts) == patient.store.stat(upload.key)


@pytest.mark.parametrize("code", ["InternalError", "SlowDown"])
def test_error_behind_status_200_is_a_failed_completion(faulty: Faulty, code: str) -> None:
    upload, parts = faulty.upload(b"x")
    faulty.proxy.rule = at_completion((200, error(code)))

    with pytest.raises(StoreUnavailable, match=code):
        faulty.finish(upload, parts)

    assert faulty.store.stat(upload.key) is None
    assert faulty.finish(upload, parts).size == 1


@pytest.mark.parametrize("code", ["InvalidPart", "InvalidPartOrder", "EntityTooSmall"])
def test_parts_that_the_store_will_not_have_are_refused(faulty: Faulty, code: str) -> None:
    upload, parts = faulty.upload(b"x")
    faulty.proxy.rule = at_completion((400, error(code)))

    with pytest.raises(PartsRefused):
        faulty.finish(upload, parts)


@pytest.mark.parametrize(
    "answer",
    [(404, error("NoSuchUpload")), (404, error("NoSuchKey")), (500, error("InternalError")), (500, b"")],
    ids=["NoSuchUpload", "NoSuchKey", "InternalError", "500"],
)
def test_an_upload_that_is_gone_counts_as_finished_by_its_object_alone(faulty: Faulty, answer: Fault) -> None:
    made = faulty.make(b"as asked")
    other = faulty.make(b"another!")
    aborted, parts = faulty.upload(b"aborted.")
    faulty.store.abort(aborted.key, aborted.upload_id)
    faulty.proxy.rule = at_completion(answer, answer, answer)

    assert faulty.finish(made.upload, made.parts) == made.stored
    with pytest.raises(UploadGone):
        faulty.finish(made.upload, other.parts)
    with pytest.raises(UploadGone):
        faulty.finish(aborted, parts)


def test_an_object_of_another_size_is_not_the_one_that_was_finished(faulty: Faulty) -> None:
    made = faulty.make(b"as asked")
    longer = faulty.make(b"longer than asked")
    faulty.proxy.rule = at_completion((404, error("NoSuchUpload")))

    with pytest.raises(UploadGone):
        faulty.finish(made.upload, longer.parts)


def test_the_etag_of_an_object_under_a_key_of_kms_tells_nothing(moto: MotoServer) -> None:
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}
    with moto.credentials(), FaultyProxy(moto.endpoint) as proxy:
        bucket = moto.new_bucket()
        moto.client().put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})
        store = StoreUnderTest(S3Store(bucket=bucket, endpoint_url=proxy.endpoint), lambda key, data: None)
        made, other = store.make(b"as asked"), store.make(b"another!")
        proxy.rule = at_completion((404, error("NoSuchUpload")))

        assert store.finish(made.upload, other.parts) == made.stored


# Aborting


def test_abort_is_made_again_until_the_store_knows_the_upload_no_more(faulty: Faulty) -> None:
    upload, _ = faulty.upload(b"x")
    early: Iterator[Fault] = iter([204, 204])
    faulty.proxy.rule = lambda method, path, query: next(early, None) if method == "DELETE" else None

    faulty.store.abort(upload.key, upload.upload_id)

    assert not faulty.is_open(upload)


def test_abort_that_the_store_does_not_heed_is_a_fault(faulty: Faulty) -> None:
    upload, _ = faulty.upload(b"x")
    faulty.proxy.rule = lambda method, path, query: 204 if method == "DELETE" else None

    with pytest.raises(StoreUnavailable, match="still knows"):
        faulty.store.abort(upload.key, upload.upload_id)


@pytest.mark.s3
def test_abort_while_parts_fly_leaves_nothing(rgw_store: StoreUnderTest) -> None:
    upload = rgw_store.begin()
    urls = rgw_store.sign(upload, *range(1, 9))

    def put_until_refused(url: str) -> int:
        while (status := rgw_store.put(url, b"p" * 1_000_000).status_code) == 200:
            pass
        return status

    with ThreadPoolExecutor(len(urls)) as pool:
        last = pool.map(put_until_refused, urls)
        while len(rgw_store.held(upload)) < len(urls):
            pass
        rgw_store.store.abort(upload.key, upload.upload_id)

    assert set(last) == {404}
    assert not rgw_store.is_open(upload)
    with pytest.raises(UploadGone):
        rgw_store.held(upload)
    assert rgw_store.store.stat(upload.key) is None
