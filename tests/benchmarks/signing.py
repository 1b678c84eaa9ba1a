"""How long one signed part URL takes, ours against boto3's and botocore's in the same run.

    python tests/benchmarks/signing.py [ROUNDS]

Prints microseconds a URL (median and range over the rounds) and how many times slower the others are; exits with 1
where ours is not at least 25 times as fast as boto3's.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import boto3
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotocoreCredentials

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app import clock
from app.storage.signing import Credentials, sign_parts

BUCKET_URL = "https://store.example:8443/traces/"
KEY = "lib/ab/abcdefghijklmnopqrstuvwxyz"
UPLOAD_ID = "2~VmxqUGdGb3Jlc3RfYW5kX3RyZWVzX2luX3dpbnRlcg"
REGION = "us-east-1"
TTL_SECONDS = 3600
LEAST_RATIO = 25

N_OURS = 65_536
N_THEIRS = 1_024


def boto3_way(n_urls: int) -> None:
    for number in range(1, n_urls + 1):
        CLIENT.generate_presigned_url(
            "upload_part",
            Params={"Bucket": "traces", "Key": KEY, "UploadId": UPLOAD_ID, "PartNumber": number},
            ExpiresIn=TTL_SECONDS,
        )


def botocore_way(n_urls: int) -> None:
    signer = S3SigV4QueryAuth(BotocoreCredentials("access", "secret"), "s3", REGION, TTL_SECONDS)
    for number in range(1, n_urls + 1):
        query = {"uploadId": UPLOAD_ID, "partNumber": str(number)}
        signer.add_auth(AWSRequest("PUT", BUCKET_URL + KEY, params=query))


def our_way(n_urls: int) -> None:
    """As the application calls it: once for each file, here of 64 parts."""
    credentials = Credentials("access", "secret")
    for _ in range(n_urls // 64):
        sign_parts(
            BUCKET_URL,
            KEY,
            UPLOAD_ID,
            range(1, 65),
            credentials=credentials,
            region=REGION,
            signed_at=clock.now(),
            ttl_seconds=TTL_SECONDS,
        )


CLIENT = boto3.client(
    "s3",
    endpoint_url="https://store.example:8443",
    region_name=REGION,
    aws_access_key_id="access",
    aws_secret_access_key="secret",
    config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
)
WAYS: list[tuple[str, Callable[[int], None], int]] = [
    ("boto3 generate_presigned_url", boto3_way, N_THEIRS),
    ("botocore S3SigV4QueryAuth", botocore_way, N_THEIRS),
    ("sign_parts", our_way, N_OURS),
]


def main(n_rounds: int) -> int:
    times: dict[str, list[float]] = {name: [] for name, _, _ in WAYS}
    for _ in range(n_rounds):
        for name, way, n_urls in WAYS:
            start = time.perf_counter()
            way(n_urls)
            times[name].append((time.perf_counter() - start) / n_urls * 1e6)

    ours = statistics.median(times["sign_parts"])
    print(f"{'way':30} {'µs a URL':>9} {'(min-max)':>15} {'times ours':>11}")
    for name, of_way in times.items():
        median = statistics.median(of_way)
        print(f"{name:30} {median:9.1f} {f'({min(of_way):.1f}-{max(of_way):.1f})':>15} {median / ours:11.1f}")
    return 0 if statistics.median(times["boto3 generate_presigned_url"]) >= LEAST_RATIO * ours else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
