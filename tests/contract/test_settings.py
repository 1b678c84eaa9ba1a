"""What a deployment does where its operator says nothing (C6, C7, U2, U3, W1, operators' interface)."""

import pytest

from app.settings import MIB, Settings

DEFAULTS = {
    "part_size": 64 * MIB,
    "part_url_ttl": 3600,
    "session_ttl": 24 * 3600,
    "download_url_ttl": 15 * 60,
    "complete_timeout": 60,
    "complete_lease": 60,
    "default_ttl_days": 365,
    "enable_trace_routes": True,
    "trace_routes_read_only": False,
    "sweep_interval": 300,
    "s3_bucket": None,
    "s3_region": "us-east-1",
    "s3_prefix": "",
    "s3_addressing_style": "auto",
}


def test_what_is_not_set_is_as_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DEFAULTS:
        monkeypatch.delenv(f"TRACESETS_{name.upper()}", raising=False)

    settings = Settings()

    assert {name: getattr(settings, name) for name in DEFAULTS} == DEFAULTS
