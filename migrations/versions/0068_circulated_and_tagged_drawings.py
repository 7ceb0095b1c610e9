"""Circulations carry revisions of drawings, and drawings have tags of their project."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import TABLE

revision = "0068"
down_revision = "0067"

KINDS = ("contract", "shop", "asbuilt")


def upgrade() -> None:
    op.create_table(
        "circulation_drawings",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("circulation_id", sa.Integer(), sa.ForeignKey("circulations.id"), nullable=False),
        *(
            sa.Column(
                f"{kind}_drawing_revision_id",
                sa.Integer(),
                sa.ForeignKey(f"{kind}_drawing_revisions.id"),
                nullable=True,
            )
            for kind in KINDS
        ),
        *(
            sa.UniqueConstraint(
                "circulation_id", f"{kind}_drawing_revision_id", name=f"uq_circulation_drawings_{kind}"
            )
            for kind in KINDS
        ),
        **TABLE,
    )
    for kind in KINDS:
        op.create_index(f"idx_circulation_drawings_{kind}", "circulation_drawings", [f"{kind}_drawing_revision_id"])
        op.create_table(
            f"{kind}_drawing_tags",
            sa.Column("drawing_id", sa.Integer(), sa.ForeignKey(f"{kind}_drawings.id"), primary_key=True),
            sa.Column("tag_id", sa.Integer(), sa.ForeignKey("tags.id"), primary_key=True),
            **TABLE,
        )
        op.create_index(f"idx_{kind}_drawing_tags_tag", f"{kind}_drawing_tags", ["tag_id"])


def downgrade() -> None:
    for kind in KINDS:
        op.drop_table(f"{kind}_drawing_tags")
    op.drop_table("circulation_drawings")
