"""Changing, publishing and selecting tracesets."""

from flask_wtf import FlaskForm
from wtforms import SelectField, StringField, TextAreaField
from wtforms.validators import InputRequired, Length

from app.models.tracesets import DESCRIPTION_LENGTH, MAX_TAGS, NAME_LENGTH, TAG_LENGTH

_TAGS_HELP = f"One on each line; at most {MAX_TAGS}, of at most {TAG_LENGTH} characters."


class EditForm(FlaskForm):  # type: ignore[misc]
    """What people say about a traceset."""

    name = StringField(
        "Name", [InputRequired("A traceset needs a name"), Length(max=NAME_LENGTH)], render_kw={"autocomplete": "off"}
    )
    description = TextAreaField("Description", [Length(max=DESCRIPTION_LENGTH)], render_kw={"rows": 5})
    tags = TextAreaField("Tags", description=_TAGS_HELP, render_kw={"rows": 4})


class PromoteForm(FlaskForm):  # type: ignore[misc]
    """Where a traceset is published, and as what."""

    workspace_id = SelectField("Into workspace", validate_choice=False)
    name = StringField(
        "Name there",
        [InputRequired("A traceset needs a name"), Length(max=NAME_LENGTH)],
        render_kw={"autocomplete": "off"},
    )
    metadata = TextAreaField(
        "Other workload metadata",
        description="JSON; it must declare the same rank count. Empty: the metadata goes along as it is.",
        render_kw={"rows": 5, "spellcheck": "false", "class": "font-monospace"},
    )


class TagsForm(FlaskForm):  # type: ignore[misc]
    """Tags for many tracesets."""

    tags = TextAreaField("Tags to add", [InputRequired("Type a tag")], description=_TAGS_HELP, render_kw={"rows": 3})


def lines_of(text: str | None) -> list[str]:
    """The lines of a text field, trimmed, without empty ones."""
    return [line.strip() for line in (text or "").splitlines() if line.strip()]
