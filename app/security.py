"""Tokens, their hashes, and the headers that every response carries."""

import hashlib
import secrets

from flask import Flask, Response

TOKEN_PREFIX = "tracesets_"  # noqa: S105 - the word that every token begins with
"""All API tokens begin so, for the scanners that look for leaked secrets."""
SHOWN_PREFIX_LENGTH = len(TOKEN_PREFIX) + 6


def new_token() -> str:
    """A fresh API token of 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """The SHA-256 by which a token is stored and found, in hex.

    A random token of 256 bits needs no slow hash, and looking up its digest tells an attacker's clock nothing
    about the token.
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def init_app(app: Flask) -> None:
    """Add the security headers to every response that does not set its own."""

    @app.after_request
    def add_headers(response: Response) -> Response:
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Referrer-Policy", "same-origin")
        response.headers.setdefault(
            "Content-Security-Policy",
            "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        )
        return response
