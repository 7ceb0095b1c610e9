"""
Moves all rows into another schema: for a step that changes nearly every table.

1. The tables are set aside. Their foreign keys go, and on SQLite their indexes: such names are unique in a database. Then
   each table is renamed: `users` becomes `before_users`.
2. The other schema is created.
3. Its rows are written, in one transaction.
4. The tables that were set aside are dropped, `before_users` first.

MariaDB commits each statement of 1, 2 and 4. After a kill, the tables that are there show how far it came. With a table that
only the other schema has, step 1 is complete; without `before_users`, step 3 is. Rows of a step 3 that is not complete are
deleted before it runs again.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import on_sqlite

_FIRST = "users"
# A public id as the schema has it by default, which SQLite does not: 16 random bytes, marked as a UUID of version 4.
_NEW_ID = (
    "lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2) || '8' || substr(hex(randomblob(2)), 2) "
    "|| hex(randomblob(6)))"
)


def aside(table: str) -> str:
    """Return the name of a table that was set aside."""
    return f"before_{table}"


def new_id() -> str:
    """Return the SQL of a new public id."""
    return _NEW_ID if on_sqlite() else "UUID()"


def move(
    *, old: Collection[str], new: Collection[str], create: Callable[[], object], fill: Callable[[], object]
) -> None:
    """
    :param create: creates the other schema, or what is missing of it
    :param fill: writes its rows from the tables that were set aside
    """
    there = _tables()
    again = not there.isdisjoint(set(new) - set(old))
    _check_foreign_keys(on=False)
    if not again:
        _set_aside([table for table in old if table in there and aside(table) not in there])
    create()
    if aside(_FIRST) in _tables():
        for table in _filled(new) if again else ():
            op.execute(f"DELETE FROM {table}")
        fill()
    for tables in ({aside(_FIRST)}, set(map(aside, old)) & _tables()):
        _drop(sorted(tables))
    _check_foreign_keys(on=True)


def copy(
    table: str, there: Mapping[str, list[str]], values: Mapping[str, str], *, source: str = "", only: str = ""
) -> None:
    """
    Write the rows of a table that was set aside into the table of the same name, columns of the same name as they are.

    :param there: the columns of each table
    :param values: SQL of the columns that differ; `b` is the row as it was
    :param source: another table that the rows come from, of which no column is copied
    :param only: the condition that a row must meet, and the order
    """
    names = [name for name in there[table] if name in values or (not source and name in there[aside(table)])]
    if "uuid" in there[table] and "uuid" not in names:
        names, values = [*names, "uuid"], {**values, "uuid": new_id()}
    read = ", ".join(values.get(name, f"b.{_quoted(name)}") for name in names)
    op.get_bind().exec_driver_sql(
        f"INSERT INTO {table} ({', '.join(map(_quoted, names))}) SELECT {read} FROM {aside(source or table)} AS b {only}"
    )


def columns() -> dict[str, list[str]]:
    """Return the columns of each table that can be written."""
    asked = (
        "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c WHERE m.type = 'table' AND c.hidden = 0"
        if on_sqlite()
        else "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() "
        "AND generation_expression IS NULL ORDER BY table_name, ordinal_position"
    )
    return _grouped(asked)


def _grouped(asked: str) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = defaultdict(list)
    for table, name in op.get_bind().exec_driver_sql(asked).all():
        grouped[table].append(name)
    return grouped


def _tables() -> set[str]:
    return set(sa.inspect(op.get_bind()).get_table_names())


def _filled(tables: Collection[str]) -> Collection[str]:
    found = " UNION ALL ".join(f"SELECT '{table}' FROM DUAL WHERE EXISTS (SELECT 1 FROM {table})" for table in tables)
    return op.get_bind().exec_driver_sql(found).scalars().all()


def _set_aside(tables: Collection[str]) -> None:
    if on_sqlite():
        for index in _grouped("SELECT '', name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")[""]:
            op.execute(f"DROP INDEX {index}")
        for table in tables:
            op.execute(f"ALTER TABLE {table} RENAME TO {aside(table)}")
        return
    keys = _grouped(
        "SELECT table_name, constraint_name FROM information_schema.referential_constraints "
        "WHERE constraint_schema = DATABASE()"
    )
    for table in filter(keys.get, tables):
        op.execute(f"ALTER TABLE {table} " + ", ".join(f"DROP FOREIGN KEY {name}" for name in keys[table]))
    if tables:
        op.execute("RENAME TABLE " + ", ".join(f"{table} TO {aside(table)}" for table in tables))


def _drop(tables: Collection[str]) -> None:
    if on_sqlite():
        for table in tables:
            op.drop_table(table, if_exists=True)
    elif tables:
        op.execute(f"DROP TABLE IF EXISTS {', '.join(tables)}")


def _check_foreign_keys(*, on: bool) -> None:
    """SQLite checks none while a database is migrated; there, a table that is renamed leaves the others as they are."""
    op.execute(f"PRAGMA legacy_alter_table = {int(not on)}" if on_sqlite() else f"SET foreign_key_checks = {int(on)}")


def _quoted(name: str) -> str:
    return f"`{name}`"
