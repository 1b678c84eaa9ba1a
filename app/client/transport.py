"""HTTP: kept connections, timeouts, and nothing secret in a log or an error.

Why urllib3 and not requests or httpx2: measured on one machine, a PUT of 100 bytes over a kept connection costs the
client 0.18 ms of CPU with urllib3, 0.37 ms with requests (which is urllib3 and more) and 0.35 ms with httpx2; 512 MiB
go up at 2.2 GB/s with the first two, at 1.4 GB/s with httpx2, and come down at 0.75, 0.68 and 0.34 GB/s. Ten thousand
small files are what this client is measured by, and what requests adds (cookies, netrc, redirects) would have to be
turned off.
"""

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, LocationParseError, LocationValueError, URLSchemeUnknown
from urllib3.util import Retry, Timeout, make_headers

from app.client.errors import LocalError

Response = urllib3.BaseHTTPResponse

BLOCK_SIZE = 256 * 1024
"""Bytes that are sent and received at a time. A block must leave within the connect timeout, so larger ones would need
a better line: 256 KiB in 20 s are 13 kB/s."""
CONNECT_TIMEOUT = 20.0
_NO_RETRIES = Retry(total=False, redirect=False)


class Body(Protocol):
    """Bytes to be sent, read as they go."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most `size`; none at the end."""


class Unanswered(Exception):
    """A request came to no answer, or to part of one; whether it arrived is not known.

    The message tells the kind of fault and the host, and no more of the URL: the rest may be a signature.
    """


class Http:
    """Sends single requests over kept connections, by the proxy that the environment names for the host.

    Args:
        timeout: seconds to wait for the next bytes of an answer.
        connections: kept per host.
    """

    def __init__(self, *, timeout: float, connections: int) -> None:
        self._timeout = Timeout(connect=min(CONNECT_TIMEOUT, timeout), read=timeout)
        self._connections = connections
        self._managers: dict[str, urllib3.PoolManager] = {}
        self._proxy_of: dict[str, str] = {}

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | Body | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        stream: bool = False,
    ) -> Response:
        """The answer, whatever its status; redirects are not followed.

        Args:
            method, url, headers: of the request.
            body: bytes, or a reader with a Content-Length among the headers.
            timeout: seconds, in place of the usual ones.
            stream: leave the answer's body to be read by the caller, who must see to `Unanswered` by `fault`.

        Raises:
            Unanswered: there was none, or it broke off.
            LocalError: the URL is none.
        """
        try:
            return self._manager(url).urlopen(
                method,
                url,
                body=body,
                headers=headers,
                retries=_NO_RETRIES,
                redirect=False,
                preload_content=not stream,
                timeout=Timeout(connect=CONNECT_TIMEOUT, read=timeout) if timeout else self._timeout,
            )
        except (LocationParseError, LocationValueError, URLSchemeUnknown):
            raise LocalError("The service's URL must begin with http:// or https:// and name a host") from None
        except (HTTPError, OSError) as exc:
            raise fault(exc, url) from None

    def close(self) -> None:
        """Close the kept connections."""
        for manager in self._managers.values():
            manager.clear()

    def _manager(self, url: str) -> urllib3.PoolManager:
        origin = url.partition("://")[0] + "://" + urlsplit(url).netloc
        if origin not in self._proxy_of:
            self._proxy_of[origin] = _proxy_for(origin)
        proxy = self._proxy_of[origin]
        if proxy not in self._managers:
            self._managers[proxy] = self._new_manager(proxy)
        return self._managers[proxy]

    def _new_manager(self, proxy: str) -> urllib3.PoolManager:
        if not proxy:
            return urllib3.PoolManager(maxsize=self._connections, blocksize=BLOCK_SIZE)
        parts = urlsplit(proxy)
        credentials = f"{parts.username}:{parts.password or ''}" if parts.username else None
        return urllib3.ProxyManager(
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
            maxsize=self._connections,
            blocksize=BLOCK_SIZE,
            proxy_headers=make_headers(proxy_basic_auth=credentials) if credentials else None,
        )


def fault(exc: Exception, url: str) -> Unanswered:
    """What became of a request to this URL, without the URL."""
    kinds = [type(exc).__name__]
    cause = exc.args[-1] if exc.args else None
    if isinstance(cause, Exception):
        kinds.append(type(cause).__name__)
    return Unanswered(f"{urlsplit(url).hostname} did not answer ({': '.join(kinds)})")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait, at most two minutes; None where it names none.

    Source: RFC 9110, section 10.2.3: a whole number of seconds, or a date.
    """
    text = headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return min(float(text), 120.0)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), 120.0)


def _proxy_for(origin: str) -> str:
    """The proxy for this scheme and host; empty where there is none."""
    parts = urlsplit(origin)
    proxies = getproxies()
    if not parts.hostname or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


_SECRET = re.compile(r"(/(?:objects/\w+|archives)/)[^\s\"']+|\?[^\s\"']+")


def _without_secrets(record: logging.LogRecord) -> bool:
    """Cut the signatures from what urllib3 logs of each request at the level DEBUG."""
    record.msg = _SECRET.sub(lambda found: f"{found[1] or '?'}…", record.getMessage())
    record.args = ()
    return True


logging.getLogger("urllib3.connectionpool").addFilter(_without_secrets)
