"""What all pages share: their navigation, their fragments, and how they may be kept."""

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, current_app, g, render_template, request

from app.extensions import app_settings
from app.web.auth import FRAGMENT_HEADER


@dataclass(frozen=True, slots=True)
class Entry:
    """A place in the navigation; only those that this deployment serves, and this person may enter, are shown."""

    title: str
    endpoint: str
    icon: str
    for_admins: bool = False
    for_changes: bool = False

    @property
    def area(self) -> str:
        """The blueprint, which is the whole of an area."""
        return self.endpoint.rpartition(".")[0]


NAVIGATION = (
    Entry("Home", "web.home.index", "house"),
    Entry("Tracesets", "web.tracesets.index", "stack"),
    Entry("Upload", "web.upload.form", "upload", for_changes=True),
    Entry("Workspaces", "web.workspaces.index", "people"),
    Entry("Admin", "web.admin.upload_sessions", "gear", for_admins=True),
    Entry("Help", "web.help.index", "question"),
)


def init_app(blueprint: Blueprint) -> None:
    """Give the templates what they share."""
    blueprint.after_app_request(_name_what_varies)
    blueprint.app_context_processor(_shared)


def render(template: str, fragment: str, **values: Any) -> str:
    """The page; only its fragment where one of our scripts asks for that, to swap it in."""
    return render_template(fragment if FRAGMENT_HEADER in request.headers else template, **values)


def _name_what_varies(response: Response) -> Response:
    """A page is its person's own and is asked for anew; a fragment must not be taken for its page."""
    if (request.endpoint or "").startswith("web."):
        response.headers.setdefault("Cache-Control", "private, no-cache")
        response.vary.update(("Cookie", FRAGMENT_HEADER))
    return response


def _shared() -> dict[str, Any]:
    """Also for error pages, so nothing here asks the database."""
    settings, person = app_settings(), g.get("caller")
    is_changeable = settings.enable_trace_routes and not settings.trace_routes_read_only
    entries = [
        entry
        for entry in NAVIGATION
        if entry.endpoint in current_app.view_functions
        and (not entry.for_admins or (person and person.is_admin))
        and (not entry.for_changes or is_changeable)
    ]
    return {
        "person": person,
        "navigation": entries if person else [],
        "current_area": (request.endpoint or "").rpartition(".")[0],
        "has_traces": settings.enable_trace_routes,
        "is_changeable": is_changeable,
    }
