"""Uploading: one page, whose scripts speak the API with the browser's session.

Why the API and not routes of the pages' own: the browser follows the protocol that every client follows, and what is
checked there need not be checked again here.
"""

from flask import Blueprint, Response, jsonify, render_template, request
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import generate_csrf

from app import clock
from app.extensions import app_settings
from app.queries.people import workspace_names
from app.queries.upload_page import list_unfinished
from app.transactions import reading
from app.web.auth import caller

blueprint = Blueprint("upload", __name__, url_prefix="/tracesets/upload")

DEGREES = (
    ("dp", "data parallelism"),
    ("tp", "tensor parallelism"),
    ("sp", "sequence parallelism"),
    ("ep", "expert parallelism"),
    ("pp", "pipeline parallelism"),
    ("cp", "context parallelism, no factor of the product"),
    ("fsdp", "fully sharded data parallelism, no factor of the product; it divides dp"),
)
MEMBERS = (
    ("workload_family", "Family", "GPT-3"),
    ("workload_name", "Name of the workload", "gpt3-175b-pretrain"),
    ("precision", "Precision", "bf16"),
    ("accelerator", "Accelerator", "H100-SXM"),
)
SIZES = (("global_batch_size", "Global batch size"), ("sequence_length", "Sequence length"))


@blueprint.get("")
def form() -> ResponseReturnValue:
    """The page: what was begun before (first, where the address names one, that), and the form for a new upload."""
    person, asked = caller(), request.args.get("session", "")
    with reading() as session:
        names = workspace_names(session, person)
        unfinished = list_unfinished(session, person, clock.now(), asked=asked)
    return render_template(
        "upload/form.html",
        workspaces={workspace_id: name for workspace_id, name in names.items() if person.may_change(workspace_id)},
        unfinished=unfinished,
        asked=asked,
        is_asked_there=any(upload.id == asked for upload in unfinished),
        default_days=app_settings().default_ttl_days,
        degrees=DEGREES,
        members=MEMBERS,
        sizes=SIZES,
    )


@blueprint.get("/token")
def token() -> Response:
    """The CSRF token of the session as it is now: an upload may take longer than the session that began it."""
    return jsonify(csrfToken=generate_csrf())
