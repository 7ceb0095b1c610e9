"""Readers of entries, and the check of hits against the database."""

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
    :param home: as in `KindRegister.home`; empty for a reader of everything
    :param drawings: by project; None for all its drawings
    """

    documents: Sequence[ReaderKey]
    circulations: Sequence[ReaderKey]
    home: Mapping[str, Sequence[int]]
    drawings: Mapping[int, Sequence[Audience] | None]

    @property
    def reach(self) -> SearchReach:
        document_reach = register_reach(self.documents, self.home, DOCUMENT)
        keys = document_reach.keys | register_reach(self.circulations, {}, SHEET).keys
        for project, audiences in self.drawings.items():
            keys |= drawing_reach(project, audiences).keys
        return SearchReach(keys, document_reach.hidden)


@dataclass(slots=True)
class EntryFacts:
    """
    :param home: keys of readers who see a newer draft instead
    :param status: None for a drawing, as `type_id`
    """

    created_at: datetime
    originator_id: int | None
    reach: list[str] = field(default_factory=list)
    home: list[str] = field(default_factory=list)
    status: int | None = None
    type_id: int | None = None
    due: datetime | None = None


async def facts(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> dict[tuple[int, int], EntryFacts]:
    """By head and revision; entries without facts are visible to nobody."""
    if kind in DRAWINGS:
        return await _facts_of_drawings(session, kind, heads)
    statement = sa.select(table_of(DocumentReach)).where(_row.document_id.in_(heads), _row.kind == int(kind))
    statement = statement.with_hint(table_of(DocumentReach), "INDEXED BY ix_reach_document", "sqlite")
    prefix = SHEET if kind is SearchKind.CIRCULATION else DOCUMENT
    entries: dict[tuple[int, int], EntryFacts] = {}
    for row in await session.execute(statement):
        due = row.due_date if row.due_date < NO_DUE else None
        new_entry = EntryFacts(row.created_at, row.originator_id, [], [], row.status, row.type_id, due)
        entry = entries.setdefault((row.document_id, row.revision_id), new_entry)
        entry.reach.append(reach_key(prefix, row.project_id, row.reader_kind, row.reader_id))
        if row.reader_kind == ReaderKind.ORGANIZATION and row.reader_id == row.originator_id:
            entry.reach.append(written_key(row.project_id, row.reader_id, row.contract_id))
        if row.behind:
            entry.home = home_keys(row.originator_id, row.contract_id)
    return entries


async def _facts_of_drawings(
    session: AsyncSession, kind: SearchKind, heads: Collection[int]
) -> dict[tuple[int, int], EntryFacts]:
    head = table_of(heads_of(kind)).c
    columns = (head.id, head.project_id, head.audience_kind, head.audience_id, head.created_at, head.originator_id)
    rows = await session.execute(sa.select(*columns).where(head.id.in_(heads)))
    return {
        (key, 0): EntryFacts(created, originator, [drawing_key(project), audience_key(project, audience, audience_id)])
        for key, project, audience, audience_id, created, originator in rows
    }


async def shown(
    session: AsyncSession, reader: SearchReader, pairs: Iterable[tuple[SearchKind, int, int]]
) -> set[tuple[SearchKind, int, int]]:
    by_kind: dict[SearchKind, set[int]] = {}
    for kind, head, _ in pairs:
        by_kind.setdefault(kind, set()).add(head)
    visible: set[tuple[SearchKind, int, int]] = set()
    for kind, heads in by_kind.items():
        if kind in DRAWINGS:
            table = table_of(heads_of(kind)).c
            statement = sa.select(table.id, sa.literal(0)).where(
                table.id.in_(heads), _drawing_condition(table, reader.drawings)
            )
        else:
            keys, home = (
                (reader.circulations, {}) if kind is SearchKind.CIRCULATION else (reader.documents, reader.home)
            )
            statement = sa.select(_row.document_id, _row.revision_id).where(
                _row.document_id.in_(heads),
                _row.kind == int(kind),
                sa.or_(*(_key_condition(key, home) for key in keys)),
            )
        visible |= {(kind, head, revision) for head, revision in await session.execute(statement)}
    return visible


def _key_condition(key: ReaderKey, home: Mapping[str, Sequence[int]]) -> Condition:
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
        # Readers at home see the newer draft instead of this revision.
        conditions.append(sa.or_(_row.behind == sa.false(), sa.not_(at_home)))
    return sa.and_(*conditions)


def _drawing_condition(head: Any, drawings: Mapping[int, Sequence[Audience] | None]) -> Condition:
    return sa.or_(
        sa.false(),
        *(
            head.project_id == project
            if audiences is None
            else sa.and_(
                head.project_id == project,
                sa.tuple_(head.audience_kind, head.audience_id).in_(
                    [(int(audience_kind), key) for audience_kind, key in audiences]
                ),
            )
            for project, audiences in drawings.items()
        ),
    )
