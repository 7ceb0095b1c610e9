"""Statements about notifications, waiting e-mail and due dates."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation.models import Circulation
from saraban.documents.core.models import Document, DocumentRecipient, DocumentRevision
from saraban.identity.models import Organization, User
from saraban.kit.db import AnyRow, table_of
from saraban.kit.pagination import newest_first
from saraban.notifications.models import MailLine, Notification, ReminderPlan, ReminderSent
from saraban.projects.models import Project
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import WorkflowDefinition, WorkflowInstance, WorkflowWorkItem


@dataclass(frozen=True, slots=True)
class DocumentParties:
    originator: frozenset[int] = frozenset()
    recipients: frozenset[int] = frozenset()
    author: frozenset[int] = frozenset()
    revision: UUID | None = None


async def parties(session: AsyncSession, documents: Collection[UUID]) -> dict[UUID, DocumentParties]:
    """Return parties by document; recipients only once it was issued."""
    if not documents:
        return {}
    document, recipient = Document, DocumentRecipient
    revision = DocumentRevision
    statement = sa.select(
        *(document.id, document.public_id, document.originator_id, document.created_by),
        revision.public_id.label("revision"),
    ).outerjoin(revision, sa.and_(revision.correspondence_id == document.id, revision.is_current))
    rows = (await session.execute(statement.where(document.public_id.in_(documents)))).all()
    issued = sa.exists().where(
        DocumentRevision.correspondence_id == recipient.correspondence_id,
        DocumentRevision.issued_date.is_not(None),
    )
    recipients = sa.select(recipient.correspondence_id, recipient.recipient_organization_id).where(
        recipient.correspondence_id.in_([row.id for row in rows]), issued
    )
    recipient_keys: dict[int, set[int]] = {row.id: set() for row in rows}
    for row in await session.execute(recipients) if rows else ():
        recipient_keys[row[0]].add(row[1])
    return {
        row.public_id: DocumentParties(
            frozenset({row.originator_id}), frozenset(recipient_keys[row.id]), frozenset({row.created_by}), row.revision
        )
        for row in rows
    }


async def readers_by_key(session: AsyncSession, user_ids: Collection[int]) -> dict[UUID, int]:
    return await _readers(session, User.user_id.in_(user_ids)) if user_ids else {}


async def readers_by_public_id(session: AsyncSession, public_ids: Collection[UUID]) -> dict[UUID, int]:
    return await _readers(session, User.public_id.in_(public_ids)) if public_ids else {}


async def _readers(session: AsyncSession, condition: sa.ColumnElement[bool]) -> dict[UUID, int]:
    """Return people with open accounts; service accounts do not read notifications."""
    statement = sa.select(User.public_id, User.user_id).where(
        condition, User.is_active, User.is_service.is_(False), User.deleted_at.is_(None)
    )
    return {row.public_id: row.user_id for row in await session.execute(statement)}


async def organization_keys(session: AsyncSession, *, public_ids: Collection[UUID]) -> dict[UUID, int]:
    if not public_ids:
        return {}
    statement = sa.select(Organization.public_id, Organization.id).where(Organization.public_id.in_(public_ids))
    return {row.public_id: row.id for row in await session.execute(statement)}


async def already_notified(session: AsyncSession, *, event_uuids: Collection[UUID]) -> set[tuple[UUID, int]]:
    statement = sa.select(Notification.event_uuid, Notification.user_id).where(Notification.event_uuid.in_(event_uuids))
    return {(row.event_uuid, row.user_id) for row in await session.execute(statement)}


async def add_notifications(session: AsyncSession, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        await session.execute(sa.insert(Notification), rows)


# Templates that ask for an action. Afterwards the notice gets the template SETTLED.
ASKING = (
    *("waiting", "due_soon", "due_today", "overdue", "returned", "returned_with_comment"),
    *("created", "revised"),  # a draft awaits its submission
)
SETTLED = "settled"


async def settle_before(session: AsyncSession, *, before: Mapping[tuple[str, str], datetime]) -> None:
    """:param before: the moment by entity type and public id"""
    if before:
        notices, mails = (
            sa.or_(
                *(
                    sa.and_(table.entity_type == entity_type, table.entity_id == entity_id, table.created_at < moment)
                    for (entity_type, entity_id), moment in before.items()
                )
            )
            for table in (Notification, MailLine)
        )
        await _settle(session, notices, mails, now=max(before.values()))


async def settle_for_user(session: AsyncSession, entity_id: str, *, user_id: int, now: datetime) -> None:
    notices, mails = (
        sa.and_(table.entity_id == entity_id, table.user_id == user_id) for table in (Notification, MailLine)
    )
    await _settle(session, notices, mails, now=now)


async def asked_users(session: AsyncSession, entity_id: str) -> dict[UUID, int]:
    statement = sa.select(Notification.user_id).where(
        Notification.entity_id == entity_id, Notification.template.in_(ASKING)
    )
    return await _readers(session, User.user_id.in_(statement))


async def _settle(
    session: AsyncSession, notices: sa.ColumnElement[bool], mails: sa.ColumnElement[bool], *, now: datetime
) -> None:
    unsent = sa.update(MailLine).where(mails, MailLine.template.in_(ASKING), MailLine.sent_at.is_(None))
    for statement in (
        sa.update(Notification)
        .where(notices, Notification.template.in_(ASKING))
        .values(template=SETTLED, is_read=True),
        # Also settle lines that were given up, because an operator can retry them.
        unsent.values(template=SETTLED, given_up_at=sa.func.coalesce(MailLine.given_up_at, now)),
    ):
        await session.execute(statement, execution_options={"synchronize_session": False})


async def page(
    session: AsyncSession, *, user_id: int, unread: bool | None, cursor: str | None, limit: int
) -> Sequence[Notification]:
    statement = sa.select(Notification).where(Notification.user_id == user_id)
    if unread is not None:
        statement = statement.where(Notification.is_read.is_(not unread))
    statement = newest_first(
        statement, at=Notification.created_at, public_id=Notification.public_id, cursor=cursor, limit=limit
    )
    return (await session.scalars(statement)).all()


_NOTIFICATION = table_of(Notification).c
_UNREAD = sa.select(sa.func.count()).where(
    _NOTIFICATION.user_id == sa.bindparam("user_id"), _NOTIFICATION.is_read.is_(False)
)


async def count_unread(session: AsyncSession, *, user_id: int) -> int:
    return await session.scalar(_UNREAD, {"user_id": user_id}) or 0


async def one(session: AsyncSession, *, user_id: int, public_id: UUID) -> Notification | None:
    statement = sa.select(Notification).where(Notification.public_id == public_id, Notification.user_id == user_id)
    return await session.scalar(statement)


async def read_all(session: AsyncSession, *, user_id: int, until: datetime) -> None:
    await session.execute(
        sa.update(Notification)
        .where(Notification.user_id == user_id, Notification.is_read.is_(False), Notification.created_at <= until)
        .values(is_read=True)
        .execution_options(synchronize_session=False)
    )


STEP = 500
LONGEST = 100  # lines of one mail


def _unsent_conditions() -> tuple[sa.ColumnElement[bool], ...]:
    return (MailLine.sent_at.is_(None), MailLine.given_up_at.is_(None))


def due_mails(now: sa.BindParameter[datetime]) -> sa.ColumnElement[bool]:
    return sa.select(MailLine.id).where(*_due_conditions(now)).exists()


def _due_conditions(now: datetime | sa.BindParameter[datetime]) -> tuple[sa.ColumnElement[bool], ...]:
    free = sa.or_(MailLine.claimed_until.is_(None), MailLine.claimed_until < now)
    return (*_unsent_conditions(), MailLine.due_at <= now, free)


async def already_mailed(session: AsyncSession, *, event_uuids: Collection[UUID]) -> set[tuple[UUID, int]]:
    statement = sa.select(MailLine.event_uuid, MailLine.user_id).where(MailLine.event_uuid.in_(event_uuids))
    return {(row[0], row[1]) for row in await session.execute(statement)}


async def add_mails(session: AsyncSession, *, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        await session.execute(sa.insert(MailLine), rows)


async def first_due(session: AsyncSession, now: datetime) -> int | None:
    return await session.scalar(
        sa.select(MailLine.id).where(*_due_conditions(now)).order_by(MailLine.due_at, MailLine.id).limit(1)
    )


async def lock_due(session: AsyncSession, key: int, now: datetime) -> MailLine | None:
    return await session.scalar(
        sa.select(MailLine).where(MailLine.id == key, *_due_conditions(now)).with_for_update(skip_locked=True)
    )


async def lock_bundle(session: AsyncSession, first: MailLine) -> Sequence[MailLine]:
    same_bundle = (MailLine.user_id == first.user_id, MailLine.bundle == first.bundle, MailLine.batch_uuid.is_(None))
    keys = (
        await session.scalars(
            sa.select(MailLine.id).where(*same_bundle, *_unsent_conditions()).order_by(MailLine.id).limit(LONGEST)
        )
    ).all()
    statement = sa.select(MailLine).where(
        MailLine.id.in_({*keys, first.id}), MailLine.batch_uuid.is_(None), *_unsent_conditions()
    )
    return (await session.scalars(statement.order_by(MailLine.id).with_for_update(skip_locked=True))).all()


async def lock_batch(session: AsyncSession, batch: UUID) -> Sequence[MailLine]:
    unsent = (MailLine.sent_at.is_(None), MailLine.template != SETTLED)
    statement = sa.select(MailLine).where(MailLine.batch_uuid == batch, *unsent)
    return (await session.scalars(statement.order_by(MailLine.id).with_for_update())).all()


async def delete_done(session: AsyncSession, *, before: datetime) -> int:
    condition = sa.or_(MailLine.sent_at < before, MailLine.given_up_at < before)
    keys = (await session.scalars(sa.select(MailLine.id).where(condition).limit(STEP))).all()
    if keys:
        await session.execute(sa.delete(MailLine).where(MailLine.id.in_(keys)))
    return len(keys)


@dataclass(frozen=True, slots=True)
class DueSubject:
    """:param of_step: the due date is that of the current step"""

    subject: UUID
    project_id: int
    due: datetime | date
    since: datetime
    of_step: bool = False


@dataclass(frozen=True, slots=True)
class DueStep:
    instance: UUID
    entity_type: str
    entity_id: str
    due_on: date
    since: datetime


@dataclass(frozen=True, slots=True)
class RunningWorkflow:
    instance: UUID
    entity_type: str
    organizations: frozenset[UUID]
    users: frozenset[UUID]
    due_on: date | None
    workflow_code: str
    definition: UUID
    state: str


async def project_keys(session: AsyncSession) -> Sequence[int]:
    return (await session.scalars(sa.select(Project.id).order_by(Project.id))).all()


async def due_revisions(session: AsyncSession, keys: Collection[int]) -> list[DueSubject]:
    revision, document = DocumentRevision, Document
    statement = (
        sa.select(revision.public_id, document.project_id, revision.due_date, revision.issued_date)
        .join(document, document.id == revision.correspondence_id)
        .where(revision.id.in_(keys), revision.is_current)
        .where(revision.issued_date.is_not(None), revision.due_date.is_not(None))
        .where(document.cancelled_at.is_(None), document.deleted_at.is_(None))
    )
    rows: Iterable[AnyRow] = await session.execute(statement.order_by(revision.id))  # dates are not null
    return [DueSubject(*row) for row in rows]


async def due_circulations(session: AsyncSession, keys: Collection[int]) -> list[DueSubject]:
    circulation = Circulation
    statement = (
        sa.select(circulation.public_id, circulation.project_id, circulation.deadline_date, circulation.submitted_at)
        .where(circulation.id.in_(keys), circulation.submitted_at.is_not(None), circulation.deadline_date.is_not(None))
        .where(circulation.closed_at.is_(None), circulation.cancelled_at.is_(None))
    )
    rows: Iterable[AnyRow] = await session.execute(statement.order_by(circulation.id))  # dates are not null
    return [DueSubject(*row) for row in rows]


async def due_steps(session: AsyncSession, *, before: date, after: UUID | None, limit: int) -> list[DueStep]:
    instance = WorkflowInstance
    statement = sa.select(
        *(instance.id, instance.entity_type, instance.entity_id, instance.due_on, instance.last_transition_at)
    ).where(instance.status == InstanceStatus.ACTIVE, instance.due_on < before)
    if after is not None:
        statement = statement.where(instance.id > after)
    rows: Iterable[AnyRow] = await session.execute(statement.order_by(instance.id).limit(limit))  # dates are not null
    return [DueStep(*row) for row in rows]


async def running_workflows(session: AsyncSession, subjects: Collection[UUID]) -> dict[UUID, RunningWorkflow]:
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
        .where(instance.entity_id.in_([str(subject) for subject in subjects]), instance.status == InstanceStatus.ACTIVE)
    )
    rows_by_subject: dict[UUID, list[AnyRow]] = {}
    for row in await session.execute(statement):
        rows_by_subject.setdefault(UUID(row[2]), []).append(row)
    return {
        subject: RunningWorkflow(
            rows[0][0],
            rows[0][1],
            frozenset(row[3] for row in rows if row[3] is not None),
            frozenset(row[4] for row in rows if row[4] is not None),
            rows[0][5],
            *rows[0][6:9],
        )
        for subject, rows in rows_by_subject.items()
    }


async def sent_reminders(session: AsyncSession, subjects: Collection[UUID]) -> frozenset[tuple[UUID, date, int]]:
    statement = sa.select(ReminderSent.subject_uuid, ReminderSent.due_day, ReminderSent.stage)
    rows = await session.execute(statement.where(ReminderSent.subject_uuid.in_(subjects)))
    return frozenset((row[0], row[1], row[2]) for row in rows)


async def reminder_plans(session: AsyncSession, *, project_ids: Collection[int]) -> Sequence[ReminderPlan]:
    return (await session.scalars(sa.select(ReminderPlan).where(ReminderPlan.project_id.in_(project_ids)))).all()
