"""Tokens, their hashes, the browser's session, and the headers that every response carries."""

import hashlib
import secrets
from datetime import timedelta
from urllib.parse import urlsplit

from flask import Flask, Response, session

from app.settings import Settings

TOKEN_PREFIX = "tracesets_"  # noqa: S105 - the word that every token begins with
"""All API tokens begin so, for the scanners that look for leaked secrets."""
SHOWN_PREFIX_LENGTH = len(TOKEN_PREFIX) + 6
_SESSION_KEY = "secret"
_HSTS = f"max-age={365 * 86_400}; includeSubDomains"


def new_token() -> str:
    """A fresh API token of 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """The SHA-256 by which a token is stored and found, in hex.

    A random token of 256 bits needs no slow hash, and looking up its digest tells an attacker's clock nothing
    about the token.
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def session_secret() -> str | None:
    """What the browser's cookie holds of its session; None where it has none."""
    secret = session.get(_SESSION_KEY)
    return secret if isinstance(secret, str) else None


def begin_session(secret: str) -> None:
    """Give the browser a new session; nothing of the one before lives on, so that none can be planted."""
    end_session()
    session[_SESSION_KEY] = secret
    session.permanent = True


def end_session() -> None:
    """Forget the browser's session, and with it the CSRF token that belongs to it."""
    session.clear()


def upload_origins(settings: Settings) -> list[str]:
    """Where the signed URLs of this deployment may lead beside the page's own origin: both styles of S3 addresses."""
    if not settings.s3_bucket:
        return [settings.base_url] if settings.base_url else []
    endpoint = settings.s3_public_endpoint_url or settings.s3_endpoint_url
    hosts = [endpoint] if endpoint else [f"https://s3.{settings.s3_region}.amazonaws.com", "https://s3.amazonaws.com"]
    parts = [urlsplit(host) for host in hosts]
    by_path = [f"{part.scheme}://{part.netloc}" for part in parts]
    return by_path + [f"{part.scheme}://{settings.s3_bucket}.{part.netloc}" for part in parts]


def content_security_policy(settings: Settings) -> str:
    """What pages may load: our own files, Bootstrap's `data:` images, and for uploads the object store."""
    connect = " ".join(["'self'", *upload_origins(settings)])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
        f"connect-src {connect}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def init_app(app: Flask, settings: Settings) -> None:
    """Set what protects forms and cookies, and add the security headers to every response that does not set its own."""
    is_https = (settings.base_url or "").startswith("https://")
    app.config.update(
        # Browsers take a cookie of such a name from this very host alone, and by https.
        SESSION_COOKIE_NAME="__Host-tracesets_session" if is_https else "tracesets_session",
        PERMANENT_SESSION_LIFETIME=timedelta(seconds=settings.sign_in_ttl),
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        # Else every answer would set it anew, those of style sheets too.
        SESSION_REFRESH_EACH_REQUEST=False,
        SESSION_COOKIE_SECURE=is_https,
        # Each door asks for the token itself: the pages always, the API where a browser's session is the credential.
        WTF_CSRF_CHECK_DEFAULT=False,
        # The token lives as long as the session it belongs to; an upload may take a day.
        WTF_CSRF_TIME_LIMIT=None,
    )
    policy = content_security_policy(settings)

    @app.after_request
    def add_headers(response: Response) -> Response:
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Referrer-Policy", "same-origin")
        response.headers.setdefault("Content-Security-Policy", policy)
        if is_https:
            response.headers.setdefault("Strict-Transport-Security", _HSTS)
        return response
