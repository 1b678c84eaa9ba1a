"""Who calls the API: the person behind the bearer token, or behind the browser's session (G1)."""

from flask import current_app, g, request
from flask_wtf.csrf import validate_csrf
from wtforms import ValidationError

from app.api.rate_limits import count_request
from app.domain.access import Caller
from app.errors import Unauthenticated
from app.observability import note_person, request_id
from app.schemas.endpoints import Endpoint
from app.security import session_secret
from app.services.people import authenticate_token
from app.services.sign_in import find_signed_in


def authenticate() -> None:
    """Find the caller before any route of the API runs, but for those that are declared public.

    Raises:
        Unauthenticated: no token and no session, or none that may be used.
        RateLimited: too many requests came with it.
    """
    endpoint = getattr(current_app.view_functions.get(request.endpoint or ""), "endpoint", None)
    if isinstance(endpoint, Endpoint) and endpoint.is_public:
        return
    g.caller = _by_token() if "Authorization" in request.headers else _by_session()
    note_person(g.caller.user_id)
    count_request(g.caller)


def _by_token() -> Caller:
    scheme, _, token = request.headers["Authorization"].partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("Give an API token: Authorization: Bearer <token>")
    caller = authenticate_token(token.strip(), remote_address=request.remote_addr, request_id=request_id())
    if caller is None:
        raise Unauthenticated("This API token is not known, has run out or was revoked")
    return caller


def _by_session() -> Caller:
    """The person who is signed in; for a change, the CSRF token must come along in `X-CSRFToken`."""
    secret = session_secret()
    found = secret and find_signed_in(secret, remote_address=request.remote_addr, request_id=request_id())
    if not found:
        raise Unauthenticated("Give an API token: Authorization: Bearer <token>")
    if request.method not in ("GET", "HEAD"):
        _require_csrf_token()
    return found.caller


def _require_csrf_token() -> None:
    try:
        validate_csrf(request.headers.get("X-CSRFToken"))
    except ValidationError as exc:
        raise Unauthenticated("A browser's session changes nothing without its CSRF token in X-CSRFToken") from exc
