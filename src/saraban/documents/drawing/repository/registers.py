"""
Pages of a register, one drawing with its history, and its files.

A page is found along an index in the order of numbers, one range for each audience of its reader, and read wide afterwards: what a
reader may not see is in no range, so that no list, count or cursor can tell of it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.attachments.models import Attachment
from saraban.documents.drawing.domain import Audience, AudienceKind, CurrentPeriod, DrawingKind
from saraban.documents.drawing.models import Drawing, DrawingRevision
from saraban.documents.drawing.repository.tables import REFERENCES, Condition, DrawingTables, tables_of
from saraban.identity.models import Organization
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.keys import is_spelled
from saraban.kit.text import sort_key
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    Discipline,
    Project,
    ProjectOrganization,
    RfaApproveCode,
    Tag,
)
from saraban.search_index.domain.folding import THAI_DIGITS

_MOST_RANGES: Final = 100  # SQLite merges up to 500


async def reader_contracts(
    session: AsyncSession, *, project_id: int, contracts: Collection[int], organizations: Collection[int]
) -> set[int]:
    """Return the contracts of a project that a reader has a right in, or an organization of theirs is a party to."""
    party = sa.select(ContractOrganization.contract_id).where(ContractOrganization.organization_id.in_(organizations))
    is_reader = sa.or_(Contract.id.in_(contracts), Contract.id.in_(party))
    return set(await session.scalars(sa.select(Contract.id).where(Contract.project_id == project_id, is_reader)))


async def members(session: AsyncSession, *, project_id: int, organizations: Collection[int]) -> dict[int, str]:
    member = ProjectOrganization
    statement = sa.select(member.organization_id, member.role_in_project).where(
        member.project_id == project_id, member.organization_id.in_(organizations)
    )
    return dict((await session.execute(statement)).all())


@dataclass(frozen=True, slots=True)
class DrawingPlace:
    """A drawing with one of its revisions, found along an index."""

    drawing_id: int
    revision_id: int
    number: str


@dataclass(frozen=True, slots=True)
class DrawingSearch:
    """
    What is wanted of a register, by keys.

    :param audiences: of the reader; None for who reads the whole project
    :param moment: as of when; None for now
    :param disciplines: keys of the disciplines that have the code, each with that of its contract; None for all
    :param codes: of what drawings are classified by, by the names of `DrawingTables.lists`
    :param words: what is looked for, all of it; `excluded` are in nothing that is found
    :param waiting: keys of what the index of search does not contain yet; None where these are many
    :param matched: keys of what the index finds for the reader; None where it does not know
    :param after: the number behind which the page begins
    """

    project_id: int
    audiences: Sequence[Audience] | None
    moment: datetime | None = None
    disciplines: Mapping[int, int] | None = None
    contract: UUID | None = None
    originator: UUID | None = None
    codes: Mapping[str, str] = field(default_factory=dict)
    tag: str | None = None
    words: Sequence[str] = ()
    excluded: Sequence[str] = ()
    waiting: Collection[int] | None = None
    matched: Collection[int] | None = None
    after: str | None = None

    @property
    def among(self) -> Collection[int] | None:
        """Keys of what may have the words; None for all."""
        return None if self.matched is None or self.waiting is None else {*self.matched, *self.waiting}


async def drawing_keys(session: AsyncSession, kind: DrawingKind, public_ids: Collection[UUID]) -> set[int]:
    head = tables_of(kind).head
    return set(await session.scalars(sa.select(head.id).where(head.public_id.in_(public_ids)))) if public_ids else set()


async def find_places(
    session: AsyncSession, kind: DrawingKind, search: DrawingSearch, *, limit: int
) -> list[DrawingPlace]:
    """Return the first `limit` in the order of numbers: one range for each audience and discipline, merged."""
    tables = tables_of(kind)
    ranges = [_range(kind, search, within, limit) for within in _within(tables.head, search)]
    if not ranges:
        return []
    if len(ranges) == 1:
        statement: Any = ranges[0]
    else:  # each stands in parentheses of its own, which SQLite writes as a subquery
        merged = sa.union_all(*(sa.select(one.subquery()) for one in ranges)).subquery()
        statement = sa.select(merged).order_by(merged.c.sort, merged.c.number).limit(limit)
    return [DrawingPlace(*row[:3]) for row in await session.execute(statement)]


def _within(head: type[Drawing], search: DrawingSearch) -> list[list[Condition]]:
    """
    Return the conditions of each range. Drawings of a contract have disciplines of that contract alone.

    More than a statement merges are one range, for which the database sorts.
    """
    pairs = [
        (audience, discipline)
        for audience in (search.audiences if search.audiences is not None else [None])
        for discipline in (search.disciplines if search.disciplines is not None else [None])
        if not _of_another_contract(search.disciplines or {}, audience, discipline)
    ]
    among = search.among
    if len(pairs) <= _MOST_RANGES and among is None:
        return [[*_shown_to(head, audience), *_in_discipline(head, discipline)] for audience, discipline in pairs]
    conditions: list[Condition] = [] if among is None else [head.id.in_(among)]
    if search.audiences is not None:
        audiences = [(int(kind), key) for kind, key in search.audiences]
        conditions.append(sa.tuple_(head.audience_kind, head.audience_id).in_(audiences))
    if search.disciplines is not None:
        conditions.append(head.discipline_id.in_(search.disciplines))
    return [conditions]


def _of_another_contract(contracts: Mapping[int, int], audience: Audience | None, discipline: int | None) -> bool:
    if audience is None or discipline is None or audience[0] is not AudienceKind.CONTRACT:
        return False
    return contracts[discipline] != audience[1]


def _shown_to(head: type[Drawing], audience: Audience | None) -> list[Condition]:
    return [] if audience is None else [head.audience_kind == int(audience[0]), head.audience_id == audience[1]]


def _in_discipline(head: type[Drawing], discipline: int | None) -> list[Condition]:
    return [] if discipline is None else [head.discipline_id == discipline]


def _range(kind: DrawingKind, search: DrawingSearch, within: Sequence[Condition], limit: int) -> AnySelect:
    tables = tables_of(kind)
    head, revision = tables.head, tables.revision
    conditions: list[Condition] = [head.project_id == search.project_id, *within, *_filters(tables, search)]
    if search.words:
        conditions.append(_says(tables, search))
    if search.after is not None:
        place = sort_key(search.after)
        conditions += [head.number_sort >= place, sa.or_(head.number_sort > place, tables.number > search.after)]
    if search.moment is not None:  # no revision is current before its drawing is there, and the index has this
        conditions.append(head.created_at <= search.moment)
    return (
        sa.select(head.id.label("drawing"), revision.id.label("revision"), tables.number.label("number"))
        .add_columns(head.number_sort.label("sort"))
        .join(revision, sa.and_(tables.drawing == head.id, _at(revision, search.moment)))
        .where(*conditions)
        .order_by(head.number_sort, tables.number)
        .limit(limit)
    )


def _at(revision: type[DrawingRevision], moment: datetime | None) -> Condition:
    if moment is None:
        return sa.and_(revision.is_current == sa.true())
    ended = sa.or_(revision.current_until.is_(None), revision.current_until > moment)
    return sa.and_(revision.current_from <= moment, ended)


def _filters(tables: DrawingTables, search: DrawingSearch) -> list[Condition]:
    head = tables.head
    found: list[Condition] = []
    for name, code in search.codes.items():
        found.append(tables.lists[name].has(code) if name in tables.lists else sa.false())
    if search.tag is not None:
        of = tables.tagged.c
        tagged = sa.select(of.drawing_id).join(Tag, Tag.id == of.tag_id)
        tagged = tagged.where(Tag.project_id == search.project_id, is_spelled(Tag.tag_code, [search.tag]))
        found.append(head.id.in_(tagged))
    if search.contract is not None:
        found.append(head.contract_id.in_(sa.select(Contract.id).where(Contract.public_id == search.contract)))
    if search.originator is not None:
        by = sa.select(Organization.id).where(Organization.public_id == search.originator)
        found.append(head.originator_id.in_(by))
    return found


def _says(tables: DrawingTables, search: DrawingSearch) -> Condition:
    """Of a day that is over, what was said then counts; what the index does not contain yet is found by what the register shows."""
    shown = sa.and_(
        *(_shows(tables, word) for word in search.words),
        *(_shows(tables, word).is_not(sa.true()) for word in search.excluded),  # a title may be NULL
    )
    if search.moment is not None or search.matched is None:
        return shown
    if search.waiting is not None:
        shown = sa.and_(tables.head.id.in_(search.waiting), shown)
    return sa.or_(tables.head.id.in_(search.matched), shown)


def _shows(tables: DrawingTables, word: str) -> Condition:
    parts = [tables.number, tables.revision.title, tables.revision.title_en]
    return sa.or_(*(_contains(part, word) for part in parts), _was_printed_with(tables, word))


async def shown_drawings(
    session: AsyncSession, kind: DrawingKind, search: DrawingSearch, drawings: Collection[int]
) -> set[int]:
    """Return which of the drawings, by their keys, show the words at their current revision."""
    tables = tables_of(kind)
    joined = sa.and_(tables.drawing == tables.head.id, _at(tables.revision, None))
    statement = sa.select(tables.head.id).join(tables.revision, joined)
    return set(await session.scalars(statement.where(tables.head.id.in_(drawings), _says(tables, search))))


def _was_printed_with(tables: DrawingTables, text: str) -> Condition:
    """Also earlier numbers of a drawing, where each revision prints its own."""
    printed = aliased(tables.revision)
    of_head = getattr(printed, tables.drawing.key) == tables.head.id
    return sa.exists().where(of_head, _contains(printed.drawing_number, text))


def _contains(column: sa.SQLColumnExpression[str | None], word: str) -> Condition:
    """Find a folded word, as far as databases fold: by case, which numbers have on MariaDB, and by the digits that the word has."""
    for thai, digit in THAI_DIGITS:
        if digit in word:
            column = sa.func.replace(column, thai, digit)
    return column.icontains(word, autoescape=True)


_NAMED: Final = ("", "_name", "_name_en")


def _wide(kind: DrawingKind) -> AnySelect:
    tables = tables_of(kind)
    head = tables.head
    joined: Any = sa.join(head, tables.revision, tables.drawing == head.id)
    for model, condition in (one for listed in tables.lists.values() for one in listed.joined):
        joined = joined.outerjoin(model, condition)
    for model, key in (
        (Contract, head.contract_id),
        (Organization, head.originator_id),
        (Discipline, head.discipline_id),
        (RfaApproveCode, tables.revision.rfa_approve_code_id),
    ):
        joined = joined.outerjoin(model, model.id == key)
    current = aliased(tables.revision)
    of_head = getattr(current, tables.drawing.key) == head.id
    joined = joined.outerjoin(current, sa.and_(of_head, current.is_current == sa.true()))
    joined = joined.join(Project, Project.id == head.project_id)
    listed: list[sa.ColumnElement[Any]] = [
        column.label(f"{name}{part}")
        for name, one in tables.lists.items()
        for column, part in zip(one.columns, _NAMED, strict=True)
    ]
    code = RfaApproveCode
    listed += [
        column.label(f"response{part}")
        for column, part in zip((code.approve_code, code.approve_name, code.approve_name_en), _NAMED, strict=True)
    ]
    listed.append(current.revision_label.label("current_label"))
    if tables.page is not None:
        listed.append(sa.type_coerce(tables.page, sa.Integer()).label("volume_page"))
    return sa.select(
        head, tables.revision, tables.number.label("number"), Project, Contract, Organization, Discipline, *listed
    ).select_from(joined)


@dataclass(frozen=True, slots=True)
class DrawingRow:
    """
    A drawing as it stands, with one of its revisions and the names of what it refers to.

    :param number: as it is printed on that revision
    :param named: codes and names by `category`, `category_name`, `category_name_en`, and so on for `sub_category`, `volume` and
        `response`, the answer of an RFA
    """

    head: Drawing
    revision: DrawingRevision
    number: str
    project: Project
    contract: Contract | None
    originator: Organization | None
    discipline: Discipline | None
    named: Mapping[str, Any]

    @classmethod
    def read(cls, row: AnyRow) -> "DrawingRow":
        head, revision, number, project, contract, originator, discipline, *_ = row
        printed = revision.drawing_number or number
        return cls(head, revision, printed, project, contract, originator, discipline, row._asdict())

    def unanswered(self) -> "DrawingRow":
        """The same without the answer: nothing keeps the moment at which it was given."""
        return replace(self, named={**self.named, "response": None})

    @property
    def superseded_by(self) -> str | None:
        """The label of what is current by now, of a revision that is not."""
        return None if self.revision.is_current else self.named["current_label"]

    @property
    def audience(self) -> Audience:
        return AudienceKind(self.head.audience_kind), self.head.audience_id

    @property
    def period(self) -> CurrentPeriod:
        return CurrentPeriod(self.revision.current_from, self.revision.current_until)


async def rows(session: AsyncSession, kind: DrawingKind, places: Sequence[DrawingPlace]) -> list[DrawingRow]:
    if not places:
        return []
    statement = _wide(kind).where(tables_of(kind).revision.id.in_([one.revision_id for one in places]))
    found = {row.revision.id: row for row in map(DrawingRow.read, await session.execute(statement))}
    return [found[one.revision_id] for one in places]


async def history(session: AsyncSession, kind: DrawingKind, condition: Condition) -> list[DrawingRow]:
    """Return a drawing with each of its revisions, newest first."""
    statement = _wide(kind).where(condition).order_by(tables_of(kind).revision.revision_number.desc())
    return [DrawingRow.read(row) for row in await session.execute(statement)]


def named(kind: DrawingKind, public_id: UUID) -> Condition:
    return tables_of(kind).head.public_id == public_id


def of_revision(kind: DrawingKind, public_id: UUID) -> Condition:
    tables = tables_of(kind)
    return tables.head.id.in_(sa.select(tables.drawing).where(tables.revision.public_id == public_id))


async def referred(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[DrawingRow]:
    """
    Return drawings that others refer to.

    :param keys: of revisions, or of drawings where those are referred to as a whole: then with the current revision
    """
    tables = tables_of(kind)
    if kind.whole:
        condition = sa.and_(tables.head.id.in_(keys), tables.revision.is_current == sa.true())
    else:
        condition = tables.revision.id.in_(keys)
    statement = _wide(kind).where(condition).order_by(tables.number, tables.revision.revision_number)
    return [DrawingRow.read(row) for row in await session.execute(statement)]


class LinkedDrawingFile(NamedTuple):
    attachment: Attachment
    file_type: str | None
    is_main: bool


async def files(
    session: AsyncSession, kind: DrawingKind, revision_ids: Collection[int]
) -> dict[int, list[LinkedDrawingFile]]:
    """Return the files of each revision, the main one first."""
    found = {key: list[LinkedDrawingFile]() for key in revision_ids}
    file = tables_of(kind).file
    statement = (
        sa.select(tables_of(kind).of_file, Attachment, file.file_type, file.is_main_document)
        .join(Attachment, Attachment.id == file.attachment_id)
        .where(tables_of(kind).of_file.in_(revision_ids))
    )
    for key, attachment, file_type, is_main in await session.execute(statement) if revision_ids else ():
        found[key].append(LinkedDrawingFile(attachment, file_type, is_main))
    for listed in found.values():
        listed.sort(key=lambda one: (not one.is_main, one.attachment.created_at, one.attachment.public_id))
    return found


async def holders_of_file(
    session: AsyncSession, kind: DrawingKind, attachment_id: int
) -> Sequence[tuple[int, int, int]]:
    tables = tables_of(kind)
    head = tables.head
    statement = (
        sa.select(head.project_id, head.audience_kind, head.audience_id)
        .join(tables.revision, tables.drawing == head.id)
        .join(tables.file, tables.of_file == tables.revision.id)
        .where(tables.file.attachment_id == attachment_id)
    )
    return [(project, kind, key) for project, kind, key in await session.execute(statement)]


async def revisions_with_file(session: AsyncSession, kind: DrawingKind, attachment_id: int) -> list[int]:
    tables = tables_of(kind)
    statement = sa.select(tables.of_file).where(tables.file.attachment_id == attachment_id)
    return list(await session.scalars(statement))


async def discipline_keys(session: AsyncSession, *, project_id: int, code: str) -> dict[int, int]:
    """Return the keys of the disciplines that have a code, closed ones too, each with that of its contract in the project."""
    statement = (
        sa.select(Discipline.id, Discipline.contract_id)
        .join(Contract, Contract.id == Discipline.contract_id)
        .where(Contract.project_id == project_id, is_spelled(Discipline.discipline_code, [code]))
        .order_by(Discipline.id)
    )
    return dict((await session.execute(statement)).all())


class ListRow(NamedTuple):
    code: str
    name: str
    name_en: str | None


async def open_lists(session: AsyncSession, kind: DrawingKind, *, project_id: int) -> dict[str, list[ListRow]]:
    """Return what drawings of a kind can be classified by, by the names of `DrawingTables.lists`."""
    found = {}
    for name, one in tables_of(kind).lists.items():
        model: Any = one.columns[0].class_
        statement = (
            sa.select(*one.columns)
            .where(model.project_id == project_id, model.is_active)
            .order_by(model.sort_order, one.columns[0])
        )
        found[name] = [ListRow(*row) for row in await session.execute(statement)]
    return found


async def open_tags(session: AsyncSession, *, project_id: int) -> Sequence[Tag]:
    statement = sa.select(Tag).where(Tag.project_id == project_id, Tag.is_active)
    return (await session.scalars(statement.order_by(Tag.sort_order, Tag.tag_code))).all()


async def tags(session: AsyncSession, kind: DrawingKind, drawing_ids: Collection[int]) -> dict[int, list[Tag]]:
    """Return the tags of drawings, closed ones too, in the order of their project."""
    tagged, found = tables_of(kind).tagged.c, {key: list[Tag]() for key in drawing_ids}
    statement = (
        sa.select(tagged.drawing_id, Tag)
        .join(Tag, Tag.id == tagged.tag_id)
        .where(tagged.drawing_id.in_(drawing_ids))
        .order_by(Tag.sort_order, Tag.tag_code)
    )
    for key, tag in await session.execute(statement):
        found[key].append(tag)
    return found


async def links(
    session: AsyncSession, kind: DrawingKind, *, sources: Collection[int] = (), targets: Collection[int] = ()
) -> list[tuple[int, int]]:
    tables = REFERENCES[kind]
    statement = sa.select(tables.source, tables.target).where(
        sa.or_(tables.source.in_(sources), tables.target.in_(targets))
    )
    return [(source, target) for source, target in await session.execute(statement)]
