"""Examples for the API's document: one traceset's story, by the names of the schemas."""

from collections.abc import Mapping
from typing import Any

_DOWNLOAD = "https://tracesets.example/objects/get/eyJrZXkiOiJsaWIvYWIifQ"
_PART = "https://tracesets.example/objects/part/eyJrZXkiOiJsaWIvYWIifQ"
_ETAG = '"5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"'

_TRACESET: Mapping[str, Any] = {
    "id": "ts_abc123xyz",
    "name": "GPT-175B Training Traces",
    "description": "Chakra traces for GPT-175B on 2 ranks",
    "status": "ready",
    "files": [
        {"name": "rank_0.chakra.json", "size": 1048576, "role": "primary", "metadataStatus": "complete"},
        {"name": "rank_1.chakra.json", "size": 1048576, "role": "primary", "metadataStatus": "complete"},
    ],
    "totalSize": 2097152,
    "tags": ["gpt", "training"],
    "workspaceId": "workspace_universal",
    "createdAt": "2026-02-20T14:30:00Z",
    "expiresAt": "2027-02-20T14:30:00Z",
    "rankCountDerived": 2,
    "workloadMetadata": {"workload_family": "gpt", "shape": {"rankCount": 2}},
}

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "UploadRequest": {
        "workspaceId": "workspace_universal",
        "name": "GPT-175B Training Traces",
        "description": "Chakra traces for GPT-175B on 2 ranks",
        "tags": ["gpt", "training"],
        "workloadMetadata": {"workload_family": "gpt", "shape": {"rankCount": 2}},
        "files": [
            {"name": "rank_0.chakra.json", "size": 1048576, "role": "primary"},
            {"name": "rank_1.chakra.json", "size": 1048576, "role": "primary"},
        ],
    },
    "UploadResponse": {
        "uploadId": "upload_ghi789",
        "tracesetId": "ts_abc123xyz",
        "checksumAlgorithm": "SHA256",
        "files": [
            {
                "name": name,
                "parts": [{"partNumber": 1, "size": 1048576, "url": _PART}],
                "partUrlsExpireAt": "2026-02-20T15:30:00Z",
            }
            for name in ("rank_0.chakra.json", "rank_1.chakra.json")
        ],
        "expiresAt": "2026-02-21T14:30:00Z",
    },
    "UploadSession": {
        "uploadId": "upload_ghi789",
        "tracesetId": "ts_abc123xyz",
        "state": "open",
        "expiresAt": "2026-02-21T14:30:00Z",
        "files": [
            {
                "name": "rank_0.chakra.json",
                "size": 1048576,
                "partUrlsExpireAt": "2026-02-20T15:30:00Z",
                "parts": [{"partNumber": 1, "size": 1048576, "uploaded": True, "etag": _ETAG}],
            },
            {
                "name": "rank_1.chakra.json",
                "size": 1048576,
                "partUrlsExpireAt": "2026-02-20T15:30:00Z",
                "parts": [{"partNumber": 1, "size": 1048576, "uploaded": False, "url": _PART}],
            },
        ],
    },
    "CompleteUploadRequest": {
        "uploadId": "upload_ghi789",
        "files": [
            {"name": name, "parts": [{"partNumber": 1, "etag": _ETAG}]}
            for name in ("rank_0.chakra.json", "rank_1.chakra.json")
        ],
    },
    "Traceset": _TRACESET,
    "TracesetList": {
        "items": [
            {
                "id": "ts_abc123xyz",
                "name": "GPT-175B Training Traces",
                "status": "ready",
                "fileCount": 2,
                "totalSize": 2097152,
                "tags": ["gpt", "training"],
                "workspaceId": "workspace_universal",
                "rankCountDerived": 2,
                "createdAt": "2026-02-20T14:30:00Z",
                "expiresAt": "2027-02-20T14:30:00Z",
            }
        ],
        "pagination": {"count": 1, "hasMore": False, "nextCursor": None},
    },
    "DownloadURL": {
        "url": _DOWNLOAD,
        "expiresAt": "2026-02-23T20:30:00Z",
        "file": "rank_0.chakra.json",
    },
    "ValidateRequest": {"topologyId": None, "deep": True},
    "Validation": {
        "valid": True,
        "checks": [
            {"name": "file_integrity", "passed": True},
            {"name": "metadata_complete", "passed": True},
            {"name": "topology_correlation", "passed": True, "message": "Not yet implemented — always passes"},
        ],
    },
    "PromoteRequest": {"workspaceId": "workspace_universal", "name": "GPT-175B, published"},
    "MappingUploadRequest": {
        "workspaceId": "workspace_universal",
        "name": "Two ranks on one host",
        "files": [{"name": "mapping.json", "size": 4096}],
    },
    "MappingFile": {
        "id": "mapping_abc123xyz",
        "name": "Two ranks on one host",
        "status": "ready",
        "files": [{"name": "mapping.json", "size": 4096}],
        "totalSize": 4096,
        "workspaceId": "workspace_universal",
        "createdAt": "2026-02-20T14:30:00Z",
    },
    "EventList": {
        "items": [
            {
                "id": 1042,
                "at": "2026-02-20T14:31:12Z",
                "kind": "completed",
                "actor": "ada@tracesets.example",
                "remoteAddress": "192.0.2.7",
                "requestId": "3f9c2b7d1a5e8046",
                "detail": {"upload_id": "upload_ghi789"},
            }
        ],
        "pagination": {"count": 1, "hasMore": False, "nextCursor": None},
    },
    "WorkspaceList": {
        "items": [
            {"id": "workspace_universal", "name": "Universal", "role": None},
            {"id": "workspace_def456", "name": "Training", "role": "owner"},
        ]
    },
    "WorkspaceRequest": {"name": "Training"},
    "Workspace": {"id": "workspace_def456", "name": "Training", "role": "owner"},
    "MemberList": {
        "items": [
            {"email": "ada@tracesets.example", "role": "owner"},
            {"email": "grace@tracesets.example", "role": "viewer"},
        ]
    },
    "MemberRequest": {"role": "editor"},
}
