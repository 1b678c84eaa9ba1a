"""Keep tags as rows.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TAG = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")


def upgrade():
    op.create_table(
        "traceset_tag",
        sa.Column("traceset_seq", ROW_NUMBER, nullable=False),
        sa.Column("tag", TAG, nullable=False),
        sa.ForeignKeyConstraint(
            ["traceset_seq"], ["traceset.seq"], name=op.f("fk_traceset_tag_traceset_seq_traceset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("traceset_seq", "tag", name=op.f("pk_traceset_tag")),
    )


def downgrade():
    op.drop_table("traceset_tag")
