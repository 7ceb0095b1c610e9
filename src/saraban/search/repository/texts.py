"""Texts of documents, circulations and drawings for the index."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.attachments.models import Attachment
from saraban.documents.circulation.models import Circulation, CirculationAttachment, CirculationRouting
from saraban.documents.core.models import (
    Document,
    DocumentRecipient,
    DocumentRevision,
    DocumentRevisionAttachment,
)
from saraban.documents.drawing import models as drawing
from saraban.identity.models import Organization, User
from saraban.kit.db import Base, table_of
from saraban.numbering.series.models import LedgerEntry, NumberRendering
from saraban.projects.models import CorrespondenceType
from saraban.search_index.domain.kinds import DRAWINGS, NameOf, SearchKind


@dataclass(slots=True)
class SearchSource:
    """
    Searchable content of one document revision, circulation or drawing, unfolded.

    :param revision_id: 0 for circulations and drawings
    :param numbers: the current one first
    :param parties: keys of organizations, the originator first
    :param holders: keys of rows that files belong to; `files` names by attachment key
    :param in_files: contents of the files, read on demand
    """

    kind: SearchKind
    head_id: int
    revision_id: int
    public_id: UUID
    project_id: int
    subject: str
    numbers: list[str]
    texts: list[str] = field(default_factory=list)
    parties: list[int] = field(default_factory=list)
    people: list[int] = field(default_factory=list)
    holders: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
    in_files: list[str] = field(default_factory=list)


class _DrawingTables(NamedTuple):
    head: type[drawing.Drawing]
    revision: type[drawing.DrawingRevision]
    number: Any
    of_head: Any
    of_revision: Any
    attachment: Any


_DRAWING_TABLES: Final[Mapping[SearchKind, _DrawingTables]] = {
    SearchKind.CONTRACT_DRAWING: _DrawingTables(
        drawing.ContractDrawing,
        drawing.ContractDrawingRevision,
        drawing.ContractDrawing.condwg_no,
        drawing.ContractDrawingRevision.contract_drawing_id,
        drawing.ContractDrawingRevisionAttachment.contract_drawing_revision_id,
        drawing.ContractDrawingRevisionAttachment.attachment_id,
    ),
    SearchKind.SHOP_DRAWING: _DrawingTables(
        drawing.ShopDrawing,
        drawing.ShopDrawingRevision,
        drawing.ShopDrawing.drawing_number,
        drawing.ShopDrawingRevision.shop_drawing_id,
        drawing.ShopDrawingRevisionAttachment.shop_drawing_revision_id,
        drawing.ShopDrawingRevisionAttachment.attachment_id,
    ),
    SearchKind.ASBUILT_DRAWING: _DrawingTables(
        drawing.AsbuiltDrawing,
        drawing.AsbuiltDrawingRevision,
        drawing.AsbuiltDrawing.drawing_number,
        drawing.AsbuiltDrawingRevision.asbuilt_drawing_id,
        drawing.AsbuiltDrawingRevisionAttachment.asbuilt_drawing_revision_id,
        drawing.AsbuiltDrawingRevisionAttachment.attachment_id,
    ),
}


def heads_of(kind: SearchKind) -> type[Base]:
    if kind in DRAWINGS:
        return _DRAWING_TABLES[kind].head
    return Circulation if kind is SearchKind.CIRCULATION else Document


async def keys(session: AsyncSession, kind: SearchKind, public_ids: Collection[UUID]) -> list[int]:
    table = table_of(heads_of(kind)).c
    return list(await session.scalars(sa.select(table.id).where(table.uuid.in_(public_ids))))


async def sources(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    """In order of keys, without deleted and withdrawn ones."""
    entries = await own_texts(session, kind, heads)
    await complete(session, kind, entries)
    return entries


async def own_texts(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    if kind in DRAWINGS:
        return await _drawings(session, kind, heads)
    if kind is SearchKind.CIRCULATION:
        return await _circulations(session, heads)
    return await _documents(session, kind, heads)


async def complete(session: AsyncSession, kind: SearchKind, entries: Sequence[SearchSource]) -> None:
    heads = {source.head_id for source in entries}
    if kind < SearchKind.CIRCULATION:
        received = await _recipients(session, heads)
        for source in entries:
            source.parties += received[source.head_id]
    elif kind is SearchKind.CIRCULATION:
        assigned = await _assignees(session, heads)
        for source in entries:
            source.people += assigned[source.head_id]
    organizations = await _organizations(session, {key for source in entries for key in source.parties})
    people = await _people(session, {key for source in entries for key in source.people})
    for source in entries:
        source.names += [
            *chain(*(organizations[key] for key in source.parties)),
            *(people[key] for key in source.people),
        ]
    if kind not in DRAWINGS:
        numbers = await _earlier_numbers(session, Circulation if kind is SearchKind.CIRCULATION else Document, heads)
        for source in entries:
            source.numbers = list(dict.fromkeys([*source.numbers, *numbers[source.head_id]]))
    await _add_files(session, kind, {key: source for source in entries for key in source.holders})


_Document, _Revision = Document, DocumentRevision
_newer = aliased(_Revision)
_SUPERSEDED: Final = (
    sa.exists()
    .where(
        _newer.correspondence_id == _Document.id,
        _newer.revision_number > _Revision.revision_number,
        _newer.issued_date.is_not(None),
        _newer.withdrawn_at.is_(None),
    )
    .correlate(_Document, _Revision)
)


class _DocumentRow(NamedTuple):
    """`number` is the document's, `printed` the revision's."""

    head_id: int
    public_id: UUID
    project_id: int
    originator_id: int
    created_by: int
    number: str
    revision_id: int
    printed: str | None
    sender_number: str | None
    subject: str
    body: str | None
    description: str | None
    remarks: str | None
    issued_date: datetime | None


# The newest revision of a document, and the newest issued one: readers see no others.
_DOCUMENTS: Final = (
    sa.select(
        _Document.id,
        _Document.public_id,
        _Document.project_id,
        _Document.originator_id,
        _Document.created_by,
        _Document.correspondence_number,
        _Revision.id.label("revision_id"),
        _Revision.correspondence_number.label("printed"),
        _Revision.sender_number,
        _Revision.subject,
        _Revision.body,
        _Revision.description,
        _Revision.remarks,
        _Revision.issued_date,
    )
    .join(_Revision, _Revision.correspondence_id == _Document.id)
    .where(_Document.deleted_at.is_(None), _Revision.withdrawn_at.is_(None), ~_SUPERSEDED)
    .order_by(_Document.id, _Revision.revision_number.desc())
)


async def _documents(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    rows = map(_DocumentRow._make, await session.execute(_DOCUMENTS.where(_Document.id.in_(heads))))
    return [
        SearchSource(
            kind=kind,
            head_id=row.head_id,
            revision_id=row.revision_id,
            public_id=row.public_id,
            project_id=row.project_id,
            subject=row.subject,
            numbers=list(dict.fromkeys(number for number in (row.printed, row.number, row.sender_number) if number)),
            texts=[text for text in (row.body, row.description, row.remarks) if text],
            parties=[row.originator_id],
            people=[row.created_by],
            holders=[row.revision_id],
        )
        for row in _visible_revisions(rows)
    ]


def _visible_revisions(rows: Iterable[_DocumentRow]) -> Iterator[_DocumentRow]:
    """:param rows: grouped by document, newest first"""
    for _, revisions in groupby(rows, key=attrgetter("head_id")):
        newest, *others = revisions
        yield newest
        if newest.issued_date is None:
            yield from [row for row in others if row.issued_date is not None][:1]


_ORGANIZATIONS: Final = sa.select(
    Organization.id,
    Organization.organization_code,
    Organization.organization_name,
    Organization.organization_name_en,
)
_PEOPLE: Final = sa.select(User.user_id, User.first_name, User.last_name, User.username)


async def _organizations(session: AsyncSession, keys: Collection[int]) -> dict[int, list[str]]:
    rows = await session.execute(_ORGANIZATIONS.where(Organization.id.in_(keys)))
    return {key: [name for name in names if name] for key, *names in rows}


async def _people(session: AsyncSession, keys: Collection[int]) -> dict[int, str]:
    rows = await session.execute(_PEOPLE.where(User.user_id.in_(keys)))
    return {key: " ".join(name for name in names if name) or username for key, *names, username in rows}


async def _circulations(session: AsyncSession, heads: Collection[int]) -> list[SearchSource]:
    sheet = Circulation
    rows = (await session.execute(sa.select(sheet).where(sheet.id.in_(heads)).order_by(sheet.id))).scalars()
    return [
        SearchSource(
            kind=SearchKind.CIRCULATION,
            head_id=row.id,
            revision_id=0,
            public_id=row.public_id,
            project_id=row.project_id,
            subject=row.circulation_subject,
            numbers=[row.circulation_no],
            texts=[row.remarks] if row.remarks else [],
            parties=[row.organization_id],
            people=[row.created_by_user_id],
            holders=[row.id],
        )
        for row in rows
    ]


async def _assignees(session: AsyncSession, sheets: Collection[int]) -> dict[int, list[int]]:
    routing = CirculationRouting
    statement = sa.select(routing.circulation_id, routing.assigned_to).where(routing.circulation_id.in_(sheets))
    people: dict[int, list[int]] = defaultdict(list)
    for key, person in await session.execute(statement):
        if person is not None:
            people[key].append(person)
    return people


async def _drawings(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    tables = _DRAWING_TABLES[kind]
    head, revision = tables.head, tables.revision
    statement = (
        sa.select(head, revision, tables.number.label("number"))
        .join(revision, tables.of_head == head.id)
        .where(head.id.in_(heads), head.deleted_at.is_(None))
        .order_by(head.id, revision.revision_number.desc())
    )
    sources: dict[int, SearchSource] = {}
    for row, drawing_revision, number in await session.execute(statement):
        if row.id not in sources:  # the newest revision comes first and gives the title
            sources[row.id] = SearchSource(
                kind=kind,
                head_id=row.id,
                revision_id=0,
                public_id=row.public_id,
                project_id=row.project_id,
                subject=drawing_revision.title,
                numbers=[number],
                parties=[row.originator_id] if row.originator_id is not None else [],
            )
        source = sources[row.id]
        source.holders.append(drawing_revision.id)
        source.numbers += [
            text for text in (drawing_revision.drawing_number, drawing_revision.legacy_drawing_number) if text
        ]
        source.texts += [
            text
            for text in (drawing_revision.title, drawing_revision.title_en, drawing_revision.description, row.zone)
            if text
        ]
    for source in sources.values():
        source.numbers, source.texts = list(dict.fromkeys(source.numbers)), list(dict.fromkeys(source.texts))
    return list(sources.values())


async def _recipients(session: AsyncSession, heads: Collection[int]) -> dict[int, list[int]]:
    organizations: dict[int, list[int]] = defaultdict(list)
    link = DocumentRecipient
    statement = sa.select(link.correspondence_id, link.recipient_organization_id)
    statement = statement.where(link.correspondence_id.in_(heads)).order_by(link.correspondence_id, link.position)
    for head, organization in await session.execute(statement):
        organizations[head].append(organization)
    return organizations


async def _earlier_numbers(
    session: AsyncSession, heads: type[Document | Circulation], keys: Collection[int]
) -> dict[int, list[str]]:
    """Numbers before a renumbering (REQ-NUM-32)."""
    numbers: dict[int, list[str]] = defaultdict(list)
    statement = (
        sa.select(heads.id, NumberRendering.document_number)
        .join(LedgerEntry, LedgerEntry.holder_public_id == heads.public_id)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(heads.id.in_(keys), LedgerEntry.replaced_by_uuid.is_not(None))
    )
    for head, number in await session.execute(statement):
        numbers[head].append(number)
    return numbers


async def _add_files(session: AsyncSession, kind: SearchKind, owners: Mapping[int, SearchSource]) -> None:
    """:param owners: by the key of the row that files belong to"""
    owner, attachment = _FILES[kind]
    statement = sa.select(owner, Attachment.id, Attachment.original_filename)
    statement = statement.join(Attachment, Attachment.id == attachment).where(owner.in_(list(owners)))
    for key, file, name in await session.execute(statement):
        owners[key].files[file] = name


_DOCUMENT_FILES: Final = (
    DocumentRevisionAttachment.correspondence_revision_id,
    DocumentRevisionAttachment.attachment_id,
)
# Columns of a link: owner and file.
_FILES: Final[Mapping[SearchKind, tuple[Any, Any]]] = {
    **dict.fromkeys((SearchKind.CORRESPONDENCE, SearchKind.RFA, SearchKind.TRANSMITTAL), _DOCUMENT_FILES),
    SearchKind.CIRCULATION: (CirculationAttachment.circulation_id, CirculationAttachment.attachment_id),
    **{kind: (tables.of_revision, tables.attachment) for kind, tables in _DRAWING_TABLES.items()},
}
_KIND: Final = sa.case(
    {"RFA": int(SearchKind.RFA), "TRANSMITTAL": int(SearchKind.TRANSMITTAL)},
    value=CorrespondenceType.type_code,
    else_=int(SearchKind.CORRESPONDENCE),
)


async def bearers(session: AsyncSession, renamed: Mapping[NameOf, Collection[UUID]]) -> dict[SearchKind, set[int]]:
    """Return entries to which `complete` adds these names."""
    parties = sa.select(Organization.id).where(Organization.public_id.in_(renamed.get(NameOf.ORGANIZATION, ())))
    people = sa.select(User.user_id).where(User.public_id.in_(renamed.get(NameOf.PERSON, ())))
    link, sheet, routing = DocumentRecipient, Circulation, CirculationRouting
    heads: dict[SearchKind, set[int]] = defaultdict(set)
    documents = sa.union(
        sa.select(_Document.id).where(_Document.originator_id.in_(parties)),
        sa.select(link.correspondence_id).where(link.recipient_organization_id.in_(parties)),
        sa.select(_Document.id).where(_Document.created_by.in_(people)),
    ).subquery()
    statement = sa.select(_KIND, _Document.id).join(
        CorrespondenceType, CorrespondenceType.id == _Document.correspondence_type_id
    )
    for kind, key in await session.execute(statement.join(documents, documents.c.id == _Document.id)):
        heads[SearchKind(kind)].add(key)
    sheets = (
        sa.select(sheet.id).where(sheet.organization_id.in_(parties)),
        sa.select(sheet.id).where(sheet.created_by_user_id.in_(people)),
        sa.select(routing.circulation_id).where(routing.assigned_to.in_(people)),
    )
    for select in sheets:
        heads[SearchKind.CIRCULATION].update(await session.scalars(select))
    for drawing_kind, tables in _DRAWING_TABLES.items():
        head = tables.head
        heads[drawing_kind].update(await session.scalars(sa.select(head.id).where(head.originator_id.in_(parties))))
    return heads


async def count_heads(session: AsyncSession) -> int:
    tables = {table_of(heads_of(kind)) for kind in SearchKind}
    return sum([await session.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables])


async def slice_of(session: AsyncSession, kind: SearchKind, *, after: int, limit: int) -> list[int]:
    table = table_of(heads_of(kind)).c
    statement = sa.select(table.id).where(table.id > after).order_by(table.id).limit(limit)
    if kind < SearchKind.CIRCULATION:
        codes = {SearchKind.RFA: "RFA", SearchKind.TRANSMITTAL: "TRANSMITTAL"}
        code = CorrespondenceType.type_code
        types = sa.select(CorrespondenceType.id).where(
            code == codes[kind] if kind in codes else code.not_in(list(codes.values()))
        )
        statement = statement.where(table.correspondence_type_id.in_(types))
    return list(await session.scalars(statement))


async def holders(session: AsyncSession, attachment_ids: Collection[int]) -> dict[SearchKind, set[UUID]]:
    heads_by_kind: dict[SearchKind, set[UUID]] = defaultdict(set)
    link = DocumentRevisionAttachment
    documents = (
        sa.select(_KIND, _Document.public_id)
        .join(CorrespondenceType, CorrespondenceType.id == _Document.correspondence_type_id)
        .join(_Revision, _Revision.correspondence_id == _Document.id)
        .join(link, link.correspondence_revision_id == _Revision.id)
        .where(link.attachment_id.in_(attachment_ids))
    )
    for kind, public_id in await session.execute(documents):
        heads_by_kind[SearchKind(kind)].add(public_id)
    sheets = sa.select(Circulation.public_id).join(
        CirculationAttachment, CirculationAttachment.circulation_id == Circulation.id
    )
    heads_by_kind[SearchKind.CIRCULATION] |= set(
        await session.scalars(sheets.where(CirculationAttachment.attachment_id.in_(attachment_ids)))
    )
    for drawing_kind, tables in _DRAWING_TABLES.items():
        heads = (
            sa.select(tables.head.public_id)
            .join(tables.revision, tables.of_head == tables.head.id)
            .join(table_of(tables.attachment.class_), tables.of_revision == tables.revision.id)
        )
        heads_by_kind[drawing_kind] |= set(await session.scalars(heads.where(tables.attachment.in_(attachment_ids))))
    return heads_by_kind
