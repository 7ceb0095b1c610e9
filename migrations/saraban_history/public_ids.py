"""The `uuid` column of public ids (REQ-IDN-03): added to a table with rows in it, and taken away again."""

import sqlalchemy as sa
from alembic import op

from saraban.kit.ids import new_id
from saraban_history.columns import on_sqlite
from saraban_history.rebuild import changing


def add(table: str, *, key: str = "id", unique: bool = True) -> None:
    """
    Give every existing row its own public id and every later one a default.

    :param key: the table's integer key
    """
    if on_sqlite():
        op.add_column(table, sa.Column("uuid", sa.Uuid(), nullable=True))
        _fill(table, key)
        with changing(table) as batch:
            batch.alter_column("uuid", existing_type=sa.Uuid(), nullable=False)
    else:
        # Adding the column evaluates the default once for each row.
        op.add_column(table, sa.Column("uuid", sa.Uuid(), nullable=False, server_default=sa.text("UUID()")))
    op.create_index(f"idx_{table}_uuid", table, ["uuid"], unique=unique)


def remove(table: str) -> None:
    op.drop_index(f"idx_{table}_uuid", table)
    op.drop_column(table, "uuid")


def _fill(table: str, key: str) -> None:
    rows = sa.table(table, sa.column(key, sa.Integer), sa.column("uuid", sa.Uuid))
    connection = op.get_bind()
    keys = connection.scalars(sa.select(rows.c[key]).order_by(rows.c[key])).all()
    if keys:
        connection.execute(
            sa.update(rows).where(rows.c[key] == sa.bindparam("row")),
            [{"row": row, "uuid": new_id()} for row in keys],
        )
