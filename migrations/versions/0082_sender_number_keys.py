"""
The form of each sender's number by which two are the same, with its index.

Each statement may run again: rows that have their key get the same one. Like 0081 it takes the normal form of the release that
runs it, so a release that changes `normal_form` writes the keys of both again.
"""

import re

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code

from saraban.kit.text import ascii_digits, normal_form

revision = "0082"
down_revision = "0081"

TABLE, COLUMN, INDEX = "correspondence_revisions", "sender_number_key", "idx_corr_revisions_sender"
REVISIONS = sa.table(TABLE, *map(sa.column, ("id", "sender_number", COLUMN)))
BATCH = 1000
UNSPOKEN = re.compile(r"^(?:เลข)?ที่\.?(?=[ก-ฮ]*[\s\d./-])|\s|(?<=[^\W\d_])\.")


def upgrade() -> None:
    op.add_column(TABLE, sa.Column(COLUMN, code(255), nullable=True))
    _fill()
    op.create_index(INDEX, TABLE, [COLUMN])


def downgrade() -> None:
    op.drop_index(INDEX, TABLE)
    op.drop_column(TABLE, COLUMN)


def _fill() -> None:
    bind, last = op.get_bind(), 0
    wanted = sa.select(REVISIONS.c.id, REVISIONS.c.sender_number).where(REVISIONS.c.sender_number.is_not(None))
    while rows := bind.execute(wanted.where(REVISIONS.c.id > last).order_by(REVISIONS.c.id).limit(BATCH)).all():
        last = rows[-1].id
        bind.execute(
            sa.update(REVISIONS).where(REVISIONS.c.id == sa.bindparam("row")).values({COLUMN: sa.bindparam("key")}),
            [{"row": row.id, "key": _key(row.sender_number)} for row in rows],
        )


def _key(number: str) -> str | None:
    """Return what `sender_number_key` of the application returns."""
    return UNSPOKEN.sub("", ascii_digits(normal_form(number)))[:255] or None
