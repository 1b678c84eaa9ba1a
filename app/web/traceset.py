"""One traceset: what it is, its files, whether it is whole, and what happened to it."""

from collections.abc import Mapping

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.domain.metadata import read_stored
from app.domain.rank_count import DEGREES, read_declaration
from app.errors import Invalid
from app.extensions import public_origin
from app.models.tracesets import Status, Traceset
from app.models.uploads import SessionState
from app.queries.events import list_events
from app.queries.inspection import Inspected, holds_all_ranks, inspect_traceset, list_files
from app.queries.tracesets import get_traceset
from app.services.downloads import sign_download
from app.services.validation import validate_traceset
from app.transactions import reading
from app.web.auth import FRAGMENT_HEADER, caller
from app.web.metadata_rows import metadata_rows

blueprint = Blueprint("traceset", __name__, url_prefix="/tracesets/<traceset_id>")

EVENTS_SHOWN = 10
EVENTS_ON_A_PAGE = 100


@blueprint.get("")
def detail(traceset_id: str) -> ResponseReturnValue:
    """Show all of it; as a fragment, a page of its files."""
    if FRAGMENT_HEADER in request.headers:
        return _files_alone(traceset_id)
    with reading() as session:
        found = inspect_traceset(session, caller(), traceset_id)
        shown = _files(session, found.traceset)
        happened = list_events(session, traceset_id=traceset_id, before=None, limit=EVENTS_SHOWN + 1)
    return render_template(
        "traceset/detail.html",
        found=found,
        has_ranks=found.holds_all_ranks,
        **shown,
        events=happened[:EVENTS_SHOWN],
        has_more_events=len(happened) > EVENTS_SHOWN,
        rank_declaration=_declared(found),
        metadata=metadata_rows(read_stored(found.traceset.workload_metadata)),
        snippets=_snippets(found),
        **_rights(found, caller()),
    )


def _files_alone(traceset_id: str) -> str:
    with reading() as session:
        traceset = get_traceset(session, caller(), traceset_id)
        has_ranks = holds_all_ranks(session, traceset)
        shown = _files(session, traceset)
    return render_template("traceset/_files.html", has_ranks=has_ranks, **shown)


def _files(session: Session, traceset: Traceset) -> Mapping[str, object]:
    """What the template of the files needs: the page of them that the address asks for."""
    search = request.args.get("file", "").strip()
    after, before = _position("after"), _position("before")
    return {
        "traceset": traceset,
        "files": list_files(session, traceset, search=search, after=after, before=before),
        "search": search,
        "may_download": traceset.status is Status.READY,
    }


@blueprint.get("/download")
def download(traceset_id: str) -> ResponseReturnValue:
    """Send the browser on to the bytes of one file (`file`), or of all of them as one zip."""
    response = redirect(sign_download(caller(), traceset_id, request.args.get("file")).url)
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.post("/validate")
def validate(traceset_id: str) -> ResponseReturnValue:
    """Run the checks; what they found is shown, also later."""
    validate_traceset(caller(), traceset_id, is_deep="deep" in request.form)
    if FRAGMENT_HEADER not in request.headers:
        return redirect(url_for("web.traceset.detail", traceset_id=traceset_id, _anchor="validation"), 303)
    with reading() as session:
        found = inspect_traceset(session, caller(), traceset_id)
    return render_template("traceset/_validation.html", found=found, traceset=found.traceset)


@blueprint.get("/events")
def events(traceset_id: str) -> ResponseReturnValue:
    """Show everything that happened to it, the newest first."""
    with reading() as session:
        traceset = get_traceset(session, caller(), traceset_id)
        rows = list_events(session, traceset_id=traceset_id, before=_position("before"), limit=EVENTS_ON_A_PAGE + 1)
    older = rows[EVENTS_ON_A_PAGE - 1][0].id if len(rows) > EVENTS_ON_A_PAGE else None
    return render_template("traceset/events.html", traceset=traceset, events=rows[:EVENTS_ON_A_PAGE], older=older)


def _position(parameter: str) -> int | None:
    """Where to go on, as one of our links says."""
    text = request.args.get(parameter)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Invalid(f"{parameter} must be a whole number")
    return int(text)


def _rights(found: Inspected, person: Caller) -> Mapping[str, object]:
    """What this person may do with it, its status allowing."""
    traceset = found.traceset
    upload = found.upload
    return {
        "may_change": person.may_change(traceset.workspace_id),
        "is_under_way": upload is not None and upload.state in (SessionState.OPEN, SessionState.COMPLETING),
    }


def _declared(found: Inspected) -> str | None:
    """How the rank count was declared: by its degrees (`dp 32 × tp 8 = 256`), by itself, or both; None: not at all."""
    declaration = read_declaration(read_stored(found.traceset.workload_metadata))
    degrees = declaration.parallelism or {}
    factors = [f"{name} {degrees[name]}" for name in DEGREES if degrees.get(name) is not None]
    forms = [f"{' × '.join(factors)} = {declaration.product}"] if factors else []
    if declaration.rank_count is not None:
        forms.append("shape.rankCount")
    return None if declaration.faults else " and ".join(forms) or None


def _snippets(found: Inspected) -> Mapping[str, str]:
    """Ready-made lines for the shell, Python and the command line."""
    origin, traceset_id = public_origin(), found.traceset.id
    api = f"{origin}/api/v1/tracesets/{traceset_id}"
    return {
        "Command line": (
            f"export TRACESETS_URL={origin}\n"
            "export TRACESETS_API_TOKEN=…\n"
            f"tracesets show {traceset_id}\n"
            f"tracesets validate {traceset_id}\n"
            f"tracesets download {traceset_id} --output {traceset_id}"
        ),
        "curl": (
            f"export TRACESETS_API_TOKEN=…\n"
            f'curl -H "Authorization: Bearer $TRACESETS_API_TOKEN" {api}\n'
            f'curl -H "Authorization: Bearer $TRACESETS_API_TOKEN" {api}/download\n'
            f'curl -X POST -H "Authorization: Bearer $TRACESETS_API_TOKEN" {api}/validate'
        ),
        "Python": (
            "import os\n"
            "import requests\n\n"
            f'api = "{api}"\n'
            'headers = {"Authorization": f"Bearer {os.environ[\'TRACESETS_API_TOKEN\']}"}\n'
            "traceset = requests.get(api, headers=headers, timeout=60).json()\n"
            'for file in traceset["files"]:\n'
            '    found = requests.get(f"{api}/download", params={"file": file["name"]}, headers=headers, timeout=60)\n'
            '    content = requests.get(found.json()["url"], timeout=600).content\n'
            '    print(file["name"], len(content))'
        ),
    }
