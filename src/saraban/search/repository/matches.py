"""
Which entries a reader may see and is looking for. What somebody may see is asked with every statement, of the rows that the lists
are read from: a right that changes counts at once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import NO_DUE, ReaderKind
from saraban.documents.core.domain.registers import ReaderKey
from saraban.documents.core.models import DocumentReach, DocumentRecipient
from saraban.documents.drawing.domain import Audience
from saraban.kit.db import AnySelect, table_of
from saraban.search.repository.texts import heads_of
from saraban.search_index.domain.kinds import DRAWINGS, SearchKind
from saraban.search_index.models import SearchEntry, SearchFileText, says

Condition = sa.ColumnElement[bool]
_reach, _entry, _in_files = table_of(DocumentReach), table_of(SearchEntry), table_of(SearchFileText)
_SHEETS: Final = int(SearchKind.CIRCULATION)


@dataclass(frozen=True, slots=True)
class SearchReader:
    """
    What somebody may see, by keys.

    :param documents: keys of `document_reach`, and `circulations` those of sheets
    :param home: as `KindRegister.home` has it; empty for who sees everything
    :param drawings: by project, the audiences of the reader; None for who reads the whole project
    """

    documents: Sequence[ReaderKey]
    circulations: Sequence[ReaderKey]
    home: Mapping[str, Sequence[int]]
    drawings: Mapping[int, Sequence[Audience] | None]

    @property
    def kinds(self) -> set[SearchKind]:
        """What there can be anything of for the reader."""
        found = set(DRAWINGS) if self.drawings else set()
        if self.documents:
            found |= {SearchKind.CORRESPONDENCE, SearchKind.RFA, SearchKind.TRANSMITTAL}
        return found | ({SearchKind.CIRCULATION} if self.circulations else set())


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """
    What is looked for, by keys.

    :param words: folded, all of them somewhere; `excluded` nowhere; `numbers` in a number
    :param parties: who wrote or received it
    :param statuses: and `types`, by kind, keys of `document_reach`; drawings have none
    :param until: this moment is not included
    """

    words: Sequence[str] = ()
    excluded: Sequence[str] = ()
    numbers: Sequence[str] = ()
    kinds: Collection[SearchKind] = tuple(SearchKind)
    parties: Collection[int] | None = None
    originators: Collection[int] | None = None
    receivers: Collection[int] | None = None
    statuses: Mapping[SearchKind, Collection[int]] | None = None
    types: Mapping[SearchKind, Collection[int]] | None = None
    since: datetime | None = None
    until: datetime | None = None
    due_from: datetime | None = None
    due_until: datetime | None = None

    @property
    def of_documents_alone(self) -> bool:
        return any(
            one is not None for one in (self.receivers, self.statuses, self.types, self.due_from, self.due_until)
        )


class Match(NamedTuple):
    """
    An entry that is found.

    :param status: and `type_id`: keys of `document_reach`; 0 of a drawing
    :param originator_id: None of a drawing that names none
    """

    entry_id: int
    kind: int
    head_id: int
    revision_id: int
    number: str
    created_at: datetime
    originator_id: int | None
    status: int
    type_id: int


def _said(wanted: SearchFilter) -> list[Condition]:
    found = [says(_literal(word)) for word in wanted.words]
    found += [sa.not_(says(_literal(word))) for word in wanted.excluded]
    return [*found, *(sa.func.instr(_entry.c.number, _literal(word)) > 0 for word in wanted.numbers)]


def _literal(word: str) -> sa.ColumnElement[str]:
    return sa.literal(word, sa.String())


def _by_rows(reader: SearchReader, kinds: Collection[SearchKind], *, once: bool = True) -> Condition:
    """
    Return which rows of `document_reach` are the reader's: a range of its key for each of theirs.

    :param once: leave out what stands under two of these keys with the same revision, which SQLite passes over row by row
    """
    documents = [int(kind) for kind in kinds if kind < SearchKind.CIRCULATION]
    ranges = []
    for key in reader.documents if documents else ():
        contracts = [one.reader for one in reader.documents if one.kind is ReaderKind.CONTRACT]
        is_twice = once and key.kind is ReaderKind.ORGANIZATION and bool(contracts)
        # What was issued in a contract stands under its key too, with the same revision.
        rest = [sa.or_(_reach.c.is_draft == sa.true(), _reach.c.contract_id.not_in(contracts))] if is_twice else []
        ranges.append(sa.and_(_of_key(key, reader.home, documents), *rest))
    if SearchKind.CIRCULATION in kinds:
        ranges += [_of_key(key, {}, [_SHEETS]) for key in reader.circulations]
    return sa.or_(*ranges)


def _of_key(key: ReaderKey, home: Mapping[str, Sequence[int]], kinds: Sequence[int]) -> Condition:
    row = _reach.c
    conditions = [
        row.project_id == key.project,
        row.reader_kind == int(key.kind),
        row.reader_id == key.reader,
        row.kind.in_(kinds),
    ]
    if key.written_in is not None:
        conditions += [row.contract_id == key.written_in, row.originator_id == key.reader]
    if home and key.kind is not ReaderKind.PROJECT:
        at_home = sa.or_(
            row.originator_id.in_(home["home_organizations"]),
            sa.and_(row.contract_id.in_(home["home_contracts"]), row.originator_id.in_(home["home_member_of"])),
        )
        # Of a document whose newer draft such a key does not show, the draft is shown to whoever is at home.
        conditions.append(sa.or_(row.behind == sa.false(), sa.not_(at_home)))
    return sa.and_(*conditions)


def _documents(reader: SearchReader, wanted: SearchFilter, *, by_entry: bool) -> AnySelect:
    """
    Select entries beside the rows by which they are shown: what a reader is shown of a document is one of its revisions.

    :param by_entry: the entries lead to the rows, not the rows of the reader to the entries
    """
    conditions = [
        _entry.c.kind == _reach.c.kind,
        _entry.c.head_id == _reach.c.document_id,
        _entry.c.revision_id == _reach.c.revision_id,
        _by_rows(reader, wanted.kinds),
    ]
    if wanted.originators is not None:
        conditions.append(_reach.c.originator_id.in_(wanted.originators or [_NOBODY]))
    for column, by_kind in ((_reach.c.status, wanted.statuses), (_reach.c.type_id, wanted.types)):
        if by_kind is not None:
            pairs = [(int(kind), key) for kind, keys in by_kind.items() for key in keys]
            conditions.append(sa.tuple_(_reach.c.kind, column).in_(pairs or [(0, _NOBODY)]))
    if wanted.receivers is not None:
        conditions.append(_received_by(wanted.receivers))
    if wanted.parties is not None:
        conditions.append(sa.or_(_reach.c.originator_id.in_(wanted.parties or [_NOBODY]), _received_by(wanted.parties)))
    conditions += _days(_reach.c.created_at, wanted.since, wanted.until)
    if wanted.due_from is not None or wanted.due_until is not None:
        conditions += [_reach.c.due_date < NO_DUE, *_days(_reach.c.due_date, wanted.due_from, wanted.due_until)]
    order = (_entry, _reach) if by_entry else (_reach, _entry)
    row = _reach.c
    shown = (row.created_at, row.originator_id, row.status, row.type_id)
    found = sa.select(*_FOUND, *shown).select_from(*order).where(*conditions)
    if by_entry:
        return found.with_hint(_reach, "INDEXED BY ix_reach_document", "sqlite")
    return found.with_hint(_entry, _BY_HEAD, "sqlite")


def _received_by(organizations: Collection[int]) -> Condition:
    received = sa.select(DocumentRecipient.correspondence_id).where(
        DocumentRecipient.correspondence_id == _reach.c.document_id,
        DocumentRecipient.recipient_organization_id.in_(organizations or [_NOBODY]),
    )
    return sa.and_(_reach.c.kind < _SHEETS, received.correlate(_reach).exists())


def _drawings(kind: SearchKind, reader: SearchReader, wanted: SearchFilter, *, by_entry: bool) -> AnySelect:
    table = table_of(heads_of(kind))
    head = table.c
    conditions = [_entry.c.kind == int(kind), _entry.c.head_id == head.id, _is_shown(table, reader)]
    conditions += [
        head.originator_id.in_(organizations or [_NOBODY])
        for organizations in (wanted.originators, wanted.parties)
        if organizations is not None
    ]
    conditions += _days(head.created_at, wanted.since, wanted.until)
    order = (_entry, table) if by_entry else (table, _entry)
    found = sa.select(*_FOUND, head.created_at, head.originator_id, *_NONE).select_from(*order).where(*conditions)
    return found if by_entry else found.with_hint(_entry, _BY_HEAD, "sqlite")


def _is_shown(table: sa.Table, reader: SearchReader) -> Condition:
    head = table.c
    shown = [
        head.project_id == project
        if audiences is None
        else sa.and_(
            head.project_id == project,
            sa.tuple_(head.audience_kind, head.audience_id).in_([(int(of), key) for of, key in audiences]),
        )
        for project, audiences in reader.drawings.items()
    ]
    return sa.or_(*shown)


def _days(column: Any, first: datetime | None, last: datetime | None) -> list[Condition]:
    return [*([column >= first] if first is not None else []), *([column < last] if last is not None else [])]


_NOBODY: Final = -1
_AT_ONCE: Final = 500  # values of an IN list
# SQLite would read all entries, for it knows nothing of how little a reader may see.
_BY_HEAD: Final = "INDEXED BY sqlite_autoindex_search_entries_1"
_NONE: Final[Sequence[Any]] = (sa.literal_column("0").label("status"), sa.literal_column("0").label("type_id"))
_FOUND: Final = (_entry.c.id, _entry.c.kind, _entry.c.head_id, _entry.c.revision_id, _entry.c.number)


async def matches(
    session: AsyncSession, reader: SearchReader, wanted: SearchFilter, *, among: Sequence[int] | None
) -> list[Match]:
    """
    Return the entries that the reader may see and looks for, the newest first.

    :param among: keys of entries; None for all that the reader may see, which are few
    """
    by_entry = among is not None
    kinds = reader.kinds.intersection(wanted.kinds)
    wanted, parts = replace(wanted, kinds=kinds), []
    if kinds - DRAWINGS:
        parts.append(_documents(reader, wanted, by_entry=by_entry))
    if not wanted.of_documents_alone:
        parts += [_drawings(kind, reader, wanted, by_entry=by_entry) for kind in sorted(kinds & DRAWINGS)]
    if not parts:
        return []
    conditions = [*([_entry.c.id.in_(among)] if among is not None else []), *_said(wanted)]
    said = [part.where(*conditions).prefix_with("STRAIGHT_JOIN", dialect="mariadb") for part in parts]
    rows = await session.execute(said[0] if len(said) == 1 else sa.union_all(*said))
    found = {row[0]: Match(*row) for row in rows}
    return [found[key] for key in sorted(found, reverse=True)]


async def seen(session: AsyncSession, reader: SearchReader, *, most: int) -> dict[SearchKind, int]:
    """
    Return how many rows show a reader something, each up to `most` and one: of `document_reach` as of correspondence, and of
    drawings by their kind.
    """
    one: sa.ColumnElement[int] = sa.literal_column("1")
    parts: dict[SearchKind, AnySelect] = {}
    if reader.kinds - DRAWINGS:
        rows = sa.select(one).select_from(_reach).where(_by_rows(reader, reader.kinds, once=False))
        parts[SearchKind.CORRESPONDENCE] = rows
    for kind in sorted(reader.kinds & DRAWINGS):
        head = table_of(heads_of(kind))
        parts[kind] = sa.select(one).select_from(head).where(_is_shown(head, reader))
    if not parts:
        return {}
    count = sa.func.count()
    counts = [
        sa.select(count).select_from(part.limit(most + 1).subquery()).scalar_subquery() for part in parts.values()
    ]
    return dict(zip(parts, (await session.execute(sa.select(*counts))).one(), strict=True))


async def recipients(session: AsyncSession, documents: Collection[int]) -> set[tuple[int, int]]:
    """Return documents with the organizations that they are sent to, by keys."""
    found: set[tuple[int, int]] = set()
    keys = sorted(documents)
    for start in range(0, len(keys), _AT_ONCE):
        statement = sa.select(DocumentRecipient.correspondence_id, DocumentRecipient.recipient_organization_id)
        some = statement.where(DocumentRecipient.correspondence_id.in_(keys[start : start + _AT_ONCE]))
        found.update((head, organization) for head, organization in await session.execute(some))
    return found


async def files_of(session: AsyncSession, entries: Collection[int]) -> dict[int, str]:
    """Return what is written in the files of entries, folded."""
    statement = sa.select(_in_files.c.entry_id, _in_files.c.text).where(_in_files.c.entry_id.in_(entries))
    return {key: text for key, text in await session.execute(statement)}  # noqa: C416  the rows are no pairs
