"""
Service accounts, sessions that can be told apart, notifications in the reader's language, and public ids where missing.

A notification's integer `entity_id` becomes the public id of the document it speaks of (REQ-IDN-01); where none can be
found it is left out. A refresh token of before becomes the first of a family of its own.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import MOMENT, code
from saraban_history.ledger.facts import rows
from saraban_history.rebuild import changing

from saraban.kit.ids import new_id

revision = "0008"
down_revision = "0007"

SESSION = {
    "revoked_at": MOMENT,
    "device_name": sa.String(100),
    "ip_address": sa.String(45),
    "user_agent": sa.String(255),
    "last_active_at": MOMENT,
}
LETTERS = ("correspondence", "rfa", "transmittal")
PUBLIC_IDS = {"roles": "role_id", "user_assignments": "id", "refresh_tokens": "token_id", "audit_logs": "audit_id"}


def upgrade() -> None:
    for table, key in PUBLIC_IDS.items():
        public_ids.add(table, key=key, unique=table != "audit_logs")
    op.add_column("audit_logs", sa.Column("actor_uuid", sa.Uuid(), nullable=True))
    op.execute("UPDATE audit_logs SET actor_uuid = (SELECT uuid FROM users WHERE users.user_id = audit_logs.user_id)")
    op.add_column("users", sa.Column("is_service", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("user_preferences", sa.Column("language", sa.String(5), nullable=False, server_default="th"))
    _sessions()
    _notifications()


def _sessions() -> None:
    op.add_column("refresh_tokens", sa.Column("family", sa.Uuid(), nullable=True))
    tokens = sa.table("refresh_tokens", sa.column("token_id", sa.Integer), sa.column("family", sa.Uuid))
    families = [{"row": row.token_id, "new": new_id()} for row in rows("refresh_tokens", token_id=sa.Integer)]
    if families:
        chosen = sa.update(tokens).where(tokens.c.token_id == sa.bindparam("row")).values(family=sa.bindparam("new"))
        op.get_bind().execute(chosen, families)
    with changing("refresh_tokens") as batch:
        batch.alter_column("family", existing_type=sa.Uuid(), nullable=False)
        batch.alter_column("token_hash", type_=code(64), existing_type=sa.String(255), existing_nullable=False)
        batch.alter_column("replaced_by_token", type_=code(64), existing_type=sa.String(255), existing_nullable=True)
        for name, kind in SESSION.items():
            batch.add_column(sa.Column(name, kind, nullable=True))
    op.create_index("ix_refresh_tokens_family", "refresh_tokens", ["family"])


def _notifications() -> None:
    with changing("notifications") as batch:
        batch.alter_column("entity_id", type_=sa.String(50), existing_type=sa.Integer(), existing_nullable=True)
        batch.add_column(sa.Column("template", sa.String(50), nullable=False, server_default="plain"))
        batch.add_column(sa.Column("template_values", sa.JSON(), nullable=True))
        batch.add_column(sa.Column("event_uuid", sa.Uuid(), nullable=True))
    known = {(kind, str(key)): str(public_id) for kind, key, public_id in _documents()}
    found = rows(
        "notifications",
        id=sa.Integer,
        entity_type=sa.String,
        entity_id=sa.String,
        title=sa.String,
        message=sa.Text,
    )
    _rewrite(
        {
            "row": row.id,
            "entity": known.get((row.entity_type, row.entity_id)),
            "said": {"title": row.title, "message": row.message},
        }
        for row in found
    )
    with changing("notifications") as batch:
        batch.alter_column("template_values", existing_type=sa.JSON(), nullable=False)
    op.create_index("idx_notifications_event", "notifications", ["event_uuid", "user_id"])


def _documents() -> Iterator[tuple[str, int, UUID]]:
    for table, kinds in (("correspondences", LETTERS), ("circulations", ("circulation",))):
        for row in rows(table, id=sa.Integer, uuid=sa.Uuid):
            yield from ((kind, row.id, row.uuid) for kind in kinds)


def _rewrite(values: Iterable[dict[str, Any]]) -> None:
    columns = {"id": sa.Integer, "entity_id": sa.String, "template_values": sa.JSON}
    table = sa.table("notifications", *(sa.column(name, kind) for name, kind in columns.items()))
    statement = sa.update(table).where(table.c.id == sa.bindparam("row"))
    carried = list(values)
    if carried:
        op.get_bind().execute(
            statement.values(entity_id=sa.bindparam("entity"), template_values=sa.bindparam("said", type_=sa.JSON())),
            carried,
        )


def downgrade() -> None:
    op.drop_index("idx_notifications_event", "notifications")
    known = {str(public_id): str(key) for _, key, public_id in _documents()}
    _rewrite(
        {"row": row.id, "entity": known.get(row.entity_id), "said": {}}
        for row in rows("notifications", id=sa.Integer, entity_id=sa.String)
    )
    with changing("notifications") as batch:
        batch.drop_column("event_uuid")
        batch.drop_column("template_values")
        batch.drop_column("template")
        batch.alter_column("entity_id", type_=sa.Integer(), existing_type=sa.String(50), existing_nullable=True)
    op.drop_index("ix_refresh_tokens_family", "refresh_tokens")
    with changing("refresh_tokens") as batch:
        for name in ("family", *SESSION):
            batch.drop_column(name)
        batch.alter_column("token_hash", type_=sa.String(255), existing_type=code(64), existing_nullable=False)
        batch.alter_column("replaced_by_token", type_=sa.String(255), existing_type=code(64), existing_nullable=True)
    op.drop_column("user_preferences", "language")
    op.drop_column("users", "is_service")
    op.drop_column("audit_logs", "actor_uuid")
    for table in reversed(PUBLIC_IDS):
        public_ids.remove(table)
