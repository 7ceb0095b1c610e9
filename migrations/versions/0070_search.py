"""The index of search, and what waits for it: everything that is there already."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import TABLE
from sqlalchemy.dialects import mysql

revision = "0070"
down_revision = "0069"

TEXT = sa.Text().with_variant(mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_nopad_bin"), "mysql", "mariadb")
GRAM = sa.String(3).with_variant(
    mysql.VARCHAR(3, charset="utf8mb4", collation="utf8mb4_nopad_bin"), "mysql", "mariadb"
)
PLACES = sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "search_pending",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True
        ),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("head_uuid", sa.Uuid(), nullable=False),
        **TABLE,
    )
    op.create_table(
        "search_entries",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("head_id", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("is_posted", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("number", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.UniqueConstraint("kind", "head_id", "revision_id", name="uq_search_entries_revision"),
        **TABLE,
    )
    op.create_index("ix_search_entries_posted", "search_entries", ["is_posted"])
    op.create_table(
        "search_file_texts",
        sa.Column("entry_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("text", TEXT, nullable=False),
        **TABLE,
    )
    op.create_table(
        "search_postings",
        sa.Column("gram", GRAM, primary_key=True),
        sa.Column("chunk", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("places", PLACES, nullable=False),
        **TABLE,
    )
    op.create_table(
        "search_index", sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False), **TABLE
    )
    op.execute("INSERT INTO search_index (id) VALUES (1)")
    # The oldest first: what is entered last is found first.
    op.execute(
        """
        INSERT INTO search_pending (kind, head_uuid)
        SELECT kind, uuid FROM (
            SELECT CASE t.type_code WHEN 'RFA' THEN 2 WHEN 'TRANSMITTAL' THEN 3 ELSE 1 END AS kind, d.uuid AS uuid,
                d.created_at AS created_at
            FROM correspondences d JOIN correspondence_types t ON t.id = d.correspondence_type_id
            UNION ALL SELECT 4, uuid, created_at FROM circulations
            UNION ALL SELECT 11, uuid, created_at FROM contract_drawings
            UNION ALL SELECT 12, uuid, created_at FROM shop_drawings
            UNION ALL SELECT 13, uuid, created_at FROM asbuilt_drawings
        ) AS everything ORDER BY created_at
        """
    )


def downgrade() -> None:
    for table in ("search_index", "search_postings", "search_file_texts", "search_entries", "search_pending"):
        op.drop_table(table)
