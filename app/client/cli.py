"""The `tracesets` command: everything but `upload` and `download`, which are in `cli_transfers`.

Exit codes: 0 done; 1 `validate` found something wrong; 2 the command was given wrongly; 3 the service refused; 4 the
service or the store could not be reached for too long (try again, or `upload --resume`); 5 something on this machine
is in the way, or bytes are not what they should be; 130 interrupted.

Results go to standard output, everything else to standard error; with `--json` the API's answer stands alone there.
"""

import json
import sys
from dataclasses import asdict
from typing import Any

import click
from click.shell_completion import get_completion_class

from app.client import display
from app.client.cli_base import NOT_VALID, Commands, as_json, metadata_option, open_client
from app.client.cli_transfers import download, upload
from app.client.client import TracesetsClient
from app.client.errors import Gone, NotFound
from app.client.journal import Journal
from app.client.models import ListedTraceset
from app.client.settings import URL_VARIABLE, Account, keep_account

STATUSES = ("uploading", "processing", "ready", "metadata_failed", "upload_failed", "deleted")
_GOING = ("open", "completing")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tracesets")
def main() -> None:
    """Keep traces of AI workloads in one place: upload, find, check and fetch them.

    The service and your token come from TRACESETS_URL and TRACESETS_API_TOKEN, or from `tracesets login`.
    """


main.add_command(upload)
main.add_command(download)


@main.command("list")
@click.option("--workspace", "workspace_id", metavar="ID", help="Only this workspace.")
@click.option("--status", type=click.Choice(STATUSES), help="Only these; deleted ones show only so.")
@click.option("--search", metavar="TEXT", help="Text anywhere in the name, in any case.")
@click.option("--tag", "tags", multiple=True, help="Has this tag; may be repeated.")
@click.option("--created-after", metavar="TIME", help="Created then or later (ISO 8601).")
@click.option("--created-before", metavar="TIME", help="Created before then (ISO 8601).")
@click.option("--workload-family", metavar="WORD", help="By the workload's metadata; so are the next three.")
@click.option("--workload-name", metavar="WORD")
@click.option("--precision", metavar="WORD")
@click.option("--accelerator", metavar="WORD")
@click.option("--rank-count-min", type=click.IntRange(min=1), metavar="N", help="At least so many ranks.")
@click.option("--rank-count-max", type=click.IntRange(min=1), metavar="N", help="At most so many ranks.")
@click.option("--sort", metavar="FIELD:DIRECTION,...", help="By created, name or status; asc or desc.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="Tracesets on a page.")
@click.option("--next", "cursor", metavar="CURSOR", help="The page after that of this cursor.")
@click.option("--all", "is_all", is_flag=True, help="All pages.")
@as_json
def list_(*, limit: int, cursor: str | None, is_all: bool, is_json: bool, **filters: Any) -> None:
    """List tracesets, newest first."""
    with open_client() as client:
        page = client.page_of_tracesets(page_size=limit, cursor=cursor, **filters)
        pages = [page]
        while is_all and page.next_cursor is not None:
            page = client.page_of_tracesets(page_size=limit, cursor=page.next_cursor, **filters)
            pages.append(page)
    if not is_json:
        items: list[ListedTraceset] = [item for each in pages for item in each.items]
        display.print_list(items)
        if page.next_cursor is not None:
            display.note(f"There are more: --all, or --next {page.next_cursor}")
    elif len(pages) == 1:
        display.print_json(page.raw)
    else:
        raw = [item for each in pages for item in json.loads(each.raw)["items"]]
        pagination = {"count": len(raw), "hasMore": False, "nextCursor": None}
        display.print_json({"items": raw, "pagination": pagination})


@main.command()
@click.argument("traceset_id", metavar="ID")
@as_json
def show(traceset_id: str, *, is_json: bool) -> None:
    """Show a traceset with all its files."""
    with open_client() as client:
        traceset = client.get_traceset(traceset_id)
    if is_json:
        display.print_json(traceset.raw)
    else:
        display.print_traceset(traceset)


@main.command()
@click.argument("traceset_id", metavar="ID")
@click.option("--deep", "is_deep", is_flag=True, help="Also read every byte, and look for all ranks.")
@as_json
@click.pass_context
def validate(context: click.Context, traceset_id: str, *, is_deep: bool, is_json: bool) -> None:
    """Check that a traceset is whole; exit code 1 when it is not."""
    with open_client() as client:
        validation = client.validate_traceset(traceset_id, is_deep=is_deep)
    if is_json:
        display.print_json(validation.raw)
    else:
        display.print_validation(validation)
    if not validation.is_valid:
        context.exit(NOT_VALID)


@main.command()
@click.argument("traceset_id", metavar="ID")
@click.option("--workspace", "workspace_id", metavar="ID", help="The target; the universal one unless given.")
@click.option("--name", help="Of the new traceset; the old one's unless given.")
@metadata_option
@as_json
def promote(
    traceset_id: str, *, workspace_id: str | None, name: str | None, metadata: dict[str, Any] | None, is_json: bool
) -> None:
    """Publish a traceset into another workspace; no byte is copied."""
    with open_client() as client:
        promoted = client.promote_traceset(
            traceset_id, workspace_id=workspace_id, name=name, workload_metadata=metadata
        )
    if is_json:
        display.print_json(promoted.raw)
    else:
        display.print_traceset(promoted)


@main.command()
@click.argument("traceset_id", metavar="ID")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@as_json
@click.pass_context
def delete(context: click.Context, traceset_id: str, *, is_sure: bool, is_json: bool) -> None:
    """Delete a traceset; asks first, on a terminal."""
    with open_client() as client:
        if not is_sure and sys.stdin.isatty() and not click.confirm(f"Delete {traceset_id}?", err=True):
            context.exit(NOT_VALID)
        client.delete_traceset(traceset_id)
    if is_json:
        display.print_json(None)  # The API answers without a body.
    else:
        display.note(f"{traceset_id} was deleted")


@main.command()
@click.option("--end", "ended_id", metavar="UPLOAD_ID", help="End this session and discard its parts.")
@as_json
def sessions(*, ended_id: str | None, is_json: bool) -> None:
    """List the uploads that this machine has begun and not finished, or end one.

    Sessions that the service has ended meanwhile are listed once more, and forgotten. The JSON is the API's, without
    the URLs: whoever has those may send parts.
    """
    with open_client() as client:
        if ended_id is not None:
            client.abort_upload(ended_id)
        found = [_session(client, journal) for journal in client.unfinished_uploads()]
    if is_json:
        display.print_json({"items": [session for _, session in found]})
        return
    rows = []
    for journal, session in found:
        parts = [part for file in session.get("files", ()) for part in file["parts"]]
        n_sent = sum(part["uploaded"] for part in parts)
        sent = f"{n_sent} of {len(parts)} parts"
        rows.append((journal.upload_id, session["state"], journal.body.get("name"), sent, session.get("expiresAt")))
    display.print_table(("UPLOAD", "STATE", "NAME", "SENT", "EXPIRES"), rows)


def _session(client: TracesetsClient, journal: Journal) -> tuple[Journal, dict[str, Any]]:
    """What the service says of a remembered upload; one that can take no more parts is forgotten."""
    if journal.upload_id is None:
        return journal, {"state": "not opened"}
    try:
        session: dict[str, Any] = json.loads(client.get_upload(journal.upload_id, route=journal.route).raw)
    except (NotFound, Gone):
        session = {"uploadId": journal.upload_id, "state": "gone"}
    for file in session.get("files", ()):
        for part in file["parts"]:
            part.pop("url", None)
    if session["state"] not in _GOING:
        journal.forget()
    return journal, session


@main.command()
@click.option("--url", envvar=URL_VARIABLE, prompt="Service", help="Such as https://traces.example.org")
@click.option("--token-stdin", is_flag=True, help="Read the API token from standard input.")
@as_json
def login(*, url: str, token_stdin: bool, is_json: bool) -> None:
    """Keep a service and an API token for later commands, in a file that only you can read."""
    token = sys.stdin.readline() if token_stdin else click.prompt("API token", hide_input=True, err=True)
    with TracesetsClient(url, token) as client:
        workspaces = client.list_workspaces()
        path = keep_account(Account(client.url, token.strip()))
    if is_json:
        display.print_json({"items": [asdict(workspace) for workspace in workspaces]})
    else:
        display.note(f"Signed in to {client.url}; the token is kept in {path}")
        if client.url.startswith("http://") and "//localhost" not in client.url and "//127." not in client.url:
            display.note("Warning: this service is asked without encryption, and your token can be read on its way")


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete this command: eval "$(tracesets completion bash)"."""
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "tracesets", "_TRACESETS_COMPLETE").source())
