"""The base of all schemas, and the sentence that a fault in a request becomes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from app.domain.strict_json import excerpt
from app.errors import Invalid


class Schema(BaseModel):
    """JSON members are camelCase and of exactly their type; unknown ones are ignored (U4)."""

    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel, frozen=True)


_SENTENCES: Mapping[str, str] = {
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "greater_than_equal": "must be a whole number of at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_pattern_mismatch": "must match {pattern}",
}


S = TypeVar("S", bound=Schema)


def validate(schema: type[S], members: Mapping[str, object]) -> S:
    """The object that these members make.

    Raises:
        Invalid: the first fault that there is.
    """
    try:
        return schema.model_validate(members)
    except ValidationError as exc:
        raise invalid(exc) from exc


def read_texts(schema: type[S], texts_of: Callable[[str], list[str]]) -> S:
    """The parameters that the schema names, each the first text of its name, or all of them where it is a list.

    Raises:
        Invalid: a fault, or a text that holds NUL, which PostgreSQL would not take.
    """
    members: dict[str, str | list[str]] = {}
    for name, field in schema.model_fields.items():
        alias = field.alias or name
        if texts := texts_of(alias):
            is_list = any(get_origin(kind) is list for kind in (field.annotation, *get_args(field.annotation)))
            members[alias] = texts if is_list else texts[0]
    parameters = validate(schema, members)
    for alias, value in members.items():
        if any("\0" in text for text in value):
            raise Invalid(f"{alias} must not hold NUL")
    return parameters


def invalid(exc: ValidationError) -> Invalid:
    """The first fault as a sentence that names the member, its index, the value and what would be right."""
    fault = exc.errors(include_url=False)[0]
    return Invalid(_sentence(_path(fault["loc"]), fault["type"], fault.get("ctx", {}), fault["input"], fault["msg"]))


def _sentence(path: str, kind: str, context: Mapping[str, Any], value: object, message: str) -> str:
    if kind == "missing":
        return f"{path} is required"
    if kind == "value_error":
        return f"{path} {context['error']}, got {excerpt(value)}"
    sentence = _SENTENCES.get(kind)
    if sentence is None:
        return f"{path}: {message}"
    return f"{path} {sentence.format_map(context)}, got {excerpt(value)}"


def _path(location: Sequence[int | str]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.removeprefix(".")
