"""
A session keeps the moment of its sign-in, and at most one refresh token of it is open: an access token is checked against that.

A session in which several tabs had an open refresh token of their own ends; its person signs in again.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, on_sqlite
from saraban_history.rebuild import changing

revision = "0073"
down_revision = "0072"

TABLE, OLD, NEW = "refresh_tokens", "ix_refresh_tokens_family", "idx_refresh_tokens_open"
STARTED = "session_started_at"


def upgrade() -> None:
    op.add_column(TABLE, sa.Column(STARTED, MOMENT, nullable=True), if_not_exists=not on_sqlite())
    tokens = sa.table(TABLE, *map(sa.column, ("family", "created_at", "is_revoked", STARTED)))
    each = tokens.alias("each_token")
    # MariaDB updates no table that a subquery reads, unless the subquery is a table of its own.
    starts = sa.select(each.c.family, sa.func.min(each.c.created_at).label("at")).group_by(each.c.family).subquery()
    start = sa.select(starts.c.at).where(starts.c.family == tokens.c.family).scalar_subquery()
    op.execute(sa.update(tokens).values({STARTED: start}))
    forked = sa.select(each.c.family).where(each.c.is_revoked == sa.false())
    forks = forked.group_by(each.c.family).having(sa.func.count() > 1).subquery()
    op.execute(sa.update(tokens).where(tokens.c.family.in_(sa.select(forks.c.family))).values(is_revoked=True))
    with changing(TABLE) as batch:
        batch.alter_column(STARTED, existing_type=MOMENT, nullable=False)
    op.create_index(NEW, TABLE, ["family", "is_revoked"], if_not_exists=True)
    op.drop_index(OLD, TABLE, if_exists=True)


def downgrade() -> None:
    op.create_index(OLD, TABLE, ["family"], if_not_exists=True)
    op.drop_index(NEW, TABLE, if_exists=True)
    op.drop_column(TABLE, STARTED, if_exists=not on_sqlite())
