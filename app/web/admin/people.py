"""People: who may sign in, who administers the site, and links for those who cannot."""

from flask import Response, flash, make_response, redirect, request, url_for
from flask.typing import ResponseReturnValue

from app import clock
from app.errors import AppError, Conflict, Invalid
from app.extensions import public_origin
from app.forms.admin import InviteForm
from app.models.people import EMAIL_LENGTH
from app.queries.admin import list_people
from app.services import administration
from app.transactions import reading
from app.web.admin.area import blueprint, neighbours, turn_of
from app.web.auth import caller
from app.web.pages import render


@blueprint.get("/people")
def people() -> ResponseReturnValue:
    """List them by address."""
    return _page(InviteForm())


@blueprint.post("/people")
def invite() -> ResponseReturnValue:
    """Add somebody, and show the link that lets them in, this once."""
    form = InviteForm()
    if form.validate():
        try:
            secret = administration.invite(caller(), form.email.data, is_admin=form.is_admin.data)
        except (Invalid, Conflict) as exc:
            form.email.errors = [exc.message]
        else:
            return _with_link(form.email.data.strip().lower(), secret)
    return _page(form), 400


@blueprint.post("/people/<int:user_id>/link")
def new_link(user_id: int) -> ResponseReturnValue:
    """Make another link for somebody who cannot sign in, and show it, this once."""
    try:
        email, secret = administration.new_link(caller(), user_id)
    except Conflict as exc:
        return _refused(exc)
    return _with_link(email, secret)


@blueprint.post("/people/<int:user_id>/disable")
def disable(user_id: int) -> ResponseReturnValue:
    """Let somebody in no more."""
    try:
        email = administration.set_disabled(caller(), user_id, is_disabled=True)
    except Conflict as exc:
        return _refused(exc)
    return _done(f"{email} is disabled and signed out everywhere")


@blueprint.post("/people/<int:user_id>/enable")
def enable(user_id: int) -> ResponseReturnValue:
    """Let somebody in again."""
    return _done(f"{administration.set_disabled(caller(), user_id, is_disabled=False)} may sign in again")


@blueprint.post("/people/<int:user_id>/admin")
def make_admin(user_id: int) -> ResponseReturnValue:
    """Make somebody a site administrator."""
    return _done(f"{administration.set_admin(caller(), user_id, is_admin=True)} administers the site now")


@blueprint.post("/people/<int:user_id>/no-admin")
def unmake_admin(user_id: int) -> ResponseReturnValue:
    """Make somebody a site administrator no longer."""
    try:
        email = administration.set_admin(caller(), user_id, is_admin=False)
    except Conflict as exc:
        return _refused(exc)
    return _done(f"{email} administers the site no longer")


def _page(form: InviteForm, *, link: str | None = None, invited: str | None = None) -> str:
    term = request.args.get("search", "").strip()[:EMAIL_LENGTH]
    with reading() as session:
        leaf = list_people(session, term, clock.now(), turn_of(lambda text: text[:EMAIL_LENGTH]))
    return render(
        "admin/people.html",
        "admin/_people.html",
        form=form,
        rows=leaf.rows,
        neighbours=neighbours(leaf, lambda row: row.user.email),
        term=term,
        link=link,
        invited=invited,
        own_id=caller().user_id,
    )


def _with_link(email: str, secret: str) -> Response:
    page = _page(InviteForm(formdata=None), link=f"{public_origin()}/login/{secret}", invited=email)
    response = make_response(page)
    response.headers["Cache-Control"] = "no-store"
    return response


def _done(message: str) -> ResponseReturnValue:
    flash(message)
    return redirect(url_for("web.admin.people"), 303)


def _refused(exc: AppError) -> ResponseReturnValue:
    flash(exc.message, "error")
    return redirect(url_for("web.admin.people"), 303)
