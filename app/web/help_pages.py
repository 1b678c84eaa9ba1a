"""Help for people, kept with the code that it describes, and with the limits that the code applies."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.domain.file_names import MAX_NAME_BYTES
from app.domain.metadata import MAX_METADATA_BYTES
from app.domain.rank_count import DEGREES, MAX_RANK_COUNT
from app.errors import NotFound
from app.extensions import app_settings, public_origin
from app.models import people, tracesets
from app.web.auth import public

blueprint = Blueprint("help", __name__, url_prefix="/help")

PAGES = {
    "quick-start": ("Quick start", "From trace files on a disk to a traceset that others can find."),
    "metadata": ("Workload metadata", "What to say about a workload, and how to declare its ranks."),
    "roles": ("Roles", "Who may see, change and manage what."),
    "limits": ("Limits", "How many, how large, how long."),
}


@blueprint.get("")
@public
def index() -> ResponseReturnValue:
    """List the pages."""
    return render_template("help/index.html", pages=PAGES)


@blueprint.get("/<name>")
@public
def page(name: str) -> ResponseReturnValue:
    """Show one."""
    if name not in PAGES:
        raise NotFound(f"There is no help page '{name}'")
    return render_template(
        f"help/{name}.html",
        title=PAGES[name][0],
        lead=PAGES[name][1],
        pages=PAGES,
        origin=public_origin(),
        settings=app_settings(),
        models=tracesets,
        token_name_length=people.TOKEN_NAME_LENGTH,
        degrees=DEGREES,
        max_rank_count=MAX_RANK_COUNT,
        max_metadata_bytes=MAX_METADATA_BYTES,
        max_name_bytes=MAX_NAME_BYTES,
    )
