"""Keep signed-in browsers, failed attempts to sign in, and the last validation of each traceset; find one's own.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
LIVING = "deleted_at IS NULL"
SUMS = {
    "ix_traceset_creator": ["created_by", "status", "kind", "workspace_id", "total_size", "deleted_at"],
    "ix_traceset_sums": ["workspace_id", "status", "kind", "total_size", "deleted_at"],
}


def upgrade():
    op.create_table(
        "web_session",
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("user_id", ROW_NUMBER, nullable=False),
        sa.Column("is_by_link", sa.Boolean(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_seen_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_web_session_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_web_session")),
    )
    op.create_index(op.f("ix_web_session_user_id"), "web_session", ["user_id"])
    op.create_index(op.f("ix_web_session_expires_at"), "web_session", ["expires_at"])

    op.create_table(
        "sign_in_failure",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("email_hash", sa.String(64), nullable=False),
        sa.Column("remote_address", sa.String(45)),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_failure")),
    )
    op.create_index(op.f("ix_sign_in_failure_at"), "sign_in_failure", ["at"])
    op.create_index("ix_sign_in_failure_email", "sign_in_failure", ["email_hash", "at"])
    op.create_index("ix_sign_in_failure_address", "sign_in_failure", ["remote_address", "at"])

    op.create_table(
        "traceset_validation",
        sa.Column("traceset_seq", ROW_NUMBER, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("is_deep", sa.Boolean(), nullable=False),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["traceset_seq"],
            ["traceset.seq"],
            name=op.f("fk_traceset_validation_traceset_seq_traceset"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("traceset_seq", name=op.f("pk_traceset_validation")),
    )

    for name, columns in SUMS.items():
        op.create_index(name, "traceset", columns, postgresql_where=sa.text(LIVING), sqlite_where=sa.text(LIVING))
    op.create_index("ix_upload_session_owner", "upload_session", ["owner_id", "state", "created_at"])


def downgrade():
    op.drop_index("ix_upload_session_owner", "upload_session")
    for name in SUMS:
        op.drop_index(name, "traceset")
    op.drop_table("traceset_validation")
    op.drop_table("sign_in_failure")
    op.drop_table("web_session")
