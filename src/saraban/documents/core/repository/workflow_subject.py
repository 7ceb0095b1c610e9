"""
What a workflow reads of documents, and writes to them: a few columns of the rows that a register shows whole.

A step reads them under its lock, and an inbox for each of its rows, so the statements are short.
"""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import Reach
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.core.repository.documents import may_see_revision, status_key
from saraban.documents.core.repository.rows import DocumentRow
from saraban.identity.models import Organization
from saraban.kit.db import AnySelect, table_of
from saraban.projects.models import CorrespondenceType, Discipline, Project

MAIN = "TO"


NOT_WRITTEN = 0


class SubjectRow(NamedTuple):
    """
    One revision of one document, as a workflow knows it; the fields are the columns of the statement, in its order.

    Of one whose rows are on their way the keys are `NOT_WRITTEN`: no step is taken before they are there.
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
        """Return the same of a row that was read whole."""
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


_head, _revision = Document, DocumentRevision
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
        CorrespondenceType.type_code,
        Project.public_id.label("project_public_id"),
        Project.project_code,
        Organization.public_id.label("originator_public_id"),
        Organization.organization_code,
        Discipline.discipline_code,
    )
    .select_from(_revision)
    .join(_head, _head.id == _revision.correspondence_id)
    .join(CorrespondenceType, CorrespondenceType.id == _head.correspondence_type_id)
    .join(Project, Project.id == _head.project_id)
    .join(Organization, Organization.id == _head.originator_id)
    .outerjoin(Discipline, Discipline.id == _head.discipline_id)
    .where(
        _head.deleted_at.is_(None),
        _revision.public_id.in_(sa.bindparam("revisions", expanding=True)),
        CorrespondenceType.type_code.in_(sa.bindparam("type_codes", expanding=True)),
    )
    # In this order: with a hundred thousand documents in one project MariaDB would otherwise begin with the project.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
)


@lru_cache(maxsize=256)
def _subjects_within(reach: Reach) -> AnySelect:
    return _SUBJECTS.where(may_see_revision(reach))


async def subject_rows(
    session: AsyncSession, *, reach: Reach, revision_ids: Collection[UUID], type_codes: Collection[str]
) -> list[SubjectRow]:
    """Return these revisions as far as they may be seen."""
    values = {"revisions": list(revision_ids), "type_codes": sorted(type_codes)}
    return [SubjectRow._make(row) for row in await session.execute(_subjects_within(reach), values)]


_REVISIONS = table_of(DocumentRevision)
_SET_STATUS = (
    sa.update(_REVISIONS)
    .where(_REVISIONS.c.id == sa.bindparam("revision"))
    .values(correspondence_status_id=status_key(sa.bindparam("code")), version=_REVISIONS.c.version + 1)
)


async def set_status(session: AsyncSession, *, revision_id: int, code: str, issued_at: datetime | None) -> None:
    """Set the status of a revision, and the moment it was issued where one is given."""
    issued = {} if issued_at is None else {"issued_date": issued_at}
    await session.execute(_SET_STATUS, {"revision": revision_id, "code": code, **issued})
