"""The caller's workspaces and their members (K1, K3)."""

from flask import Response

from app.api.endpoint import Routes, no_content, respond
from app.api.presenters import present_members, present_workspaces
from app.domain.access import Caller, Role
from app.queries.people import get_workspace, list_members, list_workspaces
from app.schemas import workspaces as schemas
from app.services.workspaces import create_workspace, remove_member, set_member
from app.transactions import reading

routes = Routes("workspaces")
_NOT_FOUND = {404: "Workspace 'workspace_notfound' not found"}
_MEMBER_ERRORS = {
    **_NOT_FOUND,
    403: "You do not manage the members of workspace 'workspace_def456'",
    409: "A workspace keeps at least one owner; make somebody else an owner first",
}


@routes.endpoint("GET", "/workspaces", answers={200: schemas.WorkspaceList})
def list_all(caller: Caller) -> Response:
    """List the workspaces that the caller reads, with the caller's role in each."""
    with reading() as session:
        found = list_workspaces(session, caller)
    return respond(present_workspaces(found))


@routes.endpoint(
    "POST", "/workspaces", body=schemas.WorkspaceRequest, answers={201: schemas.Workspace}, errors={403: ""}
)
def create(caller: Caller, body: schemas.WorkspaceRequest) -> Response:
    """Make a workspace that the caller owns."""
    workspace_id = create_workspace(caller, body.name)
    return respond({"id": workspace_id, "name": body.name, "role": Role.OWNER.value}, 201)


@routes.endpoint("GET", "/workspaces/<workspace_id>/members", answers={200: schemas.MemberList}, errors=_NOT_FOUND)
def members(caller: Caller, workspace_id: str) -> Response:
    """List who belongs to a workspace, and as what."""
    with reading() as session:
        get_workspace(session, caller, workspace_id)
        found = list_members(session, workspace_id)
    return respond(present_members(found))


@routes.endpoint(
    "PUT",
    "/workspaces/<workspace_id>/members/<path:email>",
    body=schemas.MemberRequest,
    answers={204: None},
    errors=_MEMBER_ERRORS,
)
def put_member(caller: Caller, workspace_id: str, email: str, body: schemas.MemberRequest) -> Response:
    """Add a member, or change their role; owners and site admins may."""
    set_member(caller, workspace_id, email, body.role)
    return no_content()


@routes.endpoint(
    "DELETE", "/workspaces/<workspace_id>/members/<path:email>", answers={204: None}, errors=_MEMBER_ERRORS
)
def delete_member(caller: Caller, workspace_id: str, email: str) -> Response:
    """Remove a member; owners and site admins may, and members may leave."""
    remove_member(caller, workspace_id, email)
    return no_content()
