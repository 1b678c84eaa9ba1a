"""Workspaces: which there are, who belongs to them, and what is in them."""

from flask import Blueprint, flash, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app.domain.access import Role
from app.domain.ids import UNIVERSAL_WORKSPACE_ID
from app.errors import Conflict, Invalid, NotFound
from app.extensions import app_settings
from app.forms.workspaces import MemberForm, WorkspaceForm
from app.queries.events import list_events
from app.queries.listing import Filters
from app.queries.overview import sum_workspace
from app.queries.people import get_workspace, list_members, list_workspaces
from app.services.listing import Listing, list_tracesets
from app.services.workspaces import create_workspace, remove_member, set_member
from app.transactions import reading
from app.web.auth import caller

blueprint = Blueprint("workspaces", __name__, url_prefix="/workspaces")

LATEST_SHOWN = 8
EVENTS_SHOWN = 10


@blueprint.get("")
def index() -> ResponseReturnValue:
    """List those that the person reads."""
    return _list(WorkspaceForm(formdata=None))


@blueprint.post("")
def create() -> ResponseReturnValue:
    """Make one that the person owns."""
    form = WorkspaceForm()
    if form.validate():
        try:
            workspace_id = create_workspace(caller(), form.name.data)
        except Invalid as exc:
            form.name.errors = [exc.message]
        else:
            flash("The workspace was made; now add its members")
            return redirect(url_for("web.workspaces.detail", workspace_id=workspace_id), 303)
    return _list(form), 400


@blueprint.get("/<workspace_id>")
def detail(workspace_id: str) -> ResponseReturnValue:
    """Show one."""
    return _one(workspace_id, MemberForm(formdata=None))


@blueprint.post("/<workspace_id>/members")
def put_member(workspace_id: str) -> ResponseReturnValue:
    """Add a member, or change a member's role."""
    form = MemberForm()
    if form.validate():
        try:
            set_member(caller(), workspace_id, form.email.data, Role(form.role.data))
        except (NotFound, Conflict) as exc:
            _require_visible(workspace_id)
            form.email.errors = [exc.message]
        else:
            flash(f"{form.email.data.strip().lower()} is {form.role.data} now")
            return _back_to(workspace_id)
    return _one(workspace_id, form), 400


@blueprint.post("/<workspace_id>/members/<path:email>/remove")
def drop_member(workspace_id: str, email: str) -> ResponseReturnValue:
    """End a membership; one's own too."""
    try:
        remove_member(caller(), workspace_id, email)
    except Conflict as exc:
        flash(exc.message, "error")
        return _back_to(workspace_id)
    flash(f"{email} is no longer a member")
    if email == caller().email and workspace_id != UNIVERSAL_WORKSPACE_ID and not caller().is_admin:
        return redirect(url_for("web.workspaces.index"), 303)
    return _back_to(workspace_id)


def _back_to(workspace_id: str) -> ResponseReturnValue:
    return redirect(url_for("web.workspaces.detail", workspace_id=workspace_id), 303)


def _require_visible(workspace_id: str) -> None:
    """So that an unknown workspace is a page of its own, and only an unknown person is told beside the field."""
    with reading() as session:
        get_workspace(session, caller(), workspace_id)


def _list(form: WorkspaceForm) -> str:
    with reading() as session:
        workspaces = list_workspaces(session, caller())
    return render_template("workspaces/index.html", workspaces=workspaces, form=form)


def _one(workspace_id: str, form: MemberForm) -> str:
    person, has_traces = caller(), app_settings().enable_trace_routes
    with reading() as session:
        workspace = get_workspace(session, person, workspace_id)
        members = list_members(session, workspace_id)
        sums = sum_workspace(session, workspace_id) if has_traces else []
        events = list_events(session, workspace_id=workspace_id, before=None, limit=EVENTS_SHOWN)
    latest = list_tracesets(person, Listing(Filters(workspace_id=workspace_id), limit=LATEST_SHOWN))
    return render_template(
        "workspaces/detail.html",
        workspace=workspace,
        members=members,
        sums=sums,
        latest=latest.items if has_traces else [],
        events=events,
        form=form,
        roles=list(Role),
        may_manage=person.may_manage(workspace_id),
        is_universal=workspace_id == UNIVERSAL_WORKSPACE_ID,
    )
