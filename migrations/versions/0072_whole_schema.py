"""
Everything after the specification's steps: the schema as it was at 0072, with the rows of a database at 0004 carried over.

It takes the place of the migrations 0005 to 0072, which no released version had. It has the number of the last of them, so
that a database at 0072 goes on from there.
"""

from alembic import context
from saraban_history import downward, schema, upward
from saraban_history.first import GROUPS
from saraban_history.move import move

revision = "0072"
down_revision = "0004"

FIRST = [table for group in GROUPS for table in group.TABLES]


def upgrade() -> None:
    move(old=FIRST, new=list(schema.tables()), create=schema.create, fill=upward.fill)


def downgrade() -> None:
    move(old=list(schema.tables()), new=FIRST, create=_first_steps, fill=downward.fill)


def _first_steps() -> None:
    for step in ("0001", "0002", "0003", "0004"):
        context.script.get_revision(step).module.upgrade()
