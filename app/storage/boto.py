"""boto3: its clients, one set for each process, and its exceptions, turned into ours.

No checksum is sent that S3 does not insist on: other stores refuse the newer ones, or ignore them.
"""

import base64
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError
from urllib3.exceptions import HTTPError

from app.errors import StoreUnavailable

_PROBE_TIMEOUT = 3.0
"""Seconds, to connect and to answer a sign of life: somebody waits for it, or a balancer does."""

_NO_CREDENTIALS = (
    "The object store cannot be asked without credentials: "
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role."
)

# Clients are made one at a time, and never while the process forks: a child would inherit the lock as it was.
_making = threading.RLock()
os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)


@dataclass(frozen=True, slots=True)
class Clients:
    """One process's clients, which all its threads share, and what they sign with."""

    pid: int
    credentials: Any
    """botocore's, whose `get_frozen_credentials` renews those that come from a role."""
    store: Any
    """Asks the store where the application reaches it."""
    probe: Any
    """As `store`, but gives up soon."""
    public: Any
    """Signs URLs for those who reach the store elsewhere."""
    bucket_url: str
    """Where the bucket's keys begin in signed URLs, with the last slash."""


@dataclass(kw_only=True)
class BotoClients:
    """Makes the clients of each process at their first use; timeouts in seconds."""

    bucket: str
    endpoint_url: str | None
    public_endpoint_url: str | None
    region: str
    addressing_style: str
    connect_timeout: float
    read_timeout: float
    tries: int
    max_connections: int
    _made: Clients | None = field(default=None, init=False, repr=False)

    def clients(self) -> Clients:
        """This process's clients.

        Threads may share boto3's clients, but a fork may not: two processes would write into one connection.

        Raises:
            StoreUnavailable: there are no credentials.
        """
        made = self._made
        if made is None or made.pid != os.getpid():
            with _making, asking("be set up"):
                made = self._made
                if made is None or made.pid != os.getpid():
                    made = self._made = self._make()
        return made

    def _make(self) -> Clients:
        session = boto3.session.Session()
        credentials = session.get_credentials()
        if credentials is None:
            # Not kept: a machine's role may be late.
            raise StoreUnavailable(_NO_CREDENTIALS)
        store = self._client(session, self.endpoint_url)
        store.meta.events.register("before-call.s3.DeleteObjects", _send_content_md5)
        public = self._client(session, self.public_endpoint_url)
        # botocore knows how each kind of endpoint is addressed: what its URL of one key begins with, all ours do.
        example = public.generate_presigned_url("get_object", Params={"Bucket": self.bucket, "Key": "x"})
        return Clients(
            pid=os.getpid(),
            credentials=credentials,
            store=store,
            probe=self._client(session, self.endpoint_url, is_hasty=True),
            public=public,
            bucket_url=example.partition("?")[0].removesuffix("x"),
        )

    def _client(self, session: Any, endpoint_url: str | None, *, is_hasty: bool = False) -> Any:
        # Left to itself, botocore signs for Amazon's global host, which sends browsers on to that of the region, where
        # the signature is wrong.
        at_amazon = endpoint_url is None and self.addressing_style == "auto"
        config = Config(
            signature_version="s3v4",
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "virtual" if at_amazon else self.addressing_style},
            retries={"mode": "standard", "total_max_attempts": 1 if is_hasty else self.tries},
            max_pool_connections=self.max_connections,
            connect_timeout=_PROBE_TIMEOUT if is_hasty else self.connect_timeout,
            read_timeout=_PROBE_TIMEOUT if is_hasty else self.read_timeout,
            tcp_keepalive=True,
        )
        return session.client("s3", endpoint_url=endpoint_url, region_name=self.region, config=config)


@contextmanager
def asking(what: str, known: Mapping[str, type[Exception]] | None = None) -> Iterator[None]:
    """Turn all that boto3 may raise into StoreUnavailable, and the error codes in `known` into what they mean.

    Args:
        what: the end of the sentence "The object store could not ...". Neither URLs nor the store's own messages
            go into it, as those may hold keys and credentials.
    """
    try:
        yield
    except ClientError as exc:
        code = str(exc.response.get("Error", {}).get("Code", "unknown error"))
        meaning = (known or {}).get(code, StoreUnavailable)
        raise meaning(f"The object store could not {what}: {code}.") from exc
    except (NoCredentialsError, PartialCredentialsError) as exc:
        raise StoreUnavailable(_NO_CREDENTIALS) from exc
    except (BotoCoreError, HTTPError) as exc:
        raise StoreUnavailable(f"The object store could not {what}: {type(exc).__name__}.") from exc
    except KeyError as exc:
        # A success without the members that it must have: somebody else answers in the store's place.
        raise StoreUnavailable(f"The object store could not {what}: its answer is none of S3's.") from exc


def _send_content_md5(params: dict[str, Any], **_: Any) -> None:
    """Give a deletion of many the digest that every store takes, instead of botocore's newer one.

    Source: Amazon S3, DeleteObjects, which asks for one of the two.
    """
    params["context"].pop("checksum", None)
    digest = md5(params["body"], usedforsecurity=False).digest()
    params["headers"]["Content-MD5"] = base64.b64encode(digest).decode()
