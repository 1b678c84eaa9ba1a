"""What all commands share: the account, errors as exit codes, and options."""

import json
from pathlib import Path
from typing import Any, NoReturn

import click

from app.client.client import TracesetsClient
from app.client.display import note
from app.client.errors import ApiError, NotReachable, TracesetsError
from app.client.settings import find_account
from app.client.target import shown

NOT_VALID, REFUSED, UNREACHABLE, LOCAL, INTERRUPTED = 1, 3, 4, 5, 130


class Commands(click.Group):
    """Commands whose errors become exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except TracesetsError as exc:
            _fail(ctx, exc.message, _exit_code(exc))
        except OSError as exc:
            _fail(ctx, f"{exc.filename or 'This machine'}: {exc.strerror}", LOCAL)
        except KeyboardInterrupt:
            _fail(ctx, "interrupted", INTERRUPTED)


def _fail(context: click.Context, message: str, exit_code: int) -> NoReturn:
    note(f"Error: {shown(message)}")
    context.exit(exit_code)


def _exit_code(exc: TracesetsError) -> int:
    if isinstance(exc, ApiError):
        return UNREACHABLE if exc.status >= 500 or exc.status == 429 else REFUSED
    return UNREACHABLE if isinstance(exc, NotReachable) else LOCAL


def open_client(**options: Any) -> TracesetsClient:
    """A client for the account that is set or signed in."""
    account = find_account()
    return TracesetsClient(account.url, account.token, **options)


def _read_metadata(context: click.Context, parameter: click.Parameter, text: str | None) -> dict[str, Any] | None:
    """JSON, or the JSON in the file named behind @."""
    if text is None:
        return None
    try:
        metadata = json.loads(Path(text[1:]).read_text() if text.startswith("@") else text)
    except (OSError, ValueError) as exc:
        raise click.BadParameter(f"is no JSON: {exc}", context, parameter) from None
    if not isinstance(metadata, dict):
        raise click.BadParameter("must be a JSON object", context, parameter)
    return metadata


as_json = click.option("--json", "is_json", is_flag=True, help="Print the API's answer, alone on standard output.")
metadata_option = click.option(
    "--metadata", metavar="JSON|@FILE", callback=_read_metadata, help="Workload metadata, a JSON object."
)
workers_option = click.option(
    "--workers", type=click.IntRange(1, 64), default=8, show_default=True, help="Parts that move at a time."
)
patience_option = click.option(
    "--patience",
    type=click.FloatRange(min=0),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="Go on for so long without any success.",
)
quiet_option = click.option("--quiet", "-q", "is_quiet", is_flag=True, help="Show no progress.")
