"""What there is to find, read from the rows of documents, circulations and drawings: a batch of one kind at a time."""

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
    What is found of a revision of a document, of a circulation or of a drawing, as it was written.

    :param revision_id: 0 for what is searched as a whole
    :param numbers: that it has and had, the present one first
    :param texts: what a reader is shown a piece of: remarks and the like
    :param parties: keys of the organization that wrote it and of those that received it, and `people` of who wrote it or has a part in it
    :param names: of parties and people
    :param holders: keys of what its files hang on, and `files` their names by key
    :param in_files: what is written in them, where somebody asked for it
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


_DRAWN: Final[Mapping[SearchKind, _DrawingTables]] = {
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
    """Return the class of what an entry of this kind is of."""
    if kind in DRAWINGS:
        return _DRAWN[kind].head
    return Circulation if kind is SearchKind.CIRCULATION else Document


async def keys(session: AsyncSession, kind: SearchKind, public_ids: Collection[UUID]) -> list[int]:
    table = table_of(heads_of(kind)).c
    return list(await session.scalars(sa.select(table.id).where(table.uuid.in_(public_ids))))


async def sources(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    """Return what is found of these, in the order of their keys; nothing of what was deleted or withdrawn."""
    found = await own_texts(session, kind, heads)
    await complete(session, kind, found)
    return found


async def own_texts(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    if kind in DRAWINGS:
        return await _drawings(session, kind, heads)
    if kind is SearchKind.CIRCULATION:
        return await _circulations(session, heads)
    return await _documents(session, kind, heads)


async def complete(session: AsyncSession, kind: SearchKind, found: Sequence[SearchSource]) -> None:
    heads = {one.head_id for one in found}
    if kind < SearchKind.CIRCULATION:
        received = await _recipients(session, heads)
        for one in found:
            one.parties += received[one.head_id]
    elif kind is SearchKind.CIRCULATION:
        assigned = await _assigned(session, heads)
        for one in found:
            one.people += assigned[one.head_id]
    organizations = await _organizations(session, {key for one in found for key in one.parties})
    people = await _people(session, {key for one in found for key in one.people})
    for one in found:
        one.names += [*chain(*(organizations[key] for key in one.parties)), *(people[key] for key in one.people)]
    if kind not in DRAWINGS:
        numbers = await _earlier_numbers(session, Circulation if kind is SearchKind.CIRCULATION else Document, heads)
        for one in found:
            one.numbers = list(dict.fromkeys([*one.numbers, *numbers[one.head_id]]))
    await _add_files(session, kind, {key: one for one in found for key in one.holders})


_D, _R = Document, DocumentRevision
_newer = aliased(_R)
_SUPERSEDED: Final = (
    sa.exists()
    .where(
        _newer.correspondence_id == _D.id,
        _newer.revision_number > _R.revision_number,
        _newer.issued_date.is_not(None),
        _newer.withdrawn_at.is_(None),
    )
    .correlate(_D, _R)
)


class _DocumentRow(NamedTuple):
    """A revision with its document; `number` is the document's, `printed` the revision's own."""

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


# Of a document its newest revision, and the newest that was issued: nobody is shown another one.
_DOCUMENTS: Final = (
    sa.select(
        _D.id,
        _D.public_id,
        _D.project_id,
        _D.originator_id,
        _D.created_by,
        _D.correspondence_number,
        _R.id.label("revision_id"),
        _R.correspondence_number.label("printed"),
        _R.sender_number,
        _R.subject,
        _R.body,
        _R.description,
        _R.remarks,
        _R.issued_date,
    )
    .join(_R, _R.correspondence_id == _D.id)
    .where(_D.deleted_at.is_(None), _R.withdrawn_at.is_(None), ~_SUPERSEDED)
    .order_by(_D.id, _R.revision_number.desc())
)


async def _documents(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    rows = map(_DocumentRow._make, await session.execute(_DOCUMENTS.where(_D.id.in_(heads))))
    return [
        SearchSource(
            kind=kind,
            head_id=row.head_id,
            revision_id=row.revision_id,
            public_id=row.public_id,
            project_id=row.project_id,
            subject=row.subject,
            numbers=list(dict.fromkeys(one for one in (row.printed, row.number, row.sender_number) if one)),
            texts=[text for text in (row.body, row.description, row.remarks) if text],
            parties=[row.originator_id],
            people=[row.created_by],
            holders=[row.revision_id],
        )
        for row in _shown(rows)
    ]


def _shown(rows: Iterable[_DocumentRow]) -> Iterator[_DocumentRow]:
    """:param rows: those of a document one after the other, the newest first"""
    for _, those in groupby(rows, key=attrgetter("head_id")):
        newest, *others = those
        yield newest
        if newest.issued_date is None:
            yield from [one for one in others if one.issued_date is not None][:1]


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


async def _assigned(session: AsyncSession, sheets: Collection[int]) -> dict[int, list[int]]:
    part = CirculationRouting
    statement = sa.select(part.circulation_id, part.assigned_to).where(part.circulation_id.in_(sheets))
    found: dict[int, list[int]] = defaultdict(list)
    for key, person in await session.execute(statement):
        if person is not None:
            found[key].append(person)
    return found


async def _drawings(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[SearchSource]:
    tables = _DRAWN[kind]
    head, revision = tables.head, tables.revision
    statement = (
        sa.select(head, revision, tables.number.label("number"))
        .join(revision, tables.of_head == head.id)
        .where(head.id.in_(heads), head.deleted_at.is_(None))
        .order_by(head.id, revision.revision_number.desc())
    )
    found: dict[int, SearchSource] = {}
    for row, one, number in await session.execute(statement):
        if row.id not in found:  # the newest revision comes first: it is what the drawing is called by
            found[row.id] = SearchSource(
                kind=kind,
                head_id=row.id,
                revision_id=0,
                public_id=row.public_id,
                project_id=row.project_id,
                subject=one.title,
                numbers=[number],
                parties=[row.originator_id] if row.originator_id is not None else [],
            )
        source = found[row.id]
        source.holders.append(one.id)
        source.numbers += [text for text in (one.drawing_number, one.legacy_drawing_number) if text]
        source.texts += [text for text in (one.title, one.title_en, one.description, row.zone) if text]
    for source in found.values():
        source.numbers, source.texts = list(dict.fromkeys(source.numbers)), list(dict.fromkeys(source.texts))
    return list(found.values())


async def _recipients(session: AsyncSession, heads: Collection[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    link = DocumentRecipient
    statement = sa.select(link.correspondence_id, link.recipient_organization_id)
    statement = statement.where(link.correspondence_id.in_(heads)).order_by(link.correspondence_id, link.position)
    for head, organization in await session.execute(statement):
        found[head].append(organization)
    return found


async def _earlier_numbers(
    session: AsyncSession, heads: type[Document | Circulation], keys: Collection[int]
) -> dict[int, list[str]]:
    """Return the numbers that documents had before they were renumbered, by their keys (REQ-NUM-32)."""
    found: dict[int, list[str]] = defaultdict(list)
    statement = (
        sa.select(heads.id, NumberRendering.document_number)
        .join(LedgerEntry, LedgerEntry.holder_public_id == heads.public_id)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(heads.id.in_(keys), LedgerEntry.replaced_by_uuid.is_not(None))
    )
    for head, number in await session.execute(statement):
        found[head].append(number)
    return found


async def _add_files(session: AsyncSession, kind: SearchKind, owners: Mapping[int, SearchSource]) -> None:
    """:param owners: by the key of what the files hang on"""
    owner, attachment = _FILES[kind]
    statement = sa.select(owner, Attachment.id, Attachment.original_filename)
    statement = statement.join(Attachment, Attachment.id == attachment).where(owner.in_(list(owners)))
    for key, file, name in await session.execute(statement):
        owners[key].files[file] = name


_OF_DOCUMENTS: Final = (
    DocumentRevisionAttachment.correspondence_revision_id,
    DocumentRevisionAttachment.attachment_id,
)
# The columns of a link: what files hang on, and the file.
_FILES: Final[Mapping[SearchKind, tuple[Any, Any]]] = {
    **dict.fromkeys((SearchKind.CORRESPONDENCE, SearchKind.RFA, SearchKind.TRANSMITTAL), _OF_DOCUMENTS),
    SearchKind.CIRCULATION: (CirculationAttachment.circulation_id, CirculationAttachment.attachment_id),
    **{kind: (tables.of_revision, tables.attachment) for kind, tables in _DRAWN.items()},
}
_KIND: Final = sa.case(
    {"RFA": int(SearchKind.RFA), "TRANSMITTAL": int(SearchKind.TRANSMITTAL)},
    value=CorrespondenceType.type_code,
    else_=int(SearchKind.CORRESPONDENCE),
)


async def bearers(session: AsyncSession, renamed: Mapping[NameOf, Collection[UUID]]) -> dict[SearchKind, set[int]]:
    """Return keys of what `complete` gives the names of these organizations and people."""
    parties = sa.select(Organization.id).where(Organization.public_id.in_(renamed.get(NameOf.ORGANIZATION, ())))
    people = sa.select(User.user_id).where(User.public_id.in_(renamed.get(NameOf.PERSON, ())))
    link, sheet, part = DocumentRecipient, Circulation, CirculationRouting
    found: dict[SearchKind, set[int]] = defaultdict(set)
    documents = sa.union(
        sa.select(_D.id).where(_D.originator_id.in_(parties)),
        sa.select(link.correspondence_id).where(link.recipient_organization_id.in_(parties)),
        sa.select(_D.id).where(_D.created_by.in_(people)),
    ).subquery()
    statement = sa.select(_KIND, _D.id).join(CorrespondenceType, CorrespondenceType.id == _D.correspondence_type_id)
    for kind, key in await session.execute(statement.join(documents, documents.c.id == _D.id)):
        found[SearchKind(kind)].add(key)
    sheets = (
        sa.select(sheet.id).where(sheet.organization_id.in_(parties)),
        sa.select(sheet.id).where(sheet.created_by_user_id.in_(people)),
        sa.select(part.circulation_id).where(part.assigned_to.in_(people)),
    )
    for select in sheets:
        found[SearchKind.CIRCULATION].update(await session.scalars(select))
    for drawn, tables in _DRAWN.items():
        head = tables.head
        found[drawn].update(await session.scalars(sa.select(head.id).where(head.originator_id.in_(parties))))
    return found


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
    found: dict[SearchKind, set[UUID]] = defaultdict(set)
    link = DocumentRevisionAttachment
    documents = (
        sa.select(_KIND, _D.public_id)
        .join(CorrespondenceType, CorrespondenceType.id == _D.correspondence_type_id)
        .join(_R, _R.correspondence_id == _D.id)
        .join(link, link.correspondence_revision_id == _R.id)
        .where(link.attachment_id.in_(attachment_ids))
    )
    for kind, public_id in await session.execute(documents):
        found[SearchKind(kind)].add(public_id)
    sheets = sa.select(Circulation.public_id).join(
        CirculationAttachment, CirculationAttachment.circulation_id == Circulation.id
    )
    found[SearchKind.CIRCULATION] |= set(
        await session.scalars(sheets.where(CirculationAttachment.attachment_id.in_(attachment_ids)))
    )
    for drawn, tables in _DRAWN.items():
        heads = (
            sa.select(tables.head.public_id)
            .join(tables.revision, tables.of_head == tables.head.id)
            .join(table_of(tables.attachment.class_), tables.of_revision == tables.revision.id)
        )
        found[drawn] |= set(await session.scalars(heads.where(tables.attachment.in_(attachment_ids))))
    return found
