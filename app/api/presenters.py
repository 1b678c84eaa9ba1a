"""What the services give, as the API's JSON spells it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from app.domain.access import Role
from app.domain.times import format_time
from app.models.people import User
from app.models.tracesets import Kind, TracesetFile
from app.models.workspaces import Workspace
from app.queries.listing import Item
from app.services.downloads import Download
from app.services.events import EventPage
from app.services.listing import Page
from app.services.tracesets import ShownTraceset
from app.services.upload_view import ShownFile, ShownUpload
from app.services.validation import Check

JSON = dict[str, Any]


def present_traceset(shown: ShownTraceset) -> tuple[JSON, dict[str, str]]:
    """R1 to R3: the members, and the workload metadata as JSON text."""
    traceset = shown.traceset
    members: JSON = {
        "id": traceset.id,
        "name": traceset.name,
        "description": traceset.description,
        "status": traceset.status.value,
        "files": [_file(file, shown) for file in shown.files],
        "totalSize": traceset.total_size,
        "tags": traceset.tags,
        "workspaceId": traceset.workspace_id,
        "createdAt": format_time(traceset.created_at),
        "expiresAt": _time(traceset.expires_at),
        "rankCountDerived": traceset.rank_count,
    }
    if traceset.promoted_from is not None:
        members["promotedFrom"] = traceset.promoted_from
    return members, {"workloadMetadata": traceset.workload_metadata or "null"}


def _file(file: TracesetFile, shown: ShownTraceset) -> JSON:
    members: JSON = {
        "name": file.name,
        "size": file.size,
        "role": file.role.value,
        "metadataStatus": file.metadata_status.value,
    }
    if file.position == shown.ranked and shown.traceset.rank_count is not None:
        members["rankRange"] = {"start": 0, "end": shown.traceset.rank_count - 1}
    if file.external_url is not None:
        members["externalUrl"] = file.external_url
    return members


def present_mapping_file(shown: ShownTraceset) -> tuple[JSON, dict[str, str]]:
    """M1: the members; none of them is JSON text."""
    mapping = shown.traceset
    members: JSON = {
        "id": mapping.id,
        "name": mapping.name,
        "status": mapping.status.value,
        "files": [{"name": file.name, "size": file.size} for file in shown.files],
        "totalSize": mapping.total_size,
        "workspaceId": mapping.workspace_id,
        "createdAt": format_time(mapping.created_at),
    }
    return members, {}


def present_opened(upload: ShownUpload) -> JSON:
    """U1."""
    return {
        "uploadId": upload.id,
        **_subject(upload),
        "checksumAlgorithm": "SHA256",
        "files": [
            {
                "name": file.name,
                "parts": [
                    {"partNumber": number, "size": size, "url": url}
                    for size, (number, url) in zip(_sizes(file), file.urls.items(), strict=True)
                ],
                "partUrlsExpireAt": format_time(file.urls_expire_at),
            }
            for file in upload.files
        ],
        "expiresAt": format_time(upload.expires_at),
    }


def present_session(upload: ShownUpload) -> JSON:
    """S1."""
    members: JSON = {
        "uploadId": upload.id,
        **_subject(upload),
        "state": upload.state.value,
        "expiresAt": format_time(upload.expires_at),
        "files": [
            {
                "name": file.name,
                "size": file.size,
                "partUrlsExpireAt": format_time(file.urls_expire_at),
                "parts": _parts(file),
            }
            for file in upload.files
        ],
    }
    if upload.failure is not None:
        members["failure"] = upload.failure
    return members


def _subject(upload: ShownUpload) -> JSON:
    return {"tracesetId" if upload.kind is Kind.TRACESET else "mappingFileId": upload.traceset_id}


def _sizes(file: ShownFile) -> Iterable[int]:
    return file.plan.sizes() if file.plan else ()


def _parts(file: ShownFile) -> list[JSON]:
    parts = []
    for number, size in enumerate(_sizes(file), start=1):
        part: JSON = {"partNumber": number, "size": size, "uploaded": number in file.held}
        if etag := file.held.get(number):
            part["etag"] = f'"{etag}"'
        if number in file.urls:
            part["url"] = file.urls[number]
        parts.append(part)
    return parts


def present_download(download: Download) -> JSON:
    """W1."""
    return {"url": download.url, "expiresAt": format_time(download.expires_at), "file": download.file}


def present_validation(checks: Sequence[Check]) -> JSON:
    """V2."""
    return {"valid": all(check.passed for check in checks), "checks": [_check(check) for check in checks]}


def _check(check: Check) -> JSON:
    members: JSON = {"name": check.name, "passed": check.passed}
    if check.message is not None:
        members["message"] = check.message
    return members


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)


def present_page(page: Page) -> JSON:
    """L1 and L2."""
    return {
        "items": [present_item(item) for item in page.items],
        "pagination": {
            "count": len(page.items),
            "hasMore": page.next_cursor is not None,
            "nextCursor": page.next_cursor,
        },
    }


def present_item(item: Item) -> JSON:
    """What a list shows of a traceset."""
    return {
        "id": item.id,
        "name": item.name,
        "status": item.status.value,
        "fileCount": item.file_count,
        "totalSize": item.total_size,
        "tags": item.tags,
        "workspaceId": item.workspace_id,
        "rankCountDerived": item.rank_count,
        "createdAt": format_time(item.created_at),
        "expiresAt": _time(item.expires_at),
    }


def present_workspaces(found: Sequence[tuple[Workspace, Role | None]]) -> JSON:
    """K3."""
    return {"items": [{"id": each.id, "name": each.name, "role": role and role.value} for each, role in found]}


def present_members(found: Sequence[tuple[User, Role]]) -> JSON:
    """Who belongs to a workspace."""
    return {"items": [{"email": user.email, "role": role.value} for user, role in found]}


def present_events(page: EventPage) -> JSON:
    """One page of what happened, newest first."""
    return {
        "items": [
            {
                "id": event.id,
                "at": format_time(event.at),
                "kind": event.kind.value,
                "actor": actor,
                "remoteAddress": event.remote_address,
                "requestId": event.request_id,
                "detail": event.detail,
            }
            for event, actor in page.items
        ],
        "pagination": {
            "count": len(page.items),
            "hasMore": page.next_cursor is not None,
            "nextCursor": page.next_cursor,
        },
    }
