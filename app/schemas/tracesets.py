"""Tracesets as the API shows them (R1-R3, W1, V1-V2)."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from app.models.tracesets import FileRole, MetadataStatus, Status
from app.schemas.base import Schema
from app.schemas.uploads import Name
from app.schemas.workload import WorkloadMetadata


class RankRange(Schema):
    """The ranks in a file, both ends included."""

    start: int
    end: int


class TracesetFile(Schema):
    """One file of a traceset."""

    name: str
    size: Annotated[int, Field(description="Bytes.")]
    role: FileRole
    metadata_status: MetadataStatus
    rank_range: Annotated[RankRange | None, Field(description="Only on the one primary file of a ready traceset.")] = (
        None
    )
    external_url: str | None = None


class Traceset(Schema):
    """A traceset with all its files."""

    id: str
    name: str
    description: str | None
    status: Status
    files: list[TracesetFile]
    total_size: Annotated[int, Field(description="Bytes.")]
    tags: list[str]
    workspace_id: str
    created_at: datetime
    expires_at: datetime | None
    rank_count_derived: Annotated[int | None, Field(description="The declared rank count.")]
    promoted_from: str | None = None
    workload_metadata: Annotated[WorkloadMetadata, Field(description="As it was given.")]


class DownloadQuery(Schema):
    """What is to be downloaded."""

    file: Annotated[
        str | None,
        Field(description="A file's name. Absent: all files, as one zip.", examples=["rank_0.chakra.json"]),
    ] = None


class DownloadURL(Schema):
    """A URL that gives the bytes without other credentials until `expiresAt`."""

    url: str
    expires_at: datetime
    file: str


class PromoteRequest(Schema):
    """How to publish; every member may be left out."""

    workspace_id: Annotated[str | None, Field(description="null: the universal workspace.")] = None
    name: Annotated[Name | None, Field(description="null: the traceset's own name.")] = None
    workload_metadata: Annotated[WorkloadMetadata, Field(description="null: the stored one, unchanged.")] = None


class ValidateRequest(Schema):
    """How to validate; every member may be left out."""

    topology_id: str | None = None
    deep: Annotated[bool | None, Field(description="Also read every byte.")] = None


class ValidationCheck(Schema):
    """One check's result."""

    name: str
    passed: bool
    message: str | None = None


class Validation(Schema):
    """The result of all checks; `valid` where all passed."""

    valid: bool
    checks: list[ValidationCheck]
