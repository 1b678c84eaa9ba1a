"""Who looks at the pages: every route needs a person who is signed in, but for those marked `@public`."""

from collections.abc import Callable
from typing import Any, TypeVar

from flask import current_app, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError

from app.domain.access import Caller
from app.errors import Invalid, Unauthenticated
from app.extensions import csrf
from app.observability import note_person, request_id
from app.security import session_secret
from app.services.sign_in import SignedIn, find_signed_in

View = TypeVar("View", bound=Callable[..., Any])

FRAGMENT_HEADER = "X-Fragment"
"""Sent by our scripts, which swap a part of a page: they want no redirect to another page."""


def public(view: View) -> View:
    """Mark a view as open to everyone."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def guard() -> ResponseReturnValue | None:
    """Run before every view of the pages: find the person, send strangers to the door, check the CSRF token.

    Raises:
        Unauthenticated: a script asks for a fragment, and nobody is signed in (any more).
        Invalid: a form came without its CSRF token, or with an old one; or a text holds NUL.
    """
    _refuse_nul()
    secret = session_secret()
    found = find_signed_in(secret, remote_address=request.remote_addr, request_id=request_id()) if secret else None
    if found is not None:
        g.signed_in, g.caller = found, found.caller
        note_person(found.caller.user_id)
    elif not getattr(current_app.view_functions[request.endpoint or ""], "is_public", False):
        return _send_to_the_door()
    try:
        csrf.protect()
    except CSRFError as exc:
        raise Invalid("This form has lost touch with your session; please go back, reload the page and retry") from exc
    return None


def _refuse_nul() -> None:
    """Refuse a text with NUL, which PostgreSQL would not take."""
    in_path = (value for value in (request.view_args or {}).values() if isinstance(value, str))
    in_forms = (value for values in request.values.lists() for value in values[1])
    if any("\0" in value for value in (*in_path, *in_forms)):
        raise Invalid("The request holds NUL, which no text does")


def _send_to_the_door() -> ResponseReturnValue:
    if FRAGMENT_HEADER in request.headers:
        raise Unauthenticated("You are no longer signed in; please reload the page")
    wanted = request.full_path.rstrip("?") if request.method == "GET" else None
    return redirect(url_for("web.login.form", next=wanted if wanted != "/" else None))


def caller() -> Caller:
    """The person who is signed in, in any view that is not public."""
    person: Caller = g.caller
    return person


def signed_in() -> SignedIn:
    """Their session."""
    session: SignedIn = g.signed_in
    return session
