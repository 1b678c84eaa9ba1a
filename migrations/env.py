"""Runs migrations inside one transaction that holds a lock, so that several processes may upgrade at once.

SQLite: the transaction is an immediate one, so the second process waits for the first one's commit. PostgreSQL:
an advisory lock does the same. Either way the schema's version is read behind the lock.
"""

from alembic import context
from flask import current_app
from sqlalchemy import text

from app.models import Base

UPGRADE_LOCK = 7_126_530_417
"""Any number, the same in all releases."""

db = current_app.extensions["migrate"].db
options = current_app.extensions["migrate"].configure_args


def include_object(_item, name, kind, reflected, compare_to):
    """Leave alone what migrations make in SQL alone: search tables, their triggers and expression indexes."""
    return not (kind in ("table", "index") and reflected and compare_to is None and name.startswith("search_"))


def run():
    with db.engine.connect().execution_options(writes=True) as connection:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            transactional_ddl=True,
            include_object=include_object,
            **options,
        )
        with context.begin_transaction():
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": UPGRADE_LOCK})
            context.run_migrations()


if context.is_offline_mode():
    context.configure(url=str(db.engine.url), target_metadata=Base.metadata, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    run()
