"""Whole tracesets as one zip, by signed URL, on whichever store (W2)."""

from flask import Blueprint, Response, request

from app.services.downloads import open_archive
from app.storage.disposition import attachment

blueprint = Blueprint("archives", __name__, url_prefix="/archives")


@blueprint.get("/<token>")
def download(token: str) -> Response:
    """Stream the archive; its length is known beforehand."""
    archive = open_archive(token)
    response = Response(() if request.method == "HEAD" else archive.chunks, content_type="application/zip")
    response.content_length = archive.size
    response.headers["Content-Disposition"] = attachment(archive.name)
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
