"""What is due and still waits for somebody, and which reminders of it went out."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation.models import Circulation
from saraban.documents.core.models import Document, DocumentRevision
from saraban.identity.models import Organization, User
from saraban.kit.db import AnyRow
from saraban.notifications.models import ReminderPlan, ReminderSent
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import WorkflowDefinition, WorkflowInstance, WorkflowWorkItem


@dataclass(frozen=True, slots=True)
class DueSubject:
    """
    A revision or a sheet with a due date, or with a step that has one; `key` is for going on page by page.

    :param of_step: the date is the present step's own
    """

    key: int
    subject: UUID
    project_id: int
    due: datetime | date
    since: datetime
    of_step: bool = False


@dataclass(frozen=True, slots=True)
class DueStep:
    """An instance whose present state has a due day."""

    instance: UUID
    entity_type: str
    entity_id: str
    due_on: date
    since: datetime


@dataclass(frozen=True, slots=True)
class RunningWorkflow:
    """The instance that moves a subject, with the public ids of those it waits for and the due day of its state."""

    instance: UUID
    entity_type: str
    organizations: frozenset[UUID]
    users: frozenset[UUID]
    due_on: date | None
    workflow_code: str
    definition: UUID
    state: str


async def revisions(session: AsyncSession, *, before: datetime, after_key: int, limit: int) -> list[DueSubject]:
    revision, head = DocumentRevision, Document
    statement = (
        sa.select(revision.id, revision.public_id, head.project_id, revision.due_date, revision.issued_date)
        .join(head, head.id == revision.correspondence_id)
        .where(revision.is_current, revision.issued_date.is_not(None), revision.due_date < before)
        .where(head.cancelled_at.is_(None), head.deleted_at.is_(None), revision.id > after_key)
    )
    # No date is null: the statement says so.
    rows: Iterable[AnyRow] = await session.execute(statement.order_by(revision.id).limit(limit))
    return [DueSubject(*row) for row in rows]


async def circulations(session: AsyncSession, *, before: datetime, after_key: int, limit: int) -> list[DueSubject]:
    sheet = Circulation
    statement = (
        sa.select(sheet.id, sheet.public_id, sheet.project_id, sheet.deadline_date, sheet.submitted_at)
        .where(sheet.submitted_at.is_not(None), sheet.closed_at.is_(None), sheet.cancelled_at.is_(None))
        .where(sheet.deadline_date < before.date(), sheet.id > after_key)
    )
    # No date is null: the statement says so.
    rows: Iterable[AnyRow] = await session.execute(statement.order_by(sheet.id).limit(limit))
    return [DueSubject(*row) for row in rows]


async def steps(session: AsyncSession, *, before: date, after: UUID | None, limit: int) -> list[DueStep]:
    """Return running instances with a due day of their own before `before`, by key, from the one after `after`."""
    row = WorkflowInstance
    statement = sa.select(row.id, row.entity_type, row.entity_id, row.due_on, row.last_transition_at).where(
        row.status == InstanceStatus.ACTIVE, row.due_on < before
    )
    if after is not None:
        statement = statement.where(row.id > after)
    # No date is null: the statement says so.
    found: Iterable[AnyRow] = await session.execute(statement.order_by(row.id).limit(limit))
    return [DueStep(*each) for each in found]


async def running(session: AsyncSession, subjects: Collection[UUID]) -> dict[UUID, RunningWorkflow]:
    """Return those subjects whose instance runs and waits for somebody."""
    instance, item = WorkflowInstance, WorkflowWorkItem
    statement = (
        sa.select(
            instance.id,
            instance.entity_type,
            instance.entity_id,
            Organization.public_id,
            User.public_id,
            instance.due_on,
            WorkflowDefinition.workflow_code,
            WorkflowDefinition.id,
            instance.current_state,
        )
        .join(item, item.instance_id == instance.id)
        .join(WorkflowDefinition, WorkflowDefinition.id == instance.definition_id)
        .outerjoin(Organization, Organization.id == item.organization_id)
        .outerjoin(User, User.user_id == item.user_id)
        .where(instance.entity_id.in_([str(one) for one in subjects]), instance.status == InstanceStatus.ACTIVE)
    )
    found: dict[UUID, list[AnyRow]] = {}
    for row in await session.execute(statement):
        found.setdefault(UUID(row[2]), []).append(row)
    return {
        subject: RunningWorkflow(
            rows[0][0],
            rows[0][1],
            frozenset(row[3] for row in rows if row[3] is not None),
            frozenset(row[4] for row in rows if row[4] is not None),
            rows[0][5],
            *rows[0][6:9],
        )
        for subject, rows in found.items()
    }


async def sent(session: AsyncSession, subjects: Collection[UUID]) -> frozenset[tuple[UUID, date, int]]:
    statement = sa.select(ReminderSent.subject_uuid, ReminderSent.due_day, ReminderSent.stage)
    rows = await session.execute(statement.where(ReminderSent.subject_uuid.in_(subjects)))
    return frozenset((row[0], row[1], row[2]) for row in rows)


async def plans(session: AsyncSession, *, project_ids: Collection[int]) -> Sequence[ReminderPlan]:
    return (await session.scalars(sa.select(ReminderPlan).where(ReminderPlan.project_id.in_(project_ids)))).all()
