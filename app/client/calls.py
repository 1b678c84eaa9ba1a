"""The endpoints of the API, one method each: plain calls, no files."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack

from app.client.models import (
    DownloadURL,
    Event,
    ListedTraceset,
    MappingFile,
    Member,
    Page,
    Traceset,
    Upload,
    Validation,
    Workspace,
)
from app.client.service import JSON, Query, Service, path_of

Route = Literal["tracesets", "mapping-files"]
"""The two kinds of things that are uploaded, by their paths."""
DEEP_TIMEOUT = 3600.0
"""Seconds; a deep validation reads every byte before it answers."""


class Filters(TypedDict, total=False):
    """What narrows a list (L4 to L11); times are aware, ranks whole numbers, `tags` all wanted at once."""

    workspace_id: str | None
    status: str | None
    search: str | None
    sort: str | None
    created_after: datetime | str | None
    created_before: datetime | str | None
    workload_family: str | None
    workload_name: str | None
    precision: str | None
    accelerator: str | None
    tags: Sequence[str]
    rank_count_min: int | None
    rank_count_max: int | None


class Calls:
    """The API of one service, for the holder of one token.

    Every method raises `ApiError`, or one of its children, where the service refuses, and `NotReachable` where no
    answer of it comes.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def list_workspaces(self) -> list[Workspace]:
        """The workspaces that the caller reads."""
        return [Workspace.from_json(item) for item in self._items("/workspaces")]

    def create_workspace(self, name: str) -> Workspace:
        """Make a workspace that the caller owns. It is not repeated: each call makes another."""
        return Workspace.from_json(self._service.call("POST", "/workspaces", body={"name": name}, patience=0).json())

    def list_members(self, workspace_id: str) -> list[Member]:
        """Who belongs to a workspace."""
        return [Member.from_json(item) for item in self._items(path_of("workspaces", workspace_id, "members"))]

    def set_member(self, workspace_id: str, email: str, role: str) -> None:
        """Make somebody `viewer`, `editor` or `owner` of a workspace."""
        self._service.call("PUT", path_of("workspaces", workspace_id, "members", email), body={"role": role})

    def remove_member(self, workspace_id: str, email: str) -> None:
        """Remove somebody from a workspace."""
        self._service.call("DELETE", path_of("workspaces", workspace_id, "members", email), is_removal=True)

    def list_tracesets(self, *, page_size: int = 100, **filters: Unpack[Filters]) -> Iterator[ListedTraceset]:
        """All tracesets that the filters leave, newest first unless `sort` says otherwise; fetched page by page.

        Args:
            page_size: items to a page, 1 to 500.
            filters: see `Filters`.
        """
        return self._walk("/tracesets", page_size, filters)

    def page_of_tracesets(self, *, page_size: int = 50, cursor: str | None = None, **filters: Unpack[Filters]) -> Page:
        """One page; `cursor` is the `next_cursor` of the page before."""
        return self._page("/tracesets", page_size, cursor, filters)

    def get_traceset(self, traceset_id: str) -> Traceset:
        """A traceset with all its files."""
        return Traceset.from_reply(self._service.call("GET", path_of("tracesets", traceset_id)))

    def delete_traceset(self, traceset_id: str) -> None:
        """Delete a traceset."""
        self._service.call("DELETE", path_of("tracesets", traceset_id), is_removal=True)

    def validate_traceset(
        self, traceset_id: str, *, is_deep: bool = False, topology_id: str | None = None
    ) -> Validation:
        """Check that a traceset is whole.

        Args:
            traceset_id: of a ready traceset.
            is_deep: also read every byte (V6).
            topology_id: is passed on.
        """
        body: JSON = {"topologyId": topology_id, **({"deep": True} if is_deep else {})}
        path = path_of("tracesets", traceset_id, "validate")
        timeout = DEEP_TIMEOUT if is_deep else None
        return Validation.from_reply(self._service.call("POST", path, body=body, timeout=timeout))

    def promote_traceset(
        self,
        traceset_id: str,
        *,
        workspace_id: str | None = None,
        name: str | None = None,
        workload_metadata: Mapping[str, Any] | None = None,
    ) -> Traceset:
        """Publish a ready traceset into another workspace; the same again answers with the first one (P1).

        Args:
            traceset_id: what is published.
            workspace_id: the target; None: the universal workspace.
            name: of the new traceset; None: the old name.
            workload_metadata: None: the stored ones.
        """
        given = {"workspaceId": workspace_id, "name": name, "workloadMetadata": workload_metadata}
        body = {member: value for member, value in given.items() if value is not None}
        return Traceset.from_reply(self._service.call("POST", path_of("tracesets", traceset_id, "promote"), body=body))

    def list_events(self, traceset_id: str, *, page_size: int = 100) -> Iterator[Event]:
        """What happened to a traceset, newest first."""
        path = path_of("tracesets", traceset_id, "events")
        return (Event.from_json(item) for page in self._pages(path, {"limit": page_size}) for item in page["items"])

    def get_download_url(self, traceset_id: str, file: str | None = None) -> DownloadURL:
        """A URL for one file, or (None) for the whole traceset as one zip."""
        return self._download_url("tracesets", traceset_id, file)

    def get_upload(self, upload_id: str, *, route: Route = "tracesets") -> Upload:
        """An upload session: which parts the store holds, and URLs for the others."""
        return Upload.from_reply(self._service.call("GET", path_of(route, "upload-url", upload_id)))

    def abort_upload(self, upload_id: str, *, route: Route = "tracesets") -> None:
        """End an upload session and discard its parts; ending it again does nothing."""
        self._service.call("DELETE", path_of(route, "upload-url", upload_id))

    def list_mapping_files(self, *, page_size: int = 100, **filters: Unpack[Filters]) -> Iterator[ListedTraceset]:
        """All mapping files that the filters leave, as tracesets are listed."""
        return self._walk("/mapping-files", page_size, filters)

    def get_mapping_file(self, mapping_id: str) -> MappingFile:
        """A mapping file with all its files."""
        return MappingFile.from_reply(self._service.call("GET", path_of("mapping-files", mapping_id)))

    def delete_mapping_file(self, mapping_id: str) -> None:
        """Delete a mapping file."""
        self._service.call("DELETE", path_of("mapping-files", mapping_id), is_removal=True)

    def get_mapping_download_url(self, mapping_id: str, file: str | None = None) -> DownloadURL:
        """A URL for one file of a mapping file, or (None) for all as one zip."""
        return self._download_url("mapping-files", mapping_id, file)

    def _download_url(
        self, route: Route, subject_id: str, file: str | None, patience: float | None = None
    ) -> DownloadURL:
        path = path_of(route, subject_id, "download")
        return DownloadURL.from_reply(self._service.call("GET", path, query={"file": file}, patience=patience))

    def _items(self, path: str) -> list[JSON]:
        items: list[JSON] = self._service.call("GET", path).json()["items"]
        return items

    def _walk(self, path: str, page_size: int, filters: Filters) -> Iterator[ListedTraceset]:
        query = {"limit": page_size, **_query(filters)}
        return (ListedTraceset.from_json(item) for page in self._pages(path, query) for item in page["items"])

    def _page(self, path: str, page_size: int, cursor: str | None, filters: Filters) -> Page:
        query = {"limit": page_size, "next": cursor, **_query(filters)}
        return Page.from_reply(self._service.call("GET", path, query=query))

    def _pages(self, path: str, query: Query) -> Iterator[JSON]:
        cursor = None
        while True:
            page = self._service.call("GET", path, query={**query, "next": cursor}).json()
            yield page
            cursor = page["pagination"]["nextCursor"]
            if cursor is None:
                return


def _query(filters: Filters) -> dict[str, str | int | Sequence[str] | None]:
    """The query parameters, in the API's spelling."""
    query: dict[str, str | int | Sequence[str] | None] = {}
    for name, value in filters.items():
        first, *others = ("tag" if name == "tags" else name).split("_")
        spelled = first + "".join(map(str.capitalize, others))
        query[spelled] = value.isoformat() if isinstance(value, datetime) else value  # type: ignore[assignment]
    return query
