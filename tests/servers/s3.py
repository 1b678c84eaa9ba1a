"""What every S3 server for tests has in common."""

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

import boto3
from botocore.config import Config


class S3Server(ABC):
    """A running S3 server: where it is, and one user's credentials to it."""

    endpoint: str
    access_key = "testaccess"
    secret_key = "testsecret0123456789"
    region = "us-east-1"
    ca_file: Path | None = None
    """The certificate to trust, where the endpoint is https."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which boto3 gets its credentials, and boto3 and requests know whom to trust."""
        variables = {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            # Neither a file of the person who runs the tests nor the network is asked for anything.
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        if self.ca_file is not None:
            variables["AWS_CA_BUNDLE"] = variables["REQUESTS_CA_BUNDLE"] = str(self.ca_file)
        return variables

    @contextmanager
    def credentials(self) -> Iterator[None]:
        """Put `environment` into this process for a while."""
        with patch.dict(os.environ, self.environment):
            yield

    def client(self) -> Any:
        """A boto3 client of our own user, for what a test does behind the application's back."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            verify=str(self.ca_file) if self.ca_file else None,
            config=Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )

    def new_bucket(self) -> str:
        """Make an empty bucket, and give its name."""
        name = f"test-{secrets.token_hex(8)}"
        self.client().create_bucket(Bucket=name)
        return name

    def new_bucket_settings(self) -> dict[str, Any]:
        """The settings, by their field names, of a deployment in an empty bucket."""
        return {
            "s3_bucket": self.new_bucket(),
            "s3_endpoint_url": self.endpoint,
            "s3_addressing_style": "path",
        }

    @abstractmethod
    def stop(self) -> None:
        """End the server and forget what it held; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
