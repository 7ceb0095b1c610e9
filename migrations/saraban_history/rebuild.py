"""Changes that SQLite makes only by building the table anew; MariaDB gets plain `ALTER TABLE`."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import pairwise

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

from saraban_history.columns import on_sqlite


@contextmanager
def changing(table: str, *, without: Collection[str] = ()) -> Iterator[BatchOperations]:
    """
    Alembic's batch, which by itself would lose the CHECKs of a SQLite table and try to copy its generated columns.

    :param without: names of the CHECKs that go
    """
    if not on_sqlite():
        with op.batch_alter_table(table) as batch:
            for name in without:
                batch.drop_constraint(name, type_="check")
            yield batch
        return
    inspector = sa.inspect(op.get_bind())
    checks = [
        sa.CheckConstraint(check["sqltext"], name=check["name"])
        for check in inspector.get_check_constraints(table)
        if check["name"] not in without
    ]
    columns = inspector.get_columns(table)
    with op.batch_alter_table(table, table_args=checks, reflect_kwargs={"resolve_fks": False}) as batch:
        for name in without:
            batch.drop_constraint(name, type_="check")
        yield batch
        for before, column in pairwise(columns):
            if "computed" in column:
                batch.drop_column(column["name"])
                batch.add_column(
                    sa.Column(column["name"], column["type"], sa.Computed(**column["computed"])),
                    insert_after=before["name"],
                )
