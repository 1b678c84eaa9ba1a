"""The commands that look after a deployment; what they print and their exit status is the operators' interface."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click
from flask import Flask
from flask.cli import AppGroup, with_appcontext

from app.commands import told
from app.services.backup import make_backup, restore_backup
from app.services.fsck import Finding, find_faults
from app.services.store_trial import try_store

NAMED_TRACESETS = 10
"""How many tracesets a line names before it counts the rest."""

storage = AppGroup("storage", help="The object store.")


def init_app(app: Flask) -> None:
    """Add the commands to `flask`."""
    for command in (fsck, backup, restore, storage):
        app.cli.add_command(command)


@click.command("fsck")
@click.option("--repair", is_flag=True, help="Mend what can be mended safely.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, the last one is the summary.")
@with_appcontext
@told
def fsck(*, repair: bool, as_json: bool) -> None:
    """Compare the database and the object store, both ways.

    Tells each fault in a line. The exit status is 1 where something is (still) wrong.
    """
    n_found: Counter[str] = Counter()
    n_left = 0
    for finding in find_faults(repair=repair):
        n_found[finding.fault] += 1
        n_left += not finding.is_repaired
        click.echo(json.dumps(asdict(finding)) if as_json else _line(finding))
    summary = {"found": n_found.total(), "repaired": n_found.total() - n_left, "left": n_left, "faults": n_found}
    click.echo(json.dumps({"summary": summary}) if as_json else _sentence(n_found, n_left))
    if n_left:
        raise SystemExit(1)


def _line(finding: Finding) -> str:
    harmed = ", ".join(finding.tracesets[:NAMED_TRACESETS])
    rest = len(finding.tracesets) - NAMED_TRACESETS
    harm = f"; harms {harmed}{f' and {rest} more' if rest > 0 else ''}" if harmed else ""
    return f"{finding.fault} {finding.subject}: {finding.message}{harm}{' (repaired)' if finding.is_repaired else ''}"


def _sentence(n_found: Counter[str], n_left: int) -> str:
    if not n_found:
        return "Database and store agree."
    each = ", ".join(f"{n} {fault}" for fault, n in sorted(n_found.items()))
    return f"{n_found.total()} found ({each}), {n_found.total() - n_left} repaired, {n_left} left."


@click.command("backup")
@click.argument("path", type=click.Path(path_type=Path, resolve_path=True))
@with_appcontext
@told
def backup(path: Path) -> None:
    """Copy the database and the disk store to PATH, which must not exist, while others go on.

    Of a bucket a list of its objects is kept, and not their bytes.
    """
    about = make_backup(path)
    for key in about.missing:
        click.echo(f"missing in the store, and so in the backup: {key}", err=True)
    click.echo(f"{path}: the database (schema {about.schema}) and {about.objects} objects of {about.size} bytes")


@click.command("restore")
@click.argument("path", type=click.Path(path_type=Path, resolve_path=True))
@click.option("--allow-missing", is_flag=True, help="Go on although objects are missing.")
@with_appcontext
@told
def restore(path: Path, *, allow_missing: bool) -> None:
    """Fill this empty deployment from a backup, and bring it to the newest schema."""
    about = restore_backup(path, allow_missing=allow_missing)
    click.echo(f"{about.objects} objects and the database as of {about.made_at}; look at it by `flask fsck`")


@storage.command("check")
@told
def check_storage() -> None:
    """Try all that is asked of the object store, as the server and as a client.

    The exit status is 1 where something is wrong.
    """
    words = {True: "right", False: "WRONG", None: "not tried"}
    is_wrong = False
    for tried in try_store():
        is_wrong |= tried.is_right is False
        click.echo(f"{words[tried.is_right]:9}  {tried.what}: {tried.message}")
    if is_wrong:
        raise SystemExit(1)
