"""Every setting, read from the environment here and nowhere else.

The names of the environment are the field names in capitals behind `TRACESETS_`. A bad value stops the start
and names the variable. Credentials for S3 come from boto3's own chain (`AWS_…`).
"""

import os
import secrets
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1024 * 1024
ROOT = Path(__file__).resolve().parent.parent


class Settings(BaseSettings):
    """One deployment's settings; sizes in bytes, times in seconds unless the name says otherwise."""

    model_config = SettingsConfigDict(env_prefix="TRACESETS_", extra="ignore", env_ignore_empty=True)

    data_dir: Path = ROOT / "var"
    database_url: SecretStr | None = None
    database_pool_size: Annotated[int, Field(ge=1)] = 8
    secret_key: SecretStr | None = None
    base_url: str | None = None
    trusted_proxies: Annotated[int, Field(ge=0)] = 0

    s3_bucket: str | None = None
    s3_endpoint_url: str | None = None
    s3_public_endpoint_url: str | None = None
    s3_region: str = "us-east-1"
    s3_prefix: str = ""
    s3_addressing_style: Literal["auto", "path", "virtual"] = "auto"

    part_size: Annotated[int, Field(ge=5 * MIB, le=5 * 1024 * MIB)] = 64 * MIB
    part_url_ttl: Annotated[int, Field(ge=1, le=604_800)] = 3600
    session_ttl: Annotated[int, Field(ge=1)] = 86_400
    download_url_ttl: Annotated[int, Field(ge=1, le=604_800)] = 900
    complete_timeout: Annotated[float, Field(gt=0)] = 60
    complete_lease: Annotated[float, Field(gt=0)] = 60
    sign_in_ttl: Annotated[int, Field(ge=60)] = 30 * 86_400
    default_ttl_days: Annotated[int, Field(ge=0, le=36_500)] = 365
    enable_trace_routes: bool = True
    trace_routes_read_only: bool = False
    sweep_interval: Annotated[float, Field(ge=0)] = 300

    max_body_size: Annotated[int, Field(ge=1024)] = 32 * MIB
    max_open_sessions: Annotated[int, Field(ge=1)] = 10_000
    rate_limit_per_minute: Annotated[int, Field(ge=0)] = 0
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @field_validator("base_url", "s3_endpoint_url", "s3_public_endpoint_url")
    @classmethod
    def _origin(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")

    @cached_property
    def sqlalchemy_url(self) -> str:
        """The database's URL; SQLite below `data_dir` where none is set."""
        if self.database_url is None:
            return f"sqlite:///{self.data_dir.absolute() / 'tracesets.sqlite3'}"
        url = self.database_url.get_secret_value()
        for short in ("postgres://", "postgresql://"):
            if url.startswith(short):
                return "postgresql+psycopg://" + url.removeprefix(short)
        return url

    @cached_property
    def signing_key(self) -> str:
        """The secret that signs sessions, cursors and disk-store URLs; made once and kept below `data_dir`."""
        if self.secret_key is not None:
            return self.secret_key.get_secret_value()
        return _kept_secret(self.data_dir / "secret_key")


def _kept_secret(path: Path) -> str:
    """The secret in this file, made where there is none.

    Several processes may start at once: each writes a whole file of its own and links it into place, so the
    first one wins and nobody reads half a secret.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
