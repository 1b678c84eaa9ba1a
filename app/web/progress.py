"""How far an upload has come, as a fragment that pages ask for again and again."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.models.tracesets import Kind
from app.services.upload_view import show_upload
from app.web.auth import caller

blueprint = Blueprint("progress", __name__, url_prefix="/uploads")


@blueprint.get("/<upload_id>/progress")
def show(upload_id: str) -> ResponseReturnValue:
    """Show what the store holds of it now."""
    upload = show_upload(caller(), upload_id, Kind.TRACESET)
    plans = [(file.plan, file.held) for file in upload.files if file.plan is not None]
    total = sum(plan.size for plan, _ in plans)
    sent = sum(plan.size_of(number) for plan, held in plans for number in held)
    return render_template("home/_progress.html", upload=upload, total=total, sent=sent)
