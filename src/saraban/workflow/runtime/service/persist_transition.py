"""Saves a decided step and the automatic steps after it; the compare-and-set decides every race."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import EVERYTHING, Caller
from saraban.kit.dates import local_date
from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject
from saraban.kit.operation import Receipt
from saraban.projects import service as projects
from saraban.projects.domain.calendar import WorkCalendar, working_days_after
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.engine.decisions import Step
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.definition import Definition, State
from saraban.workflow.language.outcome import BY_NAME, OVERRIDDEN
from saraban.workflow.language.subject import InstanceStatus, Meaning, SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import interventions
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.service import assignees, assignment, branches
from saraban.workflow.runtime.service.subjects import SubjectStep
from saraban.workflow.runtime.service.transition_request import (
    ORDINARY,
    Command,
    Decision,
    HeldInstance,
    StepRecord,
    StepTaken,
    Transitioned,
    VersionLost,
    acting_organization,
    behalf_of,
    item_details,
)

TRANSITIONED = "workflow.transitioned"
WEBHOOK = "workflow.webhook"  # for webhooks that a definition names, by `topic`


async def persist_transition(session: AsyncSession, decision: Decision) -> Transitioned:
    """
    Save a decided step and the automatic steps that follow it.

    :raises VersionConflict: when a compare-and-set found another version; the transaction must be rolled back
    """
    held = decision.held
    if decision.step is None:
        assert decision.receipt is not None  # required without a step
        return Transitioned(held.row.id, decision.receipt, after=held)
    last = await _take_step(session, held, decision.step, decision.command, decision.record)
    taken = [last]
    while (following := await _automatic_step(session, last.after, last.step)) is not None:
        system_held, step = following
        last = await _take_step(session, system_held, step, Command(step.action), ORDINARY)
        taken.append(last)
    after = last.after if len(taken) == 1 else replace(last.after, ctx=held.ctx, seats=held.seats)
    receipt = decision.receipt or _build_receipt(taken[0])
    return Transitioned(after.row.id, receipt, tuple(taken), after, last.waiting if last.record.asks is None else None)


def _build_receipt(taken: StepTaken) -> Receipt:
    row, step = taken.after.row, taken.step
    outcome: dict[str, str | int | None] = {
        "history": str(taken.key),
        "from": step.state,
        "to": step.next_state,
        "version": row.version_no,
    }
    return Receipt("workflow_instance", row.id, outcome)


async def _take_step(
    session: AsyncSession, held: HeldInstance, step: Step, command: Command, record: StepRecord
) -> StepTaken:
    now = held.row.not_before(held.ctx.now)
    values, details = await _entry_values(session, held, step, now=now)
    record = replace(record, values={**values, **record.values}, details={**details, **record.details})
    taken = StepTaken(held, step, command, now, record, after=held)
    await _apply_step(session, taken)
    if record.applies and held.definition.reviews:
        await branches.open_round(session, taken.after, now=now)
    work_items = await _find_work_items(session, taken)
    if not await repository.update_instance(session, taken.after.row):
        raise VersionLost("The version changed between the lock and the update.")
    await repository.insert_history(session, _build_history(taken))
    if work_items is not None:
        await repository.write_work_items(session, work_items)
    await events.record_all(session, await _build_events(session, taken))
    await audit.record(replace(taken.after.ctx, now=now), session, _build_audit_entry(taken))
    if command.attachment_public_ids:
        ctx, project = replace(held.ctx, now=now), held.facts.scope.project
        await attachments.attach_to_step(ctx, session, command.attachment_public_ids, taken.key, project)
    return taken


async def _apply_step(session: AsyncSession, taken: StepTaken) -> None:
    held, facts = taken.held, taken.held.facts
    if taken.record.applies and await held.port.apply(session, _subject_step(taken)):
        facts_by_id = await held.port.facts(session, caller=held.caller, entity_ids=[facts.entity_id])
        facts = facts_by_id.get(facts.entity_id, facts)
    has_files = held.has_files or bool(taken.command.attachment_public_ids)
    taken.after = replace(held, row=_moved_row(taken), facts=facts, has_files=has_files)


async def _find_work_items(session: AsyncSession, taken: StepTaken) -> repository.WorkItems | None:
    """Set the assignees after the step; return the work items, or None if they are saved already."""
    if taken.record.asks is not None:
        # One branch of a review was reassigned: all others keep their place in the inbox.
        await assignment.renew_people(session, taken.after, now=taken.now)
        taken.waiting = PendingAssignees(users=frozenset({taken.record.asks}))
        return None
    taken.waiting = await assignees.pending_in(session, taken.after)
    items = assignees.work_items_of(taken.after, taken.waiting, since=taken.now)
    return replace(items, before=_count_items_before(taken.held))


def _count_items_before(held: HeldInstance) -> int | None:
    state = held.definition.states.get(held.row.current_state)
    if state is None:  # a migration removed it
        return None
    # A migration raises the version, and the answers of a review write work items without a step.
    if held.row.version_no == 1 and state.review is None and assignees.is_first_draft(held.row, held.definition):
        return 0
    pending = assignees.pending_by_definition(held)
    return len(pending.organizations) + len(pending.users) or None


async def _automatic_step(session: AsyncSession, after: HeldInstance, step: Step) -> tuple[HeldInstance, Step] | None:
    if not step.goes_on or after.row.status != InstanceStatus.ACTIVE:
        return None
    system = replace(after.ctx, caller=await identity.system_caller(session))
    held = replace(after, ctx=system, seat=None, seats=())
    facts = decisions.Facts(held.caller, held.facts, context=held.row.context or {})
    following = decisions.automatic(after.definition, step, facts)
    return None if following is None else (held, following)


def _build_history(taken: StepTaken) -> dict[str, Any]:
    step, row, caller, seat = taken.step, taken.after.row, taken.held.caller, taken.held.seat
    version_details = {"events": list(step.events), "versionNo": row.version_no, **taken.record.details}
    details: dict[str, Any] = version_details | ({"nobody": True} if taken.waiting.nobody else {})
    if taken.command.payload:
        details["payload"] = dict(taken.command.payload)
    if not step.automatic:
        details |= item_details(taken.command)
    if step.response_code is not None:
        details["responseCode"] = step.response_code
    if step.automatic:
        details["automatic"] = True
    elif taken.record.audited == ORDINARY.audited:
        details |= _actor_organizations(seat or caller, taken.held.facts)
    return {
        "id": str(taken.key),
        "instance_id": str(row.id),
        "from_state": step.state,
        "to_state": step.next_state,
        "action": step.action,
        "action_by_user_id": caller.user_id,
        "action_by_user_uuid": str(caller.public_id),
        **behalf_of(taken.held),
        "acting_organization_id": acting_organization(taken.held),
        "comment": taken.command.comment,
        "metadata": details,
        "created_at": taken.now,
    }


def _actor_organizations(caller: Caller, facts: SubjectFacts) -> dict[str, Any]:
    """Return the actor's organizations; none for a caller with the right to everything."""
    return {} if caller.may(EVERYTHING, facts.scope) else {"seats": sorted(caller.organization_ids)}


def _moved_row(taken: StepTaken) -> Instance:
    """Return the instance after the step."""
    row, step = taken.held.row, taken.step
    values: dict[str, Any] = {
        "current_state": step.next_state,
        "status": InstanceStatus.COMPLETED if step.terminal else row.status,
        "context": step_data.after(taken.held.definition, row.context or {}, taken.command.payload),
        "version_no": row.version_no + 1,
        "last_transition_at": taken.now,
        "updated_at": taken.now,
    }
    return replace(row, **values | dict(taken.record.values))


def _subject_step(taken: StepTaken) -> SubjectStep:
    held, step = taken.held, taken.step
    next_state, previous_state = held.definition.state(step.next_state), held.definition.states.get(step.state)
    transition = previous_state.on.get(step.action) if previous_state else None
    return SubjectStep(
        held.facts,
        held.seat or held.caller,
        step,
        taken.now,
        Meaning(next_state.outcome, next_state.asks, transition.decider if transition else None),
        () if step.automatic else taken.command.item_results,
    )


def _build_audit_entry(taken: StepTaken) -> audit.AuditEntry:
    step, after, facts, seat = taken.step, taken.after, taken.after.facts, taken.after.seat
    return audit.AuditEntry(
        action=taken.record.audited,
        severity=taken.record.severity,
        entity_type=facts.kind,
        entity_id=str(facts.public_id),
        details={
            "instancePublicId": str(after.row.id),
            "number": facts.number,
            "action": step.action,
            "from": step.state,
            "to": step.next_state,
            **({"onBehalfOfPublicId": str(seat.public_id)} if seat else {}),
            **({"values": dict(taken.command.payload)} if taken.command.payload else {}),
            **taken.record.details,
        },
    )


INACTIVE, NOT_VISIBLE, NOT_PERMITTED = "inactive", "not_visible", "not_permitted"


async def _entry_values(
    session: AsyncSession, instance: HeldInstance, step: Step, *, now: datetime
) -> tuple[Mapping[str, object], JsonObject]:
    """Return the columns that the next state sets, and the assignment, dropped or not, for the history."""
    state = instance.definition.state(step.next_state)
    due = await due_on(session, state=state, facts=instance.facts, now=now)
    target = next((event["target"] for event in step.events if event["type"] == "assign"), None)
    if target is None or state.terminal:
        return {"due_on": due, "assigned_user_id": None}, {}
    public_id, person = await _find_assignee(session, target, instance.facts)
    drop_reason = _drop_reason(instance.definition, state, person, instance.facts)
    assignment = {"userPublicId": str(public_id) if public_id else None, "dropped": drop_reason}
    user_id = person.user_id if person is not None and drop_reason is None else None
    return {"due_on": due, "assigned_user_id": user_id}, {"assigned": assignment}


async def due_on(session: AsyncSession, *, state: State, facts: SubjectFacts, now: datetime) -> date | None:
    if state.due_days is None:
        return None
    project = facts.scope.project
    calendar = WorkCalendar() if project is None else await projects.work_calendar(session, project_id=project)
    return working_days_after(calendar, local_date(now, facts.zone), state.due_days)


async def _find_assignee(session: AsyncSession, target: str, facts: SubjectFacts) -> tuple[UUID | None, Caller | None]:
    if target == "submitter":
        if facts.submitter_user_id is None:
            return None, None
        public_ids = await repository.user_public_ids(session, [facts.submitter_user_id])
        public_id = public_ids[facts.submitter_user_id]
    else:
        public_id = UUID(target)
    return public_id, (await identity.load_callers(session, [public_id])).get(public_id)


def _drop_reason(definition: Definition, state: State, person: Caller | None, facts: SubjectFacts) -> str | None:
    if person is None:
        return INACTIVE
    if not facts.seen_by(person, state.name):
        return NOT_VISIBLE
    may = decisions.may_act(definition, state.name, decisions.Facts(person, facts))
    return None if may else NOT_PERMITTED


async def _build_events(session: AsyncSession, taken: StepTaken) -> list[events.NewEvent]:
    notified = _notify_targets(taken)
    facts = taken.after.facts
    keys = taken.waiting.organizations | notified.organizations
    organizations = {**facts.organizations}
    organizations |= await repository.organizations(session, keys - organizations.keys())
    users = await repository.user_public_ids(session, taken.waiting.users | notified.users)
    payload: dict[str, Json] = {
        **_step_fields(taken),
        "waiting": _audience_json(taken.waiting, organizations, users),
        "notify": _audience_json(notified, organizations, users),
        "occurredAt": taken.after.row.last_transition_at.isoformat(),
    }
    topics = [event["target"] for event in taken.step.events if event["type"] == "webhook"]
    return [
        _build_event(TRANSITIONED, taken, payload),
        *(_build_event(WEBHOOK, taken, {**payload, "topic": topic}) for topic in topics),
    ]


def _build_event(name: str, taken: StepTaken, payload: JsonObject) -> events.NewEvent:
    row = taken.after.row
    return events.NewEvent(name, "workflow_instance", str(row.id), payload, row.last_transition_at)


def subject_fields(held: HeldInstance, history_id: UUID) -> dict[str, Json]:
    row, facts = held.row, held.facts
    return {
        "instancePublicId": str(row.id),
        "historyPublicId": str(history_id),
        "workflowCode": held.definition.code,
        "entityType": row.entity_type,
        "entityId": facts.entity_id,
        "documentPublicId": str(facts.public_id),
        "documentKind": facts.kind,
        "number": facts.number,
        "title": facts.title,
    }


def _step_fields(taken: StepTaken) -> dict[str, Json]:
    step, row, definition = taken.step, taken.after.row, taken.after.definition
    return {
        **subject_fields(taken.after, taken.key),
        "definitionPublicId": str(row.definition_id),
        "versionNo": row.version_no,
        "projectPublicId": taken.after.facts.context.get("projectPublicId"),
        "from": step.state,
        "to": step.next_state,
        "stateLabel": _text_json(definition.state(step.next_state).label),
        "action": step.action,
        "actionLabel": _text_json(announced_label(definition, step)),
        "comment": step.comment,
        "responseCode": step.response_code,
        "automatic": step.automatic,
        "dueOn": row.due_on.isoformat() if row.due_on else None,
        "actor": actor_of(taken.after),
        "terminal": step.terminal,
        "returned": is_return(definition, step),
        "forced": step.forced,
    }


def is_return(definition: Definition, step: Step) -> bool:
    """Return whether a step sends the subject back: to be edited, or to the end `revise_resubmit`."""
    reached = definition.state(step.next_state)
    if reached.terminal:
        return (reached.outcome or BY_NAME.get(reached.name)) == "revise_resubmit"
    return reached.editable and step.next_state != step.state


def actor_of(held: HeldInstance) -> dict[str, Json]:
    return {**_person_json(held.caller), "onBehalfOf": _person_json(held.seat) if held.seat else None}


def _person_json(person: Caller) -> dict[str, Json]:
    return {"publicId": str(person.public_id), "displayName": person.display_name}


def announced_label(definition: Definition, step: Step) -> Text:
    label = definition.action_label(step.state, step.action)
    if label is None:
        return interventions.WORDS.get(step.action, Text(step.action, step.action))
    return (
        Text(label.th + OVERRIDDEN.th, label.en + OVERRIDDEN.en)
        if step.forced and step.action != interventions.FORCE
        else label
    )


def _text_json(label: Text) -> dict[str, str]:
    return {"th": label.th, "en": label.en}


def _notify_targets(taken: StepTaken) -> PendingAssignees:
    facts = taken.after.facts
    organizations: set[int] = set()
    users: set[int] = set()
    for event in (candidate for candidate in taken.step.events if candidate["type"] == "notify"):
        match event["target"]:
            case "originator":
                organizations.add(facts.originator_organization_id)
            case "recipient":
                organizations |= facts.recipient_organization_ids
            case "assignee":
                users |= facts.assignee_user_ids
            case "submitter" if facts.submitter_user_id is not None:
                users.add(facts.submitter_user_id)
    return PendingAssignees(frozenset(organizations), frozenset(users))


def _audience_json(
    audience: PendingAssignees, organizations: dict[int, tuple[UUID, str]], users: dict[int, UUID]
) -> dict[str, Json]:
    addressed = [organizations[key] for key in sorted(audience.organizations) if key in organizations]
    return {
        "organizations": [{"publicId": str(public_id), "code": code} for public_id, code in addressed],
        "users": [str(users[key]) for key in sorted(audience.users) if key in users],
    }
