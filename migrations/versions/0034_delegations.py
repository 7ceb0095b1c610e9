"""Who acts for whom while away, and in whose place a step was taken."""

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import MOMENT, TABLE
from saraban_history.rebuild import changing

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    op.create_table(
        "delegations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("delegator_user_id", sa.Integer(), nullable=False),
        sa.Column("delegate_user_id", sa.Integer(), nullable=False),
        sa.Column("starts_on", sa.Date(), nullable=False),
        sa.Column("ends_on", sa.Date(), nullable=False),
        sa.Column("starts_at", MOMENT, nullable=False),
        sa.Column("ends_before", MOMENT, nullable=False),
        sa.Column("workflow_codes", sa.JSON(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.Column("revoked_by_user_id", sa.Integer(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["delegator_user_id"], ["users.user_id"], name="fk_delegations_delegator"),
        sa.ForeignKeyConstraint(["delegate_user_id"], ["users.user_id"], name="fk_delegations_delegate"),
        sa.ForeignKeyConstraint(["revoked_by_user_id"], ["users.user_id"], name="fk_delegations_revoked_by"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_delegations_project"),
        **TABLE,
    )
    public_ids.add("delegations")
    op.create_index("idx_delegations_delegate", "delegations", ["delegate_user_id", "ends_before"])
    op.create_index("idx_delegations_delegator", "delegations", ["delegator_user_id", "ends_before"])
    with changing("workflow_histories") as batch:
        batch.add_column(sa.Column("on_behalf_of_user_id", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("on_behalf_of_user_uuid", sa.String(36), nullable=True))
        batch.create_foreign_key("fk_wf_hist_on_behalf", "users", ["on_behalf_of_user_id"], ["user_id"])


def downgrade() -> None:
    with changing("workflow_histories") as batch:
        batch.drop_constraint("fk_wf_hist_on_behalf", type_="foreignkey")
        batch.drop_column("on_behalf_of_user_uuid")
        batch.drop_column("on_behalf_of_user_id")
    op.drop_table("delegations")
