"""Workspaces and their members."""

from flask_wtf import FlaskForm
from wtforms import EmailField, SelectField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import InputRequired, Length

from app.domain.access import Role
from app.models.people import EMAIL_LENGTH
from app.models.workspaces import WORKSPACE_NAME_LENGTH

_ROLES = [SelectChoice(value=role.value, label=role.value) for role in Role]


class WorkspaceForm(FlaskForm):  # type: ignore[misc]
    """A new workspace."""

    name = StringField(
        "Name",
        [InputRequired("A workspace needs a name"), Length(max=WORKSPACE_NAME_LENGTH)],
        render_kw={"autocomplete": "off"},
    )


class MemberForm(FlaskForm):  # type: ignore[misc]
    """A person and their role."""

    email = EmailField(
        "E-mail address",
        [InputRequired("Type the person's e-mail address"), Length(max=EMAIL_LENGTH)],
        render_kw={"autocomplete": "off"},
    )
    role = SelectField("Role", choices=_ROLES, default=Role.VIEWER.value)
