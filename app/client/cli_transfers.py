"""`tracesets upload` and `tracesets download`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from app.client import display
from app.client.cli_base import as_json, metadata_option, open_client, patience_option, quiet_option, workers_option
from app.client.client import TracesetsClient
from app.client.errors import LocalError, TracesetsError, UploadEnded
from app.client.plan import DEGREES, Plan, declared_ranks, plan_upload, workload_metadata
from app.client.progress import Reporter, reporter
from app.client.sources import collect
from app.client.target import shown

_UPLOAD_ID = "upload_"


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--name", help="Of the traceset; the name of PATH, unless given.")
@click.option("--ranks", "rank_count", type=click.IntRange(min=1), metavar="N", help="How many ranks there are.")
@click.option("--dp", type=int, help="Data parallelism; the degrees' product is the rank count.")
@click.option("--tp", type=int, help="Tensor parallelism.")
@click.option("--sp", type=int, help="Sequence parallelism.")
@click.option("--ep", type=int, help="Expert parallelism.")
@click.option("--pp", type=int, help="Pipeline parallelism.")
@metadata_option
@click.option("--workspace", "workspace_id", metavar="ID", help="The universal workspace, unless given.")
@click.option("--description", help="Of the traceset.")
@click.option("--tag", "tags", multiple=True, help="May be repeated.")
@click.option("--ttl-days", type=click.IntRange(1, 365), help="Days that the traceset lives.")
@click.option("--primary", multiple=True, metavar="PATTERN", help="These files hold traces, whatever their names.")
@click.option("--supporting", multiple=True, metavar="PATTERN", help="These files do not.")
@click.option(
    "--sha256",
    "hashing",
    type=click.Choice(["none", "small", "all"]),
    default="small",
    show_default=True,
    help="Hash these files first (small: up to 8 MiB), so that content the service has is not sent again.",
)
@click.option("--strict", "is_strict", is_flag=True, help="Send nothing unless the names cover all ranks.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option(
    "--resume",
    "resumed_id",
    is_flag=False,
    flag_value="",
    metavar="[UPLOAD_ID]",
    help="Go on with an upload: the last one, or this one; on another machine, give its PATHs too.",
)
@workers_option
@patience_option
@quiet_option
@as_json
def upload(
    paths: tuple[str, ...],
    *,
    resumed_id: str | None,
    workers: int,
    patience: float,
    is_quiet: bool,
    is_json: bool,
    **options: Any,
) -> None:
    """Upload files as a traceset: PATHs are files, folders and patterns.

    Names in the traceset are the paths below the nearest folder that holds everything given. Which files hold traces,
    and of which ranks, is suggested by their names and shown before anything is sent.
    """
    if resumed_id and not resumed_id.startswith(_UPLOAD_ID):
        paths, resumed_id = (resumed_id, *paths), ""
    with open_client(workers=workers, transfer_patience=patience) as client:
        if resumed_id is not None:
            with _hinting(reporter("sent", is_quiet=is_quiet)) as watcher:
                ready = client.resume_upload(resumed_id or None, paths, watcher=watcher)
        else:
            ready = _upload_new(client, paths, is_quiet=is_quiet, **options)
    if is_json:
        display.print_json(ready.raw)
    else:
        display.print_ready(ready)


def _upload_new(
    client: TracesetsClient,
    paths: tuple[str, ...],
    *,
    name: str | None,
    rank_count: int | None,
    metadata: dict[str, Any] | None,
    primary: tuple[str, ...],
    supporting: tuple[str, ...],
    is_strict: bool,
    is_sure: bool,
    is_quiet: bool,
    **options: Any,
) -> Any:
    if not paths:
        raise click.UsageError("Name the files to send, or --resume")
    if name is None and len(paths) > 1:
        raise click.UsageError("Give the traceset a --name")
    degrees = {degree: options.pop(degree) for degree in DEGREES}
    declared = workload_metadata(metadata, rank_count=rank_count, degrees=degrees)
    plan = plan_upload(collect(paths), primary=primary, supporting=supporting)
    _check_ranks(plan, declared_ranks(declared), is_strict=is_strict, is_sure=is_sure, is_quiet=is_quiet)
    with _hinting(reporter("sent", is_quiet=is_quiet)) as watcher:
        return client.upload_traceset(
            plan, name=name or Path(paths[0]).resolve().name, metadata=declared, watcher=watcher, **options
        )


def _check_ranks(plan: Plan, declared: int | None, *, is_strict: bool, is_sure: bool, is_quiet: bool) -> None:
    """Hold names against the declared ranks, before anything is sent.

    Raises:
        LocalError: they do not fit, and that is not wanted.
        UsageError: no count was declared.
    """
    if declared is None and plan.primary_names:
        suggested = f"; the names suggest --ranks {plan.n_ranks}" if plan.n_ranks else ""
        raise click.UsageError(f"Declare the ranks: --ranks, or degrees such as --dp{suggested}")
    is_covered, sentence = plan.coverage(declared)
    if not is_quiet:
        display.print_plan(plan, (is_covered, sentence))
    if is_covered:
        return
    if is_strict:
        raise LocalError(f"Nothing was sent: {sentence}")
    is_asked = not is_sure and sys.stdin.isatty() and sys.stderr.isatty()
    if is_asked and not click.confirm("Send it all the same?", err=True):
        raise LocalError("Nothing was sent")


@contextmanager
def _hinting(watcher: Reporter) -> Iterator[Reporter]:
    """Show progress, and tell how to go on with an upload that does not come to its end."""
    try:
        with watcher:
            yield watcher
    except UploadEnded:
        raise
    except (KeyboardInterrupt, TracesetsError):
        if watcher.upload_id is not None:
            display.note(f"To go on: tracesets upload --resume {watcher.upload_id}")
        raise


@click.command()
@click.argument("traceset_id", metavar="ID")
@click.option("--output", "-o", metavar="DIR", help="The folder to put the files in; named by ID, unless given.")
@click.option("--files", multiple=True, metavar="PATTERN", help="Only these, such as 'host/*'; may be repeated.")
@click.option("--ranks", metavar="0-7,12", help="Only files of these ranks, by their names.")
@click.option("--force", "may_replace", is_flag=True, help="Replace files that are there.")
@click.option("--verify/--no-verify", "is_verifying", default=True, help="Hold the bytes against the store's digests.")
@workers_option
@patience_option
@quiet_option
@as_json
def download(
    traceset_id: str,
    *,
    output: str | None,
    files: tuple[str, ...],
    workers: int,
    patience: float,
    is_quiet: bool,
    is_json: bool,
    **options: Any,
) -> None:
    """Download a traceset, or some of its files. Given again after any end, it goes on."""
    with (
        open_client(workers=workers, transfer_patience=patience) as client,
        reporter("fetched", is_quiet=is_quiet) as watcher,
    ):
        brought = client.download_traceset(traceset_id, output or traceset_id, files=files, watcher=watcher, **options)
    for name in brought.external:
        display.note(f"Left out, for it lies elsewhere: {shown(name)}")
    if options["is_verifying"] and brought.unverified:
        display.note(f"Of {len(brought.unverified)} files no more than the size could be verified")
    if is_json:
        display.print_json(brought.subject.raw)
    else:
        click.echo(f"{len(brought.files)} files in {brought.folder}")
