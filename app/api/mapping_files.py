"""Listing, showing, downloading and deleting mapping files (M1)."""

from flask import Response

from app.api.endpoint import Routes, no_content, respond
from app.api.presenters import present_download, present_mapping_file, present_page
from app.domain.access import Caller
from app.models.tracesets import Kind
from app.schemas.listing import ListQuery, TracesetList
from app.schemas.mapping_files import MappingFile
from app.schemas.tracesets import DownloadQuery, DownloadURL
from app.services.deletion import delete_traceset
from app.services.downloads import sign_download
from app.services.listing import list_tracesets
from app.services.tracesets import show_traceset

routes = Routes("mapping_files")
_NOT_FOUND = {404: "Mapping file 'mapping_notfound' not found"}


@routes.endpoint("GET", "/mapping-files", query=ListQuery, answers={200: TracesetList})
def list_all(caller: Caller, query: ListQuery) -> Response:
    """List the mapping files that the caller sees, as tracesets are listed."""
    return respond(present_page(list_tracesets(caller, query.to_listing(Kind.MAPPING))))


@routes.endpoint("GET", "/mapping-files/<mapping_id>", answers={200: MappingFile}, errors=_NOT_FOUND)
def get(caller: Caller, mapping_id: str) -> Response:
    """Show a mapping file."""
    members, _ = present_mapping_file(show_traceset(caller, mapping_id, Kind.MAPPING))
    return respond(members)


@routes.endpoint("DELETE", "/mapping-files/<mapping_id>", answers={204: None}, errors=_NOT_FOUND, changes=True)
def delete(caller: Caller, mapping_id: str) -> Response:
    """Delete a mapping file."""
    delete_traceset(caller, mapping_id, Kind.MAPPING)
    return no_content()


@routes.endpoint(
    "GET",
    "/mapping-files/<mapping_id>/download",
    query=DownloadQuery,
    answers={200: DownloadURL},
    errors=_NOT_FOUND,
)
def download(caller: Caller, mapping_id: str, query: DownloadQuery) -> Response:
    """Answer a URL for one file, or for all of them as one zip."""
    return respond(present_download(sign_download(caller, mapping_id, query.file, Kind.MAPPING)))
