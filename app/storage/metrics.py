"""Counting the calls to an object store: of which kind, how they ended, and how long they took.

Why around the classes' methods, and not in those who call them: nobody can forget it, and the store that is asked by
another of its own methods is counted too.
"""

import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from prometheus_client import Counter, Histogram

from app.errors import StoreFull, StoreUnavailable
from app.storage.base import ObjectGone, Part, PartsRefused, UploadGone

STORE_CALLS = Histogram("tracesets_store_call_seconds", "Seconds of calls to the object store", ["kind", "outcome"])
STORE_BYTES = Counter("tracesets_store_bytes", "Bytes that went through this process", ["direction"])

S = TypeVar("S")

_CALLS = ("begin", "write_part", "parts", "finish", "abort", "stat", "is_intact", "delete", "check", "remove_litter")
_STREAMS = ("read", "objects", "open_uploads")
_OUTCOMES: dict[type[BaseException], str] = {
    UploadGone: "gone",
    ObjectGone: "gone",
    PartsRefused: "refused",
    StoreFull: "full",
    StoreUnavailable: "unavailable",
}


def metered(store: type[S]) -> type[S]:
    """The class, whose calls to the store are counted from now on."""
    for names, wrap in ((_CALLS, _counted), (_STREAMS, _counted_stream)):
        for name in names:
            if name in vars(store):
                setattr(store, name, wrap(name, vars(store)[name]))
    return store


def _counted(kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        began, outcome = time.perf_counter(), "ok"
        try:
            answer = method(*args, **kwargs)
        except BaseException as exc:
            outcome = _outcome_of(exc)
            raise
        finally:
            STORE_CALLS.labels(kind, outcome).observe(time.perf_counter() - began)
        if isinstance(answer, Part):
            STORE_BYTES.labels("written").inc(answer.size)
        return answer

    return call


def _counted_stream(kind: str, method: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Iterator[Any]:
        began = time.perf_counter()
        try:
            stream = method(*args, **kwargs)
        except BaseException as exc:
            STORE_CALLS.labels(kind, _outcome_of(exc)).observe(time.perf_counter() - began)
            raise
        return _followed(kind, stream, time.perf_counter() - began)

    return call


def _followed(kind: str, stream: Iterator[Any], seconds: float) -> Iterator[Any]:
    """The stream; the time that its reader takes between two pieces is not the store's."""
    outcome = "ok"
    try:
        while True:
            began = time.perf_counter()
            try:
                piece = next(stream)
            except StopIteration:
                return
            finally:
                seconds += time.perf_counter() - began
            if isinstance(piece, bytes):
                STORE_BYTES.labels("read").inc(len(piece))
            yield piece
    except GeneratorExit:
        raise
    except BaseException as exc:
        outcome = _outcome_of(exc)
        raise
    finally:
        STORE_CALLS.labels(kind, outcome).observe(seconds)


def _outcome_of(exc: BaseException) -> str:
    return next((outcome for kind, outcome in _OUTCOMES.items() if isinstance(exc, kind)), "error")
