"""Signing in to the pages: by password or by a link, into a session that has a row of its own.

Why rows and not a signed cookie alone: signing out must end a session also where its cookie was copied, and a person
must be able to end all of theirs.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import case, delete, func, or_, select, update
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.errors import DatabaseUnavailable, Gone, Invalid, RateLimited
from app.extensions import app_settings
from app.models.people import SignInFailure, SignInLink, User, WebSession
from app.queries.people import find_web_session, roles_of
from app.security import hash_token, new_token
from app.services.people import MAX_PASSWORD_LENGTH, hash_password
from app.transactions import changed, reading, transaction

SEEN_PRECISION = timedelta(minutes=5)
"""How often it is written down that a session is used: reading a page must not write."""

FAILURE_WINDOW = timedelta(minutes=15)
FAILURES_BY_PERSON_HERE = 10
"""For one person from one address. A person's own limit is wider, so that nobody else can lock them out soon."""
FAILURES_BY_PERSON = 25
"""A hundred an hour. Source: OWASP ASVS 4.0.3, requirement 2.2.1."""
FAILURES_BY_ADDRESS = 100

WRONG = "This e-mail address and password do not belong together"
LINK_GONE = "This sign-in link was used already, or has run out; ask for a new one"

log = structlog.get_logger()

_hasher = PasswordHasher()
NOBODYS_HASH = "$argon2id$v=19$m=65536,t=3,p=4$de8jR812xL4czJpzL1J4jA$jfgBs/U4PKHtXqweoC5i/Cd3Dd4yPtByiViOGmz92rk"
"""The hash of a word, compared with where there is no such person, so that the clock does not tell which addresses are
known. Made beforehand: to make it takes each command a third of a second.
"""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who a browser's session belongs to; `is_by_link` as in `WebSession`."""

    caller: Caller
    is_by_link: bool


def sign_in(email: str, password: str, *, remote_address: str | None) -> str:
    """The secret of a new session of the person who has this address and password.

    Raises:
        Invalid: they do not belong together; whether the address is known is not told.
        RateLimited: there were too many failures of late.
    """
    email = email.strip().lower()
    email_hash, now = hash_token(email), clock.now()
    with reading() as session:
        _require_few_failures(session, email_hash, remote_address, now)
        user = session.scalar(select(User).where(User.email == email, User.is_disabled.is_(False)))
    if user is None or not _is_right(user.password_hash or NOBODYS_HASH, password) or user.password_hash is None:
        with transaction() as session:
            session.execute(delete(SignInFailure).where(SignInFailure.at < now - FAILURE_WINDOW))
            session.add(SignInFailure(email_hash=email_hash, remote_address=remote_address, at=now))
        log.warning("sign_in.failed", remote_address=remote_address)
        raise Invalid(WRONG)
    with transaction() as session:
        session.execute(delete(SignInFailure).where(SignInFailure.email_hash == email_hash))
        if _hasher.check_needs_rehash(user.password_hash):
            session.execute(update(User).where(User.id == user.id).values(password_hash=_hasher.hash(password)))
        return _start(session, user.id, is_by_link=False)


def _is_right(password_hash: str, password: str) -> bool:
    if len(password) > MAX_PASSWORD_LENGTH:
        return False
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _require_few_failures(session: Session, email_hash: str, remote_address: str | None, now: datetime) -> None:
    by_person = SignInFailure.email_hash == email_hash
    by_address = SignInFailure.remote_address == remote_address
    statement = select(
        func.sum(case((by_person & by_address, 1), else_=0)),
        func.sum(case((by_person, 1), else_=0)),
        func.sum(case((by_address, 1), else_=0)),
    ).where(or_(by_person, by_address), SignInFailure.at > now - FAILURE_WINDOW)
    limits = (FAILURES_BY_PERSON_HERE, FAILURES_BY_PERSON, FAILURES_BY_ADDRESS)
    counts = session.execute(statement).one()
    if any((count or 0) >= limit for count, limit in zip(counts, limits, strict=True)):
        log.warning("sign_in.slowed_down", remote_address=remote_address)
        raise RateLimited(
            "There were too many failed attempts to sign in; please wait a quarter of an hour",
            retry_after=int(FAILURE_WINDOW.total_seconds()),
        )


def peek_link(secret: str) -> str:
    """The address of the person whom this link would sign in. Looking uses nothing up: scanners of mail look too.

    Raises:
        Gone: the link was used, has run out, or never was.
    """
    with reading() as session:
        return _link_owner(session, secret).email


def sign_in_by_link(secret: str) -> str:
    """Use a link up, and answer the secret of a new session of its person. Of several uses at once, one succeeds.

    Raises:
        Gone: the link was used, has run out, or never was.
    """
    with transaction() as session:
        user = _link_owner(session, secret)
        if changed(session, delete(SignInLink).where(SignInLink.token_hash == hash_token(secret))) != 1:
            raise Gone(LINK_GONE)
        return _start(session, user.id, is_by_link=True)


def _link_owner(session: Session, secret: str) -> User:
    statement = (
        select(User)
        .join(SignInLink, SignInLink.user_id == User.id)
        .where(
            SignInLink.token_hash == hash_token(secret),
            SignInLink.expires_at > clock.now(),
            User.is_disabled.is_(False),
        )
    )
    user = session.scalar(statement)
    if user is None:
        raise Gone(LINK_GONE)
    return user


def _start(session: Session, user_id: int, *, is_by_link: bool) -> str:
    secret, now = new_token(), clock.now()
    session.execute(delete(WebSession).where(WebSession.expires_at < now))
    session.add(
        WebSession(
            secret_hash=hash_token(secret),
            user_id=user_id,
            is_by_link=is_by_link,
            created_at=now,
            last_seen_at=now,
            expires_at=now + timedelta(seconds=app_settings().sign_in_ttl),
        )
    )
    return secret


def find_signed_in(secret: str, *, remote_address: str | None, request_id: str | None) -> SignedIn | None:
    """Whose session this is, or None where it has ended."""
    now = clock.now()
    with reading() as session:
        found = find_web_session(session, hash_token(secret), now)
        if found is None:
            return None
        web_session, user = found
        roles = roles_of(session, user.id)
    if now - web_session.last_seen_at > SEEN_PRECISION:
        # Where the database takes nothing, what it holds may still be read.
        with suppress(DatabaseUnavailable), transaction() as session:
            there = WebSession.secret_hash == web_session.secret_hash
            session.execute(update(WebSession).where(there).values(last_seen_at=now))
    caller = Caller(
        user_id=user.id,
        email=user.email,
        is_admin=user.is_admin,
        roles=roles,
        remote_address=remote_address,
        request_id=request_id,
    )
    return SignedIn(caller, web_session.is_by_link)


def sign_out(secret: str) -> None:
    """End one session; ending it again is harmless."""
    with transaction() as session:
        session.execute(delete(WebSession).where(WebSession.secret_hash == hash_token(secret)))


def sign_out_everywhere(caller: Caller) -> None:
    """End every session of the caller, this one among them."""
    with transaction() as session:
        session.execute(delete(WebSession).where(WebSession.user_id == caller.user_id))


def change_password(signed_in: SignedIn, secret: str, *, old: str, new: str) -> None:
    """Set the caller's password, and end all of their other sessions.

    Args:
        signed_in: the caller's session; one that a link began needs no old password.
        secret: of that session, which goes on.
        old: the password so far; not looked at where there was none.
        new: the password from now on.

    Raises:
        Invalid: the old one is wrong, or the new one too short or too long.
        RateLimited: there were too many wrong ones of late.
    """
    caller = signed_in.caller
    new_hash, now = hash_password(new), clock.now()
    email_hash = hash_token(caller.email)
    with reading() as session:
        _require_few_failures(session, email_hash, caller.remote_address, now)
        known = session.scalar(select(User.password_hash).where(User.id == caller.user_id))
    if known is not None and not signed_in.is_by_link and not _is_right(known, old):
        with transaction() as session:
            session.add(SignInFailure(email_hash=email_hash, remote_address=caller.remote_address, at=now))
        raise Invalid("The current password is another one")
    with transaction() as session:
        session.execute(update(User).where(User.id == caller.user_id).values(password_hash=new_hash))
        others = (WebSession.user_id == caller.user_id, WebSession.secret_hash != hash_token(secret))
        session.execute(delete(WebSession).where(*others))
