"""Trying the object store that is configured: all that is asked of it, with a small object that is deleted again.

What the server asks goes through the store's own interface. What clients ask goes over HTTP by signed URLs, with
nothing else known, as from a page at `BASE_URL`; the disk store's door is this application, which need not be running.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from typing import cast
from urllib.parse import urlsplit

import urllib3

from app import clock
from app.errors import AppError
from app.extensions import app_settings, object_store
from app.storage.base import ObjectGone, OpenUpload, Part, PartsRefused, Stored, UploadGone
from app.storage.disk import DiskStore
from app.storage.keys import new_key
from app.storage.lifecycle import harm_of
from app.storage.s3 import S3Store

CONTENT = b"Tracesets tries its object store; this may be deleted."
NAME = "storage check.txt"
TTL = timedelta(minutes=5)
TIMEOUT_SECONDS = 15
MAX_CLOCK_SECONDS = 10
"""By how much the store's clock may differ from ours: leases and URLs go by ours, ages of objects by the store's."""
MIN_FREE_BYTES = 1024**3
MIN_FREE_PART = 0.05
"""Of the disk; below either somebody should look."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried, whether it is right (None: it was not tried), and what came of it or what to do."""

    what: str
    is_right: bool | None
    message: str


class _Wrong(Exception):
    """It does not do what it should."""


class _NotTried(Exception):
    """It cannot be tried here."""


@dataclass(frozen=True, slots=True)
class _Step:
    """`advice` says what to do where the step fails."""

    what: str
    act: Callable[[], str]
    advice: str


def try_store() -> Iterator[Tried]:
    """Try one thing after the other; nothing of it is left when this ends."""
    store = object_store()
    trial = _DiskTrial(store) if isinstance(store, DiskStore) else _BucketTrial(cast("S3Store", store))
    try:
        for step in trial.steps():
            yield _try(step)
    finally:
        trial.clean_up()


def _try(step: _Step) -> Tried:
    try:
        return Tried(step.what, is_right=True, message=step.act())
    except _NotTried as exc:
        return Tried(step.what, is_right=None, message=str(exc))
    except (AppError, _Wrong, UploadGone, PartsRefused, ObjectGone) as exc:
        fault = str(exc) or type(exc).__name__
    except urllib3.exceptions.HTTPError as exc:
        # Its own text holds the URL, and with it a signature.
        fault = f"there was no answer ({type(exc).__name__})"
    return Tried(step.what, is_right=False, message=f"{fault.rstrip('.')}. {step.advice}")


class _Trial:
    """What is tried of either store; each step that others need leaves its result here."""

    def __init__(self, store: S3Store | DiskStore) -> None:
        self.store = store
        self.key = new_key()
        self.upload_id: str | None = None
        self.parts: list[Part] = []
        self.stored: Stored | None = None

    def clean_up(self) -> None:
        """Whatever had been made is gone after this, or with the next sweep."""
        with suppress(AppError):
            self.store.abort(self.key, None)
        with suppress(AppError):
            self.store.delete([self.key])

    def begin(self) -> str:
        self.upload_id = self.store.begin(self.key, len(CONTENT))
        return "an upload was begun"

    def begun(self) -> str:
        if self.upload_id is None:
            raise _NotTried("no upload could be begun")
        return self.upload_id

    def list_parts(self) -> str:
        self.parts = self.store.parts(self.key, self.begun())
        if [(part.number, part.size) for part in self.parts] != [(1, len(CONTENT))]:
            raise _Wrong(f"{len(self.parts)} parts are listed instead of the one that was sent")
        return "the part that was sent is listed"

    def list_uploads(self) -> str:
        begun = self.begun()
        ours: list[OpenUpload] = [upload for upload in self.store.open_uploads() if upload.upload_id == begun]
        if not ours:
            raise _Wrong("the upload that was begun is not listed")
        return "the upload that was begun is listed"

    def finish(self) -> str:
        if not self.parts:
            raise _NotTried("no part is there")
        self.stored = self.store.finish(self.key, self.begun(), self.parts)
        if self.stored.size != len(CONTENT):
            raise _Wrong(f"the object has {self.stored.size} bytes instead of {len(CONTENT)}")
        return "the object is there, with the right size"

    def finished(self) -> Stored:
        if self.stored is None:
            raise _NotTried("no upload could be completed")
        return self.stored

    def list_objects(self) -> str:
        stored = self.finished()
        found = next(self.store.objects(after=self.key[:-1]), None)
        if found is None or (found.key, found.size, found.etag) != (self.key, stored.size, stored.etag):
            raise _Wrong("the object is not listed with its size and ETag")
        return "the object is listed, with its size and ETag"

    def read(self) -> str:
        self.finished()
        if b"".join(self.store.read(self.key)) != CONTENT:
            raise _Wrong("other bytes come back than were sent")
        return "the bytes that were sent come back"

    def miss(self) -> str:
        if self.store.stat(new_key()) is not None:
            raise _Wrong("an object is shown that nobody made")
        return "what is not there is told as missing"

    def abort(self) -> str:
        upload_id = self.store.begin(self.key, len(CONTENT))
        self.store.abort(self.key, upload_id)
        try:
            self.store.parts(self.key, upload_id)
        except UploadGone:
            return "an upload that is ended is gone"
        raise _Wrong("an upload that was ended is still there")

    def delete(self) -> str:
        self.finished()
        self.store.delete([self.key])
        if self.store.stat(self.key) is not None:
            raise _Wrong("the object is still there")
        return "the object is gone"


class _BucketTrial(_Trial):
    """A bucket, from here and from where clients are."""

    store: S3Store

    def __init__(self, store: S3Store) -> None:
        super().__init__(store)
        self.http = urllib3.PoolManager(retries=False, timeout=TIMEOUT_SECONDS)
        base = app_settings().base_url
        self.origin = f"{urlsplit(base).scheme}://{urlsplit(base).netloc}" if base else None
        self.answer: urllib3.BaseHTTPResponse | None = None

    def steps(self) -> Iterator[_Step]:
        """All of them, in an order in which each finds what it needs."""
        cors = "Give the bucket the CORS rule of docs/operations.md, and wait until it counts"
        yield _Step("clock", self.compare_clocks, "Let both clocks follow a time server (chrony, timesyncd)")
        yield _Step("list", self.list_bucket, "Check S3_BUCKET, the endpoint and the credentials; allow s3:ListBucket")
        yield _Step("missing", self.miss, "Allow s3:ListBucket: without it a missing object is answered by 403")
        yield _Step("begin", self.begin, "Allow s3:PutObject on the prefix")
        yield _Step("send by URL", self.send, "Check S3_PUBLIC_ENDPOINT_URL, S3_REGION and S3_ADDRESSING_STYLE")
        yield _Step("CORS preflight", self.preflight, cors)
        yield _Step("CORS answer", self.expose, cors)
        yield _Step("list parts", self.list_parts, "Allow s3:ListMultipartUploadParts")
        yield _Step("list uploads", self.list_uploads, "Allow s3:ListBucketMultipartUploads, or sweeps cannot tidy up")
        yield _Step("complete", self.finish, "Allow s3:PutObject and s3:GetObject on the prefix")
        yield _Step("list objects", self.list_objects, "Allow s3:ListBucket on the prefix")
        yield _Step("read", self.read, "Allow s3:GetObject")
        yield _Step("download by URL", self.download, "Check S3_PUBLIC_ENDPOINT_URL; allow s3:GetObject")
        yield _Step("abort", self.abort, "Allow s3:AbortMultipartUpload")
        yield _Step("delete", self.delete, "Allow s3:DeleteObject, or the bucket only grows")
        yield _Step("lifecycle", self.judge_rules, "Change the bucket's lifecycle configuration")

    def list_bucket(self) -> str:
        self.store.check()
        return "the bucket answers"

    def compare_clocks(self) -> str:
        # Unsigned, since a store whose clock differs by much refuses what is signed.
        url = self.store.sign_download(self.key, NAME, clock.now() + TTL).partition("?")[0]
        told = self.http.request("GET", url, redirect=False).headers.get("Date")
        if told is None:
            raise _NotTried("the store's answers have no Date")
        ahead = (parsedate_to_datetime(told).astimezone(UTC) - clock.now()).total_seconds()
        if abs(ahead) > MAX_CLOCK_SECONDS:
            raise _Wrong(f"the store's clock differs from ours by {ahead:+.0f} seconds")
        return f"the store's clock and ours agree within {MAX_CLOCK_SECONDS} seconds"

    def send(self) -> str:
        [url] = self.store.sign_parts(self.key, self.begun(), [1], clock.now() + TTL)
        answer = self.http.request("PUT", url, body=CONTENT, headers=self._from_page(), redirect=False)
        _require_success(answer, "the PUT of a part")
        self.answer = answer
        return "a client can send a part"

    def preflight(self) -> str:
        [url] = self.store.sign_parts(self.key, self.begun(), [1], clock.now() + TTL)
        headers = {**self._from_page(is_needed=True), "Access-Control-Request-Method": "PUT"}
        answer = self.http.request("OPTIONS", url, headers=headers, redirect=False)
        _require_success(answer, "the preflight of a PUT")
        self._require_allowed(answer)
        if "PUT" not in _words(answer, "Access-Control-Allow-Methods"):
            raise _Wrong("the bucket lets pages send no PUT")
        return f"pages at {self.origin} may send parts"

    def expose(self) -> str:
        self._from_page(is_needed=True)
        if self.answer is None:
            raise _NotTried("no part could be sent")
        self._require_allowed(self.answer)
        if not {"ETAG", "*"} & _words(self.answer, "Access-Control-Expose-Headers"):
            raise _Wrong("the bucket does not show pages the ETag of a part (ExposeHeaders)")
        return "pages see the ETag of what they sent"

    def download(self) -> str:
        self.finished()
        url = self.store.sign_download(self.key, NAME, clock.now() + TTL)
        answer = self.http.request("GET", url, headers=self._from_page(), redirect=False)
        _require_success(answer, "the GET of an object")
        if answer.data != CONTENT:
            raise _Wrong("a client gets other bytes than were sent")
        if not answer.headers.get("Content-Disposition", "").startswith("attachment"):
            raise _Wrong("the store does not name the file (response-content-disposition)")
        return "a client can download, and gets the file's name"

    def judge_rules(self) -> str:
        try:
            rules = self.store.lifecycle_rules()
        except AppError as exc:
            raise _NotTried(f"the rules may not be read (s3:GetLifecycleConfiguration): {exc.message}") from exc
        harm = harm_of(rules, app_settings().session_ttl)
        if harm:
            raise _Wrong("; ".join(harm))
        if not any("AbortIncompleteMultipartUpload" in rule for rule in rules):
            return "no rule does harm; one that ends incomplete uploads would be a good second net"
        return "no rule does harm, and one ends incomplete uploads"

    def _from_page(self, *, is_needed: bool = False) -> dict[str, str]:
        if self.origin is None and is_needed:
            raise _NotTried("TRACESETS_BASE_URL does not say where the pages are")
        return {"Origin": self.origin} if self.origin else {}

    def _require_allowed(self, answer: urllib3.BaseHTTPResponse) -> None:
        if answer.headers.get("Access-Control-Allow-Origin") not in ("*", self.origin):
            raise _Wrong(f"the bucket does not let pages at {self.origin} in (AllowedOrigins)")


class _DiskTrial(_Trial):
    """The disk store's folder."""

    store: DiskStore

    def __init__(self, store: DiskStore) -> None:
        super().__init__(store)
        self.root = app_settings().data_dir / "store"

    def steps(self) -> Iterator[_Step]:
        """All of them, in an order in which each finds what it needs."""
        rights = f"Let this account write below {self.root}"
        yield _Step("write", self.write, rights)
        yield _Step("one file system", self.compare_devices, "Mount one volume for the whole folder: renames need it")
        yield _Step("free space", self.measure, "Delete tracesets and sweep, or take a larger volume")
        yield _Step("begin", self.begin, rights)
        yield _Step("send", self.send, rights)
        yield _Step("list parts", self.list_parts, rights)
        yield _Step("list uploads", self.list_uploads, rights)
        yield _Step("complete", self.finish, rights)
        yield _Step("list objects", self.list_objects, rights)
        yield _Step("read", self.read, rights)
        yield _Step("clock", self.compare_clocks, "Let the file server's clock follow a time server too")
        yield _Step("abort", self.abort, rights)
        yield _Step("delete", self.delete, rights)
        yield _Step("missing", self.miss, rights)

    def write(self) -> str:
        self.store.check()
        return f"{self.root} takes files"

    def compare_devices(self) -> str:
        devices = {folder.stat().st_dev for folder in self.root.iterdir() if folder.is_dir()}
        if len(devices) > 1:
            raise _Wrong("its folders lie on several file systems")
        return "files can be renamed from folder to folder"

    def measure(self) -> str:
        usage = shutil.disk_usage(self.root)
        free = f"{usage.free / 1024**3:.1f} GiB of {usage.total / 1024**3:.1f} GiB are free"
        if usage.free < max(MIN_FREE_BYTES, MIN_FREE_PART * usage.total):
            raise _Wrong(free)
        return free

    def send(self) -> str:
        self.store.write_part(self.key, self.begun(), 1, [CONTENT])
        return "a part was written and synced to the disk"

    def compare_clocks(self) -> str:
        self.finished()
        found = next(self.store.objects(after=self.key[:-1]))
        ahead = (found.modified_at - clock.now()).total_seconds()
        if abs(ahead) > MAX_CLOCK_SECONDS:
            raise _Wrong(f"the file system's clock differs from ours by {ahead:+.0f} seconds")
        return f"the file system's clock and ours agree within {MAX_CLOCK_SECONDS} seconds"


def _require_success(answer: urllib3.BaseHTTPResponse, what: str) -> None:
    if answer.status not in (200, 204):
        raise _Wrong(f"the store answered {answer.status} to {what}")


def _words(answer: urllib3.BaseHTTPResponse, header: str) -> set[str]:
    return {word.strip().upper() for word in answer.headers.get(header, "").split(",")}
