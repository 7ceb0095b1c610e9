"""Compares and repairs `document_reach` while people work."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.repository.reach import ReachIndex
from saraban.documents.core.service.kind import AnyKind
from saraban.kit.db import Database

SLICE = 500  # documents per read and per transaction
Progress = Callable[[int, int], None]  # checked documents, all documents


@dataclass(frozen=True, slots=True)
class ReachDifference:
    """:param kind: as `KindRules.name`"""

    kind: str
    number: str


async def compare_reach(
    db: Database,
    kinds: Sequence[AnyKind],
    *,
    project: UUID | None = None,
    mend: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> AsyncIterator[ReachDifference]:
    """
    Yield documents with wrong rows.

    :param mend: renew the rows, one slice per transaction; a stopped run can start again
    """
    async with db.reading() as session:
        total = sum([await kind.index.count(session, project=project) for kind in kinds])
    done = 0
    for kind in kinds:
        after: int | None = 0
        while after is not None:
            async with db.reading() as session:
                keys = await kind.index.slice(session, after=after, limit=SLICE, project=project)
                wrong = await kind.index.differing(session, documents=keys)
                numbers = await kind.index.numbers(session, documents=wrong)
            if mend and wrong:
                await db.transact(_mend, kind.index, wrong)
            after = keys[-1] if len(keys) == SLICE else None
            done += len(keys)
            progress(done, total)
            for key in wrong:
                yield ReachDifference(kind.rules.name, numbers.get(key, ""))


async def _mend(index: ReachIndex, session: AsyncSession, documents: Collection[int]) -> None:
    """Compare again under the lock: another transaction may have renewed the rows."""
    await index.hold(session, documents=documents)
    wrong = await index.differing(session, documents=documents)
    await index.renew(session, documents=wrong)
