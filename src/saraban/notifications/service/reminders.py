"""
Records reminders of due dates.

A reminder's key is written in the event's transaction, so that several workers remind only once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.audit.domain.changes import set_fields
from saraban.documents.core import service as core
from saraban.documents.core.domain import RegisterCode
from saraban.documents.correspondence import CORRESPONDENCE_RULES
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.dates import date_in_words, local_date
from saraban.kit.db import Database
from saraban.kit.json import Json
from saraban.notifications import repository
from saraban.notifications.domain.reminders import Reminder, ReminderSchedule, due_reminder
from saraban.notifications.models import ReminderPlan, ReminderSent
from saraban.notifications.repository import DueStep, DueSubject, RunningWorkflow
from saraban.notifications.schemas import ReminderSettings
from saraban.projects import service as projects
from saraban.projects.domain.calendar import WorkCalendar, working_days_after
from saraban.workflow.service import SubjectFacts, Subjects

REMINDED: Final = "document.reminded"
PAGE: Final = 200
# 20 working days (`FURTHEST_BEFORE`) at one working day a week, and holidays.
HORIZON: Final = timedelta(days=200)


@dataclass(frozen=True, slots=True)
class _DueReminder:
    due: DueSubject
    day: date
    reminder: Reminder


async def send_reminders(db: Database, subjects: Subjects, zone: ZoneInfo, now: datetime) -> int:
    count = 0
    async with db.reading() as session:
        horizons = await _list_horizons(session, now, zone)
    for project_id, before in horizons.items():
        for register in RegisterCode:
            last: core.OpenRow | None = None
            while True:
                async with db.reading() as session:
                    rows = await core.open_rows(
                        session, project_id=project_id, register=register, before=before, limit=PAGE, after=last
                    )
                    due = await _due_documents(session, register, rows)
                    reminders = await _find_reminders(session, due, now, zone)
                for reminder in reminders:
                    count += await _remind(db, subjects, reminder, now)
                if len(rows) < PAGE:
                    break
                last = rows[-1]
    return count + await _send_step_reminders(db, subjects, now, zone)


async def _list_horizons(session: AsyncSession, now: datetime, zone: ZoneInfo) -> dict[int, datetime]:
    """Return the projects to remind now, and until when a due date matters."""
    keys, today = await repository.project_keys(session), local_date(now, zone)
    plans = {row.project_id: schedule_from(row) for row in await repository.reminder_plans(session, project_ids=keys)}
    horizons = {}
    for key in keys:
        plan, calendar = plans.get(key, ReminderSchedule()), await projects.work_calendar(session, project_id=key)
        if now.astimezone(zone).hour >= plan.hour and calendar.is_working(today):
            # One working day more, because a due date on a day off counts from the working day before.
            furthest = working_days_after(calendar, today, max(plan.before, default=0) + 1)
            horizons[key] = datetime.combine(furthest + timedelta(days=2), time(), UTC)
    return horizons


async def _due_documents(
    session: AsyncSession, register: RegisterCode, rows: Sequence[core.OpenRow]
) -> list[DueSubject]:
    if not rows:
        return []
    if register is RegisterCode.CIRCULATION:
        return await repository.due_circulations(session, [row.document_id for row in rows])
    return await repository.due_revisions(session, [row.revision_id for row in rows])


async def _send_step_reminders(db: Database, subjects: Subjects, now: datetime, zone: ZoneInfo) -> int:
    count = 0
    last: UUID | None = None
    while True:
        async with db.reading() as session:
            steps = await repository.due_steps(session, before=local_date(now + HORIZON, zone), after=last, limit=PAGE)
            reminders = await _find_reminders(session, await _due_steps(session, subjects, steps), now, zone)
        for reminder in reminders:
            count += await _remind(db, subjects, reminder, now)
        if len(steps) < PAGE:
            return count
        last = steps[-1].instance


async def _due_steps(session: AsyncSession, subjects: Subjects, steps: Sequence[DueStep]) -> list[DueSubject]:
    """Leave out steps whose document is due earlier."""
    caller = await identity.system_caller(session)
    due_subjects: list[DueSubject] = []
    for kind in sorted({step.entity_type for step in steps if step.entity_type in subjects}):
        steps_by_id = {step.entity_id: step for step in steps if step.entity_type == kind}
        facts = await subjects.port(kind).facts(session, caller=caller, entity_ids=list(steps_by_id))
        for key, subject in facts.items():
            day, project = steps_by_id[key].due_on, subject.scope.project
            if project is not None and (subject.due_date is None or subject.due_date >= day):
                due_subjects.append(DueSubject(UUID(key), project, day, steps_by_id[key].since, of_step=True))
    return due_subjects


def _is_decisive(due: DueSubject, workflow: RunningWorkflow, zone: ZoneInfo) -> bool:
    """Choose the earlier due date of step and document, or the step's if they are equal."""
    if due.of_step:
        return workflow.due_on == due.due
    if workflow.state in CORRESPONDENCE_RULES.answered:
        return False
    return workflow.due_on is None or _local_day(due.due, zone) < workflow.due_on


async def _find_reminders(
    session: AsyncSession, due_subjects: Sequence[DueSubject], now: datetime, zone: ZoneInfo
) -> list[_DueReminder]:
    if not due_subjects:
        return []
    subjects = [due.subject for due in due_subjects]
    workflows = await repository.running_workflows(session, subjects)
    sent = await repository.sent_reminders(session, subjects)
    keys = {due.project_id for due in due_subjects}
    plans = {row.project_id: schedule_from(row) for row in await repository.reminder_plans(session, project_ids=keys)}
    calendars = {key: await projects.work_calendar(session, project_id=key) for key in sorted(keys)}
    reminders = []
    for due in due_subjects:
        plan = plans.get(due.project_id, ReminderSchedule())
        reminder = _reminder_for(plan, calendars[due.project_id], due, now, zone)
        day = _local_day(due.due, zone)
        workflow = workflows.get(due.subject)
        if not (reminder and workflow and _is_decisive(due, workflow, zone)):
            continue
        if (due.subject, day, reminder.stage) not in sent:
            reminders.append(_DueReminder(due, day, reminder))
    return reminders


def _reminder_for(
    plan: ReminderSchedule, calendar: WorkCalendar, due: DueSubject, now: datetime, zone: ZoneInfo
) -> Reminder | None:
    if now.astimezone(zone).hour < plan.hour:
        return None
    since, today = local_date(due.since, zone), local_date(now, zone)
    return due_reminder(plan, calendar, due=_local_day(due.due, zone), since=since, today=today)


def _local_day(due: datetime | date, zone: ZoneInfo) -> date:
    return local_date(due, zone) if isinstance(due, datetime) else due


async def _remind(db: Database, subjects: Subjects, reminder: _DueReminder, now: datetime) -> int:
    try:
        return await db.transact(_record, reminder, subjects, now)
    except IntegrityError:
        return 0  # another worker reminded in the same moment


async def _record(due_reminder: _DueReminder, session: AsyncSession, subjects: Subjects, now: datetime) -> int:
    subject = due_reminder.due.subject
    workflow = (await repository.running_workflows(session, subjects=[subject])).get(subject)
    if workflow is None or (due_reminder.due.of_step and workflow.due_on != due_reminder.day):
        return 0  # somebody acted in the meantime
    caller = await identity.system_caller(session)
    port = subjects.port(workflow.entity_type)
    facts = (await port.facts(session, caller=caller, entity_ids=[str(subject)])).get(str(subject))
    if facts is None:
        return 0
    session.add(
        ReminderSent(subject_uuid=subject, due_day=due_reminder.day, stage=due_reminder.reminder.stage, sent_at=now)
    )
    await session.flush()
    event = events.NewEvent(REMINDED, "document", str(facts.public_id), _payload(due_reminder, workflow, facts), now)
    await events.record(session, event)
    return 1


def _payload(reminder: _DueReminder, workflow: RunningWorkflow, facts: SubjectFacts) -> dict[str, Json]:
    return {
        "instancePublicId": str(workflow.instance),
        "workflowCode": workflow.workflow_code,
        "documentPublicId": str(facts.public_id),
        "definitionPublicId": str(workflow.definition),
        "entityType": workflow.entity_type,
        "entityId": facts.entity_id,
        "state": workflow.state,
        "projectPublicId": facts.context.get("projectPublicId"),
        "documentKind": facts.kind,
        "number": facts.number,
        "title": facts.title,
        "stage": reminder.reminder.stage,
        "days": reminder.reminder.days,
        "due": {language: date_in_words(reminder.day, language) for language in ("th", "en")},
        "waiting": {
            "organizations": [{"publicId": str(public_id)} for public_id in sorted(workflow.organizations)],
            "users": [str(public_id) for public_id in sorted(workflow.users)],
        },
    }


def schedule_from(row: ReminderPlan) -> ReminderSchedule:
    return ReminderSchedule(tuple(row.days_before), tuple(row.days_after), row.every_days, row.at_hour)


MANAGE = "project.edit"


async def read_reminders(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> ReminderSettings:
    """:raises NotFound:"""
    project = await _find_project(ctx, session, project_public_id)
    rows = await repository.reminder_plans(session, project_ids=[project.id])
    plan = schedule_from(rows[0]) if rows else ReminderSchedule()
    return ReminderSettings(before=list(plan.before), after=list(plan.after), every=plan.every, hour=plan.hour)


async def set_reminders(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, order: ReminderSettings
) -> None:
    """:raises Forbidden:"""
    project = await _find_project(ctx, session, project_public_id)
    ctx.caller.require(MANAGE, Scope(project=project.id))
    await projects.lock_project(session, project_id=project.id)
    plan = ReminderSchedule(
        tuple(sorted(set(order.before), reverse=True)), tuple(sorted(set(order.after))), order.every, order.hour
    )
    row = await session.get(ReminderPlan, project.id)
    row = row or ReminderPlan(project_id=project.id, **_plan_columns(ReminderSchedule()))
    details = {"changes": set_fields(row, _plan_columns(plan))}
    row.updated_by_user_id, row.updated_at = ctx.caller.user_id, ctx.now
    session.add(row)
    await session.flush()
    await audit.record(ctx, session, audit.AuditEntry("project.reminders", "project", str(project_public_id), details))


def _plan_columns(plan: ReminderSchedule) -> dict[str, object]:
    return {
        "days_before": list(plan.before),
        "days_after": list(plan.after),
        "every_days": plan.every,
        "at_hour": plan.hour,
    }


async def _find_project(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> projects.ProjectRef:
    await projects.read_project(ctx, session, public_id=public_id)
    return await projects.find_project(session, public_id=public_id, pointer="path:publicId")
