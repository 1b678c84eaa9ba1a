"""Who calls the API: the person behind the bearer token (G1)."""

from flask import current_app, g, request

from app.errors import Unauthenticated
from app.observability import request_id
from app.schemas.endpoints import Endpoint
from app.services.people import authenticate_token


def authenticate() -> None:
    """Find the caller before any route of the API runs, but for those that are declared public.

    Raises:
        Unauthenticated: no token, or none that may be used.
    """
    endpoint = getattr(current_app.view_functions.get(request.endpoint or ""), "endpoint", None)
    if isinstance(endpoint, Endpoint) and endpoint.is_public:
        return
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("Give an API token: Authorization: Bearer <token>")
    caller = authenticate_token(token.strip(), remote_address=request.remote_addr, request_id=request_id())
    if caller is None:
        raise Unauthenticated("This API token is not known, has run out or was revoked")
    g.caller = caller
