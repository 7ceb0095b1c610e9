"""Several earlier secrets of a webhook, and how it fares: since when nothing gets through, and why it was switched off."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT
from saraban_history.rebuild import changing

revision = "0038"
down_revision = "0037"

_HOOKS = sa.table(
    "webhooks",
    *(sa.column("id", sa.Integer()), sa.column("previous_secret", sa.String(100)), sa.column("previous_until", MOMENT)),
    sa.column("earlier_secrets", sa.JSON(none_as_null=True)),
)


def upgrade() -> None:
    with changing("webhooks") as batch:
        batch.add_column(sa.Column("earlier_secrets", sa.JSON(), nullable=True))
        batch.add_column(sa.Column("failing_since", MOMENT, nullable=True))
        batch.add_column(sa.Column("given_up", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("off_because", sa.String(20), nullable=True))
    for key, secret, until in _rows(_HOOKS.c.previous_secret, _HOOKS.c.previous_until):
        kept = {"secret": secret, "until": until.replace(tzinfo=UTC).isoformat()}
        _change(key, earlier_secrets=[kept])
    with changing("webhooks") as batch:
        batch.drop_column("previous_secret")
        batch.drop_column("previous_until")


def downgrade() -> None:
    with changing("webhooks") as batch:
        batch.add_column(sa.Column("previous_secret", sa.String(100), nullable=True))
        batch.add_column(sa.Column("previous_until", MOMENT, nullable=True))
    for key, earlier in _rows(_HOOKS.c.earlier_secrets):
        latest = max(earlier, key=lambda one: one["until"])
        until = datetime.fromisoformat(latest["until"]).astimezone(UTC).replace(tzinfo=None)
        _change(key, previous_secret=latest["secret"], previous_until=until)
    with changing("webhooks") as batch:
        for name in ("earlier_secrets", "failing_since", "given_up", "off_because"):
            batch.drop_column(name)


def _rows(*columns: sa.ColumnElement[object]) -> list[sa.Row[tuple[object, ...]]]:
    found = sa.select(_HOOKS.c.id, *columns).where(columns[0].is_not(None))
    return list(op.get_bind().execute(found))


def _change(key: int, **values: object) -> None:
    op.get_bind().execute(sa.update(_HOOKS).where(_HOOKS.c.id == key).values(**values))
