"""Who may do what (K1). Pure: the roles are given, the answer follows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.domain.ids import UNIVERSAL_WORKSPACE_ID


class Role(StrEnum):
    """What a member may do: a viewer reads, an editor also changes, an owner also manages the members."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Caller:
    """The person behind a request, with the roles that counted when the request came in.

    `token_id` is None for a signed-in browser; `remote_address` and `request_id` go into the events.
    """

    user_id: int | None
    email: str = ""
    is_admin: bool = False
    is_read_only: bool = False
    roles: Mapping[str, Role] = field(default_factory=dict)
    token_id: int | None = None
    remote_address: str | None = None
    request_id: str | None = None

    def may_see(self, workspace_id: str) -> bool:
        """Everyone signed in reads the universal workspace, members read theirs, site admins all."""
        return self.is_admin or workspace_id in self.roles or workspace_id == UNIVERSAL_WORKSPACE_ID

    def may_change(self, workspace_id: str) -> bool:
        """Editors and owners change what is in their workspace, site admins everything; a read-only token nothing."""
        if self.is_read_only:
            return False
        return self.is_admin or self.roles.get(workspace_id) in (Role.EDITOR, Role.OWNER)

    def may_manage(self, workspace_id: str) -> bool:
        """Owners manage their members; site admins everybody's."""
        if self.is_read_only:
            return False
        return self.is_admin or self.roles.get(workspace_id) is Role.OWNER

    @property
    def visible_workspaces(self) -> frozenset[str] | None:
        """The ids of the workspaces that the caller reads; None means all of them."""
        return None if self.is_admin else frozenset(self.roles) | {UNIVERSAL_WORKSPACE_ID}
