"""The first page."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

blueprint = Blueprint("home", __name__)


@blueprint.get("/")
def index() -> ResponseReturnValue:
    """What is the caller's and new."""
    return render_template("home/index.html")
