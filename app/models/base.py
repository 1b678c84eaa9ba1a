"""The declarative base, the naming of constraints and the column types that both databases share."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Boolean, Dialect, Integer, MetaData, String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import DateTime, TypeDecorator, TypeEngine


class Base(DeclarativeBase):
    """Every model's parent. The convention gives each constraint a name that migrations can address."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class UTCDateTime(TypeDecorator[datetime]):
    """An aware moment in UTC with microseconds; naive values are refused, so that no local time slips in."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a zone: {value!r}")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """SQLite's text is read in one step, which takes a list an eighth of the time."""
        return _read_utc if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _read_utc(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text + "+00:00")


def code_point_text(length: int | None = None) -> String:
    """Text that sorts by code point on both databases (PostgreSQL would follow the cluster's language)."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


class Word(TypeDecorator[StrEnum]):
    """A StrEnum stored by its value in a plain column, which a later migration can widen without a lock."""

    impl = String(20)
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(String(20, collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: StrEnum | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else self.kind(value).value

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[str | None], StrEnum | None]:  # noqa: ARG002
        """A look into a dictionary: a list reads this for each row."""
        members: dict[str | None, StrEnum | None] = {member.value: member for member in self.kind}
        return {**members, None: None}.__getitem__


class holds_text(FunctionElement[bool]):  # noqa: N801  # it reads as the function that it is
    """Whether the first text holds the second one, character for character.

    Why not LIKE: `%`, `_` and the escape would need escaping, SQLite refuses long patterns and ignores ASCII case.
    """

    type = Boolean()
    inherit_cache = True


@compiles(holds_text, "sqlite")
def _holds_text_sqlite(element: holds_text, compiler: SQLCompiler, **kw: Any) -> str:
    return f"instr({compiler.process(element.clauses, **kw)}) > 0"


@compiles(holds_text, "postgresql")
def _holds_text_postgresql(element: holds_text, compiler: SQLCompiler, **kw: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **kw)}) > 0"


RowNumber = BigInteger().with_variant(Integer(), "sqlite")
"""A key that the database counts up; SQLite counts only in columns declared INTEGER."""

JSONObject = dict[str, Any]
