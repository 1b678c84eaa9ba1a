"""What a bucket's lifecycle rules would do to our objects.

Source: Amazon S3, PutBucketLifecycleConfiguration.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_DAY_SECONDS = 86_400
_SLOW_CLASSES = {"GLACIER", "DEEP_ARCHIVE"}
"""Storage classes that are not read at once."""


def concerns(rule: Mapping[str, Any], prefix: str) -> bool:
    """Whether the rule is on and speaks of keys that begin so; ours have no tags."""
    chosen = rule.get("Filter", {})
    chosen = chosen.get("And", chosen)
    if rule.get("Status") != "Enabled" or "Tag" in chosen or chosen.get("Tags"):
        return False
    begins = str(chosen.get("Prefix", rule.get("Prefix", "")))
    return begins.startswith(prefix) or prefix.startswith(begins)


def harm_of(rules: Sequence[Mapping[str, Any]], session_ttl: float) -> list[str]:
    """What these rules would break, a sentence each.

    Args:
        rules: those that concern our keys.
        session_ttl: seconds for which an upload may stay open.
    """
    harm = []
    for rule in rules:
        name = f"rule '{rule.get('ID', '?')}'"
        expiration = rule.get("Expiration", {})
        if "Days" in expiration or "Date" in expiration:
            harm.append(f"{name} deletes objects: take it away")
        if _SLOW_CLASSES & {move.get("StorageClass") for move in rule.get("Transitions", [])}:
            harm.append(f"{name} moves objects to where they are not read at once: take it away")
        days = rule.get("AbortIncompleteMultipartUpload", {}).get("DaysAfterInitiation")
        if days is not None and days * _DAY_SECONDS < session_ttl:
            harm.append(f"{name} ends uploads after {days} days, before their sessions end: let it wait longer")
    return harm
