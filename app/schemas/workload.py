"""Workload metadata as the API document describes it. Its rules are in `domain.rank_count` and `domain.metadata`.

Upload takes any JSON object whose rank-count members are valid, so these schemas describe and do not check.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from app.domain.rank_count import MAX_RANK_COUNT
from app.schemas.base import Schema

Degree = Annotated[int, Field(ge=1)] | None


class WorkloadShape(Schema):
    """The workload's scale. Other members are stored and returned as given."""

    model_config = ConfigDict(extra="allow")

    rank_count: Annotated[
        Annotated[int, Field(ge=1, le=MAX_RANK_COUNT)] | None,
        Field(description="How many ranks there are. Where degrees are given too, it must equal their product."),
    ] = None


class WorkloadParallelism(Schema):
    """Degrees of parallelism. The product of these five declares the rank count; absent ones count as 1.

    Other members, such as `cp` and `fsdp`, are no factors. They are stored and returned as given; only promotion
    checks these two.
    """

    model_config = ConfigDict(extra="allow")

    dp: Annotated[Degree, Field(description="Data: ranks that work on shares of the batch of their own.")] = None
    tp: Annotated[Degree, Field(description="Tensor: ranks that a layer's weights are split over.")] = None
    sp: Annotated[Degree, Field(description="Sequence: ranks that an input sequence is split over.")] = None
    ep: Annotated[Degree, Field(description="Expert: ranks that the experts of a layer are spread over.")] = None
    pp: Annotated[Degree, Field(description="Pipeline: stages, each with some of the layers.")] = None


class UploadWorkloadMetadata(Schema):
    """The workload that a traceset was captured from.

    It declares the rank count by `shape.rankCount`, by the degrees of `parallelism`, or by both. Any other member may
    be there too, up to 65,536 bytes of compact JSON in all; everything is stored and returned as given.
    """

    model_config = ConfigDict(extra="allow")

    shape: WorkloadShape | None = None
    parallelism: WorkloadParallelism | None = None


WorkloadMetadata = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{"$ref": "#/components/schemas/UploadWorkloadMetadata"}, {"type": "null"}]}),
]
"""A member that takes whatever JSON there is; the domain's rules are applied where it is used."""
