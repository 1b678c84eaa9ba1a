"""The caller's workspaces (K3)."""

from flask import Response

from app.api.endpoint import Routes, respond
from app.domain.access import Caller
from app.queries.people import list_workspaces
from app.schemas import workspaces as schemas
from app.transactions import reading

routes = Routes("workspaces")


@routes.endpoint("GET", "/workspaces", answers={200: schemas.WorkspaceList})
def list_all(caller: Caller) -> Response:
    """List the workspaces that the caller reads, with the caller's role in each."""
    with reading() as session:
        found = list_workspaces(session, caller)
    return respond({"items": [{"id": w.id, "name": w.name, "role": role and role.value} for w, role in found]})
