"""The list of tracesets: filtered as one types, sorted, leafed through; the address bar holds all of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from flask import Blueprint, Response, jsonify, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.listing import DEFAULT_SORT, SORT_FIELDS, SortKey
from app.errors import Invalid
from app.models.tracesets import Status
from app.queries.people import workspace_names
from app.queries.words import families_of, suggest_words
from app.schemas.base import read_texts
from app.schemas.listing import ListQuery
from app.services.browsing import Leaf, leaf_through
from app.services.listing import Listing
from app.transactions import reading
from app.web.auth import caller
from app.web.pages import render

blueprint = Blueprint("tracesets", __name__, url_prefix="/tracesets")

FILTERS = (
    "search",
    "status",
    "workspaceId",
    "workloadFamily",
    "workloadName",
    "precision",
    "accelerator",
    "tag",
    "rankCountMin",
    "rankCountMax",
    "createdAfter",
    "createdBefore",
)
"""The parameters that narrow the list: the API's own, so that a view can be asked for by a program too."""
SIMPLE_FILTERS = ("search", "status", "workspaceId")
"""Those that are always in sight."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that sorts: where its heading leads, and how it sorts now."""

    url: str
    direction: str | None


@blueprint.get("")
def index() -> ResponseReturnValue:
    """Show a page of the list; a filter that cannot be read is told above an empty one."""
    message, leaf = None, Leaf((), None, None)
    sort: Sequence[SortKey] = DEFAULT_SORT
    try:
        listing = read_texts(ListQuery, _texts).to_listing()
        sort, leaf = listing.sort, _leaf(listing)
    except Invalid as exc:
        message = exc.message
    with reading() as session:
        workspaces = workspace_names(session, caller())
        families = families_of(session, [item.id for item in leaf.items])
    page = render(
        "tracesets/index.html",
        "tracesets/_list.html",
        leaf=leaf,
        message=message,
        workspaces=workspaces,
        families=families,
        statuses=list(Status),
        filters={name: request.args.get(name, "") for name in FILTERS},
        tags=_texts("tag"),
        is_filtered=any(_texts(name) for name in FILTERS),
        has_more_filters=any(_texts(name) for name in FILTERS if name not in SIMPLE_FILTERS),
        columns=_columns(sort),
        untagged={tag: _url(tag=[other for other in _texts("tag") if other != tag]) for tag in _texts("tag")},
        sort=request.args.get("sort", ""),
        here=_url(next=_texts("next"), previous=_texts("previous")),
        first_url=_url() if _texts("next") or _texts("previous") else None,
        previous_url=_url(previous=[leaf.previous_cursor]) if leaf.previous_cursor else None,
        next_url=_url(next=[leaf.next_cursor]) if leaf.next_cursor else None,
    )
    return page, 400 if message else 200


@blueprint.get("/suggestions")
def suggestions() -> Response:
    """Words that are used already, by the name of their field."""
    with reading() as session:
        return jsonify(suggest_words(session, caller()))


def _leaf(listing: Listing) -> Leaf:
    before = request.args.get("previous")
    if not before:
        return leaf_through(caller(), listing)
    return leaf_through(caller(), replace(listing, cursor=before), is_backward=True)


def _texts(name: str) -> list[str]:
    """What the address gives for a parameter; an empty one counts as absent (L12)."""
    return [text for text in request.args.getlist(name) if text]


def _url(**changes: Sequence[str]) -> str:
    """This view with other parameters, from its first page unless they say otherwise."""
    parameters = {name: _texts(name) for name in (*FILTERS, "sort", "limit")} | changes
    query = urlencode(parameters, doseq=True)
    return url_for("web.tracesets.index") + (f"?{query}" if query else "")


def _columns(sort: Sequence[SortKey]) -> Mapping[str, Column]:
    """Each sortable column; a click sorts by it alone, and a second one the other way."""
    now = {key.field: key for key in sort[:1]}
    columns = {}
    for field in SORT_FIELDS:
        key = now.get(field)
        falls = not key.descending if key else field == "created"
        direction = ("descending" if key.descending else "ascending") if key else None
        columns[field] = Column(_url(sort=[str(SortKey(field, descending=falls))]), direction)
    return columns
