"""What the running system keeps: work items of the inbox, the outbox and its dead letters, idempotency keys."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import BIG, MOMENT, TABLE, code
from saraban_history.ledger.tables import public_id
from saraban_history.rebuild import changing

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    _workflow()
    _work_items()
    _outbox()
    _dead_letters()
    _idempotency_keys()


def _workflow() -> None:
    with changing("workflow_definitions") as batch:
        batch.add_column(sa.Column("created_by_user_id", sa.Integer(), nullable=True))
        batch.create_foreign_key("fk_wf_def_creator", "users", ["created_by_user_id"], ["user_id"])
    op.add_column("workflow_instances", sa.Column("last_transition_at", MOMENT, nullable=True))
    op.execute(
        "UPDATE workflow_instances SET last_transition_at = COALESCE((SELECT MAX(created_at) FROM workflow_histories "
        "WHERE workflow_histories.instance_id = workflow_instances.id), created_at)"
    )
    with changing("workflow_instances") as batch:
        batch.alter_column("last_transition_at", existing_type=MOMENT, nullable=False)
        batch.add_column(sa.Column("started_by_user_id", sa.Integer(), nullable=True))
        batch.create_foreign_key("fk_wf_inst_starter", "users", ["started_by_user_id"], ["user_id"])


def _work_items() -> None:
    op.create_table(
        "workflow_work_items",
        sa.Column("id", sa.CHAR(36), nullable=False),
        sa.Column("instance_id", sa.CHAR(36), nullable=False),
        sa.Column("state", code(50), nullable=False),
        sa.Column("organization_id", sa.Integer(), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["workflow_instances.id"], name="fk_wf_item_inst", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name="fk_wf_item_organization"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_wf_item_user"),
        **TABLE,
    )
    table = "workflow_work_items"
    op.create_index("idx_wf_item_organization", table, ["organization_id", "created_at", "instance_id"])
    op.create_index("idx_wf_item_user", table, ["user_id", "created_at", "instance_id"])
    op.create_index("idx_wf_item_instance", table, ["instance_id"])


def _outbox() -> None:
    op.create_table(
        "outbox_events",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        public_id(),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("aggregate_type", sa.String(50), nullable=False),
        sa.Column("aggregate_id", sa.String(50), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("available_at", MOMENT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("claimed_until", MOMENT, nullable=True),
        sa.Column("claimed_by", sa.String(64), nullable=True),
        sa.Column("delivered_at", MOMENT, nullable=True),
        sa.Column("last_error", sa.String(500), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    table = "outbox_events"
    op.create_index("idx_outbox_events_uuid", table, ["uuid"], unique=True)
    op.create_index("idx_outbox_events_claim", table, ["delivered_at", "available_at"])
    op.create_index("idx_outbox_events_aggregate", table, ["aggregate_type", "aggregate_id", "delivered_at"])


def _dead_letters() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        public_id(),
        sa.Column("event_uuid", sa.Uuid(), nullable=False),
        sa.Column("queue", sa.String(50), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("aggregate_type", sa.String(50), nullable=False),
        sa.Column("aggregate_id", sa.String(50), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(500), nullable=False),
        sa.Column("recorded_at", MOMENT, nullable=False),
        sa.Column("failed_at", MOMENT, nullable=False),
        sa.Column("notified_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index("idx_dead_letters_uuid", "dead_letters", ["uuid"], unique=True)
    for column in ("event_uuid", "failed_at", "notified_at"):
        op.create_index(f"ix_dead_letters_{column}", "dead_letters", [column])


def _idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("user_uuid", sa.Uuid(), nullable=False),
        sa.Column("idempotency_key", code(128), nullable=False),
        sa.Column("operation", sa.String(80), nullable=False),
        sa.Column("payload_hash", sa.String(64), nullable=False),
        sa.Column("claim", sa.Uuid(), nullable=False),
        sa.Column("locked_until", MOMENT, nullable=False),
        sa.Column("answer", sa.Text(length=16_000_000), nullable=True),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    table = "idempotency_keys"
    op.create_index("idx_idempotency_keys_user_key", table, ["user_uuid", "idempotency_key"], unique=True)
    op.create_index("idx_idempotency_keys_expires", table, ["expires_at"])


def downgrade() -> None:
    for table in ("idempotency_keys", "dead_letters", "outbox_events", "workflow_work_items"):
        op.drop_table(table)
    with changing("workflow_instances") as batch:
        batch.drop_constraint("fk_wf_inst_starter", type_="foreignkey")
        batch.drop_column("started_by_user_id")
        batch.drop_column("last_transition_at")
    with changing("workflow_definitions") as batch:
        batch.drop_constraint("fk_wf_def_creator", type_="foreignkey")
        batch.drop_column("created_by_user_id")
