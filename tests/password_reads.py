"""What a block of code reads of passwords: the hash is for signing in, and for whoever sets another password."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa


@contextmanager
def password_reads() -> Iterator[list[str]]:
    """Give the statements whose rows have a password's hash, on every connection of this process."""
    seen: list[str] = []

    def note(_connection: Any, cursor: Any, statement: str, *_rest: Any) -> None:
        if any("password_hash" in column[0] for column in cursor.description or ()):
            seen.append(statement)

    sa.event.listen(sa.Engine, "after_cursor_execute", note)
    try:
        yield seen
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", note)
