"""What the tests of the whole application share beyond the application itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.servers.http_proxy import FaultyProxy
from tests.servers.moto_s3 import MotoServer


@dataclass(frozen=True)
class FaultyStore:
    """An S3 store that the application reaches through a proxy, and everybody else directly.

    `settings` lead an app there; `client` is boto3's, for a look behind the application's back.
    """

    proxy: FaultyProxy
    settings: dict[str, Any]
    client: Any
    bucket: str

    def open_uploads(self) -> list[str]:
        """The ids of all multipart uploads that are open."""
        return [
            upload["UploadId"] for upload in self.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])
        ]

    def keys(self) -> list[str]:
        """The keys of all objects."""
        return [found["Key"] for found in self.client.list_objects_v2(Bucket=self.bucket).get("Contents", [])]


@pytest.fixture
def faulty_store(moto: MotoServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyStore]:
    """A store that fails on demand, whatever `--store` says."""
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    bucket = moto.new_bucket()
    with FaultyProxy(moto.endpoint) as proxy:
        settings = {
            "s3_bucket": bucket,
            "s3_endpoint_url": proxy.endpoint,
            "s3_public_endpoint_url": moto.endpoint,
            "s3_addressing_style": "path",
        }
        yield FaultyStore(proxy, settings, moto.client(), bucket)
