"""
Which entries a reader may see and is looking for. What somebody may see is asked with every statement, of the rows that the lists
are read from: a right that changes counts at once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import NO_DUE, ReaderKind
from saraban.documents.core.domain.registers import ReaderKey
from saraban.documents.core.models import DocumentReach, DocumentRecipient
from saraban.documents.drawing.domain import Audience
from saraban.kit.db import AnySelect, table_of
from saraban.kit.statements import PreparedStatement
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

    documents: tuple[ReaderKey, ...]
    circulations: tuple[ReaderKey, ...]
    home: Mapping[str, Sequence[int]] = field(hash=False)
    drawings: Mapping[int, Sequence[Audience] | None] = field(hash=False)

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
    kinds: frozenset[SearchKind] = frozenset(SearchKind)
    parties: Collection[int] | None = field(default=None, hash=False)
    originators: Collection[int] | None = field(default=None, hash=False)
    receivers: Collection[int] | None = field(default=None, hash=False)
    statuses: Mapping[SearchKind, Collection[int]] | None = field(default=None, hash=False)
    types: Mapping[SearchKind, Collection[int]] | None = field(default=None, hash=False)
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


# What stands in a statement as a parameter: it is made once for what else is the same.
_TYPED: Final = ("words", "excluded", "numbers")
_DAYS: Final = ("since", "until", "due_from", "due_until")


def _values(wanted: SearchFilter) -> dict[str, object]:
    typed = {f"{name}_{place}": word for name in _TYPED for place, word in enumerate(getattr(wanted, name))}
    return typed | {name: day for name in _DAYS if (day := getattr(wanted, name)) is not None}


def _without_words(wanted: SearchFilter) -> SearchFilter:
    words, excluded, numbers = (("",) * len(getattr(wanted, name)) for name in _TYPED)
    return replace(wanted, words=words, excluded=excluded, numbers=numbers)


def _said(wanted: SearchFilter) -> list[Condition]:
    words, excluded, numbers = (
        [sa.bindparam(f"{name}_{place}", type_=sa.String()) for place in range(len(getattr(wanted, name)))]
        for name in _TYPED
    )
    found = [*map(says, words), *(sa.not_(says(word)) for word in excluded)]
    return [*found, *(sa.func.instr(_entry.c.number, word) > 0 for word in numbers)]


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
    conditions += _days(_reach.c.created_at, wanted, "since", "until")
    if due := _days(_reach.c.due_date, wanted, "due_from", "due_until"):
        conditions += [_reach.c.due_date < NO_DUE, *due]
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
    conditions += _days(head.created_at, wanted, "since", "until")
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


def _days(column: Any, wanted: SearchFilter, first: str, last: str) -> list[Condition]:
    """:param first: what the first day of a filter is called; `last` is behind its last one"""
    since, until = (sa.bindparam(name, type_=column.type) for name in (first, last))
    found = [column >= since] if getattr(wanted, first) is not None else []
    return [*found, *([column < until] if getattr(wanted, last) is not None else [])]


_NOBODY: Final = -1
_AT_ONCE: Final = 500  # values of an IN list
_KEPT: Final = 256  # statements: of so many readers, or of one who asks in so many ways
# SQLite would read all entries, for it knows nothing of how little a reader may see.
_BY_HEAD: Final = "INDEXED BY sqlite_autoindex_search_entries_1"
_NONE: Final[Sequence[Any]] = (sa.literal_column("0").label("status"), sa.literal_column("0").label("type_id"))
_FOUND: Final = (_entry.c.id, _entry.c.kind, _entry.c.head_id, _entry.c.revision_id, _entry.c.number)


async def matches(
    session: AsyncSession,
    reader: SearchReader,
    wanted: SearchFilter,
    *,
    among: Sequence[int] | None,
    most: int,
) -> list[Match]:
    """
    Return the entries that the reader may see and looks for, the newest first.

    :param among: keys of entries; None for all that the reader may see, of which at least `most` of the newest are read
    """
    wanted = replace(wanted, kinds=wanted.kinds & reader.kinds)
    statement = _statement(reader, _without_words(wanted), by_entry=among is not None)
    if statement is None:
        return []
    keys = len(reader.documents) + len(reader.circulations)  # under each of which a document may stand
    those = {"most": most * max(1, keys)} if among is None else {"among": among}
    rows = await statement.rows(session, **_values(wanted), **those)
    found = {row[0]: Match(*row) for row in rows}
    return [found[key] for key in sorted(found, reverse=True)]


@lru_cache(maxsize=_KEPT)
def _statement(reader: SearchReader, wanted: SearchFilter, *, by_entry: bool) -> PreparedStatement | None:
    """Make the statement that finds these, None where there is nothing to look through."""
    parts = []
    if wanted.kinds - DRAWINGS:
        parts.append(_documents(reader, wanted, by_entry=by_entry))
    if not wanted.of_documents_alone:
        parts += [_drawings(kind, reader, wanted, by_entry=by_entry) for kind in sorted(wanted.kinds & DRAWINGS)]
    if not parts:
        return None
    among = [_entry.c.id.in_(sa.bindparam("among", expanding=True))] if by_entry else []
    said = [part.where(*among, *_said(wanted)).prefix_with("STRAIGHT_JOIN", dialect="mariadb") for part in parts]
    if not by_entry:
        most = sa.bindparam("most", type_=sa.Integer())
        said = [sa.select(part.order_by(sa.desc("created_at")).limit(most).subquery()) for part in said]
    return PreparedStatement(said[0] if len(said) == 1 else sa.union_all(*said))


async def seen(session: AsyncSession, reader: SearchReader, *, most: int) -> dict[SearchKind, int]:
    """
    Return how many rows show a reader something, each up to `most` and one: of `document_reach` as of correspondence, and of
    drawings by their kind.
    """
    parts = [*([SearchKind.CORRESPONDENCE] if reader.kinds - DRAWINGS else []), *sorted(reader.kinds & DRAWINGS)]
    if not parts:
        return {}
    (counts,) = await _counts(reader, most).rows(session)
    return dict(zip(parts, counts, strict=True))


@lru_cache(maxsize=_KEPT)
def _counts(reader: SearchReader, most: int) -> PreparedStatement:
    one: sa.ColumnElement[int] = sa.literal_column("1")
    parts: list[AnySelect] = []
    if reader.kinds - DRAWINGS:
        parts.append(sa.select(one).select_from(_reach).where(_by_rows(reader, reader.kinds, once=False)))
    for kind in sorted(reader.kinds & DRAWINGS):
        head = table_of(heads_of(kind))
        parts.append(sa.select(one).select_from(head).where(_is_shown(head, reader)))
    count = sa.func.count()
    limited = [part.limit(most + 1).subquery() for part in parts]
    return PreparedStatement(sa.select(*(sa.select(count).select_from(part).scalar_subquery() for part in limited)))


async def recipients(session: AsyncSession, documents: Collection[int]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    keys = sorted(documents)
    for start in range(0, len(keys), _AT_ONCE):
        statement = sa.select(DocumentRecipient.correspondence_id, DocumentRecipient.recipient_organization_id)
        some = statement.where(DocumentRecipient.correspondence_id.in_(keys[start : start + _AT_ONCE]))
        found.update((head, organization) for head, organization in await session.execute(some))
    return found


_FILES: Final = PreparedStatement(
    sa.select(_in_files.c.entry_id, _in_files.c.text).where(
        _in_files.c.entry_id.in_(sa.bindparam("entries", expanding=True))
    )
)


async def files_of(session: AsyncSession, entries: Collection[int]) -> dict[int, str]:
    """Return what is written in the files of entries, folded."""
    return {key: text for key, text in await _FILES.rows(session, entries=list(entries))}  # noqa: C416  rows are no pairs
