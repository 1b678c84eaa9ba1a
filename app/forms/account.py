"""A person's password and tokens."""

from flask_wtf import FlaskForm
from wtforms import BooleanField, PasswordField, SelectField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import EqualTo, InputRequired, Length

from app.models.people import TOKEN_NAME_LENGTH
from app.services.people import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH

LIFETIMES = [
    SelectChoice(value=days, label=label)
    for days, label in (("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("", "No end"))
]


class PasswordForm(FlaskForm):  # type: ignore[misc]
    """A new password, twice; the old one where the person has one and did not come by a link."""

    old = PasswordField(
        "Current password",
        [Length(max=MAX_PASSWORD_LENGTH)],
        render_kw={"autocomplete": "current-password"},
    )
    new = PasswordField(
        "New password",
        [InputRequired("Type a new password"), Length(MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH)],
        description=f"At least {MIN_PASSWORD_LENGTH} characters.",
        render_kw={"autocomplete": "new-password"},
    )
    again = PasswordField(
        "New password, again",
        [EqualTo("new", "The two new passwords differ")],
        render_kw={"autocomplete": "new-password"},
    )


class TokenForm(FlaskForm):  # type: ignore[misc]
    """What a new token is for, how long it lives and what it may do."""

    name = StringField(
        "Name",
        [InputRequired("Say what the token is for"), Length(max=TOKEN_NAME_LENGTH)],
        description="What it is for: “laptop”, “nightly capture”.",
        render_kw={"autocomplete": "off"},
    )
    days = SelectField("Lives for", choices=LIFETIMES, default="90")
    is_read_only = BooleanField("Read-only", description="Lists, shows, downloads and validates; changes nothing.")
