"""Changing tracesets, one by one or many at once; absent where the deployment only reads (G6)."""

from collections.abc import Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from wtforms.fields.choices import SelectChoice

from app.domain import strict_json
from app.domain.access import Caller
from app.domain.redirects import local_path
from app.errors import Forbidden, Invalid
from app.forms.tracesets import EditForm, PromoteForm, TagsForm, lines_of
from app.models.tracesets import Traceset
from app.queries.people import workspace_names
from app.queries.tracesets import get_traceset, select_visible_tracesets
from app.services import selections
from app.services.deletion import delete_traceset
from app.services.editing import edit_traceset
from app.services.promotion import promote_traceset
from app.services.selections import MAX_SELECTED, Outcome
from app.transactions import reading
from app.web.auth import caller
from app.web.filters import visible
from app.web.pages import render

blueprint = Blueprint("traceset_changes", __name__, url_prefix="/tracesets")


@blueprint.get("/<traceset_id>/edit")
def edit(traceset_id: str) -> ResponseReturnValue:
    """Ask for another name, description and tags."""
    traceset = _changeable(traceset_id)
    form = EditForm(data={"name": traceset.name, "description": traceset.description, "tags": "\n".join(traceset.tags)})
    return render("traceset/edit.html", "traceset/_edit.html", traceset=traceset, form=form)


@blueprint.post("/<traceset_id>/edit")
def save(traceset_id: str) -> ResponseReturnValue:
    """Change them."""
    traceset, form = _changeable(traceset_id), EditForm()
    if form.validate():
        try:
            edit_traceset(
                caller(),
                traceset_id,
                name=form.name.data,
                description=_unix(form.description.data),
                tags=lines_of(form.tags.data),
            )
        except Invalid as exc:
            _show(form, exc.message)
        else:
            flash("The changes were saved")
            return redirect(url_for("web.traceset.detail", traceset_id=traceset_id), 303)
    return render_template("traceset/edit.html", traceset=traceset, form=form), 400


@blueprint.get("/<traceset_id>/promote")
def promote(traceset_id: str) -> ResponseReturnValue:
    """Ask where it is to be published."""
    with reading() as session:
        traceset = get_traceset(session, caller(), traceset_id)
    form = _promote_form(traceset, data={"name": traceset.name})
    return render("traceset/promote.html", "traceset/_promote.html", traceset=traceset, form=form)


@blueprint.post("/<traceset_id>/promote")
def publish(traceset_id: str) -> ResponseReturnValue:
    """Publish it, or find that it was already."""
    with reading() as session:
        traceset = get_traceset(session, caller(), traceset_id)
    form = _promote_form(traceset)
    if form.validate():
        try:
            text = (form.metadata.data or "").strip()
            promotion = promote_traceset(
                caller(),
                traceset_id,
                workspace_id=form.workspace_id.data,
                name=form.name.data.strip() or None,
                metadata=strict_json.loads_object(text.encode()) if text else None,
            )
        except Invalid as exc:
            _show(form, exc.message)
        else:
            flash("It was published: this is the new traceset" if promotion.is_first else "It was there already")
            return redirect(url_for("web.traceset.detail", traceset_id=promotion.traceset_id), 303)
    return render_template("traceset/promote.html", traceset=traceset, form=form), 400


@blueprint.get("/<traceset_id>/delete")
def ask_to_delete(traceset_id: str) -> ResponseReturnValue:
    """Say what a deletion would do."""
    traceset = _changeable(traceset_id)
    return render("traceset/delete.html", "traceset/_delete.html", traceset=traceset)


@blueprint.post("/<traceset_id>/delete")
def delete(traceset_id: str) -> ResponseReturnValue:
    """Delete it."""
    delete_traceset(caller(), traceset_id)
    flash(f"{traceset_id} was deleted")
    return redirect(url_for("web.tracesets.index"), 303)


@blueprint.post("/selected")
def selected(message: str | None = None, status: int = 200) -> ResponseReturnValue:
    """Show what was selected in the list, and what can be done with it."""
    ids = list(dict.fromkeys(request.form.getlist("id")))[:MAX_SELECTED]
    with reading() as session:
        statement = select_visible_tracesets(caller()).where(Traceset.id.in_(ids))
        found = {traceset.id: traceset for traceset in session.scalars(statement)}
        workspaces = _targets(caller(), workspace_names(session, caller()))
    if not found:
        flash("Nothing was selected", "error")
        return redirect(_back(), 303)
    tracesets = [found[traceset_id] for traceset_id in ids if traceset_id in found]
    page = render(
        "traceset/selected.html",
        "traceset/_selected.html",
        tracesets=tracesets,
        total_size=sum(traceset.total_size for traceset in tracesets),
        workspaces=workspaces,
        form=TagsForm(formdata=None),
        message=message,
        back=_back(),
    )
    return page, status


@blueprint.post("/selected/delete")
def delete_selected() -> ResponseReturnValue:
    """Delete them."""
    return _told("deleted", selections.delete_selected(caller(), request.form.getlist("id")))


@blueprint.post("/selected/promote")
def promote_selected() -> ResponseReturnValue:
    """Publish them."""
    target = request.form.get("workspace_id", "")
    return _told("published", selections.promote_selected(caller(), request.form.getlist("id"), target))


@blueprint.post("/selected/tag")
def tag_selected() -> ResponseReturnValue:
    """Give them more tags."""
    tags = lines_of(request.form.get("tags"))
    if not tags:
        return selected("Type a tag", 400)
    return _told("tagged", selections.tag_selected(caller(), request.form.getlist("id"), tags))


def _told(what: str, outcome: Outcome) -> ResponseReturnValue:
    noun = "traceset was" if outcome.n_done == 1 else "tracesets were"
    if outcome.n_done:
        flash(f"{outcome.n_done} {noun} {what}")
    shown = 5
    for traceset_id, reason in outcome.refused[:shown]:
        flash(f"{traceset_id} was not {what}: {reason}", "error")
    if len(outcome.refused) > shown:
        flash(f"{len(outcome.refused) - shown} more were not {what}", "error")
    return redirect(_back(), 303)


def _back() -> str:
    """The view of the list that the selection was made in."""
    return local_path(request.form.get("next"), url_for("web.tracesets.index"))


def _changeable(traceset_id: str) -> Traceset:
    """The traceset, for a page that asks what to change.

    Raises:
        NotFound: there is none for this caller.
        Forbidden: the caller may only read it.
    """
    with reading() as session:
        traceset = get_traceset(session, caller(), traceset_id)
    if not caller().may_change(traceset.workspace_id):
        raise Forbidden(f"You may not change what is in workspace '{traceset.workspace_id}'")
    return traceset


def _promote_form(traceset: Traceset, data: dict[str, str] | None = None) -> PromoteForm:
    form = PromoteForm(data=data)
    with reading() as session:
        targets = _targets(caller(), workspace_names(session, caller()))
    form.workspace_id.choices = [
        SelectChoice(value=target, label=visible(name))
        for target, name in targets.items()
        if target != traceset.workspace_id
    ]
    return form


def _targets(person: Caller, workspaces: Mapping[str, str]) -> dict[str, str]:
    """Where the person may publish."""
    return {workspace_id: name for workspace_id, name in workspaces.items() if person.may_change(workspace_id)}


def _show(form: EditForm | PromoteForm, message: str) -> None:
    """Put a service's refusal beside the field that it names, else above the form."""
    fields = {"tags": "tags", "description": "description", "workspaceId": "workspace_id", "name": "name"}
    named = next((field for word, field in fields.items() if message.startswith(word) and field in form), "metadata")
    if named in form:
        form[named].errors = [message]
    else:
        form.form_errors.append(message)


def _unix(text: str | None) -> str | None:
    """Text without the carriage returns that forms send at each line's end."""
    return text.replace("\r\n", "\n") if text else None
