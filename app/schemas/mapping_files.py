"""Mapping files: what maps ranks to places in a topology (M1)."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from app.models.tracesets import MAX_FILES, FileRole, Kind, Status
from app.schemas.base import Schema
from app.schemas.uploads import SHA256, FileName, Name, Size
from app.services.uploads import NewFile, NewUpload


class MappingFileSpec(Schema):
    """A file to be uploaded."""

    name: FileName
    size: Size
    sha256: SHA256 | None = None


class MappingUploadRequest(Schema):
    """A new mapping file; it has no roles and no rank count."""

    workspace_id: Annotated[str | None, Field(description="null: the universal workspace.")] = None
    name: Name
    files: Annotated[list[MappingFileSpec], Field(min_length=1, max_length=MAX_FILES)]

    def to_new(self) -> NewUpload:
        """The upload as the service takes it."""
        return NewUpload(
            kind=Kind.MAPPING,
            workspace_id=self.workspace_id,
            name=self.name,
            files=[NewFile(file.name, file.size, FileRole.SUPPORTING, sha256=file.sha256) for file in self.files],
        )


class MappedFile(Schema):
    """One file of a mapping file."""

    name: str
    size: Size


class MappingFile(Schema):
    """A mapping file with all its files."""

    id: str
    name: str
    status: Status
    files: list[MappedFile]
    total_size: Annotated[int, Field(description="Bytes.")]
    workspace_id: str
    created_at: datetime
