"""The door: signing in by password or by a link, and signing out."""

from flask import Blueprint, Response, flash, g, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.redirects import local_path
from app.errors import Invalid
from app.forms.login import SignInForm
from app.security import begin_session, end_session, session_secret
from app.services import sign_in
from app.web.auth import caller, public

blueprint = Blueprint("login", __name__)


@blueprint.get("/login")
@public
def form() -> ResponseReturnValue:
    """Ask for address and password; who is signed in goes on at once."""
    target = local_path(request.args.get("next"))
    if "caller" in g:
        return redirect(target)
    return render_template("login/form.html", form=SignInForm(data={"next": target}))


@blueprint.post("/login")
@public
def submit() -> ResponseReturnValue:
    """Sign in by password."""
    form = SignInForm()
    if form.validate():
        try:
            secret = sign_in.sign_in(form.email.data, form.password.data, remote_address=request.remote_addr)
        except Invalid as exc:
            form.password.errors = [exc.message]
        else:
            return _begin(secret, local_path(form.next.data))
    return render_template("login/form.html", form=form), 400


@blueprint.get("/login/<secret>")
@public
def link(secret: str) -> Response:
    """Show whom a link signs in. Only the button uses it up: scanners of mail follow links too."""
    page = render_template("login/link.html", secret=secret, email=sign_in.peek_link(secret))
    return _unkept(make_response(page))


@blueprint.post("/login/<secret>")
@public
def follow_link(secret: str) -> ResponseReturnValue:
    """Use a link up."""
    return _begin(sign_in.sign_in_by_link(secret), "/")


@blueprint.post("/logout")
def sign_out() -> ResponseReturnValue:
    """End this session."""
    sign_in.sign_out(session_secret() or "")
    return _leave("You are signed out")


@blueprint.post("/logout-everywhere")
def sign_out_everywhere() -> ResponseReturnValue:
    """End all sessions of the person."""
    sign_in.sign_out_everywhere(caller())
    return _leave("You are signed out everywhere")


def _begin(secret: str, target: str) -> ResponseReturnValue:
    begin_session(secret)
    return redirect(target, 303)


def _leave(message: str) -> ResponseReturnValue:
    end_session()
    flash(message)
    return redirect(url_for("web.login.form"), 303)


def _unkept(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
