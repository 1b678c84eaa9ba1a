"""Make every table, and the universal workspace.

Revision ID: 0001
Revises:
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def code_point_text(length=None):
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


WORD = code_point_text(20)
MOMENT = sa.DateTime(timezone=True)
ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade():
    op.create_table(
        "library_file",
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("ref_count", sa.Integer(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("declared_sha256", sa.String(length=64), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("hash_claimed_until", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint("ref_count >= 0", name=op.f("ck_library_file_ref_count")),
        sa.CheckConstraint("size >= 0", name=op.f("ck_library_file_size")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_library_file")),
    )
    op.create_index("ix_library_file_sha256", "library_file", ["sha256"], unique=False)
    op.create_index(
        "ix_library_file_unhashed",
        "library_file",
        ["created_at"],
        unique=False,
        postgresql_where=sa.text("sha256 IS NULL AND state = 'stored'"),
        sqlite_where=sa.text("sha256 IS NULL AND state = 'stored'"),
    )
    op.create_index(
        "ix_library_file_unreferenced",
        "library_file",
        ["state"],
        unique=False,
        postgresql_where=sa.text("ref_count = 0 AND state <> 'staged'"),
        sqlite_where=sa.text("ref_count = 0 AND state <> 'staged'"),
    )

    op.create_table(
        "user_account",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("password_hash", sa.String(length=200), nullable=True),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("is_disabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("email", name=op.f("uq_user_account_email")),
    )
    op.create_table(
        "workspace",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace")),
    )
    op.create_table(
        "api_token",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("user_id", ROW_NUMBER, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("prefix", sa.String(length=20), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("is_read_only", sa.Boolean(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=True),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.Column("last_used_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_api_token_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_token_token_hash")),
    )
    op.create_index("ix_api_token_prefix", "api_token", ["prefix"], unique=False)
    op.create_index("ix_api_token_user_id", "api_token", ["user_id"], unique=False)

    op.create_table(
        "event",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("actor_id", ROW_NUMBER, nullable=True),
        sa.Column("traceset_id", sa.String(length=40), nullable=True),
        sa.Column("workspace_id", sa.String(length=80), nullable=True),
        sa.Column("remote_address", sa.String(length=45), nullable=True),
        sa.Column("request_id", sa.String(length=64), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["actor_id"], ["user_account.id"], name=op.f("fk_event_actor_id_user_account"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index("ix_event_traceset", "event", ["traceset_id", "id"], unique=False)

    op.create_table(
        "membership",
        sa.Column("workspace_id", sa.String(length=80), nullable=False),
        sa.Column("user_id", ROW_NUMBER, nullable=False),
        sa.Column("role", WORD, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_membership_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_membership_workspace_id_workspace"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workspace_id", "user_id", name=op.f("pk_membership")),
    )
    op.create_index("ix_membership_user_id", "membership", ["user_id"], unique=False)

    op.create_table(
        "sign_in_link",
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", ROW_NUMBER, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_sign_in_link_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sign_in_link")),
    )
    op.create_index("ix_sign_in_link_expires_at", "sign_in_link", ["expires_at"], unique=False)
    op.create_index("ix_sign_in_link_user_id", "sign_in_link", ["user_id"], unique=False)

    op.create_table(
        "traceset",
        sa.Column("seq", ROW_NUMBER, nullable=False),
        sa.Column("id", code_point_text(40), nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("workspace_id", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("name_key", code_point_text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("status", WORD, nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("workload_metadata", sa.Text(), nullable=True),
        sa.Column("rank_count", sa.Integer(), nullable=True),
        sa.Column("workload_family", sa.Text(), nullable=True),
        sa.Column("workload_name", sa.Text(), nullable=True),
        sa.Column("precision", sa.Text(), nullable=True),
        sa.Column("accelerator", sa.Text(), nullable=True),
        sa.Column("file_count", sa.Integer(), nullable=False),
        sa.Column("total_size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("created_by", ROW_NUMBER, nullable=True),
        sa.Column("expires_at", MOMENT, nullable=True),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.Column("promoted_from", sa.String(length=40), nullable=True),
        sa.Column("promotion_key", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_traceset_created_by_user_account"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_traceset_workspace_id_workspace")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_traceset")),
        sa.UniqueConstraint("id", name=op.f("uq_traceset_id")),
    )
    op.create_index(
        "ix_traceset_expiry",
        "traceset",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NULL AND expires_at IS NOT NULL"),
        sqlite_where=sa.text("deleted_at IS NULL AND expires_at IS NOT NULL"),
    )
    op.create_index(
        "uq_traceset_promotion_key",
        "traceset",
        ["promotion_key"],
        unique=True,
        postgresql_where=sa.text("deleted_at IS NULL"),
        sqlite_where=sa.text("deleted_at IS NULL"),
    )

    op.create_table(
        "traceset_file",
        sa.Column("traceset_seq", ROW_NUMBER, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("role", WORD, nullable=False),
        sa.Column("metadata_status", WORD, nullable=False),
        sa.Column("library_key", sa.String(length=40), nullable=True),
        sa.Column("external_url", sa.String(length=2048), nullable=True),
        sa.ForeignKeyConstraint(
            ["library_key"], ["library_file.key"], name=op.f("fk_traceset_file_library_key_library_file")
        ),
        sa.ForeignKeyConstraint(
            ["traceset_seq"], ["traceset.seq"], name=op.f("fk_traceset_file_traceset_seq_traceset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("traceset_seq", "position", name=op.f("pk_traceset_file")),
    )
    op.create_index("ix_traceset_file_library_key", "traceset_file", ["library_key"], unique=False)
    op.create_index("uq_traceset_file_name", "traceset_file", ["traceset_seq", "name"], unique=True)

    op.create_table(
        "upload_session",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("traceset_seq", ROW_NUMBER, nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("owner_id", ROW_NUMBER, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("claim", sa.String(length=40), nullable=True),
        sa.Column("claimed_until", MOMENT, nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.String(length=255), nullable=True),
        sa.Column("request_hash", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["user_account.id"], name=op.f("fk_upload_session_owner_id_user_account"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["traceset_seq"], ["traceset.seq"], name=op.f("fk_upload_session_traceset_seq_traceset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload_session")),
    )
    op.create_index("ix_upload_session_state", "upload_session", ["state", "expires_at"], unique=False)
    op.create_index("ix_upload_session_traceset_seq", "upload_session", ["traceset_seq"], unique=False)
    op.create_index("uq_upload_session_idempotency", "upload_session", ["owner_id", "idempotency_key"], unique=True)

    op.create_table(
        "upload_file",
        sa.Column("session_id", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("library_key", sa.String(length=40), nullable=False),
        sa.Column("multipart_id", sa.Text(), nullable=True),
        sa.Column("part_size", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["upload_session.id"],
            name=op.f("fk_upload_file_session_id_upload_session"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("session_id", "position", name=op.f("pk_upload_file")),
    )
    op.create_index("ix_upload_file_library_key", "upload_file", ["library_key"], unique=False)
    op.create_table(
        "sweep_mark",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("begun_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sweep_mark")),
    )
    marks = sa.table("sweep_mark", sa.column("name"), sa.column("begun_at", MOMENT))
    op.bulk_insert(marks, [{"name": "orphans", "begun_at": datetime(2000, 1, 1, tzinfo=UTC)}])
    workspace = sa.table("workspace", sa.column("id"), sa.column("name"), sa.column("created_at", MOMENT))
    op.bulk_insert(
        workspace, [{"id": "workspace_universal", "name": "Universal workspace", "created_at": datetime.now(UTC)}]
    )


def downgrade():
    for table in (
        "sweep_mark",
        "upload_file",
        "upload_session",
        "traceset_file",
        "traceset",
        "sign_in_link",
        "membership",
        "event",
        "api_token",
        "workspace",
        "user_account",
        "library_file",
    ):
        op.drop_table(table)
