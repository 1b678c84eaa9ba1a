"""A client that asks until it is answered, and holds every answer against what it knows."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import requests

from tests.support.server import AppServer, RemoteApi

PATIENCE_SECONDS = 120
"""How long it asks for one answer. Longer than all that is ever away, and than a dead completion's claim."""
UNAVAILABLE = frozenset({503})


class Wrong(AssertionError):
    """An answer that contradicts what was answered before."""


class Answer(NamedTuple):
    """An answer that settles what was asked; `is_again`: an earlier try may have done it already."""

    status: int
    body: Any
    is_again: bool


class Person(NamedTuple):
    """Whose programs they are: a token, and the cookies and the CSRF token of a browser that is signed in."""

    email: str
    token: str
    cookies: dict[str, str]
    csrf_token: str


class PatientClient:
    """A person's client.

    Args:
        name: for what it complains of.
        servers: one is drawn for each request, as a balancer would.
        person: who it acts for.
        dice: of this client.

    Attributes:
        answers: how many of each status it got; 0: none, as the connection broke.
    """

    def __init__(self, name: str, servers: Sequence[AppServer], person: Person, dice: random.Random) -> None:
        self.name = name
        self.servers = servers
        self.person = person
        self.dice = dice
        self.answers: Counter[int] = Counter()

    def ask(self, method: str, path: str, body: object = ..., *, passing: Collection[int] = (), **more: Any) -> Answer:
        """The first answer that says more than "not now"; `passing` are statuses that say so, beside 503."""

        def call() -> tuple[int, Mapping[str, str], Any]:
            api = RemoteApi(self.dice.choice(self.servers), self.person.token, workspace_id="")
            response = api.call(method, path, body, **more)
            return response.status_code, dict(response.headers), response.json if response.data else None

        return self.until_settled(f"{method} {path}", call, UNAVAILABLE | set(passing))

    def transfer(self, method: str, url: str, data: bytes | None = None) -> requests.Response:
        """What a signed URL answers. A store of others may fail in its own words."""

        def call() -> tuple[int, Mapping[str, str], Any]:
            response = requests.request(method, url, data=data, timeout=60)
            if not is_ours and response.status_code >= 500:
                raise requests.ConnectionError(response.text)
            return response.status_code, response.headers, response

        is_ours = any(url.startswith(server.origin) for server in self.servers)
        response: requests.Response = self.until_settled(f"{method} a URL", call, UNAVAILABLE).body
        return response

    def until_settled(
        self, what: str, call: Callable[[], tuple[int, Mapping[str, str], Any]], passing: Collection[int]
    ) -> Answer:
        """The first answer (status, headers and body) whose status is not among those that pass."""
        deadline, is_again, status = time.monotonic() + PATIENCE_SECONDS, False, 0
        while time.monotonic() < deadline:
            try:
                status, headers, body = call()
            except requests.RequestException:
                status = 0  # Whether it was done is not known.
            else:
                if status == 503 and "Retry-After" not in headers:
                    raise Wrong(f"{self.name}: {what}: 503 without Retry-After")
                if status not in passing:
                    self.answers[status] += 1
                    return Answer(status, body, is_again)
            self.answers[status] += 1
            is_again = True
            time.sleep(self.dice.uniform(0.1, 1.0))
        raise Wrong(f"{self.name}: {what}: nothing but {status} for {PATIENCE_SECONDS} s")

    def expect(self, answer: Answer, *statuses: int, again: Collection[int] = ()) -> Any:
        """The body of an answer that has one of these statuses, or of `again` where an earlier try may have done it."""
        if answer.status in statuses or (answer.is_again and answer.status in again):
            return answer.body
        raise Wrong(f"{self.name}: {answer.status} {answer.body}, not {statuses} (asked again: {answer.is_again})")

    def same(self, what: str, found: object, known: object) -> None:
        """Complain where what was found is not what is known."""
        if found != known:
            raise Wrong(f"{self.name}: {what}: {found!r:.300}, not {known!r:.300}")


def sign_in(origin: str, email: str, token: str, link: str) -> Person:
    """The person, with a browser that was signed in by a link."""
    browser = requests.Session()

    def csrf_token() -> str:
        page = browser.get(f"{origin}/", timeout=60).text
        found = re.search(r'name="csrf_token" value="([^"]+)"', page)
        assert found is not None, page
        return found[1]

    browser.post(f"{origin}/login/{link}", {"csrf_token": csrf_token()}, timeout=60)
    return Person(email, token, browser.cookies.get_dict(), csrf_token())
