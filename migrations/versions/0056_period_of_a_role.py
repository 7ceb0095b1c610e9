"""
A role may be given from a day until a day. `changes_at` is the next of the two that nobody has been told of yet.
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT
from saraban_history.rebuild import changing

revision = "0056"
down_revision = "0055"

TABLE = "user_assignments"
INDEX = "idx_user_assignments_changes_at"
COLUMNS = ("valid_from", "valid_until", "changes_at")


def _there() -> set[str]:
    """MariaDB keeps the columns of a migration that was killed between them."""
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(TABLE)}


def upgrade() -> None:
    there = _there()
    for name in COLUMNS:
        if name not in there:
            op.add_column(TABLE, sa.Column(name, MOMENT))
    op.create_index(INDEX, TABLE, ["changes_at"], if_not_exists=True)


def downgrade() -> None:
    """A role that would have ended, or has not begun, goes with what says so: without it, it would count for ever."""
    there = _there()
    if there >= {"valid_from", "valid_until"}:
        timed = sa.text(f"DELETE FROM {TABLE} WHERE valid_until IS NOT NULL OR valid_from > :now")
        op.get_bind().execute(timed.bindparams(sa.bindparam("now", datetime.now(UTC).replace(tzinfo=None), MOMENT)))
    op.drop_index(INDEX, TABLE, if_exists=True)
    with changing(TABLE) as batch:
        for name in COLUMNS:
            if name in there:
                batch.drop_column(name)
