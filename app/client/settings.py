"""Which service and whose token: the environment first, then what `tracesets login` has kept."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from app.client.errors import LocalError

URL_VARIABLE = "TRACESETS_URL"
TOKEN_VARIABLE = "TRACESETS_API_TOKEN"  # noqa: S105 - a name


@dataclass(frozen=True, slots=True)
class Account:
    """A service, and a token that is kept out of what is printed."""

    url: str
    token: str = field(repr=False)


def kept_file() -> Path:
    """Where a login is kept. Source: XDG Base Directory Specification."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "tracesets" / "login.json"


def find_account() -> Account:
    """The account to use.

    A token of the login goes to no other service than that of the login: with another URL in the environment, the
    token has to stand there too.

    Raises:
        LocalError: there is none, or the kept login cannot be read.
    """
    url, token = os.environ.get(URL_VARIABLE, ""), os.environ.get(TOKEN_VARIABLE, "")
    if url and token:
        return Account(url, token)
    kept = _kept()
    if kept is None:
        raise LocalError(f"Sign in with `tracesets login`, or set both {URL_VARIABLE} and {TOKEN_VARIABLE}")
    if url and url.rstrip("/") != kept.url:
        raise LocalError(f"{URL_VARIABLE} is not the service that you are signed in to; set {TOKEN_VARIABLE} too")
    return Account(url or kept.url, token or kept.token)


def keep_account(account: Account) -> Path:
    """Keep a login for this user alone, and tell where.

    Raises:
        LocalError: it cannot be written.
    """
    path = kept_file()
    draft = path.with_suffix(".draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(json.dumps({"url": account.url, "token": account.token}) + "\n")
        draft.replace(path)
    except OSError as exc:
        raise LocalError(f"The login cannot be kept in {path}: {exc.strerror}") from None
    return path


def _kept() -> Account | None:
    path = kept_file()
    try:
        kept = json.loads(path.read_text())
        return Account(str(kept["url"]), str(kept["token"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise LocalError(f"The login in {path} cannot be read; sign in again with `tracesets login`") from None
