"""The first page: what is the caller's, what is new, and what needs a hand."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app import clock
from app.extensions import app_settings
from app.queries.listing import Filters
from app.queries.overview import list_failed, list_under_way, sum_own
from app.queries.people import workspace_names
from app.services.listing import Listing, list_tracesets
from app.transactions import reading
from app.web.auth import caller

blueprint = Blueprint("home", __name__)

LATEST_SHOWN = 8
UPLOADS_SHOWN = 5


@blueprint.get("/")
def index() -> ResponseReturnValue:
    """Show it."""
    if not app_settings().enable_trace_routes:
        return render_template("home/index.html")
    person = caller()
    latest = list_tracesets(person, Listing(Filters(), limit=LATEST_SHOWN)).items
    with reading() as session:
        sums = sum_own(session, person)
        under_way = list_under_way(session, person, clock.now(), limit=UPLOADS_SHOWN)
        failed = list_failed(session, person, limit=UPLOADS_SHOWN)
        workspaces = workspace_names(session, person)
    return render_template(
        "home/index.html", sums=sums, under_way=under_way, failed=failed, latest=latest, workspaces=workspaces
    )
