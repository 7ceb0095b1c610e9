"""
The index of search moves from tables to a directory of each node, which follows a queue of changes.

Each node builds its index in the background. A downgrade leaves an empty index, which the worker fills.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from saraban_history.upward import PENDING

revision = "0087"
down_revision = "0086"

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
EXACT = {"charset": "utf8mb4", "collation": "utf8mb4_nopad_bin"}
TEXT = sa.Text().with_variant(mysql.LONGTEXT(**EXACT), "mysql", "mariadb")
GRAM = sa.String(3).with_variant(mysql.VARCHAR(3, **EXACT), "mysql", "mariadb")
BYTES = sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")
MOMENT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "search_changes",
        sa.Column("id", BIG, primary_key=True),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("head_uuid", sa.Uuid, nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
    op.create_table(
        "search_nodes",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=False),
        if_not_exists=True,
    )
    for table in ("search_postings", "search_file_texts", "search_entries", "search_pending", "search_index"):
        op.drop_table(table, if_exists=True)


def downgrade() -> None:
    op.create_table("search_index", sa.Column("id", sa.Integer, primary_key=True, autoincrement=False), if_not_exists=True)
    op.create_table(
        "search_pending",
        sa.Column("id", BIG, primary_key=True),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("head_uuid", sa.Uuid, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "search_entries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("head_id", "revision_id")),
        sa.Column("is_posted", sa.Boolean, nullable=False, server_default=sa.false()),
        *(sa.Column(name, TEXT, nullable=False) for name in ("number", "text")),
        sa.Column("has_file_text", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.UniqueConstraint("kind", "head_id", "revision_id", name="uq_search_entries_revision"),
        sa.Index("ix_search_entries_posted", "is_posted"),
        if_not_exists=True,
    )
    op.create_table(
        "search_file_texts",
        sa.Column("entry_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", TEXT, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "search_postings",
        sa.Column("gram", GRAM, primary_key=True),
        sa.Column("chunk", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("entries", sa.Integer, nullable=False),
        sa.Column("places", BYTES, nullable=False),
        if_not_exists=True,
    )
    bind = op.get_bind()
    if bind.scalar(sa.text("SELECT COUNT(*) FROM search_index")) == 0:
        op.execute("INSERT INTO search_index (id) VALUES (1)")
    if bind.scalar(sa.text("SELECT COUNT(*) FROM search_pending")) == 0:
        op.execute(PENDING)
    for table in ("search_changes", "search_nodes"):
        op.drop_table(table, if_exists=True)
