"""The object store behind S3's interface: Amazon's own, Ceph's gateway, MinIO and their like.

Why a multipart upload straight onto the final key, also for the smallest file: nothing is copied at completion, and
part URLs die with their upload, so that a finished object cannot be changed by one that is still within its hour.

Stores differ. The ETag of a finished object comes from HEAD (Ceph leaves it out of the answer to a completion);
NoSuchKey and NoSuchUpload both say that an upload is gone. The credentials need s3:ListBucket: without it Amazon
answers 403 where an object is missing, which reads as a fault.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from hashlib import md5
from typing import Any

from app import clock
from app.domain.checksums import bare_etag
from app.errors import StoreUnavailable
from app.storage.base import FoundObject, ObjectGone, OpenUpload, Part, PartsRefused, Stored, UploadGone
from app.storage.boto import BotoClients, asking
from app.storage.disposition import attachment
from app.storage.keys import is_key
from app.storage.lifecycle import concerns
from app.storage.metrics import metered
from app.storage.signing import Credentials, sign_parts

_ROOT = "lib/"
_CHUNK_SIZE = 1024 * 1024
_DELETE_LIMIT = 1000
"""Keys in one request. Source: Amazon S3, DeleteObjects."""
_ABORT_PAUSES = (0, 0.1, 0.3, 1)
"""Seconds before each try: a part on its way may arrive after the first. Source: Amazon S3, AbortMultipartUpload."""


class _PastTheEnd(Exception):
    """The object ends before the range that was asked for begins."""


class _NoRules(Exception):
    """The bucket has no lifecycle rules."""


class _Unclear(StoreUnavailable):
    """The store failed at a completion in a way in which some tell that the upload is gone."""


_UPLOAD_GONE: Mapping[str, type[Exception]] = {"NoSuchUpload": UploadGone, "NoSuchKey": UploadGone}
# HEAD has no body that could name the error.
_OBJECT_GONE: Mapping[str, type[Exception]] = {"NoSuchKey": ObjectGone, "404": ObjectGone}
_AT_COMPLETION: Mapping[str, type[Exception]] = {
    **_UPLOAD_GONE,
    # Ceph's gateway (16.2) takes an unknown upload for one that another request is completing.
    "InternalError": _Unclear,
    "500": _Unclear,
    "InvalidPart": PartsRefused,
    "InvalidPartOrder": PartsRefused,
    "EntityTooSmall": PartsRefused,
}

_MD5 = re.compile(r"[0-9a-f]{32}")
_COMPOSITE_MD5 = re.compile(r"[0-9a-f]{32}-[0-9]+")


@metered
class S3Store:
    """An `ObjectStore` in one bucket. Credentials come from boto3's own chain, and may change while it runs.

    Neither the network nor the environment is asked before the first call.

    Args:
        endpoint_url: where the application reaches the store; None: Amazon's own, by `region`.
        public_endpoint_url: where browsers and clients reach it, if elsewhere; signed URLs begin with it.
        prefix: a folder within the bucket for all that we keep.
        addressing_style: "path", "virtual", or "auto": virtual at Amazon, by path everywhere else.
        connect_timeout: seconds, for each try.
        read_timeout: seconds between two bytes of an answer, for each try. Amazon sends spaces while it completes an
            upload; a store that is silent for longer is asked again, which every method here can stand.
        tries: of each request, also of one that is silent. A fault that lasts is healed by the caller's own retry.
        page_size: entries of a listing in one answer. Source: 1,000 is the most that Amazon gives.
    """

    concurrency = 32

    def __init__(
        self,
        *,
        bucket: str,
        endpoint_url: str | None = None,
        public_endpoint_url: str | None = None,
        region: str = "us-east-1",
        prefix: str = "",
        addressing_style: str = "auto",
        connect_timeout: float = 5,
        read_timeout: float = 20,
        tries: int = 3,
        page_size: int = 1000,
    ) -> None:
        self._bucket = bucket
        self._region = region
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._page_size = page_size
        self._boto = BotoClients(
            bucket=bucket,
            endpoint_url=endpoint_url,
            public_endpoint_url=public_endpoint_url or endpoint_url,
            region=region,
            addressing_style=addressing_style,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            tries=tries,
            max_connections=2 * self.concurrency,
        )

    def begin(self, key: str, size: int) -> str:  # noqa: ARG002 - S3 learns the size from the parts.
        """Begin a multipart upload onto `key`; the answer is its id.

        A try whose answer was lost may have begun another one, which nobody will finish: `open_uploads` shows it.
        """
        with asking("begin an upload"):
            return str(self._boto.clients().store.create_multipart_upload(**self._at(key))["UploadId"])

    def sign_parts(self, key: str, upload_id: str, numbers: Sequence[int], until: datetime) -> list[str]:
        """URLs to PUT these parts with. Temporary credentials end them early, with themselves."""
        clients = self._boto.clients()
        with asking("sign part URLs"):
            frozen = clients.credentials.get_frozen_credentials()
        return sign_parts(
            clients.bucket_url,
            self._prefix + key,
            upload_id,
            numbers,
            credentials=Credentials(frozen.access_key, frozen.secret_key, frozen.token),
            region=self._region,
            signed_at=clock.now(),
            ttl_seconds=_seconds_until(until),
        )

    def parts(self, key: str, upload_id: str) -> list[Part]:
        """All parts held, in ascending number; raises UploadGone."""
        with asking("list the parts of an upload", _UPLOAD_GONE):
            pages = self._pages("list_parts", **self._at(key), UploadId=upload_id)
            found = [
                Part(part["PartNumber"], part["Size"], bare_etag(part["ETag"]))
                for page in pages
                for part in page.get("Parts", [])
            ]
        return sorted(found, key=lambda part: part.number)

    def finish(self, key: str, upload_id: str, parts: Sequence[Part]) -> Stored:
        """Make the object of these parts; raises UploadGone and PartsRefused.

        Where the store knows the upload no more, an earlier call may have finished it, so the object itself is looked
        at. A store that is silent or busy is not asked what has come of it: this call, made again, finds out.
        """
        listed = [{"PartNumber": part.number, "ETag": f'"{part.etag}"'} for part in parts]
        try:
            with asking("complete an upload", _AT_COMPLETION):
                self._boto.clients().store.complete_multipart_upload(
                    **self._at(key), UploadId=upload_id, MultipartUpload={"Parts": listed}
                )
        except _Unclear:
            if self._is_open(key, upload_id):
                raise
            return self._finished_before(key, parts)
        except UploadGone:
            return self._finished_before(key, parts)
        finished = self.stat(key)
        if finished is None or finished.size != sum(part.size for part in parts):
            raise StoreUnavailable("The object store completed an upload, but does not show the object.")
        return finished

    def abort(self, key: str, upload_id: str | None) -> None:
        """End the upload, or every open upload onto `key`, until the store knows it no more."""
        for each in self._uploads_onto(key) if upload_id is None else [upload_id]:
            self._abort(key, each)

    def stat(self, key: str) -> Stored | None:
        """The finished object at this key, or None."""
        head = self._head(key)
        return None if head is None else _stored(head)

    def is_intact(self, key: str, stored: Stored) -> bool:
        """Whether the object is there with the size and ETag that it had when it was finished."""
        return self.stat(key) == stored

    def read(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The object's bytes from `start`, at most `length` of them; raises ObjectGone before the first chunk."""
        if length == 0:
            if self.stat(key) is None:
                raise ObjectGone
            return
        end = "" if length is None else start + length - 1
        # An empty object has no range, not even the one that holds everything.
        span = {} if start == 0 and length is None else {"Range": f"bytes={start}-{end}"}
        try:
            with asking("read an object", {**_OBJECT_GONE, "InvalidRange": _PastTheEnd}):
                body = self._boto.clients().store.get_object(**self._at(key), **span)["Body"]
        except _PastTheEnd:
            return
        with closing(body), asking("read on in an object"):
            yield from body.iter_chunks(_CHUNK_SIZE)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete finished objects; unknown ones are a success."""
        for first in range(0, len(keys), _DELETE_LIMIT):
            batch = [{"Key": self._prefix + key} for key in keys[first : first + _DELETE_LIMIT]]
            with asking("delete objects"):
                answer = self._boto.clients().store.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": batch, "Quiet": True}
                )
            refused = {error["Code"] for error in answer.get("Errors", [])} - {"NoSuchKey"}
            if refused:
                raise StoreUnavailable(f"The object store could not delete objects: {', '.join(sorted(refused))}.")

    def sign_download(self, key: str, name: str, until: datetime) -> str:
        """A URL to GET the object with, as an attachment of this name."""
        with asking("sign a download"):
            url = self._boto.clients().public.generate_presigned_url(
                "get_object",
                Params={
                    **self._at(key),
                    "ResponseContentDisposition": attachment(name),
                    "ResponseContentType": "application/octet-stream",
                },
                ExpiresIn=_seconds_until(until),
            )
        return str(url)

    def open_uploads(self) -> Iterator[OpenUpload]:
        """Every open multipart upload onto a key of our own form."""
        with asking("list open uploads"):
            for key, upload in self._uploads(_ROOT):
                if is_key(key):
                    yield OpenUpload(key, upload["UploadId"], upload["Initiated"].astimezone(UTC))

    def objects(self, after: str | None = None, *, closely: bool = False) -> Iterator[FoundObject]:  # noqa: ARG002
        """Every finished object whose key is of our own form, in the order of keys, behind `after`."""
        start = {} if after is None else {"StartAfter": self._prefix + after}
        with asking("list objects"):
            for page in self._pages("list_objects_v2", Bucket=self._bucket, Prefix=self._prefix + _ROOT, **start):
                for found in page.get("Contents", []):
                    key = found["Key"].removeprefix(self._prefix)
                    if is_key(key):
                        yield FoundObject(
                            key, found["Size"], bare_etag(found["ETag"]), found["LastModified"].astimezone(UTC)
                        )

    def remove_litter(self, older_than: datetime) -> int:  # noqa: ARG002 - the bucket keeps no drafts of ours.
        """Nothing: what a dead process leaves in a bucket is an open upload."""
        return 0

    def check(self) -> None:
        """List one object: unlike HEAD, the answer to a refused listing says what is wrong."""
        with asking("show a sign of life"):
            probe = self._boto.clients().probe
            _require_listing(probe.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix + _ROOT, MaxKeys=1))

    def lifecycle_rules(self) -> list[Mapping[str, Any]]:
        """The bucket's own rules that concern our keys; raises StoreUnavailable where they may not be read."""
        try:
            with asking("show its lifecycle rules", {"NoSuchLifecycleConfiguration": _NoRules}):
                answer = self._boto.clients().store.get_bucket_lifecycle_configuration(Bucket=self._bucket)
        except _NoRules:
            return []
        return [rule for rule in answer.get("Rules", []) if concerns(rule, self._prefix + _ROOT)]

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._prefix + key}

    def _head(self, key: str) -> dict[str, Any] | None:
        try:
            with asking("look at an object", _OBJECT_GONE):
                head: dict[str, Any] = self._boto.clients().store.head_object(**self._at(key))
                _stored(head)  # an answer without size and ETag is none of S3's
        except ObjectGone:
            return None
        return head

    def _finished_before(self, key: str, parts: Sequence[Part]) -> Stored:
        """The object that an earlier call made of these parts; raises UploadGone where there is none."""
        head = self._head(key)
        if head is None or not _is_made_of(head, parts):
            raise UploadGone
        return _stored(head)

    def _is_open(self, key: str, upload_id: str) -> bool:
        try:
            with asking("list the parts of an upload", _UPLOAD_GONE):
                self._boto.clients().store.list_parts(**self._at(key), UploadId=upload_id, MaxParts=1)
        except UploadGone:
            return False
        return True

    def _abort(self, key: str, upload_id: str) -> None:
        for pause in _ABORT_PAUSES:
            time.sleep(pause)
            with suppress(UploadGone), asking("abort an upload", _UPLOAD_GONE):
                self._boto.clients().store.abort_multipart_upload(**self._at(key), UploadId=upload_id)
            if not self._is_open(key, upload_id):
                return
        raise StoreUnavailable("The object store still knows an upload that was aborted.")

    def _uploads_onto(self, key: str) -> list[str]:
        with asking("list open uploads"):
            return [upload["UploadId"] for found, upload in self._uploads(key) if found == key]

    def _uploads(self, start_of_key: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The store's open uploads, each behind its key as we write it."""
        pages = self._pages("list_multipart_uploads", Bucket=self._bucket, Prefix=self._prefix + start_of_key)
        for page in pages:
            for upload in page.get("Uploads", []):
                yield upload["Key"].removeprefix(self._prefix), upload

    def _pages(self, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        paginator = self._boto.clients().store.get_paginator(operation)
        for page in paginator.paginate(**arguments, PaginationConfig={"PageSize": self._page_size}):
            _require_listing(page)
            yield page


def _require_listing(answer: Mapping[str, Any]) -> None:
    """Raise KeyError for what somebody else answers in the store's place, which reads as a listing of nothing."""
    answer["IsTruncated"]


def _seconds_until(until: datetime) -> int:
    """How long a URL signed now is good for; whole seconds, as the signature counts, and none for the past."""
    return max(0, int(until.timestamp()) - int(clock.now().timestamp()))


def _stored(head: dict[str, Any]) -> Stored:
    return Stored(head["ContentLength"], bare_etag(head["ETag"]))


def _is_made_of(head: dict[str, Any], parts: Sequence[Part]) -> bool:
    """Whether the object can be that of these parts: by its size, and by its ETag where that says so.

    Source: the ETag of a multipart object is the MD5 of its parts' MD5 digests and their number, at Amazon (unless it
    is encrypted under a key of KMS), Ceph and MinIO alike; other forms tell nothing.
    """
    stored = _stored(head)
    if stored.size != sum(part.size for part in parts):
        return False
    if str(head.get("ServerSideEncryption", "")).startswith("aws:") or not _COMPOSITE_MD5.fullmatch(stored.etag):
        return True
    if not all(_MD5.fullmatch(part.etag) for part in parts):
        return True
    digest = md5(b"".join(bytes.fromhex(part.etag) for part in parts), usedforsecurity=False)
    return stored.etag == f"{digest.hexdigest()}-{len(parts)}"
