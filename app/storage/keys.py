"""The names of objects in the store.

Keys are made here, by chance alone: lower-case ASCII, never from what a user typed. Names live in the database.
"""

import base64
import re
import secrets

BEGINNINGS = tuple(f"lib/{letter}" for letter in "234567abcdefghijklmnopqrstuvwxyz")
"""Each key begins with one of them, and about as many with each: what is to be done to all can be shared out so."""

_KEY = re.compile(r"lib/[a-z2-7]{2}/[a-z2-7]{26}")


def new_key() -> str:
    """A fresh key of 130 random bits, spread over folders by its first two letters."""
    name = base64.b32encode(secrets.token_bytes(20)).decode().lower()[:26]
    return f"lib/{name[:2]}/{name}"


def is_key(text: str) -> bool:
    """Whether the text has the form that `new_key` gives."""
    return _KEY.fullmatch(text) is not None
