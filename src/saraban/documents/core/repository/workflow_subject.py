"""Columns of documents that a workflow reads and writes; short, for reads under the lock of a step."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import Reach
from saraban.documents.core.models import Document, DocumentRecipient, DocumentRevision
from saraban.documents.core.repository.documents import RecipientRow, may_see_revision, status_key
from saraban.documents.core.repository.rows import DocumentRow, OrganizationName
from saraban.identity.models import Organization
from saraban.kit.db import AnySelect, table_of
from saraban.projects.models import CorrespondenceType, Discipline, Project

MAIN = "TO"
NOT_WRITTEN = 0


class SubjectRow(NamedTuple):
    """
    The columns of the statement, in its order.

    The keys of a row that is not inserted yet are `NOT_WRITTEN`; no step is taken before the insert.
    """

    document_id: int
    public_id: UUID
    project_id: int
    contract_id: int | None
    originator_id: int
    revision_id: int
    revision_public_id: UUID
    author_id: int
    number: str
    label: str
    subject: str
    priority: str
    due_date: datetime | None
    issued_date: datetime | None
    type_code: str
    project_public_id: UUID
    project_code: str
    originator_public_id: UUID
    originator_code: str
    discipline_code: str | None

    @classmethod
    def of(cls, row: DocumentRow) -> "SubjectRow":
        document, revision, project, originator = row.document, row.revision, row.project, row.originator
        return cls(
            document.id,
            document.public_id,
            document.project_id,
            document.contract_id,
            document.originator_id,
            revision.id,
            revision.public_id,
            revision.created_by,
            revision.correspondence_number,
            revision.revision_label,
            revision.subject,
            revision.priority,
            revision.due_date,
            revision.issued_date,
            row.type_code,
            project.public_id,
            project.project_code,
            originator.public_id,
            originator.organization_code,
            row.discipline.discipline_code if row.discipline else None,
        )


_head, _revision = Document.__mapper__.columns, DocumentRevision.__mapper__.columns
# Aliases, because `may_see_revision` has subqueries of the same tables.
_link, _recipient = table_of(DocumentRecipient).alias("link"), table_of(Organization).alias("recipient")
_project, _originator = Project.__mapper__.columns, Organization.__mapper__.columns
_type_code = CorrespondenceType.__mapper__.columns.type_code
_SUBJECTS: AnySelect = (
    sa.select(
        _head.id,
        _head.public_id,
        _head.project_id,
        _head.contract_id,
        _head.originator_id,
        _revision.id.label("revision_id"),
        _revision.public_id.label("revision_public_id"),
        _revision.created_by,
        _revision.correspondence_number,
        _revision.revision_label,
        _revision.subject,
        _revision.priority,
        _revision.due_date,
        _revision.issued_date,
        _type_code,
        _project.public_id.label("project_public_id"),
        _project.project_code,
        _originator.public_id.label("originator_public_id"),
        _originator.organization_code,
        Discipline.__mapper__.columns.discipline_code,
        _link.c.recipient_type,
        *(_recipient.c[_originator[name].name].label(f"recipient_{name}") for name in OrganizationName._fields),
    )
    .select_from(table_of(DocumentRevision))
    .join(table_of(Document), _head.id == _revision.correspondence_id)
    .join(table_of(CorrespondenceType))
    .join(table_of(Project), _project.id == _head.project_id)
    .join(table_of(Organization), _originator.id == _head.originator_id)
    .outerjoin(table_of(Discipline), Discipline.__mapper__.columns.id == _head.discipline_id)
    .outerjoin(_link, _link.c.correspondence_id == _head.id)
    .outerjoin(_recipient, _recipient.c.id == _link.c.recipient_organization_id)
    .where(
        _head.deleted_at.is_(None),
        _revision.public_id.in_(sa.bindparam("revisions", expanding=True)),
        _type_code.in_(sa.bindparam("type_codes", expanding=True)),
    )
    .order_by(_link.c.position)
    # In this order: with a hundred thousand documents in one project MariaDB would otherwise begin with the project.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
)


@lru_cache(maxsize=256)
def _subjects_within(reach: Reach) -> AnySelect:
    return _SUBJECTS.where(may_see_revision(reach))


_WIDTH = len(SubjectRow._fields)
# A revision and the recipients of its document, the main one first.
Subject = tuple[SubjectRow, Sequence[RecipientRow]]


async def list_subjects(
    session: AsyncSession, *, reach: Reach, revision_ids: Collection[UUID], type_codes: Collection[str]
) -> Sequence[Subject]:
    values = {"revisions": list(revision_ids), "type_codes": sorted(type_codes)}
    subjects: dict[SubjectRow, list[RecipientRow]] = {}
    for columns in await session.execute(_subjects_within(reach), values):
        recipients = subjects.setdefault(SubjectRow._make(columns[:_WIDTH]), [])
        if columns.recipient_type is not None:
            organization = OrganizationName._make(columns[_WIDTH + 1 :])
            recipients.append(RecipientRow(organization, columns.recipient_type))
    return list(subjects.items())


_REVISIONS = table_of(DocumentRevision)
_SET_STATUS = (
    sa.update(_REVISIONS)
    .where(_REVISIONS.c.id == sa.bindparam("revision"))
    .values(correspondence_status_id=status_key(sa.bindparam("code")), version=_REVISIONS.c.version + 1)
)


async def set_status(session: AsyncSession, *, revision_id: int, code: str, issued_at: datetime | None) -> None:
    issued = {} if issued_at is None else {"issued_date": issued_at}
    await session.execute(_SET_STATUS, {"revision": revision_id, "code": code, **issued})
