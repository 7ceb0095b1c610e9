"""The index of reach in tests: after each one it must agree with the documents, and what is written past the product renews it."""

import sqlite3
from contextlib import closing

import sqlalchemy as sa

from saraban.documents.circulation.models import Circulation
from saraban.documents.core.models import Document, DocumentReach
from saraban.kit.db import Database, table_of


async def differences(db: Database) -> list[str]:
    """Return what `saraban document reach verify` would name."""
    from saraban.bootstrap import document_kinds
    from saraban.documents.core.service import compare_reach

    if db.is_sqlite and _is_empty(str(db.url.database)):
        return []
    async with db.reading() as session:
        tables = [sa.select(sa.exists().select_from(table_of(one))) for one in (Document, Circulation, DocumentReach)]
        if not any([await session.scalar(one) for one in tables]):
            return []
    return [f"{one.kind} {one.number}" async for one in compare_reach(db, document_kinds())]


def _is_empty(file: str) -> bool:
    """Asked without the product, after each of thousands of tests."""
    with closing(sqlite3.connect(file)) as database:
        tables = [table_of(one).name for one in (Document, Circulation, DocumentReach)]
        return not any(database.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in tables)


async def rebuild(db: Database) -> None:
    """Make the index agree with documents that a test has written past the product."""
    from saraban.bootstrap import document_kinds
    from saraban.documents.core.service import compare_reach

    async for _ in compare_reach(db, document_kinds(), mend=True):
        pass
