"""
What a workflow reads of documents, and writes to them: a few columns of the rows that a register shows whole.

A step reads them under its lock and an inbox for each of its rows, so the statements are made once, and are short.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import Reach
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.core.repository.documents import RECIPIENTS, SeenStatement, many, may_see_revision
from saraban.documents.core.repository.rows import DocumentHead, DocumentRow, OrganizationName, RevisionRow
from saraban.identity.models import Organization
from saraban.kit.db import table_of
from saraban.kit.statements import PreparedStatement, Query, Rows, fetch
from saraban.projects.models import CorrespondenceStatus, CorrespondenceType, Discipline, Project

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
        return cls.written(
            row.document,
            row.revision,
            type_code=row.type_code,
            project=(row.project.public_id, row.project.project_code),
            originator=(row.originator.public_id, row.originator.organization_code),
            discipline_code=row.discipline.discipline_code if row.discipline else None,
        )

    @classmethod
    def written(
        cls,
        document: Document | DocumentHead,
        revision: DocumentRevision | RevisionRow,
        *,
        type_code: str,
        project: tuple[UUID, str],
        originator: tuple[UUID, str],
        discipline_code: str | None,
    ) -> "SubjectRow":
        """Return the same of rows that have just been written, with what is known of the rows around them."""
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
            type_code,
            *project,
            *originator,
            discipline_code,
        )


class SubjectRecipient(NamedTuple):
    """An organization that a document is sent to, `TO` or `CC`."""

    organization_id: int
    public_id: UUID
    code: str
    recipient_type: str


_head, _revision = Document, DocumentRevision
_ANY: Any = (  # sa.Select; it has more columns than its type can count
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
        _revision.public_id.in_(many("revisions")),
        CorrespondenceType.type_code.in_(many("type_codes")),
    )
    # In this order: with a hundred thousand documents in one project MariaDB would otherwise begin with the project.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
)
_ALL = PreparedStatement(_ANY)
_SEEN = SeenStatement(lambda reach: _ANY.where(may_see_revision(reach)))


async def subject_rows(
    session: AsyncSession, *, reach: Reach | None, revision_ids: Collection[UUID], type_codes: Collection[str]
) -> list[SubjectRow]:
    """Return these revisions as far as they may be seen; without a reach, all of them."""
    asked: dict[str, object] = {"revisions": list(revision_ids), "type_codes": list(type_codes)}
    if reach is None:
        return await fetch(session, Query(_ALL, asked, _subjects))
    return await fetch(session, _SEEN.query(reach, _subjects, **asked))


def _subjects(rows: Rows) -> list[SubjectRow]:
    return [SubjectRow._make(values) for values in rows]


def recipients_query(document_ids: Collection[int]) -> Query[dict[int, list[SubjectRecipient]]]:
    """Ask for the recipients of each document, the main one first."""

    def read(rows: Sequence[Any]) -> dict[int, list[SubjectRecipient]]:
        found: dict[int, list[SubjectRecipient]] = {document_id: [] for document_id in document_ids}
        for document_id, kind, *sent in rows:
            one = OrganizationName._make(sent)
            found[document_id].append(SubjectRecipient(one.id, one.public_id, one.organization_code, kind))
        return found

    # What shows the documents asks by the same statement in the same round trip, and in the same order.
    return Query(RECIPIENTS, {"documents": list(document_ids)}, read)


_revisions = table_of(_revision)
_SET_STATUS = (
    sa.update(_revisions)
    .where(_revisions.c.id.in_(many("revisions")))
    .values(
        correspondence_status_id=sa.select(CorrespondenceStatus.id)
        .where(CorrespondenceStatus.status_code == sa.bindparam("code"))
        .scalar_subquery(),
        version=_revisions.c.version + 1,
    )
)


async def set_status(
    session: AsyncSession, *, revision_ids: Collection[int], code: str, issued_at: datetime | None
) -> None:
    """Set the status of revisions, and the moment they were issued where one is given."""
    asked: dict[str, Any] = {"revisions": list(revision_ids), "code": code}
    statement = _SET_STATUS if issued_at is None else _SET_STATUS.values(issued_date=issued_at)
    await session.execute(statement, asked)
