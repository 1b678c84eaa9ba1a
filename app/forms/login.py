"""Signing in."""

from flask_wtf import FlaskForm
from wtforms import EmailField, HiddenField, PasswordField
from wtforms.validators import InputRequired, Length

from app.models.people import EMAIL_LENGTH
from app.services.people import MAX_PASSWORD_LENGTH


class SignInForm(FlaskForm):  # type: ignore[misc]
    """E-mail address and password; `next` is the page that was asked for."""

    email = EmailField(
        "E-mail address",
        [InputRequired("Type your e-mail address"), Length(max=EMAIL_LENGTH)],
        render_kw={"autocomplete": "username", "autofocus": True},
    )
    password = PasswordField(
        "Password",
        [InputRequired("Type your password"), Length(max=MAX_PASSWORD_LENGTH)],
        render_kw={"autocomplete": "current-password"},
    )
    next = HiddenField()
