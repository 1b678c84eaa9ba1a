"""The ids that the outside sees (G3, L10)."""

import base64
import re
import secrets
from typing import Literal

UNIVERSAL_WORKSPACE_ID = "workspace_universal"
"""The workspace that everyone signed in can read (K1)."""

WORKSPACE_ID_PATTERN = r"workspace_[a-z0-9_]{1,64}"
"""Of the whole id (L10)."""

_WORKSPACE_ID = re.compile(WORKSPACE_ID_PATTERN)


def new_id(prefix: Literal["ts", "upload", "workspace", "mapping"]) -> str:
    """A fresh id: the prefix, `_` and 26 lower-case letters and digits that carry 130 random bits."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(20)).decode().lower()[:26]}"


def is_workspace_id(text: str) -> bool:
    """Whether this has the form of a workspace's id; whether there is one is another question (L10)."""
    return _WORKSPACE_ID.fullmatch(text) is not None
