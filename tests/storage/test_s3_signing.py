"""Part URLs signed in bulk equal, byte for byte, those that botocore signs one by one at the same second."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.config import Config
from hypothesis import given, settings
from hypothesis import strategies as st

from app.storage.keys import new_key
from app.storage.signing import Credentials, sign_parts

PLAIN = Credentials("AKIAEXAMPLE", "wJalr/XUtnFEMI+K7MDENG")
TEMPORARY = Credentials("ASIA/EX+AMPLE=", "sécret", "FwoGZXIvYXdzEJr//////+==&é %")

NASTY_KEYS = [
    "lib/ab/abcdefghijklmnopqrstuvwxyz",
    "a prefix/lib/ab/ab~c-d._",
    "//lib///ab",
    "./../lib/.",
    "/leading",
    "trailing/",
    "%41%2f+&=?#;:@,$!*'()[]{}|^`\"<>\\",
    "Läufe/日本/🚀",
    "tab\tline\nnul-free",
]
NASTY_UPLOAD_IDS = [
    "2~abcDEF-_.",
    "VXBsb2Fk+IElE/IGZvciA2aWWpbmcncyBteS1tb3ZpZS5tMnRz=",
    " spaces & = ? # % é \n ~",
    "x" * 2000,
    "0",
]


def presigner(
    credentials: Credentials = PLAIN,
    *,
    endpoint_url: str | None = "https://store.example",
    style: str = "path",
    region: str = "us-east-1",
) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        region_name=region,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
        config=Config(
            signature_version="s3v4", s3={"addressing_style": style}, request_checksum_calculation="when_required"
        ),
    )


def botocore_url(client: Any, key: str, upload_id: str, number: int, ttl_seconds: int = 3600) -> str:
    url = client.generate_presigned_url(
        "upload_part",
        Params={"Bucket": "traces", "Key": key, "UploadId": upload_id, "PartNumber": number},
        ExpiresIn=ttl_seconds,
    )
    assert isinstance(url, str)
    return url


def signing_time(url: str) -> datetime:
    """When botocore signed: it looks at the clock itself."""
    stamp = parse_qs(urlsplit(url).query)["X-Amz-Date"][0]
    return datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def our_url(like: str, bucket_url: str, key: str, upload_id: str, number: int, **options: Any) -> str:
    """Our URL for the second at which `like` was signed."""
    arguments: dict[str, Any] = {"credentials": PLAIN, "region": "us-east-1", "ttl_seconds": 3600} | options
    [url] = sign_parts(bucket_url, key, upload_id, [number], signed_at=signing_time(like), **arguments)
    return url


@pytest.fixture(scope="module")
def client() -> Any:
    return presigner()


@pytest.fixture(scope="module")
def temporary_client() -> Any:
    return presigner(TEMPORARY)


@pytest.mark.parametrize("upload_id", NASTY_UPLOAD_IDS, ids=ascii)
@pytest.mark.parametrize("key", NASTY_KEYS, ids=ascii)
def test_any_key_and_upload_id_is_signed_as_by_botocore(client: Any, key: str, upload_id: str) -> None:
    expected = botocore_url(client, key, upload_id, 7)

    assert our_url(expected, "https://store.example/traces/", key, upload_id, 7) == expected


def test_keys_of_our_own_making_are_signed_as_by_botocore(client: Any) -> None:
    keys = [new_key() for _ in range(200)]
    expected = [botocore_url(client, key, "2~id", 1) for key in keys]

    assert [
        our_url(like, "https://store.example/traces/", key, "2~id", 1) for like, key in zip(expected, keys, strict=True)
    ] == expected


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60)


@settings(max_examples=100, deadline=None)
@given(key=TEXT, upload_id=TEXT, number=st.integers(1, 10_000), ttl_seconds=st.integers(1, 604_800))
def test_arbitrary_text_and_a_session_token_are_signed_as_by_botocore(
    temporary_client: Any, key: str, upload_id: str, number: int, ttl_seconds: int
) -> None:
    expected = botocore_url(temporary_client, key, upload_id, number, ttl_seconds)

    assert expected == our_url(
        expected,
        "https://store.example/traces/",
        key,
        upload_id,
        number,
        credentials=TEMPORARY,
        ttl_seconds=ttl_seconds,
    )


@pytest.mark.parametrize("credentials", [PLAIN, TEMPORARY], ids=["own", "temporary"])
@pytest.mark.parametrize(
    ("endpoint_url", "style", "region", "bucket_url"),
    [
        pytest.param("http://store.example", "path", "us-east-1", "http://store.example/traces/", id="http"),
        pytest.param("http://127.0.0.1:9000", "auto", "us-east-1", "http://127.0.0.1:9000/traces/", id="address, port"),
        pytest.param("http://[::1]:9000", "path", "us-east-1", "http://[::1]:9000/traces/", id="IPv6"),
        pytest.param("http://s.example:80", "path", "us-east-1", "http://s.example:80/traces/", id="http on 80"),
        pytest.param("https://s.example:443", "path", "us-east-1", "https://s.example:443/traces/", id="https on 443"),
        pytest.param("https://s.example:80", "path", "us-east-1", "https://s.example:80/traces/", id="https on 80"),
        pytest.param("https://S3.Example", "path", "default", "https://S3.Example/traces/", id="capitals"),
        pytest.param("https://s.example/s3/v1", "path", "us-east-1", "https://s.example/s3/v1/traces/", id="folder"),
        pytest.param("https://s.example", "virtual", "garage", "https://traces.s.example/", id="virtual"),
        pytest.param("https://s.example:8443", "virtual", "auto", "https://traces.s.example:8443/", id="virtual, port"),
        pytest.param(None, "auto", "eu-west-3", "https://traces.s3.amazonaws.com/", id="Amazon"),
        pytest.param(None, "path", "us-east-1", "https://s3.amazonaws.com/traces/", id="Amazon by path"),
    ],
)
def test_every_kind_of_endpoint_is_signed_as_by_botocore(
    credentials: Credentials, endpoint_url: str | None, style: str, region: str, bucket_url: str
) -> None:
    client = presigner(credentials, endpoint_url=endpoint_url, style=style, region=region)
    expected = botocore_url(client, "pre fix/lib/ab/é", "2~id", 10_000)

    ours = our_url(expected, bucket_url, "pre fix/lib/ab/é", "2~id", 10_000, credentials=credentials, region=region)

    assert ours == expected


def test_the_urls_come_in_the_order_of_the_numbers_and_differ(client: Any) -> None:
    like = botocore_url(client, "k", "u", 3)

    urls = sign_parts(
        "https://store.example/traces/",
        "k",
        "u",
        [3, 1, 10_000],
        credentials=PLAIN,
        region="us-east-1",
        signed_at=signing_time(like),
        ttl_seconds=3600,
    )

    assert urls[0] == like
    assert [parse_qs(urlsplit(url).query)["partNumber"] for url in urls] == [["3"], ["1"], ["10000"]]
    assert len({parse_qs(urlsplit(url).query)["X-Amz-Signature"][0] for url in urls}) == 3


def test_no_numbers_give_no_urls() -> None:
    now = datetime.now(UTC)

    assert sign_parts("https://a/", "k", "u", [], credentials=PLAIN, region="r", signed_at=now, ttl_seconds=1) == []


def test_the_day_is_that_of_utc() -> None:
    evening = datetime(2026, 11, 29, 23, 30, tzinfo=timezone(timedelta(hours=-5)))

    [url] = sign_parts("https://a/", "k", "u", [1], credentials=PLAIN, region="r", signed_at=evening, ttl_seconds=1)

    assert parse_qs(urlsplit(url).query)["X-Amz-Date"] == ["20261130T043000Z"]
    assert parse_qs(urlsplit(url).query)["X-Amz-Credential"] == ["AKIAEXAMPLE/20261130/r/s3/aws4_request"]
