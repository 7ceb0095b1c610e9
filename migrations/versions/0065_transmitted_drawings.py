"""Transmittals carry revisions of drawings."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import TABLE, code

revision = "0065"
down_revision = "0064"

KINDS = ("contract", "shop", "asbuilt")


def upgrade() -> None:
    op.create_table(
        "transmittal_drawings",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column(
            "transmittal_revision_id", sa.Integer(), sa.ForeignKey("correspondence_revisions.id"), nullable=False
        ),
        *(
            sa.Column(
                f"{kind}_drawing_revision_id",
                sa.Integer(),
                sa.ForeignKey(f"{kind}_drawing_revisions.id"),
                nullable=True,
            )
            for kind in KINDS
        ),
        sa.Column("drawing_number", code(255), nullable=True),
        sa.Column("revision_label", code(10), nullable=True),
        sa.Column("title", sa.String(500), nullable=True),
        sa.Column("title_en", sa.String(500), nullable=True),
        *(
            sa.UniqueConstraint(
                "transmittal_revision_id", f"{kind}_drawing_revision_id", name=f"uq_transmittal_drawings_{kind}"
            )
            for kind in KINDS
        ),
        **TABLE,
    )
    for kind in KINDS:
        op.create_index(f"idx_transmittal_drawings_{kind}", "transmittal_drawings", [f"{kind}_drawing_revision_id"])


def downgrade() -> None:
    op.drop_table("transmittal_drawings")
