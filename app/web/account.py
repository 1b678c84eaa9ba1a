"""A person's own page: password, tokens, and where they are signed in."""

from flask import Blueprint, Response, flash, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app import clock
from app.errors import Invalid
from app.forms.account import PasswordForm, TokenForm
from app.queries.people import count_web_sessions, has_password, list_tokens
from app.security import session_secret
from app.services import people, sign_in
from app.transactions import reading
from app.web.auth import caller, signed_in

blueprint = Blueprint("account", __name__, url_prefix="/account")


@blueprint.get("")
def index() -> ResponseReturnValue:
    """Show it."""
    return _page()


@blueprint.post("/password")
def change_password() -> ResponseReturnValue:
    """Set the password; other browsers are signed out by that."""
    form = PasswordForm()
    if form.validate():
        try:
            sign_in.change_password(signed_in(), session_secret() or "", old=form.old.data or "", new=form.new.data)
        except Invalid as exc:
            form.old.errors = [exc.message]
        else:
            flash("Your password was changed; all other browsers are signed out")
            return redirect(url_for("web.account.index"), 303)
    return _page(password_form=form), 400


@blueprint.post("/tokens")
def create_token() -> ResponseReturnValue:
    """Make a token and show it, this once."""
    form = TokenForm()
    if not form.validate():
        return _page(token_form=form), 400
    days = int(form.days.data) if form.days.data else None
    person = caller()
    token = people.create_token(
        person.email, name=form.name.data, is_read_only=form.is_read_only.data, days=days, actor=person
    )
    response = _page(new_token=token)
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.post("/tokens/<int:token_id>/revoke")
def revoke_token(token_id: int) -> ResponseReturnValue:
    """End one of the person's tokens."""
    name = people.revoke_own_token(caller(), token_id)
    flash(f"The token “{name}” was revoked")
    return redirect(url_for("web.account.index"), 303)


def _page(
    *, password_form: PasswordForm | None = None, token_form: TokenForm | None = None, new_token: str | None = None
) -> Response:
    """The page with these forms, or with empty ones."""
    now = clock.now()
    with reading() as session:
        tokens = list_tokens(session, caller())
        has_one = has_password(session, caller())
        n_browsers = count_web_sessions(session, caller(), now)
    page = render_template(
        "account/index.html",
        tokens=[(token, token.expires_at is not None and token.expires_at <= now) for token in tokens],
        needs_old_password=has_one and not signed_in().is_by_link,
        has_password=has_one,
        n_browsers=n_browsers,
        password_form=password_form or PasswordForm(formdata=None),
        token_form=token_form or TokenForm(formdata=None),
        new_token=new_token,
    )
    return make_response(page)
