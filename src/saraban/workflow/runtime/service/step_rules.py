"""
The terms on which a state is entered: the day by which somebody is to act, and the one person it is given to.

Neither ever moves anything by itself: a day that has passed is reminded of, and that is all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.kit.dates import local_date
from saraban.kit.json import JsonObject
from saraban.projects import service as projects
from saraban.projects.domain.calendar import WorkCalendar, working_days_after
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Step
from saraban.workflow.language.definition import Definition, State
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime import repository

INACTIVE, NOT_VISIBLE, NOT_PERMITTED = "inactive", "not_visible", "not_permitted"


@dataclass(frozen=True, slots=True)
class StepRules:
    """
    :param values: columns of the instance, for the step's own compare-and-set
    :param details: what the history says of an assignment, one that was dropped too
    """

    values: Mapping[str, object]
    details: JsonObject = field(default_factory=dict)


async def rules_of(
    session: AsyncSession, *, definition: Definition, step: Step, facts: SubjectFacts, now: datetime
) -> StepRules:
    """Return the terms of the state that a step leads to; whoever was in charge of the one before is not any more."""
    state = definition.state(step.next_state)
    due = await due_on(session, state=state, facts=facts, now=now)
    wanted = next((event["target"] for event in step.events if event["type"] == "assign"), None)
    if wanted is None or state.terminal:
        return StepRules({"due_on": due, "assigned_user_id": None})
    public_id, person = await _person(session, wanted, facts)
    dropped = _why_not(definition, state, person, facts)
    told = {"userPublicId": str(public_id) if public_id else None, "dropped": dropped}
    user_id = person.user_id if person is not None and dropped is None else None
    return StepRules({"due_on": due, "assigned_user_id": user_id}, {"assigned": told})


async def due_on(session: AsyncSession, *, state: State, facts: SubjectFacts, now: datetime) -> date | None:
    """Count the working days of a state from the day it is entered, in the calendar of the subject's project."""
    if state.due_days is None:
        return None
    project = facts.scope.project
    calendar = WorkCalendar() if project is None else await projects.work_calendar(session, project_id=project)
    return working_days_after(calendar, local_date(now, facts.zone), state.due_days)


async def _person(session: AsyncSession, wanted: str, facts: SubjectFacts) -> tuple[UUID | None, Caller | None]:
    """The one who is meant, and as a caller while the account is open."""
    if wanted == "submitter":
        if facts.submitter_user_id is None:
            return None, None
        known = await repository.user_public_ids(session, [facts.submitter_user_id])
        public_id = known[facts.submitter_user_id]
    else:
        public_id = UUID(wanted)
    return public_id, (await identity.load_callers(session, [public_id])).get(public_id)


def _why_not(definition: Definition, state: State, person: Caller | None, facts: SubjectFacts) -> str | None:
    if person is None:
        return INACTIVE
    if not facts.seen_by(person, state.name):
        return NOT_VISIBLE
    may = decisions.may_act(definition, state.name, decisions.Facts(person, facts))
    return None if may else NOT_PERMITTED
