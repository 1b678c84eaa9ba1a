"""People, their tokens and sign-in links."""

import re
from contextlib import suppress
from datetime import timedelta

from argon2 import PasswordHasher
from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError

from app import clock
from app.domain.access import Caller
from app.errors import Conflict, DatabaseUnavailable, Invalid, NotFound
from app.models.events import EventKind
from app.models.people import EMAIL_LENGTH, TOKEN_NAME_LENGTH, ApiToken, SignInLink, User
from app.queries.people import find_token, get_user, roles_of
from app.security import SHOWN_PREFIX_LENGTH, hash_token, new_token
from app.services import events
from app.transactions import reading, transaction

LINK_LIFETIME = timedelta(hours=1)
MIN_PASSWORD_LENGTH = 12
MAX_PASSWORD_LENGTH = 128
"""Characters; a bound on the work that one attempt to sign in costs.

Source of both: OWASP ASVS 4.0.3, requirements 2.1.1 and 2.1.2.
"""
LAST_USE_PRECISION = timedelta(minutes=1)
"""How often the use of a token is written down: a list of tokens needs no more, and reading must not write."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_hasher = PasswordHasher()


def create_user(
    email: str, *, password: str | None = None, is_admin: bool = False, actor: Caller = events.NOBODY
) -> int:
    """Add a person and answer their id; without a password they sign in by a link.

    Raises:
        Invalid: the address or the password cannot be one.
        Conflict: somebody has the address already.
    """
    email = email.strip().lower()
    if not _EMAIL.fullmatch(email) or len(email) > EMAIL_LENGTH:
        raise Invalid(f"'{email}' is not an e-mail address")
    password_hash = None if password is None else hash_password(password)
    user = User(email=email, password_hash=password_hash, is_admin=is_admin, is_disabled=False, created_at=clock.now())
    try:
        with transaction() as session:
            session.add(user)
            session.flush()
            events.record(session, actor, EventKind.PERSON_ADDED, user_id=user.id, is_admin=is_admin)
    except IntegrityError as exc:
        raise Conflict(f"'{email}' is there already") from exc
    return user.id


def hash_password(password: str) -> str:
    """The password's argon2id hash.

    Raises:
        Invalid: it is shorter or longer than allowed.
    """
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise Invalid(f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters")
    return _hasher.hash(password)


def create_token(
    email: str,
    *,
    name: str = "token",
    is_read_only: bool = False,
    days: int | None = None,
    actor: Caller = events.NOBODY,
) -> str:
    """A new API token of this person; its text is told here once and never again (K2)."""
    name = name.strip()
    if not 1 <= len(name) <= TOKEN_NAME_LENGTH:
        raise Invalid(f"A token's name has 1 to {TOKEN_NAME_LENGTH} characters")
    if days is not None and not 1 <= days <= 36_500:
        raise Invalid(f"A token lives 1 to 36500 days, got {days}")
    text, now = new_token(), clock.now()
    with transaction() as session:
        user = get_user(session, email)
        session.add(
            ApiToken(
                user_id=user.id,
                name=name,
                prefix=text[:SHOWN_PREFIX_LENGTH],
                token_hash=hash_token(text),
                is_read_only=is_read_only,
                created_at=now,
                expires_at=None if days is None else now + timedelta(days=days),
            )
        )
        events.record(
            session, actor, EventKind.TOKEN_CREATED, user_id=user.id, name=name, prefix=text[:SHOWN_PREFIX_LENGTH]
        )
    return text


def revoke_token(prefix: str, *, actor: Caller = events.NOBODY) -> None:
    """End the one token that begins so; ending it again is harmless.

    Raises:
        NotFound: no token begins so.
        Conflict: several do.
    """
    with transaction() as session:
        begins_so = ApiToken.prefix.startswith(prefix[:SHOWN_PREFIX_LENGTH], autoescape=True)
        tokens = list(session.scalars(select(ApiToken).where(begins_so).limit(2))) if prefix else []
        if len(prefix) > SHOWN_PREFIX_LENGTH:
            tokens = [t for t in tokens if t.token_hash == hash_token(prefix)]
        if not tokens:
            raise NotFound("No token begins so")
        if len(tokens) > 1:
            raise Conflict("Several tokens begin so; give more of it")
        if tokens[0].revoked_at is None:
            tokens[0].revoked_at = clock.now()
            events.record(session, actor, EventKind.TOKEN_REVOKED, user_id=tokens[0].user_id, prefix=tokens[0].prefix)


def revoke_own_token(caller: Caller, token_id: int) -> str:
    """End one of the caller's tokens and answer its name; ending it again is harmless.

    Raises:
        NotFound: the caller has no such token.
    """
    with transaction() as session:
        token = session.scalar(select(ApiToken).where(ApiToken.id == token_id, ApiToken.user_id == caller.user_id))
        if token is None:
            raise NotFound("You have no such token")
        if token.revoked_at is None:
            token.revoked_at = clock.now()
            events.record(session, caller, EventKind.TOKEN_REVOKED, user_id=token.user_id, prefix=token.prefix)
    return token.name


def create_sign_in_link(email: str, *, actor: Caller = events.NOBODY) -> str:
    """The secret of a link that signs this person in once, within the hour."""
    secret, now = new_token(), clock.now()
    with transaction() as session:
        user = get_user(session, email)
        if user.is_disabled:
            raise Conflict(f"'{email}' is disabled")
        session.execute(delete(SignInLink).where(SignInLink.expires_at < now))
        session.add(SignInLink(token_hash=hash_token(secret), user_id=user.id, expires_at=now + LINK_LIFETIME))
        events.record(session, actor, EventKind.LINK_CREATED, user_id=user.id)
    return secret


def authenticate_token(token: str, *, remote_address: str | None, request_id: str | None) -> Caller | None:
    """Who calls with this token, or None where it may not be used."""
    now = clock.now()
    with reading() as session:
        found = find_token(session, hash_token(token), now)
        if found is None:
            return None
        api_token, user = found
        roles = roles_of(session, user.id)
    if api_token.last_used_at is None or now - api_token.last_used_at > LAST_USE_PRECISION:
        _note_use(api_token.id)
    return Caller(
        user_id=user.id,
        email=user.email,
        is_admin=user.is_admin,
        is_read_only=api_token.is_read_only,
        roles=roles,
        token_id=api_token.id,
        remote_address=remote_address,
        request_id=request_id,
    )


def _note_use(token_id: int) -> None:
    # Where the database takes nothing, what it holds may still be read.
    with suppress(DatabaseUnavailable), transaction() as session:
        session.execute(update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=clock.now()))
