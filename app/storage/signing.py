"""Signed URLs for the parts of S3 uploads, made in bulk.

Why not boto3: it takes about a quarter of a millisecond for one URL, and a session may ask for a million. The URLs
of one upload differ in the part number alone, so everything before it is written, and hashed, once.

Source: AWS Signature Version 4, "Authenticating Requests: Using Query Parameters"; the query is ordered as by botocore.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request to S3 is signed with; `token` goes with temporary ones."""

    access_key: str
    secret_key: str
    token: str | None = None


def sign_parts(
    bucket_url: str,
    key: str,
    upload_id: str,
    numbers: Sequence[int],
    *,
    credentials: Credentials,
    region: str,
    signed_at: datetime,
    ttl_seconds: int,
) -> list[str]:
    """URLs to PUT parts of a multipart upload with, in the order of `numbers`.

    Args:
        bucket_url: where the bucket's keys begin, with the last slash: `https://host/bucket/` or `https://bucket.host/`.
        key: the object's whole key, any text.
        upload_id: as the store gave it, any text.
        signed_at: aware; each URL is good for `ttl_seconds` (at most a week) from its whole second on.
    """
    url = bucket_url + quote(key, safe="/~")
    at = signed_at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{region}/s3/aws4_request"
    token = credentials.token
    first = (
        f"X-Amz-Algorithm={_ALGORITHM}&X-Amz-Credential={_quote(f'{credentials.access_key}/{scope}')}"
        f"&X-Amz-Date={at}&X-Amz-Expires={ttl_seconds}"
    )
    security_token = "" if token is None else f"&X-Amz-Security-Token={_quote(token)}"
    upload = f"uploadId={_quote(upload_id)}"

    # The signature is over the query in the order of its names, in which the part number is the last but one.
    host, path = _host_and_path(url)
    before = sha256(f"PUT\n{path}\n{first}{security_token}&X-Amz-SignedHeaders=host&partNumber=".encode())
    after = f"&{upload}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
    to_sign = f"{_ALGORITHM}\n{at}\n{scope}\n"
    signing_key = _signing_key(credentials.secret_key, at[:8], region)
    head = f"{url}?{upload}&partNumber="
    tail = f"&{first}&X-Amz-SignedHeaders=host{security_token}&X-Amz-Signature="

    urls = []
    for number in numbers:
        request = before.copy()
        request.update(f"{number}{after}".encode())
        signature = hmac.digest(signing_key, f"{to_sign}{request.hexdigest()}".encode(), "sha256").hex()
        urls.append(f"{head}{number}{tail}{signature}")
    return urls


def _quote(text: str) -> str:
    return quote(text, safe="~")


def _host_and_path(url: str) -> tuple[str, str]:
    """The Host header that clients send to the URL (no port where it is the scheme's own), and its path."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    if parts.port not in (None, _DEFAULT_PORTS.get(parts.scheme)):
        host = f"{host}:{parts.port}"
    return host, parts.path


@lru_cache(maxsize=8)
def _signing_key(secret_key: str, date: str, region: str) -> bytes:
    """The key of one day (YYYYMMDD) and region; a few are kept, for credentials that are being replaced."""
    key = f"AWS4{secret_key}".encode()
    for step in (date, region, "s3", "aws4_request"):
        key = hmac.digest(key, step.encode(), "sha256")
    return key
