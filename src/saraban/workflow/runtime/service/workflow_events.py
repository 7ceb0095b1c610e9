"""
What the outbox is told of transitions: public ids only, in their own transaction.
"""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import service as events
from saraban.identity.domain.context import Caller
from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.engine.decisions import Step
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.outcome import BY_NAME
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import interventions
from saraban.workflow.runtime.service.transition_request import HeldInstance, StepTaken

TRANSITIONED = "workflow.transitioned"
WEBHOOK = "workflow.webhook"  # for webhooks that a definition names, by `topic`


async def events_of(session: AsyncSession, taken: StepTaken) -> list[events.NewEvent]:
    """Return `workflow.transitioned` of a step, and each webhook that the step names."""
    notified = _notified(taken)
    facts = taken.after.facts
    keys = taken.waiting.organizations | notified.organizations
    organizations = {**facts.organizations}
    organizations |= await repository.organizations(session, keys - organizations.keys())
    users = await repository.user_public_ids(session, taken.waiting.users | notified.users)
    payload: dict[str, Json] = {
        **_facts(taken),
        "waiting": _addressed(taken.waiting, organizations, users),
        "notify": _addressed(notified, organizations, users),
        "occurredAt": taken.after.row.last_transition_at.isoformat(),
    }
    topics = [event["target"] for event in taken.step.events if event["type"] == "webhook"]
    return [
        _event(TRANSITIONED, taken, payload),
        *(_event(WEBHOOK, taken, {**payload, "topic": topic}) for topic in topics),
    ]


def _event(name: str, taken: StepTaken, payload: JsonObject) -> events.NewEvent:
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


def _facts(taken: StepTaken) -> dict[str, Json]:
    step, row, definition = taken.step, taken.after.row, taken.after.definition
    return {
        **subject_fields(taken.after, taken.key),
        "definitionPublicId": str(row.definition_id),
        "versionNo": row.version_no,
        "projectPublicId": taken.after.facts.context.get("projectPublicId"),
        "from": step.state,
        "to": step.next_state,
        "stateLabel": _both(definition.state(step.next_state).label),
        "action": step.action,
        "actionLabel": _both(interventions.announced_label(definition, step)),
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
    """Say whether a step sends something back to be revised: to an end that means it, or to where it can be edited."""
    reached = definition.state(step.next_state)
    if reached.terminal:
        return (reached.outcome or BY_NAME.get(reached.name)) == "revise_resubmit"
    return reached.editable and step.next_state != step.state


def actor_of(held: HeldInstance) -> dict[str, Json]:
    return {**_named(held.caller), "onBehalfOf": _named(held.seat) if held.seat else None}


def _named(person: Caller) -> dict[str, Json]:
    return {"publicId": str(person.public_id), "displayName": person.display_name}


def _both(label: Text) -> dict[str, str]:
    return {"th": label.th, "en": label.en}


def _notified(taken: StepTaken) -> PendingAssignees:
    """Whom the definition's own `notify` events name, beside those that the new state waits for."""
    facts = taken.after.facts
    organizations: set[int] = set()
    users: set[int] = set()
    for event in (each for each in taken.step.events if each["type"] == "notify"):
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


def _addressed(
    who: PendingAssignees, organizations: dict[int, tuple[UUID, str]], users: dict[int, UUID]
) -> dict[str, Json]:
    known = [organizations[key] for key in sorted(who.organizations) if key in organizations]
    return {
        "organizations": [{"publicId": str(public_id), "code": code} for public_id, code in known],
        "users": [str(users[key]) for key in sorted(who.users) if key in users],
    }
