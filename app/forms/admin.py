"""Inviting people."""

from flask_wtf import FlaskForm
from wtforms import BooleanField, EmailField
from wtforms.validators import InputRequired, Length

from app.models.people import EMAIL_LENGTH


class InviteForm(FlaskForm):  # type: ignore[misc]
    """Whom to let in."""

    email = EmailField(
        "E-mail address",
        [InputRequired("Type an e-mail address"), Length(max=EMAIL_LENGTH)],
        render_kw={"autocomplete": "off"},
    )
    is_admin = BooleanField("Site administrator", description="May do everything everywhere, and enter this area.")
