"""What is sent to open and complete uploads, and what comes back (U1-U10, C1-C2, S1)."""

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from app.domain.file_names import MAX_NAME_BYTES
from app.domain.part_plan import MAX_FILE_SIZE, MAX_PARTS
from app.models.tracesets import (
    DESCRIPTION_LENGTH,
    EXTERNAL_URL_LENGTH,
    MAX_FILES,
    MAX_TAGS,
    NAME_LENGTH,
    TAG_LENGTH,
    FileRole,
    Kind,
)
from app.models.uploads import IDEMPOTENCY_KEY_LENGTH, SessionState
from app.schemas.base import Schema
from app.schemas.workload import WorkloadMetadata
from app.services.uploads import NewFile, NewUpload


def _trimmed(name: str) -> str:
    if not 1 <= len(name.strip()) <= NAME_LENGTH:
        raise ValueError(f"must have 1 to {NAME_LENGTH} characters after trimming")
    return name.strip()


def _distinct_tags(tags: list[str]) -> list[str]:
    distinct = list(dict.fromkeys(tags))
    if len(distinct) > MAX_TAGS:
        raise ValueError(f"must have at most {MAX_TAGS} different tags")
    return distinct


def _external(url: str) -> str:
    if not url.isprintable() or " " in url or not url.lower().startswith(("http://", "https://", "s3://")):
        raise ValueError("must be a URL of http, https or s3")
    try:
        host = urlsplit(url).netloc
    except ValueError:
        host = ""
    if not host:
        raise ValueError("must be a URL that names a host or bucket")
    return url


Name = Annotated[
    str,
    AfterValidator(_trimmed),
    Field(json_schema_extra={"minLength": 1, "maxLength": NAME_LENGTH, "pattern": r"\S"}),
]
FileName = Annotated[
    str,
    Field(
        description="A relative path with / as separator and at most 1,024 bytes in UTF-8; no empty, . or .. segments, "
        "backslashes or control characters. Each name of a request is another one.",
        examples=["rank_0.et"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_BYTES},
    ),
]
Tag = Annotated[str, Field(min_length=1, max_length=TAG_LENGTH)]
Tags = Annotated[list[Tag], AfterValidator(_distinct_tags)]
Size = Annotated[int, Field(ge=0, description="Bytes.", json_schema_extra={"maximum": MAX_FILE_SIZE})]
ExternalURL = Annotated[
    str, Field(max_length=EXTERNAL_URL_LENGTH, json_schema_extra={"format": "uri"}), AfterValidator(_external)
]
SHA256 = Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$"), AfterValidator(str.lower)]


class UploadFileSpec(Schema):
    """A file to be uploaded."""

    name: FileName
    external_url: Annotated[
        ExternalURL | None, Field(description="The file stays where it is; it has no parts and is never fetched.")
    ] = None
    size: Annotated[Size | None, Field(description="Bytes; may be left out for an external file.")] = Field(
        default=None, validate_default=True
    )
    role: Annotated[Literal["primary", "supporting"] | None, Field(description="null: primary.")] = None
    sha256: Annotated[
        SHA256 | None, Field(description="A file whose content this workspace holds already is not sent again.")
    ] = None

    @field_validator("size", mode="after")
    @classmethod
    def _size_or_external(cls, size: int | None, info: ValidationInfo) -> int:
        if size is None and not info.data.get("external_url"):
            raise ValueError("must be a whole number of at least 0")
        return size or 0

    def to_new(self) -> NewFile:
        """The file as the service takes it."""
        return NewFile(
            name=self.name,
            size=self.size or 0,
            role=FileRole(self.role or FileRole.PRIMARY),
            external_url=self.external_url,
            sha256=self.sha256,
        )


class UploadRequest(Schema):
    """A new traceset and the files that will be sent for it."""

    workspace_id: Annotated[str | None, Field(description="null: the universal workspace.")] = None
    name: Name
    description: Annotated[str, Field(max_length=DESCRIPTION_LENGTH)] | None = None
    tags: Tags | None = None
    ttl_days: Annotated[
        Annotated[int, Field(ge=1, le=365)] | None, Field(description="null: the server's default lifetime.")
    ] = None
    files: Annotated[list[UploadFileSpec], Field(min_length=1, max_length=MAX_FILES)]
    workload_metadata: WorkloadMetadata = None

    def to_new(self) -> NewUpload:
        """The upload as the service takes it."""
        return NewUpload(
            kind=Kind.TRACESET,
            workspace_id=self.workspace_id,
            name=self.name,
            description=self.description,
            tags=self.tags or (),
            ttl_days=self.ttl_days,
            files=[file.to_new() for file in self.files],
            workload_metadata=self.workload_metadata,
        )


class CompletedPartInput(Schema):
    """A part that was sent."""

    part_number: Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": MAX_PARTS})]
    etag: Annotated[str | None, Field(description="As the store answered it; null where it could not be read.")] = None


class CompletedFileInput(Schema):
    """A file that was sent, with all its parts in any order."""

    name: str
    parts: list[CompletedPartInput] | None = None

    def to_named(self) -> tuple[str, list[tuple[int, str | None]]]:
        """The file as the service takes it."""
        return self.name, [(part.part_number, part.etag) for part in self.parts or ()]


class CompleteUploadRequest(Schema):
    """A session, and every part of every file that was sent for it."""

    upload_id: str
    files: list[CompletedFileInput]


class UploadHeaders(Schema):
    """What makes a request safe to repeat."""

    idempotency_key: Annotated[
        str | None,
        Field(
            alias="Idempotency-Key",
            min_length=1,
            max_length=IDEMPOTENCY_KEY_LENGTH,
            description="Of the client's choice: a repeated request with the same key and body answers, for 24 hours, "
            "with the session that the first one opened and fresh URLs. With another body it is refused.",
            examples=["2f1c6f0a-6e0e-4d0a-9f3b-8a3f5c1d7e42"],
        ),
    ] = None


class UploadPart(Schema):
    """One part to PUT: exactly `size` bytes to `url`."""

    part_number: int
    size: int
    url: str


class UploadFile(Schema):
    """One file of an upload; without parts where nothing is to be sent."""

    name: str
    parts: list[UploadPart]
    part_urls_expire_at: datetime


class UploadResponse(Schema):
    """An open upload session."""

    upload_id: str
    traceset_id: Annotated[str | None, Field(description="Of an upload of a traceset.")] = None
    mapping_file_id: Annotated[str | None, Field(description="Of an upload of a mapping file.")] = None
    checksum_algorithm: Literal["SHA256"]
    files: list[UploadFile]
    expires_at: datetime


class SessionPart(Schema):
    """One part of the plan: held by the store with its `etag`, or still to be sent to `url`."""

    part_number: int
    size: int
    uploaded: bool
    etag: str | None = None
    url: str | None = None


class SessionFile(Schema):
    """One file of a session."""

    name: str
    size: int
    part_urls_expire_at: datetime
    parts: list[SessionPart]


class UploadSession(Schema):
    """A session as it stands."""

    upload_id: str
    traceset_id: Annotated[str | None, Field(description="Of an upload of a traceset.")] = None
    mapping_file_id: Annotated[str | None, Field(description="Of an upload of a mapping file.")] = None
    state: SessionState
    failure: str | None = None
    expires_at: datetime
    files: list[SessionFile]
