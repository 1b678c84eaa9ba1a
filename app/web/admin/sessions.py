"""Upload sessions of everybody: how far they are, who holds them, and their end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from flask import flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app import clock
from app.domain.redirects import local_path
from app.errors import Conflict, NotFound
from app.extensions import app_settings
from app.models.uploads import SessionState, UploadSession
from app.queries.admin import SessionFilters, get_session, list_session_files, list_sessions
from app.queries.events import list_events
from app.queries.people import workspace_names
from app.queries.uploads import FileToSend
from app.services import administration
from app.services.multipart import state_now
from app.services.upload_view import HeldPart
from app.transactions import reading
from app.web.admin.area import blueprint, neighbours, number_of, turn_of
from app.web.auth import caller
from app.web.pages import render

UNFINISHED, STALLED = "unfinished", "stalled"
STATES = {
    UNFINISHED: "Unfinished",
    STALLED: "Stalled",
    **{state.value: state.value.capitalize() for state in SessionState},
}
"""What the list may be narrowed to, by the word in the address. A stalled one's completion died, or hangs."""
AGES = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "1d": timedelta(days=1), "7d": timedelta(days=7)}
SHOWN_EVENTS = 50


@dataclass(frozen=True, slots=True)
class PartMap:
    """One file of a session: which of its parts the store holds.

    Args:
        file: the file.
        state: of its library file; None where that is gone.
        runs: of parts that are held, as (first number, count), ascending.
        n_held: how many are.
        n_wrong: how many of those are of another size than planned.
        is_lost: the store does not know its upload any more.
    """

    file: FileToSend
    state: str | None
    runs: Sequence[tuple[int, int]]
    n_held: int
    n_wrong: int
    is_lost: bool

    @property
    def n_parts(self) -> int:
        """How many parts are planned."""
        return self.file.plan.count if self.file.plan else 0


@blueprint.get("/upload-sessions")
def upload_sessions() -> ResponseReturnValue:
    """List them, the newest first; a word that is no filter counts as none."""
    with reading() as session:
        leaf = list_sessions(session, _filters(), turn_of(number_of))
        workspaces = workspace_names(session, caller())
    return render(
        "admin/upload_sessions.html",
        "admin/_upload_sessions.html",
        rows=leaf.rows,
        arrivals=administration.count_arrivals(leaf.rows),
        neighbours=neighbours(leaf, lambda row: row.upload.traceset_seq),
        workspaces=workspaces,
        states=STATES,
        ages=list(AGES),
        chosen={name: request.args.get(name, "") for name in ("state", "owner", "workspace", "age")},
        state_now=state_now,
        now=clock.now(),
    )


@blueprint.get("/upload-sessions/<upload_id>")
def upload_session(upload_id: str) -> ResponseReturnValue:
    """One session in full."""
    with reading() as session:
        row = get_session(session, upload_id)
        leaf = list_session_files(session, row.upload, turn_of(number_of))
        events = list_events(session, traceset_id=row.traceset.id, before=None, limit=SHOWN_EVENTS)
    maps, is_answered = _part_maps(row.upload, leaf.rows)
    return render_template(
        "admin/upload_session.html",
        row=row,
        arrivals=administration.count_arrivals([row]),
        maps=maps,
        is_answered=is_answered,
        neighbours=neighbours(leaf, lambda file: file[0].position, upload_id=upload_id),
        events=events,
        state=state_now(row.upload),
        now=clock.now(),
    )


@blueprint.post("/upload-sessions/<upload_id>/abort")
def abort_session(upload_id: str) -> ResponseReturnValue:
    """End it and discard its parts."""
    _require_changeable()
    try:
        administration.abort_session(caller(), upload_id)
    except Conflict as exc:
        flash(f"{exc.message}; release its claim first", "error")
    else:
        flash("The session was ended, and its parts discarded")
    return redirect(url_for("web.admin.upload_session", upload_id=upload_id), 303)


@blueprint.post("/upload-sessions/<upload_id>/release-claim")
def release_claim(upload_id: str) -> ResponseReturnValue:
    """Open it for another completion."""
    _require_changeable()
    try:
        administration.release_claim(caller(), upload_id)
    except Conflict as exc:
        flash(exc.message, "error")
    else:
        flash("The claim was released: the session is open again")
    return redirect(url_for("web.admin.upload_session", upload_id=upload_id), 303)


@blueprint.post("/sweep")
def sweep() -> ResponseReturnValue:
    """Sweep now, and tell what was ended."""
    ended = {what: count for what, count in administration.sweep_now(caller()).items() if count}
    told = ", ".join(f"{count} {what}" for what, count in ended.items())
    flash(f"The sweep ended: {told}" if told else "The sweep found nothing to end")
    return redirect(local_path(request.form.get("next"), url_for("web.admin.upload_sessions")), 303)


def _require_changeable() -> None:
    """Nobody ends a session where nothing may be changed (G6)."""
    settings = app_settings()
    if settings.trace_routes_read_only or not settings.enable_trace_routes:
        raise NotFound(f"There is nothing at {request.path}")


def _filters() -> SessionFilters:
    word, age = request.args.get("state", ""), request.args.get("age", "")
    states: Sequence[SessionState] = ()
    if word in tuple(SessionState):
        states = [SessionState(word)]
    elif word == UNFINISHED:
        states = [SessionState.OPEN, SessionState.COMPLETING]
    elif word == STALLED:
        states = [SessionState.COMPLETING]
    return SessionFilters(
        states=states,
        lapsed_before=clock.now() if word == STALLED else None,
        owner=request.args.get("owner", "").strip().lower() or None,
        workspace_id=request.args.get("workspace") or None,
        begun_before=clock.now() - AGES[age] if age in AGES else None,
    )


def _part_maps(upload: UploadSession, files: Sequence[tuple[FileToSend, str | None]]) -> tuple[Sequence[PartMap], bool]:
    """The maps of these files, and whether the store told of them; of an ended session it has nothing to tell."""
    held: Sequence[Mapping[int, HeldPart] | None] | None = [{} for _ in files]
    if upload.state in administration.UNFINISHED:
        held = administration.held_by_store([file for file, _ in files])
    is_answered = held is not None
    parts = held if held is not None else [{} for _ in files]
    return [_part_map(file, state, found) for (file, state), found in zip(files, parts, strict=True)], is_answered


def _part_map(file: FileToSend, state: str | None, held: Mapping[int, HeldPart] | None) -> PartMap:
    parts = held or {}
    plan = file.plan
    planned = {number: part for number, part in parts.items() if plan and number <= plan.count}
    wrong = sum(part.size != plan.size_of(number) for number, part in planned.items()) if plan else 0
    return PartMap(file, state, list(_runs(sorted(planned))), len(planned), wrong, is_lost=held is None)


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as (first, count) of those that follow each other."""
    start = 0
    for position, number in enumerate(numbers):
        if position + 1 == len(numbers) or numbers[position + 1] != number + 1:
            yield numbers[start], position + 1 - start
            start = position + 1
