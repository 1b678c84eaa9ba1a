"""Workload metadata as the API document describes it. Its rules are in `domain.rank_count` and `domain.metadata`.

Upload takes any JSON object whose rank-count members are valid, so these schemas describe and do not check.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from app.domain.rank_count import MAX_RANK_COUNT
from app.schemas.base import Schema

Degree = Annotated[int, Field(ge=1)] | None


class WorkloadShape(Schema):
    """Workload scale. Other members are stored and returned as given."""

    model_config = ConfigDict(extra="allow")

    rank_count: Annotated[
        Annotated[int, Field(ge=1, le=MAX_RANK_COUNT)] | None,
        Field(description="Total rank count. When degrees are also given, their product must equal it."),
    ] = None


class WorkloadParallelism(Schema):
    """Parallelism degrees, whose product declares the rank count; `cp` and `fsdp` are not factors of it."""

    model_config = ConfigDict(extra="allow")

    dp: Annotated[Degree, Field(description="Data parallelism degree.")] = None
    tp: Annotated[Degree, Field(description="Tensor parallelism degree.")] = None
    sp: Annotated[Degree, Field(description="Sequence parallelism degree.")] = None
    ep: Annotated[Degree, Field(description="Expert parallelism degree.")] = None
    pp: Annotated[Degree, Field(description="Pipeline parallelism degree.")] = None


class UploadWorkloadMetadata(Schema):
    """The workload a traceset was captured from; at most 65,536 bytes as compact JSON, returned as given."""

    model_config = ConfigDict(extra="allow")

    shape: WorkloadShape | None = None
    parallelism: WorkloadParallelism | None = None


WorkloadMetadata = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{"$ref": "#/components/schemas/UploadWorkloadMetadata"}, {"type": "null"}]}),
]
"""A member that takes whatever JSON there is; the domain's rules are applied where it is used."""
