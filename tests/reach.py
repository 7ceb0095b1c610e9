"""The index of reach in tests: after each one it must agree with the documents, and what is written past the product renews it."""

import sqlalchemy as sa

from saraban.documents.circulation.models import Circulation
from saraban.documents.core.models import Document, DocumentReach
from saraban.kit.db import Database, table_of

MOST = 10_000  # documents of one test
_ANYTHING = sa.text(
    " UNION ALL ".join(
        f"SELECT 1 FROM (SELECT 1 FROM {table_of(one).name} LIMIT 1) AS one"
        for one in (Document, Circulation, DocumentReach)
    )
)


async def differences(db: Database) -> list[str]:
    """Return what `saraban document reach verify` would name."""
    from saraban.bootstrap import document_kinds

    async with db.reading() as session:
        if not await session.scalar(_ANYTHING):
            return []
        found = []
        for kind in document_kinds():  # as the command does, without what it counts and names
            keys = await kind.index.slice(session, after=0, limit=MOST, project=None)
            assert len(keys) < MOST
            wrong = await kind.index.differing(session, documents=keys) if keys else []
            found += [f"{kind.rules.name} {key}" for key in wrong]
    return found


async def rebuild(db: Database) -> None:
    """Make the index agree with documents that a test has written past the product."""
    from saraban.bootstrap import document_kinds
    from saraban.documents.core.service import compare_reach

    async for _ in compare_reach(db, document_kinds(), mend=True):
        pass
