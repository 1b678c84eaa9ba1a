"""The rank count that workload metadata declares (U5, U6).

Source: the document on workload metadata, "Declaring the rank count".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from app.domain.strict_json import LongInteger, excerpt, is_at_least_one
from app.errors import Invalid

DEGREES = ("dp", "tp", "sp", "ep", "pp")
"""The members of `parallelism` whose product is the rank count; an absent one counts as 1."""
MAX_RANK_COUNT = 2_147_483_647
NOT_DECLARED = (
    "Uploads with primary trace files must declare a rank count: set workloadMetadata.shape.rankCount, "
    "or workloadMetadata.parallelism degrees (dp, tp, sp, ep, pp)"
)

ROOT = "workloadMetadata"
SHAPE = f"{ROOT}.shape"
PARALLELISM = f"{ROOT}.parallelism"

_LIMIT = f"{MAX_RANK_COUNT} ({MAX_RANK_COUNT:,})"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What metadata says about ranks: the two objects (an absent `shape` is empty), the two numbers as far as they
    are good, and all that is wrong with them."""

    shape: Mapping[str, object]
    parallelism: Mapping[str, object] | None
    rank_count: int | None
    product: int | None
    faults: list[str]

    @property
    def count(self) -> int | None:
        """The declared count in either form; None where there is none."""
        return self.product if self.rank_count is None else self.rank_count


def declared_rank_count(metadata: Mapping[str, object] | None) -> int | None:
    """The rank count that metadata declares, by `shape.rankCount`, by the degrees or by both alike; None without one.

    Raises:
        Invalid: the message names every member at fault, with its value.
    """
    declaration = read_declaration(metadata)
    if declaration.faults:
        raise Invalid("; ".join(declaration.faults))
    return declaration.count


def require_rank_count(metadata: Mapping[str, object] | None, has_primary: bool) -> int | None:
    """As `declared_rank_count`, but primary files need a declaration."""
    count = declared_rank_count(metadata)
    if has_primary and count is None:
        raise Invalid(NOT_DECLARED)
    return count


def read_declaration(metadata: Mapping[str, object] | None) -> Declaration:
    """Both forms of the declaration, and every rule of U5 that they break."""
    faults: list[str] = []
    shape = _read_object(metadata, "shape", faults) or {}
    parallelism = _read_object(metadata, "parallelism", faults)
    rank_count = _read_count(shape.get("rankCount"), f"{SHAPE}.rankCount", faults)
    degrees = {name: value for name in DEGREES if (value := (parallelism or {}).get(name)) is not None}
    factors = [_read_count(value, f"{PARALLELISM}.{name}", faults) for name, value in degrees.items()]
    known = [factor for factor in factors if factor is not None]
    product = prod(known) if known and len(known) == len(factors) else None
    if product is not None and product > MAX_RANK_COUNT:
        faults.append(f"The product of the degrees {_name(degrees)} must be at most {_LIMIT}, got {product}")
    elif rank_count is not None and product is not None and rank_count != product:
        faults.append(
            f"{SHAPE}.rankCount is {rank_count}, but the product of the degrees {_name(degrees)} is {product}"
        )
    return Declaration(shape, parallelism, rank_count, product, faults)


def read_whole_number(value: object, path: str, faults: list[str]) -> int | LongInteger | None:
    """A whole number of at least 1; None where it is null or (a fault) something else."""
    if value is None:
        return None
    if is_at_least_one(value):
        return value
    faults.append(f"{path} must be a whole number of at least 1, got {excerpt(value)}")
    return None


def _read_object(metadata: Mapping[str, object] | None, name: str, faults: list[str]) -> Mapping[str, object] | None:
    """The object that is this member of the metadata; None where it is absent, null or (a fault) something else."""
    value = (metadata or {}).get(name)
    if value is None or isinstance(value, dict):
        return value
    faults.append(f"{ROOT}.{name} must be an object or null, got {excerpt(value)}")
    return None


def _read_count(value: object, path: str, faults: list[str]) -> int | None:
    """A whole number up to the limit, which every factor keeps whose product does."""
    number = read_whole_number(value, path, faults)
    if number is None:
        return None
    if isinstance(number, int) and number <= MAX_RANK_COUNT:
        return number
    faults.append(f"{path} must be at most {_LIMIT}, got {excerpt(number)}")
    return None


def _name(degrees: Mapping[str, object]) -> str:
    """The paths of the degrees: `workloadMetadata.parallelism.dp × workloadMetadata.parallelism.tp`."""
    return " × ".join(f"{PARALLELISM}.{name}" for name in degrees)
