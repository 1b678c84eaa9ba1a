"""Make what the list of tracesets is found by: tags as rows, an index for each order, pieces of names.

What is in SQL here, the databases keep in step by themselves: PostgreSQL in an index over a function, SQLite by
triggers. A later migration that makes SQLite copy the table (batch mode) must make these triggers again.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def code_point_text(length):
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

LIVE = "deleted_at IS NULL AND kind = 'traceset'"
IN_TIME = ["workspace_id", "created_at", "id"]
INDEXES = (
    ("ix_traceset_newest", ["created_at", "id"], LIVE),
    ("ix_traceset_listed", IN_TIME, LIVE),
    ("ix_traceset_named", ["workspace_id", "name_key", "id"], LIVE),
    ("ix_traceset_status", ["workspace_id", "status", "id"], LIVE),
    ("ix_traceset_status_listed", ["workspace_id", "status", sa.text("created_at DESC"), sa.text("id DESC")], LIVE),
    ("ix_traceset_rank_count", ["rank_count", *IN_TIME], LIVE),
    ("ix_traceset_family", ["workload_family", *IN_TIME], LIVE),
    ("ix_traceset_workload", ["workload_name", *IN_TIME], LIVE),
    ("ix_traceset_precision", ["precision", *IN_TIME], LIVE),
    ("ix_traceset_accelerator", ["accelerator", *IN_TIME], LIVE),
    ("ix_traceset_deleted", IN_TIME, "deleted_at IS NOT NULL"),
    ("ix_traceset_mapping", IN_TIME, "kind = 'mapping'"),
)
WITH_NAMES = ("ix_traceset_newest", "ix_traceset_listed")

POSTGRESQL = (
    """
    CREATE FUNCTION search_trigrams(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT array_to_tsvector(array_agg(substr($1 || '  ', start, 3))) FROM generate_series(1, length($1)) AS start
    $$
    """,
    # Without `fastupdate`, searches do not go through a list of what was inserted lately.
    f"""
    CREATE INDEX search_names ON traceset USING gin (search_trigrams(name_key)) WITH (fastupdate = off) WHERE {LIVE}
    """,
    """
    INSERT INTO traceset_tag (traceset_seq, tag, workspace_id, created_at, traceset_id)
    SELECT seq, tag, workspace_id, created_at, id FROM traceset, json_array_elements_text(tags) AS tag
    """,
)
SQLITE = (
    """
    CREATE VIRTUAL TABLE search_names USING
    fts5(name, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1')
    """,
    "CREATE VIRTUAL TABLE search_pieces USING fts5vocab(search_names, instance)",
    """
    INSERT INTO search_names (rowid, name) SELECT seq, name_key || '  ' FROM traceset WHERE deleted_at IS NULL
    """,
    """
    CREATE TRIGGER search_insert AFTER INSERT ON traceset WHEN new.deleted_at IS NULL BEGIN
        INSERT INTO search_names (rowid, name) VALUES (new.seq, new.name_key || '  ');
    END
    """,
    """
    CREATE TRIGGER search_delete AFTER DELETE ON traceset WHEN old.deleted_at IS NULL BEGIN
        INSERT INTO search_names (search_names, rowid, name) VALUES ('delete', old.seq, old.name_key || '  ');
    END
    """,
    """
    CREATE TRIGGER search_update AFTER UPDATE OF name_key, deleted_at ON traceset BEGIN
        INSERT INTO search_names (search_names, rowid, name)
        SELECT 'delete', old.seq, old.name_key || '  ' WHERE old.deleted_at IS NULL;
        INSERT INTO search_names (rowid, name) SELECT new.seq, new.name_key || '  ' WHERE new.deleted_at IS NULL;
    END
    """,
    """
    INSERT INTO traceset_tag (traceset_seq, tag, workspace_id, created_at, traceset_id)
    SELECT seq, value, workspace_id, created_at, traceset.id FROM traceset, json_each(tags)
    """,
)


def upgrade():
    op.create_table(
        "traceset_tag",
        sa.Column("traceset_seq", ROW_NUMBER, nullable=False),
        sa.Column("tag", code_point_text(100), nullable=False),
        sa.Column("workspace_id", sa.String(80), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("traceset_id", code_point_text(40), nullable=False),
        sa.ForeignKeyConstraint(
            ["traceset_seq"], ["traceset.seq"], name=op.f("fk_traceset_tag_traceset_seq_traceset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("traceset_seq", "tag", name=op.f("pk_traceset_tag")),
    )
    for statement in POSTGRESQL if op.get_bind().dialect.name == "postgresql" else SQLITE:
        op.execute(statement)
    op.create_index("ix_traceset_tag_listed", "traceset_tag", ["tag", "workspace_id", "created_at", "traceset_id"])
    for name, columns, condition in INDEXES:
        where = sa.text(condition)
        include = ["name_key"] if name in WITH_NAMES else []
        op.create_index(
            name, "traceset", columns, postgresql_where=where, sqlite_where=where, postgresql_include=include
        )


def downgrade():
    for name, _, _ in INDEXES:
        op.drop_index(name, "traceset")
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index("search_names", "traceset")
        op.execute("DROP FUNCTION search_trigrams(text)")
    else:
        for trigger in ("search_insert", "search_delete", "search_update"):
            op.execute(f"DROP TRIGGER {trigger}")
        op.drop_table("search_pieces")
        op.drop_table("search_names")
    op.drop_table("traceset_tag")
