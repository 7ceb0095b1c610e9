"""
Documents with everything a register shows, one query a page. Who may see what is decided in the statement itself, so
that no list, count or cursor can leak (the rule in words: `domain.visibility`).
"""

from collections.abc import Callable, Collection, Sequence
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

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
from saraban.kit.keys import is_spelled
from saraban.kit.statements import Found, PreparedStatement, Query, Rows, fetch, fetch_each
from saraban.projects.models import (
    ContractOrganization,
    CorrespondenceStatus,
    Project,
)
from saraban.workflow.runtime.models import WorkflowInstance, WorkflowWorkItem

_MOST_REPEATED = 20
_head = Document
_revision = DocumentRevision


def many(name: str) -> Any:
    """Return the place of a list in a statement that is made once."""
    return sa.bindparam(name, expanding=True)


class RecipientRow(NamedTuple):
    """An organization a document is sent to, in the order of the list."""

    organization: OrganizationName
    recipient_type: str


def at_home(reach: Reach) -> sa.ColumnElement[bool]:
    """The documents whose drafts, too, are open to the caller."""
    if reach.everything:
        return sa.true()
    own = sa.and_(_head.contract_id.in_(reach.contracts), _head.originator_id.in_(reach.member_of))
    return sa.or_(_head.project_id.in_(reach.projects), _head.originator_id.in_(reach.organizations), own)


def sent_to(reach: Reach) -> sa.ColumnElement[bool]:
    """The documents whose issued revisions reach the caller."""
    recipient, party = DocumentRecipient, ContractOrganization
    received = sa.exists().where(
        recipient.correspondence_id == _head.id, recipient.recipient_organization_id.in_(reach.organizations)
    )
    contracted = sa.exists().where(
        party.contract_id == _head.contract_id, party.organization_id.in_(reach.organizations)
    )
    return sa.or_(_head.contract_id.in_(reach.contracts), received, contracted)


def _shown(reach: Reach) -> Sequence[sa.ColumnElement[bool]]:
    """One row a document: its newest revision that the caller may see."""
    other = aliased(_revision)
    newest = (
        sa.select(sa.func.max(other.revision_number))
        .where(
            other.correspondence_id == _head.id,
            other.withdrawn_at.is_(None),
            sa.or_(other.issued_date.is_not(None), at_home(reach)),
        )
        .correlate(_head)
        .scalar_subquery()
    )
    return _revision.revision_number == newest, sa.or_(at_home(reach), sent_to(reach))


def may_see_revision(reach: Reach) -> sa.ColumnElement[bool]:
    return sa.or_(at_home(reach), sa.and_(_revision.issued_date.is_not(None), sent_to(reach)))


_KEYS = ("projects", "contracts", "organizations", "member_of")
_NOWHERE = frozenset[int]()
_ALL = Reach(everything=True, **dict.fromkeys(_KEYS, _NOWHERE))
_SOME: Any = Reach(everything=False, **{name: many(name) for name in _KEYS})


class SeenStatement:
    """What a caller may see, selected by statements that are made once: the keys of a reach are parameters."""

    def __init__(self, select: Callable[[Reach], Any]) -> None:
        self._all, self._some = PreparedStatement(select(_ALL)), PreparedStatement(select(_SOME))

    def query(self, reach: Reach, read: Callable[[Rows], Found], **asked: object) -> Query[Found]:
        if reach.everything:
            return Query(self._all, asked, read)
        return Query(self._some, asked | {name: list(getattr(reach, name)) for name in _KEYS}, read)


def _documents(rows: Rows) -> list[DocumentRow]:
    return [DocumentRow.read(row) for row in rows]


_asked = _head.public_id.in_(many("public_ids"))
_NEWEST = SeenStatement(lambda reach: summary_select().where(_asked, *_shown(reach)))
_REVISIONS = SeenStatement(
    lambda reach: whole_select().where(_asked, may_see_revision(reach)).order_by(_revision.revision_number.desc())
)
_FIRST = PreparedStatement(whole_select().where(_asked, _revision.revision_number == 0))


_AT_REVISIONS = PreparedStatement(
    summary_select()
    # In this order: MariaDB would otherwise begin with a project or a type, and read all that it ever had.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    .where(_revision.id.in_(many("revisions")))
)


async def at_revisions(session: AsyncSession, rows: Sequence[NarrowRow]) -> list[DocumentRow]:
    found = await _AT_REVISIONS.rows(session, revisions=[row.revision_id for row in rows])
    wide = {row.document.id: row for row in map(DocumentRow.read, found)}
    return [wide[row.document_id] for row in rows if row.document_id in wide]


async def visible(session: AsyncSession, *, reach: Reach, public_ids: Collection[UUID]) -> dict[UUID, DocumentRow]:
    """Return the documents among `public_ids` that the caller may see, each at the newest revision to be seen."""
    if not public_ids:
        return {}
    found = await fetch(session, _NEWEST.query(reach, _documents, public_ids=list(public_ids)))
    return {row.public_id: row for row in found}


def revisions_query(reach: Reach, public_id: UUID) -> Query[list[DocumentRow]]:
    """Ask for the revisions of a document that the caller may see, whole, the newest first."""
    return _REVISIONS.query(reach, _documents, public_ids=[public_id])


async def revisions(session: AsyncSession, *, reach: Reach, public_id: UUID) -> list[DocumentRow]:
    return await fetch(session, revisions_query(reach, public_id))


async def lock(session: AsyncSession, *, document_id: int) -> UUID:
    """
    Hold the head row until the end of the transaction, and return its current revision's public id.

    Whoever edits, revises or cancels comes here first.
    """
    await session.execute(sa.select(_head.id).where(_head.id == document_id).with_for_update())
    current = sa.select(_revision.public_id).where(_revision.correspondence_id == document_id, _revision.is_current)
    return (await session.execute(current)).scalar_one()


RECIPIENTS = PreparedStatement(
    sa.select(
        DocumentRecipient.correspondence_id,
        DocumentRecipient.recipient_type,
        *(getattr(Organization, name) for name in OrganizationName._fields),
    )
    .select_from(DocumentRecipient)
    .join(Organization, Organization.id == DocumentRecipient.recipient_organization_id)
    # In this order: MariaDB would otherwise begin with the organizations, and read all that they ever received.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    .where(DocumentRecipient.correspondence_id.in_(many("documents")))
    .order_by(DocumentRecipient.correspondence_id, DocumentRecipient.position)
)


async def recipients(session: AsyncSession, *, document_ids: Collection[int]) -> dict[int, list[RecipientRow]]:
    found: dict[int, list[RecipientRow]] = {document_id: [] for document_id in document_ids}
    for document_id, recipient_type, *organization in await RECIPIENTS.rows(session, documents=list(found)):
        found[document_id].append(RecipientRow(OrganizationName._make(organization), recipient_type))
    return found


def status_key(code: str) -> sa.ScalarSelect[int]:
    """Return the key of a status, to be looked up by the statement that writes it."""
    return sa.select(CorrespondenceStatus.id).where(CorrespondenceStatus.status_code == code).scalar_subquery()


async def ever_issued(session: AsyncSession, *, document_id: int) -> bool:
    """Return whether any revision of a document has left its originator."""
    statement = sa.select(_revision.id).where(
        _revision.correspondence_id == document_id, _revision.issued_date.is_not(None)
    )
    return await session.scalar(statement.limit(1)) is not None


async def newest_standing(session: AsyncSession, *, document_id: int) -> DocumentRevision:
    """Return the newest revision of a document that has not been withdrawn."""
    statement = (
        sa.select(_revision)
        .where(_revision.correspondence_id == document_id, _revision.withdrawn_at.is_(None))
        .order_by(_revision.revision_number.desc())
        .limit(1)
    )
    return (await session.scalars(statement)).one()


async def revision_numbers(session: AsyncSession, *, document_id: int) -> tuple[int, int]:
    """Return the highest revision number of a document, and how many revisions were withdrawn."""
    statement = sa.select(sa.func.max(_revision.revision_number), sa.func.count(_revision.withdrawn_at)).where(
        _revision.correspondence_id == document_id
    )
    highest, withdrawn = (await session.execute(statement)).one()
    return highest, withdrawn


_PEOPLE = PreparedStatement(sa.select(*name_columns(User)).where(User.public_id.in_(many("public_ids"))))


async def people(session: AsyncSession, *, public_ids: Collection[UUID]) -> dict[UUID, UserName]:
    rows = await _PEOPLE.rows(session, public_ids=list(public_ids)) if public_ids else ()
    return {row.public_id: row for row in map(UserName._make, rows)}


async def first_issue(session: AsyncSession, public_id: UUID) -> DocumentRow:
    """Return a document as it was first written, whoever asks."""
    (row,) = await _FIRST.rows(session, public_ids=[public_id])
    return DocumentRow.read(row)


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


_FILES = PreparedStatement(
    sa.select(
        _link.correspondence_revision_id,
        *(getattr(Attachment, name) for name in LinkedFile._fields[:-1]),
        _link.is_main_document,
    )
    .join(Attachment, Attachment.id == _link.attachment_id)
    .where(_link.correspondence_revision_id.in_(many("revisions")))
    .order_by(_link.is_main_document.desc(), Attachment.created_at, Attachment.public_id)
)


async def files(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, list[LinkedFile]]:
    """Return the files of each revision, the main document first."""
    found: dict[int, list[LinkedFile]] = {revision_id: [] for revision_id in revision_ids}
    for revision_id, *file in await _FILES.rows(session, revisions=list(found)):
        found[revision_id].append(LinkedFile._make(file))
    return found


async def uploads(
    session: AsyncSession, public_ids: Collection[UUID], checksums: Collection[str | None]
) -> Sequence[Attachment]:
    """Return which uploads have one of the checksums."""
    condition = sa.and_(Attachment.public_id.in_(public_ids), Attachment.checksum.in_(checksums))
    return (await session.scalars(sa.select(Attachment).where(condition).order_by(Attachment.id))).all()


async def documents_by_sender_number(
    session: AsyncSession, number: str | None, *, project: UUID, originator: UUID | None
) -> dict[UUID, date | None]:
    """Return the first documents that an organization registered with a sender's number, each with its sender's date."""
    statement = (
        sa.select(_head.public_id, _revision.sender_date)
        .join(_revision, _revision.correspondence_id == _head.id)
        .join(Project, Project.id == _head.project_id)
        .join(Organization, Organization.id == _head.originator_id)
        .where(_revision.sender_number_key == sender_number_key(number), _revision.withdrawn_at.is_(None))
        .where(_head.cancelled_at.is_(None), Project.public_id == project, Organization.public_id == originator)
        .order_by(_head.created_at, _head.id)
        .limit(_MOST_REPEATED)
    )
    return dict((await session.execute(statement)).all()) if sender_number_key(number) else {}


async def readable_revisions(session: AsyncSession, reach: Reach, revision_ids: Collection[int]) -> set[int]:
    """Return which of some revisions the caller may see; those that were withdrawn are none."""
    statement = (
        sa.select(_revision.id)
        .join(_head, _head.id == _revision.correspondence_id)
        .where(_revision.id.in_(revision_ids), _revision.withdrawn_at.is_(None), may_see_revision(reach))
    )
    return set(await session.scalars(statement)) if revision_ids else set()


async def reaches_file(session: AsyncSession, *, reach: Reach, attachment_id: int) -> bool:
    """Return whether a file hangs on a revision that the caller may see."""
    statement = (
        sa.select(_link.attachment_id)
        .join(DocumentRevision, DocumentRevision.id == _link.correspondence_revision_id)
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .where(_link.attachment_id == attachment_id, may_see_revision(reach))
        .limit(1)
    )
    return await session.scalar(statement) is not None


_OUTGOING, _INCOMING = (
    PreparedStatement(
        sa.select(Document.public_id)
        .join(DocumentReference, there == Document.id)
        .where(here == sa.bindparam("document"))
    )
    for here, there in (
        (DocumentReference.src_correspondence_id, DocumentReference.tgt_correspondence_id),
        (DocumentReference.tgt_correspondence_id, DocumentReference.src_correspondence_id),
    )
)


async def referenced(session: AsyncSession, *, document_id: int) -> tuple[list[UUID], list[UUID]]:
    """Return the public ids of what a document refers to, and of what refers to it."""
    asked = {"document": document_id}
    outgoing, incoming = await fetch_each(
        session, Query(_OUTGOING, asked, _public_ids), Query(_INCOMING, asked, _public_ids)
    )
    return outgoing, incoming


def _public_ids(rows: Rows) -> list[UUID]:
    return [row[0] for row in rows]


async def pending_with(
    session: AsyncSession, *, organization_code: str, project_id: int | None = None, contract_id: int | None = None
) -> int:
    """Count the documents whose step waits for an organization, of everything or of one project or contract."""
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
