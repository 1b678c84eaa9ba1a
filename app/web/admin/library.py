"""The library: what bytes are stored, who refers to them, and what the last sweep found."""

from flask import render_template
from flask.typing import ResponseReturnValue

from app.models.tracesets import LibraryState
from app.queries.admin import find_last_sweep, list_biggest_files, sum_library
from app.transactions import reading
from app.web.admin.area import blueprint


@blueprint.get("/library")
def library() -> ResponseReturnValue:
    """Sum it up."""
    with reading() as session:
        totals = sum_library(session)
        biggest = list_biggest_files(session)
        swept = find_last_sweep(session)
    stored = totals.get(LibraryState.STORED)
    return render_template(
        "admin/library.html",
        totals=totals,
        states=list(LibraryState),
        stored=stored,
        shared_size=max(0, stored.referred_size - stored.size) if stored else 0,
        biggest=biggest,
        swept=swept,
    )
