"""Who finds an entry of the index, and whether a reader may be shown what the index found for them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import NO_DUE, ReaderKind
from saraban.documents.core.domain.registers import ReaderKey, register_reach
from saraban.documents.core.models import DocumentReach
from saraban.documents.drawing.domain import Audience, drawing_reach
from saraban.kit.db import table_of
from saraban.search.repository.texts import heads_of
from saraban.search_index.domain.kinds import DRAWINGS, SearchKind
from saraban.search_index.domain.reach import (
    DOCUMENT,
    SHEET,
    SearchReach,
    audience_key,
    drawing_key,
    home_keys,
    reach_key,
    written_key,
)

Condition = sa.ColumnElement[bool]
_row = table_of(DocumentReach).c


@dataclass(frozen=True, slots=True)
class SearchReader:
    """
    :param documents: keys of `document_reach`, and `circulations` those of sheets
    :param home: as `KindRegister.home` has it; empty for who sees everything
    :param drawings: by project, the audiences of the reader; None for who reads the whole project
    """

    documents: Sequence[ReaderKey]
    circulations: Sequence[ReaderKey]
    home: Mapping[str, Sequence[int]]
    drawings: Mapping[int, Sequence[Audience] | None]

    @property
    def reach(self) -> SearchReach:
        own = register_reach(self.documents, self.home, DOCUMENT)
        keys = own.keys | register_reach(self.circulations, {}, SHEET).keys
        for project, audiences in self.drawings.items():
            keys |= drawing_reach(project, audiences).keys
        return SearchReach(keys, own.hidden)


@dataclass(slots=True)
class EntryFacts:
    """
    What the index has of an entry beside its texts.

    :param reach: keys under which it is found; `home` those of who is shown a newer draft instead
    :param status: and `type_id`: keys of `document_reach`, None of a drawing
    """

    created_at: datetime
    originator_id: int | None
    reach: list[str] = field(default_factory=list)
    home: list[str] = field(default_factory=list)
    status: int | None = None
    type_id: int | None = None
    due: datetime | None = None


async def facts(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> dict[tuple[int, int], EntryFacts]:
    """Return the facts of entries by head and revision; nobody finds an entry that is not among them."""
    if kind in DRAWINGS:
        return await _facts_of_drawings(session, kind, heads)
    statement = sa.select(table_of(DocumentReach)).where(_row.document_id.in_(heads), _row.kind == int(kind))
    statement = statement.with_hint(table_of(DocumentReach), "INDEXED BY ix_reach_document", "sqlite")
    what = SHEET if kind is SearchKind.CIRCULATION else DOCUMENT
    found: dict[tuple[int, int], EntryFacts] = {}
    for row in await session.execute(statement):
        due = row.due_date if row.due_date < NO_DUE else None
        fresh = EntryFacts(row.created_at, row.originator_id, [], [], row.status, row.type_id, due)
        entry = found.setdefault((row.document_id, row.revision_id), fresh)
        entry.reach.append(reach_key(what, row.project_id, row.reader_kind, row.reader_id))
        if row.reader_kind == ReaderKind.ORGANIZATION and row.reader_id == row.originator_id:
            entry.reach.append(written_key(row.project_id, row.reader_id, row.contract_id))
        if row.behind:
            entry.home = home_keys(row.originator_id, row.contract_id)
    return found


async def _facts_of_drawings(
    session: AsyncSession, kind: SearchKind, heads: Collection[int]
) -> dict[tuple[int, int], EntryFacts]:
    head = table_of(heads_of(kind)).c
    columns = (head.id, head.project_id, head.audience_kind, head.audience_id, head.created_at, head.originator_id)
    rows = await session.execute(sa.select(*columns).where(head.id.in_(heads)))
    return {
        (key, 0): EntryFacts(created, originator, [drawing_key(project), audience_key(project, audience, of)])
        for key, project, audience, of, created, originator in rows
    }


async def shown(
    session: AsyncSession, reader: SearchReader, pairs: Iterable[tuple[SearchKind, int, int]]
) -> set[tuple[SearchKind, int, int]]:
    """Return which kinds, heads and revisions the reader may be shown at this moment."""
    by_kind: dict[SearchKind, set[int]] = {}
    for kind, head, _ in pairs:
        by_kind.setdefault(kind, set()).add(head)
    found: set[tuple[SearchKind, int, int]] = set()
    for kind, heads in by_kind.items():
        if kind in DRAWINGS:
            table = table_of(heads_of(kind)).c
            statement = sa.select(table.id, sa.literal(0)).where(table.id.in_(heads), _is_shown(table, reader.drawings))
        else:
            keys, home = (
                (reader.circulations, {}) if kind is SearchKind.CIRCULATION else (reader.documents, reader.home)
            )
            statement = sa.select(_row.document_id, _row.revision_id).where(
                _row.document_id.in_(heads), _row.kind == int(kind), sa.or_(*(_of_key(key, home) for key in keys))
            )
        found |= {(kind, head, revision) for head, revision in await session.execute(statement)}
    return found


def _of_key(key: ReaderKey, home: Mapping[str, Sequence[int]]) -> Condition:
    conditions = [
        _row.project_id == key.project,
        _row.reader_kind == int(key.kind),
        _row.reader_id == key.reader,
    ]
    if key.written_in is not None:
        conditions += [_row.contract_id == key.written_in, _row.originator_id == key.reader]
    if home and key.kind is not ReaderKind.PROJECT:
        at_home = sa.or_(
            _row.originator_id.in_(home["home_organizations"]),
            sa.and_(_row.contract_id.in_(home["home_contracts"]), _row.originator_id.in_(home["home_member_of"])),
        )
        # Of a document whose newer draft such a key does not show, the draft is shown to whoever is at home.
        conditions.append(sa.or_(_row.behind == sa.false(), sa.not_(at_home)))
    return sa.and_(*conditions)


def _is_shown(head: Any, drawings: Mapping[int, Sequence[Audience] | None]) -> Condition:
    return sa.or_(
        sa.false(),
        *(
            head.project_id == project
            if audiences is None
            else sa.and_(
                head.project_id == project,
                sa.tuple_(head.audience_kind, head.audience_id).in_([(int(of), key) for of, key in audiences]),
            )
            for project, audiences in drawings.items()
        ),
    )
