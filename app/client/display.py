"""What the commands print: JSON as the API gave it, tables on a terminal, tab-separated lines elsewhere."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.client.models import ListedTraceset, MappingFile, Traceset, Validation
from app.client.plan import Plan
from app.client.progress import readable
from app.client.target import shown

_FILES_SHOWN = 20


def print_json(raw: str | object) -> None:
    """JSON, alone on standard output: text as it is, or a value."""
    click.echo(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table for people, or for other programs lines with tabs and without a head."""
    texts = [[_cell(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in texts:
            click.echo("\t".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in texts:
        table.add_row(*map(Text, row))
    Console().print(table)


def print_list(items: Iterable[ListedTraceset]) -> None:
    """Tracesets, one a line."""
    columns = ("ID", "NAME", "STATUS", "FILES", "SIZE", "RANKS", "CREATED", "TAGS")
    print_table(
        columns,
        (
            (
                item.id,
                item.name,
                item.status,
                item.file_count,
                readable(item.total_size),
                item.rank_count,
                item.created_at,
                ", ".join(item.tags),
            )
            for item in items
        ),
    )


def print_traceset(traceset: Traceset) -> None:
    """A traceset, its members first and then its files."""
    click.echo(f"{shown(traceset.name)}  {traceset.id}  {traceset.status}")
    facts = {
        "description": traceset.description,
        "size": f"{readable(traceset.total_size)} in {len(traceset.files)} files",
        "ranks": traceset.rank_count,
        "tags": ", ".join(traceset.tags) or None,
        "workspace": traceset.workspace_id,
        "created": traceset.created_at,
        "expires": traceset.expires_at,
        "promoted from": traceset.promoted_from,
    }
    for name, value in facts.items():
        if value is not None:
            click.echo(f"  {name}: {_cell(value)}")
    if traceset.workload_metadata is not None:
        click.echo(f"  workload: {shown(json.dumps(traceset.workload_metadata, ensure_ascii=False, default=str))}")
    columns = ("FILE", "SIZE", "ROLE", "RANKS", "URL")
    print_table(
        columns,
        (
            (
                file.name,
                readable(file.size),
                file.role,
                file.rank_range and f"{file.rank_range[0]}-{file.rank_range[1]}",
                file.external_url,
            )
            for file in traceset.files
        ),
    )


def print_ready(ready: Traceset | MappingFile) -> None:
    """What an upload has made."""
    click.echo(f"{ready.id} is {ready.status}: {len(ready.files)} files, {readable(ready.total_size)}")


def print_validation(validation: Validation) -> None:
    """Every check, with what it says."""
    for check in validation.checks:
        told = f": {shown(check.message)}" if check.message else ""
        click.echo(f"{'passed' if check.passed else 'FAILED'}  {check.name}{told}")


def print_plan(plan: Plan, coverage: tuple[bool, str]) -> None:
    """What an upload will send, on standard error: roles and ranks as far as they are of use."""
    ranks = {suggestion.name: suggestion.rank for suggestion in plan.ranks}
    listed = list(zip(plan.files, plan.roles, strict=True))
    for file, role in listed[:_FILES_SHOWN]:
        rank = ranks.get(file.name)
        note(f"  {role:10}  {'' if rank is None else f'rank {rank}':9}  {shown(file.name)} ({readable(file.size)})")
    if len(listed) > _FILES_SHOWN:
        note(f"  and {len(listed) - _FILES_SHOWN} more")
    is_covered, sentence = coverage
    note(sentence if is_covered else f"Warning: {sentence}")


def note(text: str) -> None:
    """A sentence beside the result, on standard error."""
    click.echo(text, err=True)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return shown(str(value))
