"""Statements of documents; they apply the rule of `domain.may_see`."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.models import Attachment
from saraban.documents.core.domain import Reach, sender_number_key
from saraban.documents.core.domain.registers import NarrowRow
from saraban.documents.core.models import (
    Document,
    DocumentRecipient,
    DocumentReference,
    DocumentRevision,
    DocumentRevisionAttachment,
)
from saraban.documents.core.repository.register_filters import TextUuid
from saraban.documents.core.repository.rows import DocumentRow, OrganizationName, summary_select, whole_select
from saraban.identity.models import Organization, User, UserName, name_columns
from saraban.kit.db import AnySelect, table_of
from saraban.kit.keys import is_spelled
from saraban.projects.models import (
    ContractOrganization,
    CorrespondenceStatus,
    Project,
)
from saraban.workflow.runtime.models import WorkflowInstance, WorkflowWorkItem

_MOST_REPEATED = 20
_head, _revision = Document.__mapper__.columns, DocumentRevision.__mapper__.columns


class RecipientRow(NamedTuple):
    organization: OrganizationName
    recipient_type: str


def at_home(reach: Reach) -> sa.ColumnElement[bool]:
    """Condition of documents whose drafts the caller sees."""
    if reach.everything:
        return sa.true()
    at_contract = sa.and_(_head.contract_id.in_(reach.contracts), _head.originator_id.in_(reach.member_of))
    return sa.or_(_head.project_id.in_(reach.projects), _head.originator_id.in_(reach.organizations), at_contract)


def sent_to(reach: Reach) -> sa.ColumnElement[bool]:
    """Condition of documents whose issued revisions the caller sees."""
    recipient, party = table_of(DocumentRecipient).c, table_of(ContractOrganization).c
    received = sa.exists().where(
        recipient.correspondence_id == _head.id, recipient.recipient_organization_id.in_(reach.organizations)
    )
    contracted = sa.exists().where(
        party.contract_id == _head.contract_id, party.organization_id.in_(reach.organizations)
    )
    return sa.or_(_head.contract_id.in_(reach.contracts), received, contracted)


def _newest_visible_conditions(reach: Reach) -> Sequence[sa.ColumnElement[bool]]:
    other, home = table_of(DocumentRevision).alias().c, at_home(reach)
    newest = (
        sa.select(sa.func.max(other.revision_number))
        .where(
            other.correspondence_id == _head.id,
            other.withdrawn_at.is_(None),
            sa.or_(other.issued_date.is_not(None), home),
        )
        .correlate(table_of(Document))
        .scalar_subquery()
    )
    return _revision.revision_number == newest, sa.or_(home, sent_to(reach))


@lru_cache(maxsize=256)
def may_see_revision(reach: Reach) -> sa.ColumnElement[bool]:
    return sa.or_(at_home(reach), sa.and_(_revision.issued_date.is_not(None), sent_to(reach)))


# Statements are built once: building takes longer than sending.
_is_requested = _head.public_id.in_(sa.bindparam("public_ids", expanding=True))
_FIRST = whole_select().where(_is_requested, _revision.revision_number == 0)
_AT_REVISIONS = (
    summary_select()
    # MariaDB would begin with a project or a type, and read all its documents.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    .where(_revision.id.in_(sa.bindparam("revisions", expanding=True)))
)


@lru_cache(maxsize=256)
def _select_newest(reach: Reach) -> AnySelect:
    return summary_select().where(_is_requested, *_newest_visible_conditions(reach))


@lru_cache(maxsize=256)
def _select_revisions(reach: Reach) -> AnySelect:
    return whole_select().where(_is_requested, may_see_revision(reach)).order_by(_revision.revision_number.desc())


async def at_revisions(session: AsyncSession, rows: Sequence[NarrowRow]) -> list[DocumentRow]:
    # `all()`: four calls fewer per row than iterating.
    results = (await session.execute(_AT_REVISIONS, {"revisions": [row.revision_id for row in rows]})).all()
    wide = {row.document.id: row for row in map(DocumentRow.read, results)}
    return [wide[row.document_id] for row in rows if row.document_id in wide]


async def visible(session: AsyncSession, *, reach: Reach, public_ids: Collection[UUID]) -> dict[UUID, DocumentRow]:
    """Return visible documents, each at its newest visible revision."""
    if not public_ids:
        return {}
    rows = await session.execute(_select_newest(reach), {"public_ids": list(public_ids)})
    return {row.public_id: row for row in map(DocumentRow.read, rows)}


async def revisions(session: AsyncSession, *, reach: Reach, public_id: UUID) -> list[DocumentRow]:
    """Return visible revisions with their texts, newest first."""
    rows = await session.execute(_select_revisions(reach), {"public_ids": [public_id]})
    return [DocumentRow.read(row) for row in rows]


async def lock(session: AsyncSession, *, document_id: int) -> UUID:
    """Lock the head before any change, and return the current revision's public id."""
    await session.execute(sa.select(_head.id).where(_head.id == document_id).with_for_update())
    revision = DocumentRevision
    current = sa.select(revision.public_id).where(revision.correspondence_id == document_id, revision.is_current)
    return (await session.execute(current)).scalar_one()


_recipient, _organization = table_of(DocumentRecipient), table_of(Organization)
_RECIPIENTS = (
    sa.select(
        _recipient.c.correspondence_id,
        _recipient.c.recipient_type,
        *(Organization.__mapper__.columns[name] for name in OrganizationName._fields),
    )
    .select_from(_recipient)
    .join(_organization, _organization.c.id == _recipient.c.recipient_organization_id)
    # MariaDB would begin with the organizations, and read all their documents.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    .where(_recipient.c.correspondence_id.in_(sa.bindparam("documents", expanding=True)))
    .order_by(_recipient.c.correspondence_id, _recipient.c.position)
)


async def recipients(session: AsyncSession, *, document_ids: Collection[int]) -> dict[int, list[RecipientRow]]:
    recipients: dict[int, list[RecipientRow]] = {document_id: [] for document_id in document_ids}
    rows = (await session.execute(_RECIPIENTS, {"documents": list(recipients)})).all()
    for document_id, recipient_type, *organization in rows:
        recipients[document_id].append(RecipientRow(OrganizationName._make(organization), recipient_type))
    return recipients


def status_key(code: str | sa.BindParameter[str]) -> sa.ScalarSelect[int]:
    return sa.select(CorrespondenceStatus.id).where(CorrespondenceStatus.status_code == code).scalar_subquery()


async def ever_issued(session: AsyncSession, *, document_id: int) -> bool:
    statement = sa.select(_revision.id).where(
        _revision.correspondence_id == document_id, _revision.issued_date.is_not(None)
    )
    return await session.scalar(statement.limit(1)) is not None


async def newest_standing(session: AsyncSession, *, document_id: int) -> DocumentRevision:
    statement = (
        sa.select(DocumentRevision)
        .where(_revision.correspondence_id == document_id, _revision.withdrawn_at.is_(None))
        .order_by(_revision.revision_number.desc())
        .limit(1)
    )
    return (await session.scalars(statement)).one()


async def revision_numbers(session: AsyncSession, *, document_id: int) -> tuple[int, int]:
    """Return the highest number, and the count of withdrawn revisions."""
    statement = sa.select(sa.func.max(_revision.revision_number), sa.func.count(_revision.withdrawn_at)).where(
        _revision.correspondence_id == document_id
    )
    highest, withdrawn = (await session.execute(statement)).one()
    return highest, withdrawn


async def people(session: AsyncSession, *, public_ids: Collection[UUID]) -> dict[UUID, UserName]:
    if not public_ids:
        return {}
    rows = await session.execute(sa.select(*name_columns(User)).where(User.public_id.in_(public_ids)))
    return {row.public_id: row for row in map(UserName._make, rows)}


async def first_issue(session: AsyncSession, public_id: UUID) -> DocumentRow:
    """Return the first revision, without a check of the reader."""
    return DocumentRow.read((await session.execute(_FIRST, {"public_ids": [public_id]})).one())


_link = DocumentRevisionAttachment


class LinkedFile(NamedTuple):
    id: int
    public_id: UUID
    original_filename: str
    mime_type: str
    file_size: int
    checksum: str | None
    text_problem: str | None
    is_main: bool


_FILES = (
    sa.select(
        _link.correspondence_revision_id,
        *(getattr(Attachment, name) for name in LinkedFile._fields[:-1]),
        _link.is_main_document,
    )
    .join(Attachment, Attachment.id == _link.attachment_id)
    .where(_link.correspondence_revision_id.in_(sa.bindparam("revisions", expanding=True)))
    .order_by(_link.is_main_document.desc(), Attachment.created_at, Attachment.public_id)
)


async def files(session: AsyncSession, *, revision_ids: Collection[int]) -> Mapping[int, list[LinkedFile]]:
    """Return the files of each revision, the main document first."""
    files: dict[int, list[LinkedFile]] = defaultdict(list)
    if revision_ids:
        for revision_id, *file in await session.execute(_FILES, {"revisions": list(revision_ids)}):
            files[revision_id].append(LinkedFile._make(file))
    return files


async def uploads(
    session: AsyncSession, public_ids: Collection[UUID], checksums: Collection[str | None]
) -> Sequence[Attachment]:
    condition = sa.and_(Attachment.public_id.in_(public_ids), Attachment.checksum.in_(checksums))
    return (await session.scalars(sa.select(Attachment).where(condition).order_by(Attachment.id))).all()


async def documents_by_sender_number(
    session: AsyncSession, number: str | None, *, project: UUID, originator: UUID | None
) -> dict[UUID, date | None]:
    """Return the oldest documents and their sender's dates, 20 at most."""
    statement = (
        sa.select(_head.public_id, _revision.sender_date)
        .select_from(Document)
        .join(DocumentRevision, _revision.correspondence_id == _head.id)
        .join(Project, Project.id == _head.project_id)
        .join(Organization, Organization.id == _head.originator_id)
        .where(_revision.sender_number_key == sender_number_key(number), _revision.withdrawn_at.is_(None))
        .where(_head.cancelled_at.is_(None), Project.public_id == project, Organization.public_id == originator)
        .order_by(_head.created_at, _head.id)
        .limit(_MOST_REPEATED)
    )
    return dict((await session.execute(statement)).all()) if sender_number_key(number) else {}


async def readable_revisions(session: AsyncSession, reach: Reach, revision_ids: Collection[int]) -> set[int]:
    """Return the visible revisions, without withdrawn ones."""
    statement = (
        sa.select(_revision.id)
        .join(Document, _head.id == _revision.correspondence_id)
        .where(_revision.id.in_(revision_ids), _revision.withdrawn_at.is_(None), may_see_revision(reach))
    )
    return set(await session.scalars(statement)) if revision_ids else set()


async def reaches_file(session: AsyncSession, *, reach: Reach, attachment_id: int) -> bool:
    statement = (
        sa.select(_link.attachment_id)
        .join(DocumentRevision, DocumentRevision.id == _link.correspondence_revision_id)
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .where(_link.attachment_id == attachment_id, may_see_revision(reach))
        .limit(1)
    )
    return await session.scalar(statement) is not None


_source, _target = DocumentReference.src_correspondence_id, DocumentReference.tgt_correspondence_id
_REFERENCED = sa.union_all(
    *(
        sa.select(sa.literal(is_outgoing), Document.public_id)
        .join(DocumentReference, other_end == Document.id)
        .where(this_end == sa.bindparam("document"))
        for is_outgoing, this_end, other_end in ((True, _source, _target), (False, _target, _source))
    )
)


async def referenced(session: AsyncSession, *, document_id: int) -> tuple[list[UUID], list[UUID]]:
    """Return outgoing and incoming references."""
    rows = (await session.execute(_REFERENCED, {"document": document_id})).all()
    return [key for is_outgoing, key in rows if is_outgoing], [key for is_outgoing, key in rows if not is_outgoing]


async def pending_with(
    session: AsyncSession, *, organization_code: str, project_id: int | None = None, contract_id: int | None = None
) -> int:
    item, instance = WorkflowWorkItem, WorkflowInstance
    statement = (
        sa.select(sa.func.count(DocumentRevision.id.distinct()))
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .join(instance, TextUuid(instance.entity_id) == DocumentRevision.public_id)
        .join(item, item.instance_id == instance.id)
        .join(Organization, Organization.id == item.organization_id)
        .where(is_spelled(Organization.organization_code, [organization_code]))
    )
    if project_id is not None:
        statement = statement.where(Document.project_id == project_id)
    if contract_id is not None:
        statement = statement.where(Document.contract_id == contract_id)
    return await session.scalar(statement) or 0


_INSERT_DOCUMENT = sa.insert(table_of(Document))
_INSERT_REVISION = sa.insert(table_of(DocumentRevision)).values(
    correspondence_status_id=status_key(sa.bindparam("status_code"))
)
_INSERT_RECIPIENTS = sa.insert(table_of(DocumentRecipient))


async def _insert(session: AsyncSession, statement: sa.Insert, row: Mapping[str, object]) -> int:
    inserted: Any = await session.execute(statement, row)
    return int(inserted.inserted_primary_key[0])


async def create_document(session: AsyncSession, row: Mapping[str, object]) -> int:
    return await _insert(session, _INSERT_DOCUMENT, row)


async def create_revision(session: AsyncSession, row: Mapping[str, object], *, status: str) -> int:
    return await _insert(session, _INSERT_REVISION, {**row, "status_code": status})


async def add(session: AsyncSession, row: DocumentRevision) -> None:
    session.add(row)
    await session.flush()


async def add_recipients(session: AsyncSession, *, document_id: int, recipients: Iterable[tuple[int, str]]) -> None:
    rows = [
        {
            "correspondence_id": document_id,
            "recipient_organization_id": organization,
            "recipient_type": kind,
            "position": place,
        }
        for place, (organization, kind) in enumerate(recipients)
    ]
    if rows:
        await session.execute(_INSERT_RECIPIENTS, rows)


async def add_references(session: AsyncSession, *, document_id: int, targets: Iterable[int]) -> None:
    rows = [{"src_correspondence_id": document_id, "tgt_correspondence_id": target} for target in targets]
    if rows:
        await session.execute(sa.insert(table_of(DocumentReference)), rows)


async def replace_recipients(session: AsyncSession, *, document_id: int, recipients: Iterable[tuple[int, str]]) -> None:
    link = DocumentRecipient
    await session.execute(sa.delete(link).where(link.correspondence_id == document_id))
    await add_recipients(session, document_id=document_id, recipients=recipients)


async def replace_references(
    session: AsyncSession, *, document_id: int, gone: Collection[int], targets: Iterable[int]
) -> None:
    link = DocumentReference
    await session.execute(
        sa.delete(link).where(link.src_correspondence_id == document_id, link.tgt_correspondence_id.in_(gone))
    )
    await add_references(session, document_id=document_id, targets=targets)


async def link_files(
    session: AsyncSession, *, revision_id: int, attachment_ids: Sequence[int], main_first: bool
) -> None:
    """:param main_first: the first file becomes the main document"""
    session.add_all(
        DocumentRevisionAttachment(
            correspondence_revision_id=revision_id,
            attachment_id=attachment_id,
            is_main_document=main_first and place == 0,
        )
        for place, attachment_id in enumerate(attachment_ids)
    )
    await session.flush()


async def unlink_files(session: AsyncSession, *, revision_id: int, attachment_ids: Collection[int]) -> None:
    link = DocumentRevisionAttachment
    await session.execute(
        sa.delete(link).where(link.correspondence_revision_id == revision_id, link.attachment_id.in_(attachment_ids))
    )


async def change_revision(session: AsyncSession, *, revision_id: int, values: dict[str, Any]) -> None:
    revision = DocumentRevision
    await session.execute(
        sa.update(revision).where(revision.id == revision_id).values({**values, "version": revision.version + 1})
    )


async def change_head(session: AsyncSession, *, document_id: int, values: dict[str, Any]) -> None:
    """Update the head, and raise the version of each revision."""
    await session.execute(sa.update(Document).where(Document.id == document_id).values(values))
    await raise_versions(session, document_id=document_id)


async def raise_versions(session: AsyncSession, *, document_id: int) -> None:
    revision = DocumentRevision
    await session.execute(
        sa.update(revision).where(revision.correspondence_id == document_id).values(version=revision.version + 1)
    )
