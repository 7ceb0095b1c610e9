"""
RFAs carry revisions of drawings and issued documents, each with its answer; an open RFA claims the revisions that it carries.

RFAs from before that carried drawings claim them where they are still the current issue and have no answer.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import TABLE
from saraban_history.rebuild import changing

revision = "0062"
down_revision = "0061"

REVISIONS = ("contract_drawing_revisions", "shop_drawing_revisions", "asbuilt_drawing_revisions")
CODE, DOCUMENT = "rfa_approve_code_id", "document_revision_id"
CLAIMED = {"shop_drawing_revision_id": "shop_drawing_revisions", "asbuilt_drawing_revision_id": "asbuilt_drawing_revisions"}


def upgrade() -> None:
    for table in REVISIONS:
        with changing(table) as batch:
            batch.add_column(sa.Column(CODE, sa.Integer(), nullable=True))
            batch.create_foreign_key(f"fk_{table}_{CODE}", "rfa_approve_codes", [CODE], ["id"])
    with changing("rfa_items") as batch:
        batch.add_column(sa.Column(DOCUMENT, sa.Integer(), nullable=True))
        batch.add_column(sa.Column(CODE, sa.Integer(), nullable=True))
        batch.add_column(sa.Column("comment", sa.String(500), nullable=True))
        batch.create_foreign_key(f"fk_rfa_items_{DOCUMENT}", "correspondence_revisions", [DOCUMENT], ["id"])
        batch.create_foreign_key(f"fk_rfa_items_{CODE}", "rfa_approve_codes", [CODE], ["id"])
        batch.create_unique_constraint("uq_rfa_items_document", ["rfa_revision_id", DOCUMENT])
    op.create_index("idx_rfa_items_document", "rfa_items", [DOCUMENT])
    op.create_table(
        "rfa_item_claims",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("rfa_revision_id", sa.Integer(), sa.ForeignKey("rfa_revisions.id"), nullable=False),
        *(sa.Column(name, sa.Integer(), sa.ForeignKey(f"{table}.id"), nullable=True) for name, table in CLAIMED.items()),
        sa.UniqueConstraint("shop_drawing_revision_id", name="uq_rfa_item_claims_shop"),
        sa.UniqueConstraint("asbuilt_drawing_revision_id", name="uq_rfa_item_claims_asbuilt"),
        **TABLE,
    )
    op.create_index("idx_rfa_item_claims_rfa", "rfa_item_claims", ["rfa_revision_id"])
    for name in CLAIMED:
        op.execute(
            f"INSERT INTO rfa_item_claims (rfa_revision_id, {name}) SELECT MAX(i.rfa_revision_id), i.{name} FROM rfa_items i "
            "JOIN rfa_revisions r ON r.id = i.rfa_revision_id JOIN correspondence_revisions c ON c.id = r.id "
            f"WHERE r.{CODE} IS NULL AND c.is_current = 1 AND i.{name} IS NOT NULL GROUP BY i.{name}"
        )


def downgrade() -> None:
    op.drop_table("rfa_item_claims")
    op.execute("DELETE FROM rfa_items WHERE item_type = 'DOCUMENT'")
    with changing("rfa_items") as batch:
        for column in (DOCUMENT, CODE):
            batch.drop_constraint(f"fk_rfa_items_{column}", type_="foreignkey")
        batch.drop_index("idx_rfa_items_document")
        batch.drop_constraint("uq_rfa_items_document", type_="unique")
        for name in (DOCUMENT, CODE, "comment"):
            batch.drop_column(name)
    for table in REVISIONS:
        with changing(table) as batch:
            batch.drop_constraint(f"fk_{table}_{CODE}", type_="foreignkey")
            batch.drop_column(CODE)
