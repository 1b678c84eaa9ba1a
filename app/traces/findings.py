"""What a check of a trace file has to tell.

A broken file is not an exception: every check gives findings, and an empty list means that nothing is wrong.
"""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """An error means that the tools cannot read the file; a warning is only told."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about one file: `code` for programs, `message` (a sentence without the file's name) for people."""

    code: str
    message: str
    severity: Severity


def error(code: str, message: str) -> Finding:
    """Give a finding that makes `trace_format` (V6) fail."""
    return Finding(code, message, Severity.ERROR)


def warning(code: str, message: str) -> Finding:
    """Give a finding that is told and fails nothing."""
    return Finding(code, message, Severity.WARNING)


def has_error(findings: list[Finding]) -> bool:
    """Tell whether any of the findings is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)
