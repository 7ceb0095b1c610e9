"""
Lets every migration run again after it was killed: on MariaDB, which commits each statement that changes a table.

What a statement creates may be there already, and what it removes may be gone: `IF [NOT] EXISTS` makes it a statement that
may run twice. It is put in here, for all migrations. Only the first clause of an `ALTER TABLE` gets it: MariaDB runs all
clauses or none, and `DROP INDEX IF EXISTS a, ADD INDEX IF NOT EXISTS a` would leave no index.
Statements that change rows are the migration's own care: they must be able to run twice.
"""

import re
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

_NAME = r"(`[^`]+`|\w+)"
_FORMS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"CREATE TABLE (?!IF )", "CREATE TABLE IF NOT EXISTS "),
        (r"CREATE (UNIQUE )?INDEX (?!IF )", r"CREATE \1INDEX IF NOT EXISTS "),
        (r"(DROP TABLE|DROP INDEX|RENAME TABLE) (?!IF )", r"\1 IF EXISTS "),
        (rf"(ALTER TABLE {_NAME}) ADD COLUMN (?!IF )", r"\1 ADD COLUMN IF NOT EXISTS "),
        (
            rf"(ALTER TABLE {_NAME}) ADD CONSTRAINT {_NAME} FOREIGN KEY ?\(",
            r"\1 ADD CONSTRAINT \3 FOREIGN KEY IF NOT EXISTS \3 (",
        ),
        (rf"(ALTER TABLE {_NAME}) ADD CONSTRAINT {_NAME} UNIQUE ?\(", r"\1 ADD UNIQUE INDEX IF NOT EXISTS \3 ("),
        (rf"(ALTER TABLE {_NAME}) ADD CONSTRAINT {_NAME} CHECK", r"\1 ADD CONSTRAINT IF NOT EXISTS \3 CHECK"),
        (
            rf"(ALTER TABLE {_NAME}) (DROP COLUMN|DROP CONSTRAINT|DROP FOREIGN KEY|DROP INDEX|RENAME COLUMN|CHANGE) (?!IF )",
            r"\1 \3 IF EXISTS ",
        ),
    )
]


def allow_reruns(connection: sa.Connection) -> None:
    if connection.dialect.name != "sqlite":
        event.listen(connection, "before_cursor_execute", _repeatable, retval=True)


def repeatable(statement: str) -> str:
    """Return the statement in the form that may run twice."""
    statement = statement.lstrip()
    form = next(((pattern, words) for pattern, words in _FORMS if pattern.match(statement)), None)
    return form[0].sub(form[1], statement, count=1) if form else statement


def _repeatable(
    _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _executemany: bool
) -> tuple[str, Any]:
    return repeatable(statement), parameters
