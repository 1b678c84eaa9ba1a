"""The disk store's signed URLs: who holds one may do the one thing that it says, until it ends.

A token is `payload.signature`; the payload is JSON in URL-safe base64 and ends with the moment of expiry, the key of
the signature differs for each purpose. Why not itsdangerous' own serializers: they compress each payload, and count
the age of a token from its making where we promise a moment.

Archives, which the application serves on whichever store, carry such tokens too.

All parts of a file share one token, which is made once: a session of 1,024 files of 64 parts has 65,536 URLs.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from itsdangerous import Signer
from itsdangerous.encoding import base64_decode, base64_encode

from app import clock
from app.errors import Forbidden, NotFound

PARTS, FILES = "parts", "files"
"""Purposes, and the folders below `/objects` that serve them."""


class SignedTokens:
    """Makes and opens tokens; one that was made for one purpose is none for another."""

    def __init__(self, signing_key: str) -> None:
        self._signing_key = signing_key

    def seal(self, purpose: str, fields: Sequence[str | int], until: datetime, *, beside: str = "") -> str:
        """A token that carries the fields (for all to read) and ends then.

        Args:
            until: counts in whole seconds; a fraction is cut.
            beside: text that is signed too, but stands elsewhere in the URL.
        """
        payload = base64_encode(json.dumps([*fields, int(until.timestamp())], separators=(",", ":"))).decode()
        return f"{payload}.{self._signature(purpose, payload, beside)}"

    def open(self, purpose: str, token: str, *, beside: str = "") -> list[Any]:
        """The fields of a token that is ours, unaltered and still good.

        Raises:
            Forbidden: it is not.
        """
        payload, _, signature = token.partition(".")
        # The texts are compared, not what they decode to: base64 has several spellings of the same bytes.
        expected = self._signature(purpose, payload, beside)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            raise Forbidden("This link is not valid")
        fields: list[Any]
        *fields, until = json.loads(base64_decode(payload))
        if clock.now().timestamp() >= until:
            raise Forbidden("This link has expired")
        return fields

    def _signature(self, purpose: str, payload: str, beside: str) -> str:
        signer = Signer(self._signing_key, salt=purpose, key_derivation="hmac", digest_method=hashlib.sha256)
        return signer.get_signature(f"{payload}/{beside}").decode()


class DiskURLs:
    """The URLs below `{origin}/objects`, and what they mean when they come back.

    Args:
        origin: gives scheme, host and port under which the store's door is reached from outside.
    """

    def __init__(self, signing_key: str, origin: Callable[[], str]) -> None:
        self._tokens = SignedTokens(signing_key)
        self._origin = origin

    def parts(self, key: str, upload_id: str, numbers: Sequence[int], until: datetime) -> list[str]:
        """URLs to PUT these parts to."""
        token = self._tokens.seal(PARTS, [key, upload_id, max(numbers, default=0)], until)
        base = f"{self._origin()}/objects/{PARTS}/{token}/"
        return [f"{base}{number}" for number in numbers]

    def open_part(self, token: str, number: int) -> tuple[str, str]:
        """Key and upload id that a part URL leads to.

        Raises:
            Forbidden: the token is not ours, was altered, or has expired.
            NotFound: no part of this number was to be sent.
        """
        key, upload_id, highest = self._tokens.open(PARTS, token)
        if not 1 <= number <= highest:
            raise NotFound(f"There is no part {number} in this upload")
        return key, upload_id

    def download(self, key: str, name: str, until: datetime) -> str:
        """A URL to GET the object with.

        It ends with the last segment of the name, which is signed with the token and not repeated in it: three
        letters for each byte make a long name as it is, and servers take request lines of 4,094 bytes.
        """
        shown = name.rsplit("/", 1)[-1]
        token = self._tokens.seal(FILES, [key], until, beside=shown)
        return f"{self._origin()}/objects/{FILES}/{token}/{quote(shown, safe='')}"

    def open_download(self, token: str, name: str) -> str:
        """The key that a download URL leads to.

        Raises:
            Forbidden: the token is not ours, was altered, belongs to another name, or has expired.
        """
        key: str
        [key] = self._tokens.open(FILES, token, beside=name)
        return key
