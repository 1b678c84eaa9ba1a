"""Workspaces as the API shows them (K3)."""

from typing import Annotated

from pydantic import Field

from app.domain.access import Role
from app.schemas.base import Schema


class Workspace(Schema):
    """A workspace, and what the caller is in it."""

    id: str
    name: str
    role: Annotated[Role | None, Field(description="null: no member, but it may be read.")]


class WorkspaceList(Schema):
    """All workspaces that the caller reads."""

    items: list[Workspace]
