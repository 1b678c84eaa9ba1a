"""Workspaces and members as the API shows them (K1, K3)."""

from typing import Annotated

from pydantic import Field

from app.domain.access import Role
from app.schemas.base import Schema
from app.schemas.uploads import Name


class Workspace(Schema):
    """A workspace, and what the caller is in it."""

    id: str
    name: str
    role: Annotated[Role | None, Field(description="null: no member, but it may be read.")]


class WorkspaceList(Schema):
    """All workspaces that the caller reads."""

    items: list[Workspace]


class WorkspaceRequest(Schema):
    """A new workspace."""

    name: Name


class Member(Schema):
    """Somebody who belongs to a workspace."""

    email: str
    role: Role


class MemberList(Schema):
    """Everybody who belongs to a workspace."""

    items: list[Member]


class MemberRequest(Schema):
    """What somebody is to be in a workspace."""

    role: Annotated[Role, Field(strict=False)]
