"""What a list is asked for, and how it answers (L1-L12)."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from app.domain.ids import WORKSPACE_ID_PATTERN, is_workspace_id
from app.domain.listing import DEFAULT_LIMIT, MAX_LIMIT, SORT_FIELDS, parse_limit, parse_rank, parse_sort
from app.domain.metadata import Descriptive, filter_word, fold
from app.domain.times import parse_time
from app.errors import Invalid
from app.models.tracesets import Kind, Status
from app.queries.listing import Filters
from app.schemas.base import Schema
from app.services.listing import Listing


def _status(text: str) -> str:
    if text not in tuple(Status):
        raise Invalid(f"Invalid status: {text[:100]!r}. Valid statuses: {', '.join(Status)}")
    return text


# Parameters come as text, whatever the document says of them: the rules of the domain read them.
Word = Annotated[str | None, Field(description="Equal but for case.")]
StatusText = Annotated[str, AfterValidator(_status), WithJsonSchema({"type": "string", "enum": list(Status)})]
TimeText = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
NumberText = Annotated[str, WithJsonSchema({"type": "integer", "minimum": 1})]
NumberOrZeroText = Annotated[str, WithJsonSchema({"type": "integer", "minimum": 0})]

_SORT_KEY = f"({'|'.join(SORT_FIELDS)})(:(asc|desc))?"
_SORT = f"^{_SORT_KEY}(,{_SORT_KEY}){{0,{len(SORT_FIELDS) - 1}}}$"


class ListQuery(Schema):
    """The query parameters of a list; all of them narrow it."""

    workspace_id: Annotated[
        str | None,
        Field(
            description="Absent: all workspaces that the caller reads.",
            json_schema_extra={"pattern": f"^{WORKSPACE_ID_PATTERN}$"},
        ),
    ] = None
    status: Annotated[StatusText | None, Field(description="Absent: all but `deleted`.")] = None
    search: Annotated[str | None, Field(description="Text anywhere in the name, in any case.")] = None
    created_after: Annotated[TimeText | None, Field(description="The first moment. Without an offset: UTC.")] = None
    created_before: Annotated[TimeText | None, Field(description="The first moment that is too late.")] = None
    workload_family: Word = None
    workload_name: Word = None
    precision: Word = None
    accelerator: Word = None
    tag: Annotated[list[str] | None, Field(description="Exactly so; repeat it to ask for all of several.")] = None
    rank_count_min: Annotated[NumberOrZeroText | None, Field(description="At least so many ranks.")] = None
    rank_count_max: Annotated[NumberText | None, Field(description="At most so many ranks.")] = None
    sort: Annotated[
        str | None,
        Field(
            description="`field:direction`, several with commas: `created`, `name`, `status`; `asc`, `desc`. "
            "Absent: `created:desc`.",
            examples=["name:asc,created:desc"],
            json_schema_extra={"pattern": _SORT},
        ),
    ] = None
    limit: Annotated[
        NumberText | None, Field(description=f"Items on a page: {DEFAULT_LIMIT} where absent, {MAX_LIMIT} at most.")
    ] = None
    next: Annotated[str | None, Field(description="`nextCursor` of the page before, in the same order.")] = None

    def to_listing(self, kind: Kind = Kind.TRACESET) -> Listing:
        """What the service is asked.

        Raises:
            Invalid: a parameter that cannot be read; the message names it.
        """
        words = {name: getattr(self, name) for name in Descriptive.__slots__}
        filters = Filters(
            workspace_id=_workspace_id(self.workspace_id),
            status=None if self.status is None else Status(self.status),
            search=None if self.search is None else fold(self.search),
            created_after=_time(self.created_after, "createdAfter"),
            created_before=_time(self.created_before, "createdBefore"),
            words={name: filter_word(word) for name, word in words.items() if word is not None},
            tags=tuple(dict.fromkeys(self.tag or ())),
            rank_count_min=_rank(self.rank_count_min, "rankCountMin", least=0),
            rank_count_max=_rank(self.rank_count_max, "rankCountMax", least=1),
        )
        return Listing(filters, kind, parse_sort(self.sort), parse_limit(self.limit), self.next)


def _workspace_id(text: str | None) -> str | None:
    if text is not None and not is_workspace_id(text):
        raise Invalid(f"workspaceId must be workspace_ and 1 to 64 of a-z, 0-9 and _, got {text[:100]!r}")
    return text


def _time(text: str | None, name: str) -> datetime | None:
    return None if text is None else parse_time(text, name)


def _rank(text: str | None, name: str, *, least: int) -> int | None:
    return None if text is None else parse_rank(text, name, least)


class ListedTraceset(Schema):
    """What a list shows of a traceset."""

    id: str
    name: str
    status: Status
    file_count: int
    total_size: Annotated[int, Field(description="Bytes.")]
    tags: list[str]
    workspace_id: str
    rank_count_derived: Annotated[int | None, Field(description="The declared rank count.")]
    created_at: datetime
    expires_at: datetime | None


class Pagination(Schema):
    """Where in the list this page is."""

    count: Annotated[int, Field(description="Items on this page.")]
    has_more: bool
    next_cursor: Annotated[str | None, Field(description="Ask for the next page with it; null on the last one.")]


class TracesetList(Schema):
    """One page of a list."""

    items: list[ListedTraceset]
    pagination: Pagination
