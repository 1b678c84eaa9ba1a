"""Calls of the JSON API: the token, retries, and errors as exceptions.

Every route of the API may be called again when its answer was lost: reading and validating change nothing, opening
an upload carries an `Idempotency-Key`, completing, ending and deleting come to the same end, and promoting answers
with the first promotion (clauses U10, C1, S2, P1). So each call is retried, on a lost or broken answer, on 429, 500,
502, 503 and 504, and on a 403 that is not the service's own: something on the way has refused it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode

from app.client.backoff import FIRST_WAIT, Backoff
from app.client.errors import LocalError, NotReachable, TracesetsError, api_error
from app.client.transport import Http, Response, Unanswered, retry_after

JSON = dict[str, Any]
Query = Mapping[str, str | int | Sequence[str] | None]

_RETRIED = frozenset({429, 500, 502, 503, 504})
"""Statuses that another try may heal."""
_LONGEST_INT = 4000
"""Digits; Python reads whole numbers of no more than 4,300. Source: sys.int_info."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of 200, 201 or 204: its status, its body as it came, and the moment by the service's clock."""

    status: int
    text: str
    at: datetime

    def json(self) -> JSON:
        """The body, an object."""
        body: JSON = json.loads(self.text, parse_int=_whole_number)
        return body


class _Retry(Exception):
    """This try came to nothing, and another may help."""

    def __init__(self, error: TracesetsError, wait: float | None) -> None:
        super().__init__(error.message)
        self.error = error
        self.wait = wait


class Service:
    """The API at one origin, for the holder of one token.

    Args:
        url: of the service, with or without `/api/v1`.
        token: an API token.
        http: sends the requests.
        patience: seconds for which a call is tried again.
        first_wait: seconds before the first repetition.
    """

    def __init__(self, url: str, token: str, http: Http, *, patience: float, first_wait: float = FIRST_WAIT) -> None:
        self.url = url.strip().rstrip("/").removesuffix("/api/v1")
        if not self.url.startswith(("http://", "https://")):
            raise LocalError(f"The service's URL must begin with http:// or https://, got '{url}'")
        if not token.strip() or not token.strip().isascii() or not token.strip().isprintable():
            raise LocalError("The API token is empty or holds characters that no token has")
        self._token = token.strip()
        self._http = http
        self.patience = patience
        self.first_wait = first_wait

    def __repr__(self) -> str:
        return f"Service({self.url!r})"

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: JSON | None = None,
        headers: Mapping[str, str] | None = None,
        patience: float | None = None,
        timeout: float | None = None,
        is_removal: bool = False,
    ) -> Reply:
        """The reply to one call, tried again while there is patience.

        Args:
            method, query, body, headers: of the request; members of the query that are None are left out.
            path: below `/api/v1`, made by `path_of`.
            patience: seconds, in place of the service's own.
            timeout: seconds to wait for the answer, in place of the usual ones.
            is_removal: a 404 to a repetition says that an earlier try, whose answer was lost, has done it.

        Raises:
            ApiError: the service refused.
            NotReachable: no answer of the service came.
        """
        url = f"{self.url}/api/v1{path}{_query_string(query)}"
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **(headers or {})}
        data = None
        if body is not None:
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            sent["Content-Type"] = "application/json"
        backoff = Backoff(self.patience if patience is None else patience, self.first_wait)
        is_repetition = False
        while True:
            try:
                answer = self._http.request(method, url, headers=sent, body=data, timeout=timeout)
                if is_removal and is_repetition and answer.status == 404:
                    return Reply(204, "", _moment(answer))
                return self._reply(answer)
            except Unanswered as exc:
                error: TracesetsError = NotReachable(str(exc))
                wait = None
            except _Retry as exc:
                error, wait = exc.error, exc.wait
            if not backoff.pause(wait):
                raise error
            is_repetition = True

    def _reply(self, answer: Response) -> Reply:
        """What a good answer says; the others are errors."""
        if answer.status in (200, 201, 204):
            if answer.status != 204 and not answer.headers.get("Content-Type", "").startswith("application/json"):
                raise NotReachable(f"What answers at {self.url} is not the service: it sends no JSON")
            return Reply(answer.status, answer.data.decode(), _moment(answer))
        message = _message_of(answer)
        wait = retry_after(answer.headers)
        if message is None:
            foreign = NotReachable(f"{self.url} answered {answer.status}, but not as the service does")
            raise _Retry(foreign, wait) if answer.status == 403 or answer.status in _RETRIED else foreign
        error = api_error(answer.status, message, request_id=answer.headers.get("X-Request-Id"), retry_after=wait)
        raise _Retry(error, wait) if answer.status in _RETRIED else error


def path_of(*segments: str) -> str:
    """A path of these segments, each quoted whole."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def _query_string(query: Query | None) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def _message_of(answer: Response) -> str | None:
    """The message of an error in the API's own form; None where it has another."""
    try:
        message = json.loads(answer.data)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return None
    return message if isinstance(message, str) else None


def _moment(answer: Response) -> datetime:
    """When the service answered, by its own clock where it tells."""
    try:
        return parsedate_to_datetime(answer.headers["Date"])
    except (KeyError, ValueError):
        return datetime.now(UTC)


def _whole_number(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _LONGEST_INT else Decimal(digits)
