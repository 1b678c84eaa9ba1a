"""The server's commands (`flask --app wsgi …`); what they print and how they fail is the operators' interface."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import click
from flask import Flask
from flask.cli import AppGroup, with_appcontext
from flask_migrate import upgrade
from sqlalchemy import select

from app.domain.access import Role
from app.errors import AppError
from app.extensions import app_settings
from app.models.people import User
from app.models.workspaces import Workspace
from app.services import people, workspaces
from app.services.sweep import sweep
from app.settings import ROOT
from app.transactions import reading

P = ParamSpec("P")
T = TypeVar("T")

FIRST_ADMIN = "admin@localhost"
"""Whom `make run` signs in."""

user = AppGroup("user", help="People.")
token = AppGroup("token", help="API tokens.")
workspace = AppGroup("workspace", help="Workspaces and their members.")


def init_app(app: Flask) -> None:
    """Add the commands to `flask`."""
    for command in (start, user, token, workspace, sweep_once):
        app.cli.add_command(command)


def told(command: Callable[P, T]) -> Callable[P, T]:
    """Tell an expected error in one line and end with status 1, without a stack."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except AppError as exc:
            raise click.ClickException(exc.message) from exc

    return wrapped


@click.command("start")
@with_appcontext
@told
def start() -> None:
    """Bring the database up to date, make a first admin where there is nobody, and serve."""
    upgrade()
    with reading() as session:
        is_new = session.scalar(select(User.id).limit(1)) is None
        admins = select(User.email).where(User.is_admin, User.is_disabled.is_(False)).order_by(User.id)
        admin = FIRST_ADMIN if is_new else session.scalar(admins.limit(1))
    if is_new:
        people.create_user(FIRST_ADMIN, is_admin=True)
        token_text = people.create_token(FIRST_ADMIN, name="make run")
        click.echo(f"The API token of {FIRST_ADMIN}, shown this once:\n\n  {token_text}\n\nTry it:\n")
        click.echo(f"  curl -H 'Authorization: Bearer {token_text}' {_origin()}/api/v1/workspaces\n")
    if admin is not None:
        click.echo(f"Sign in as {admin}, once and within the hour:\n\n  {_sign_in_link(admin)}\n")
    sys.stdout.flush()
    gunicorn = Path(sys.executable).with_name("gunicorn")
    os.chdir(ROOT)
    os.execv(gunicorn, [str(gunicorn), "-c", "gunicorn.conf.py", "wsgi:app"])  # noqa: S606 - becomes the server


@user.command("create")
@click.argument("email")
@click.option("--admin", is_flag=True, help="May do everything everywhere.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@told
def create_user(email: str, *, admin: bool, password_stdin: bool) -> None:
    """Add a person; without a password they sign in by a link."""
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
    people.create_user(email, password=password, is_admin=admin)
    click.echo(f"{email} was added", err=True)


@user.command("link")
@click.argument("email")
@told
def link(email: str) -> None:
    """Print a link that signs the person in once, within the hour."""
    click.echo(_sign_in_link(email))


def _origin() -> str:
    """Where this machine's server is reached: `BASE_URL`, else what `gunicorn.conf.py` binds to."""
    host, port = os.environ.get("HOST", "127.0.0.1"), os.environ.get("PORT", "8000")
    return app_settings().base_url or f"http://{host}:{port}"


def _sign_in_link(email: str) -> str:
    return f"{_origin()}/login/{people.create_sign_in_link(email)}"


@token.command("create")
@click.argument("email")
@click.option("--name", default="token", show_default=True, help="What the token is for.")
@click.option("--read-only", is_flag=True, help="The token changes nothing.")
@click.option("--days", type=int, help="The token ends after so many days.")
@told
def create_token(email: str, *, name: str, read_only: bool, days: int | None) -> None:
    """Print a new token of this person, which is shown this once."""
    click.echo(people.create_token(email, name=name, is_read_only=read_only, days=days))


@token.command("revoke")
@click.argument("prefix")
@told
def revoke_token(prefix: str) -> None:
    """End the token that begins so."""
    people.revoke_token(prefix)
    click.echo("The token was ended", err=True)


@workspace.command("list")
@with_appcontext
def list_workspaces() -> None:
    """Print ids and names."""
    with reading() as session:
        for found in session.scalars(select(Workspace).order_by(Workspace.name, Workspace.id)):
            click.echo(f"{found.id}\t{found.name}")


@workspace.command("create")
@click.argument("name")
@click.option("--owner", required=True, metavar="EMAIL", help="Who owns it.")
@told
def create_workspace(name: str, *, owner: str) -> None:
    """Print the id of a new workspace."""
    click.echo(workspaces.create_workspace(workspaces.OPERATOR, name, owner))


@workspace.command("add")
@click.argument("workspace_id")
@click.argument("email")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@told
def add_member(workspace_id: str, email: str, *, role: str) -> None:
    """Give a person a role in a workspace."""
    workspaces.set_member(workspaces.OPERATOR, workspace_id, email, Role(role))
    click.echo(f"{email} is {role} of {workspace_id}", err=True)


@click.command("sweep")
@with_appcontext
@told
def sweep_once() -> None:
    """Sweep once: end what has passed its time, delete what nothing refers to."""
    for what, count in sweep().items():
        click.echo(f"{what}: {count}")
