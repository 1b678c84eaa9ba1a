"""What the service answers, as values. Times are aware UTC, sizes are bytes; `raw` is the answer as it came."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from app.client.service import JSON, Reply


@dataclass(frozen=True, slots=True)
class TracesetFile:
    """One file of a traceset or mapping file.

    Attributes:
        role: `primary` or `supporting`; None in a mapping file.
        metadata_status: `pending` or `complete`; None in a mapping file.
        rank_range: first and last rank, both included; only on the one primary file of a ready traceset.
        external_url: where the file lies, if the service does not keep it.
    """

    name: str
    size: int
    role: str | None = None
    metadata_status: str | None = None
    rank_range: tuple[int, int] | None = None
    external_url: str | None = None

    @classmethod
    def from_json(cls, file: JSON) -> Self:
        """One member of `files`."""
        ranks = file.get("rankRange")
        return cls(
            name=file["name"],
            size=file["size"],
            role=file.get("role"),
            metadata_status=file.get("metadataStatus"),
            rank_range=None if ranks is None else (ranks["start"], ranks["end"]),
            external_url=file.get("externalUrl"),
        )


@dataclass(frozen=True, slots=True)
class Traceset:
    """A traceset with all its files, in the order in which they were declared."""

    id: str
    name: str
    status: str
    files: tuple[TracesetFile, ...]
    total_size: int
    workspace_id: str
    created_at: datetime
    description: str | None
    tags: tuple[str, ...]
    expires_at: datetime | None
    rank_count: int | None
    workload_metadata: Any
    promoted_from: str | None
    raw: str = field(repr=False, compare=False)

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """R1 to R3."""
        body = reply.json()
        return cls(
            id=body["id"],
            name=body["name"],
            status=body["status"],
            files=tuple(map(TracesetFile.from_json, body["files"])),
            total_size=body["totalSize"],
            workspace_id=body["workspaceId"],
            created_at=read_time(body["createdAt"]),
            description=body.get("description"),
            tags=tuple(body["tags"]),
            expires_at=_time_or_none(body.get("expiresAt")),
            rank_count=body.get("rankCountDerived"),
            workload_metadata=body.get("workloadMetadata"),
            promoted_from=body.get("promotedFrom"),
            raw=reply.text,
        )


@dataclass(frozen=True, slots=True)
class MappingFile:
    """A mapping file: files that map ranks to places in a topology."""

    id: str
    name: str
    status: str
    files: tuple[TracesetFile, ...]
    total_size: int
    workspace_id: str
    created_at: datetime
    raw: str = field(repr=False, compare=False)

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """M1."""
        body = reply.json()
        return cls(
            id=body["id"],
            name=body["name"],
            status=body["status"],
            files=tuple(map(TracesetFile.from_json, body["files"])),
            total_size=body["totalSize"],
            workspace_id=body["workspaceId"],
            created_at=read_time(body["createdAt"]),
            raw=reply.text,
        )


@dataclass(frozen=True, slots=True)
class ListedTraceset:
    """What a list shows of a traceset or mapping file."""

    id: str
    name: str
    status: str
    file_count: int
    total_size: int
    tags: tuple[str, ...]
    workspace_id: str
    rank_count: int | None
    created_at: datetime
    expires_at: datetime | None

    @classmethod
    def from_json(cls, item: JSON) -> Self:
        """L1."""
        return cls(
            id=item["id"],
            name=item["name"],
            status=item["status"],
            file_count=item["fileCount"],
            total_size=item["totalSize"],
            tags=tuple(item["tags"]),
            workspace_id=item["workspaceId"],
            rank_count=item.get("rankCountDerived"),
            created_at=read_time(item["createdAt"]),
            expires_at=_time_or_none(item.get("expiresAt")),
        )


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list; `next_cursor` asks for the one after it, and is None on the last."""

    items: tuple[ListedTraceset, ...]
    next_cursor: str | None
    raw: str = field(repr=False, compare=False)

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """L1 and L2."""
        body = reply.json()
        items = tuple(map(ListedTraceset.from_json, body["items"]))
        return cls(items=items, next_cursor=body["pagination"]["nextCursor"], raw=reply.text)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace; `role` is the caller's there, None where a site admin is no member."""

    id: str
    name: str
    role: str | None

    @classmethod
    def from_json(cls, item: JSON) -> Self:
        """K3."""
        return cls(id=item["id"], name=item["name"], role=item["role"])


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who belongs to a workspace, as `viewer`, `editor` or `owner`."""

    email: str
    role: str

    @classmethod
    def from_json(cls, item: JSON) -> Self:
        """One of a workspace's members."""
        return cls(email=item["email"], role=item["role"])


@dataclass(frozen=True, slots=True)
class Event:
    """One change: what kind, when, by whom (None: a sweep), from where, and more by its kind."""

    id: int
    at: datetime
    kind: str
    actor: str | None
    remote_address: str | None
    request_id: str | None
    detail: Mapping[str, Any]

    @classmethod
    def from_json(cls, item: JSON) -> Self:
        """One of a traceset's events."""
        return cls(
            id=item["id"],
            at=read_time(item["at"]),
            kind=item["kind"],
            actor=item["actor"],
            remote_address=item["remoteAddress"],
            request_id=item["requestId"],
            detail=item["detail"],
        )


@dataclass(frozen=True, slots=True)
class DownloadURL:
    """A URL that gives the bytes of `file` without other credentials; it is kept out of what is printed."""

    url: str = field(repr=False)
    expires_at: datetime
    file: str
    answered_at: datetime

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """W1."""
        body = reply.json()
        return cls(url=body["url"], expires_at=read_time(body["expiresAt"]), file=body["file"], answered_at=reply.at)


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a validation."""

    name: str
    passed: bool
    message: str | None


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of all checks; `is_valid` where all have passed."""

    is_valid: bool
    checks: tuple[Check, ...]
    raw: str = field(repr=False, compare=False)

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """V2."""
        body = reply.json()
        checks = tuple(Check(check["name"], check["passed"], check.get("message")) for check in body["checks"])
        return cls(is_valid=body["valid"], checks=checks, raw=reply.text)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the plan: held by the store with its `etag`, or to be sent to `url`."""

    number: int
    size: int
    etag: str | None = None
    url: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class UploadFile:
    """One file of a session; no parts where nothing is to be sent."""

    name: str
    parts: tuple[Part, ...]
    urls_expire_at: datetime


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload session as it stood at `answered_at`.

    Attributes:
        subject_id: of the traceset or mapping file that it makes.
        state: `open`, `completing`, `completed`, `failed`, `aborted` or `expired`.
        failure: why it failed, if it did.
    """

    id: str
    subject_id: str
    state: str
    failure: str | None
    expires_at: datetime
    files: tuple[UploadFile, ...]
    answered_at: datetime
    raw: str = field(repr=False, compare=False)

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """U1, of a session that was opened now, or S1."""
        body = reply.json()
        return cls(
            id=body["uploadId"],
            subject_id=body.get("tracesetId") or body["mappingFileId"],
            state=body.get("state", "open"),
            failure=body.get("failure"),
            expires_at=read_time(body["expiresAt"]),
            files=tuple(map(_upload_file, body["files"])),
            answered_at=reply.at,
            raw=reply.text,
        )


def _upload_file(file: Mapping[str, Any]) -> UploadFile:
    parts = tuple(
        Part(number=part["partNumber"], size=part["size"], etag=part.get("etag"), url=part.get("url"))
        for part in file["parts"]
    )
    return UploadFile(name=file["name"], parts=parts, urls_expire_at=read_time(file["partUrlsExpireAt"]))


def read_time(text: str) -> datetime:
    """An ISO 8601 time of the API, which ends in Z (G4)."""
    return datetime.fromisoformat(text).astimezone(UTC)


def _time_or_none(text: str | None) -> datetime | None:
    return None if text is None else read_time(text)
