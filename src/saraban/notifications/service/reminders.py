"""
Reminders of due dates, in the working days of each project: a timer finds what is due and records an event for it.

A reminder's key is written in the event's transaction, so that several workers, and one that starts again, remind once.
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
# Twenty working days of a project that works on one day a week, with room for holidays.
HORIZON: Final = timedelta(days=200)


@dataclass(frozen=True, slots=True)
class _DueReminder:
    due: DueSubject
    day: date
    reminder: Reminder


async def send_reminders(db: Database, subjects: Subjects, zone: ZoneInfo, now: datetime) -> int:
    """Record every reminder that is to have gone out by now and did not, and say how many those were."""
    count = 0
    async with db.reading() as session:
        horizons = await _horizons(session, now, zone)
    for project_id, before in horizons.items():
        for register in RegisterCode:
            last: core.OpenRow | None = None
            while True:
                async with db.reading() as session:
                    rows = await core.open_rows(
                        session, project_id=project_id, register=register, before=before, limit=PAGE, after=last
                    )
                    wanted = await _wanted(session, await _of_rows(session, register, rows), now, zone)
                for one in wanted:
                    count += await _remind(db, subjects, one, now)
                if len(rows) < PAGE:
                    break
                last = rows[-1]
    return count + await _remind_of_steps(db, subjects, now, zone)


async def _horizons(session: AsyncSession, now: datetime, zone: ZoneInfo) -> dict[int, datetime]:
    """The projects where reminders go out at this hour of this day, and until when what they speak of is due."""
    keys, today = await repository.project_keys(session), local_date(now, zone)
    plans = {row.project_id: schedule_of(row) for row in await repository.reminder_plans(session, project_ids=keys)}
    found = {}
    for key in keys:
        plan, calendar = plans.get(key, ReminderSchedule()), await projects.work_calendar(session, project_id=key)
        if now.astimezone(zone).hour >= plan.hour and calendar.is_working(today):
            # A day more than the plan's furthest: what is due on a day off counts from the working day before.
            furthest = working_days_after(calendar, today, max(plan.before, default=0) + 1)
            found[key] = datetime.combine(furthest + timedelta(days=2), time(), UTC)
    return found


async def _of_rows(session: AsyncSession, register: RegisterCode, rows: Sequence[core.OpenRow]) -> list[DueSubject]:
    if not rows:
        return []
    if register is RegisterCode.CIRCULATION:
        return await repository.due_circulations(session, [row.document_id for row in rows])
    return await repository.due_revisions(session, [row.revision_id for row in rows])


async def _remind_of_steps(db: Database, subjects: Subjects, now: datetime, zone: ZoneInfo) -> int:
    """The same for steps that have a due day of their own."""
    count = 0
    last: UUID | None = None
    while True:
        async with db.reading() as session:
            steps = await repository.due_steps(session, before=local_date(now + HORIZON, zone), after=last, limit=PAGE)
            wanted = await _wanted(session, await _of_steps(session, subjects, steps), now, zone)
        for one in wanted:
            count += await _remind(db, subjects, one, now)
        if len(steps) < PAGE:
            return count
        last = steps[-1].instance


async def _of_steps(session: AsyncSession, subjects: Subjects, steps: Sequence[DueStep]) -> list[DueSubject]:
    """Those steps whose day is to be reminded of: a document that is due before its step is reminded of by its own date."""
    caller = await identity.system_caller(session)
    found: list[DueSubject] = []
    for kind in sorted({step.entity_type for step in steps if step.entity_type in subjects}):
        own = {step.entity_id: step for step in steps if step.entity_type == kind}
        facts = await subjects.port(kind).facts(session, caller=caller, entity_ids=list(own))
        for key, about in facts.items():
            day, project = own[key].due_on, about.scope.project
            if project is not None and (about.due_date is None or about.due_date >= day):
                found.append(DueSubject(UUID(key), project, day, own[key].since, of_step=True))
    return found


def _is_for(due: DueSubject, waits: RunningWorkflow, zone: ZoneInfo) -> bool:
    """
    Of a step's day and the document's, the earlier is reminded of; of one day, the step's. An answer that is there was
    due, and is due no more.
    """
    if due.of_step:
        return waits.due_on == due.due
    if waits.state in CORRESPONDENCE_RULES.answered:
        return False
    return waits.due_on is None or _day(due.due, zone) < waits.due_on


async def _wanted(
    session: AsyncSession, found: Sequence[DueSubject], now: datetime, zone: ZoneInfo
) -> list[_DueReminder]:
    if not found:
        return []
    subjects = [one.subject for one in found]
    waits = await repository.running_workflows(session, subjects)
    done = await repository.sent_reminders(session, subjects)
    places = {one.project_id for one in found}
    plans = {row.project_id: schedule_of(row) for row in await repository.reminder_plans(session, project_ids=places)}
    calendars = {place: await projects.work_calendar(session, project_id=place) for place in sorted(places)}
    wanted = []
    for one in found:
        plan = plans.get(one.project_id, ReminderSchedule())
        reminder = _due_now(plan, calendars[one.project_id], one, now, zone)
        day = _day(one.due, zone)
        waiting = waits.get(one.subject)
        if not (reminder and waiting and _is_for(one, waiting, zone)):
            continue
        if (one.subject, day, reminder.stage) not in done:
            wanted.append(_DueReminder(one, day, reminder))
    return wanted


def _due_now(
    plan: ReminderSchedule, calendar: WorkCalendar, due: DueSubject, now: datetime, zone: ZoneInfo
) -> Reminder | None:
    if now.astimezone(zone).hour < plan.hour:
        return None
    since, today = local_date(due.since, zone), local_date(now, zone)
    return due_reminder(plan, calendar, due=_day(due.due, zone), since=since, today=today)


def _day(due: datetime | date, zone: ZoneInfo) -> date:
    return local_date(due, zone) if isinstance(due, datetime) else due


async def _remind(db: Database, subjects: Subjects, wanted: _DueReminder, now: datetime) -> int:
    try:
        return await db.transact(_record, wanted, subjects, now)
    except IntegrityError:
        return 0  # another worker reminded in the same moment


async def _record(wanted: _DueReminder, session: AsyncSession, subjects: Subjects, now: datetime) -> int:
    subject = wanted.due.subject
    waits = (await repository.running_workflows(session, subjects=[subject])).get(subject)
    if waits is None or (wanted.due.of_step and waits.due_on != wanted.day):
        return 0  # somebody acted in the meantime
    caller = await identity.system_caller(session)
    port = subjects.port(waits.entity_type)
    facts = (await port.facts(session, caller=caller, entity_ids=[str(subject)])).get(str(subject))
    if facts is None:
        return 0
    session.add(ReminderSent(subject_uuid=subject, due_day=wanted.day, stage=wanted.reminder.stage, sent_at=now))
    await session.flush()
    event = events.NewEvent(REMINDED, "document", str(facts.public_id), _payload(wanted, waits, facts), now)
    await events.record(session, event)
    return 1


def _payload(wanted: _DueReminder, waits: RunningWorkflow, facts: SubjectFacts) -> dict[str, Json]:
    return {
        "instancePublicId": str(waits.instance),
        "workflowCode": waits.workflow_code,
        "documentPublicId": str(facts.public_id),
        "definitionPublicId": str(waits.definition),
        "entityType": waits.entity_type,
        "entityId": facts.entity_id,
        "state": waits.state,
        "projectPublicId": facts.context.get("projectPublicId"),
        "documentKind": facts.kind,
        "number": facts.number,
        "title": facts.title,
        "stage": wanted.reminder.stage,
        "days": wanted.reminder.days,
        "due": {language: date_in_words(wanted.day, language) for language in ("th", "en")},
        "waiting": {
            "organizations": [{"publicId": str(one)} for one in sorted(waits.organizations)],
            "users": [str(one) for one in sorted(waits.users)],
        },
    }


def schedule_of(row: ReminderPlan) -> ReminderSchedule:
    return ReminderSchedule(tuple(row.days_before), tuple(row.days_after), row.every_days, row.at_hour)


MANAGE = "project.edit"


async def read_reminders(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> ReminderSettings:
    """
    :raises NotFound: when there is no such project that the caller may see
    """
    place = await _seen(ctx, session, project_public_id)
    rows = await repository.reminder_plans(session, project_ids=[place.id])
    plan = schedule_of(rows[0]) if rows else ReminderSchedule()
    return ReminderSettings(before=list(plan.before), after=list(plan.after), every=plan.every, hour=plan.hour)


async def set_reminders(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, order: ReminderSettings
) -> None:
    """
    Tell when a project is reminded; what went out already does not go out again.

    :raises Forbidden: when the caller does not manage the project
    """
    place = await _seen(ctx, session, project_public_id)
    ctx.caller.require(MANAGE, Scope(project=place.id))
    await projects.lock_project(session, project_id=place.id)
    plan = ReminderSchedule(
        tuple(sorted(set(order.before), reverse=True)), tuple(sorted(set(order.after))), order.every, order.hour
    )
    row = await session.get(ReminderPlan, place.id)
    row = row or ReminderPlan(project_id=place.id, **_columns(ReminderSchedule()))
    details = {"changes": set_fields(row, _columns(plan))}
    row.updated_by_user_id, row.updated_at = ctx.caller.user_id, ctx.now
    session.add(row)
    await session.flush()
    await audit.record(ctx, session, audit.AuditEntry("project.reminders", "project", str(project_public_id), details))


def _columns(plan: ReminderSchedule) -> dict[str, object]:
    return {
        "days_before": list(plan.before),
        "days_after": list(plan.after),
        "every_days": plan.every,
        "at_hour": plan.hour,
    }


async def _seen(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> projects.ProjectRef:
    await projects.read_project(ctx, session, public_id=public_id)
    return await projects.find_project(session, public_id=public_id, pointer="path:publicId")
