"""
Tells the outbox of a transition: public ids only, in the transition's own transaction.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import service as events
from saraban.identity.domain.caller import Caller
from saraban.kit.errors import Text
from saraban.workflow import repository
from saraban.workflow.domain import steering
from saraban.workflow.domain.definition import Definition
from saraban.workflow.domain.engine import Step, Waiting
from saraban.workflow.domain.subject import SubjectFacts
from saraban.workflow.models import WorkflowInstance

TRANSITIONED = "workflow.transitioned"
WEBHOOK = "workflow.webhook"  # for webhooks that a definition names, by `topic`


@dataclass(frozen=True, slots=True)
class News:
    """One transition, with everything that a reader of its event may need."""

    instance: WorkflowInstance
    definition: Definition
    step: Step
    facts: SubjectFacts
    waiting: Waiting
    caller: Caller
    history_id: UUID
    seat: Caller | None = None


async def publish(session: AsyncSession, news: News, *, now: datetime) -> None:
    """
    This will record `workflow.transitioned`, told in order for each instance, and each webhook that the step names.
    """
    notified = _notified(news)
    named = news.waiting.organizations | notified.organizations
    people = news.waiting.users | notified.users
    organizations = await repository.organizations(session, named)
    users = await repository.user_public_ids(session, people)
    payload = {
        **_facts(news),
        "waiting": _addressed(news.waiting, organizations, users),
        "notify": _addressed(notified, organizations, users),
        "occurredAt": now.isoformat(),
    }
    topics = [event["target"] for event in news.step.events if event["type"] == "webhook"]
    told = [(TRANSITIONED, payload), *((WEBHOOK, {**payload, "topic": topic}) for topic in topics)]
    for name, body in told:
        await events.record(
            session,
            name=name,
            aggregate_type="workflow_instance",
            aggregate_id=str(news.instance.id),
            payload=body,
            now=now,
        )


def _facts(news: News) -> dict[str, Any]:
    step, facts, definition = news.step, news.facts, news.definition
    return {
        "instancePublicId": str(news.instance.id),
        "historyPublicId": str(news.history_id),
        "workflowCode": definition.code,
        "versionNo": news.instance.version_no,
        "entityType": news.instance.entity_type,
        "entityId": facts.entity_id,
        "documentPublicId": str(facts.public_id),
        "projectPublicId": facts.context.get("projectPublicId"),
        "documentKind": facts.kind,
        "number": facts.number,
        "title": facts.title,
        "from": step.state,
        "to": step.next_state,
        "stateLabel": _both(definition.state(step.next_state).label),
        "action": step.action,
        "actionLabel": _both(steering.told(definition, step)),
        "comment": step.comment,
        "responseCode": step.response_code,
        "automatic": step.automatic,
        "dueOn": news.instance.due_on.isoformat() if news.instance.due_on else None,
        "actor": {**_named(news.caller), "onBehalfOf": _named(news.seat) if news.seat else None},
        "terminal": step.terminal,
        "forced": step.forced,
    }


def _named(person: Caller) -> dict[str, str]:
    return {"publicId": str(person.public_id), "displayName": person.display_name}


def _both(label: Text) -> dict[str, str]:
    return {"th": label.th, "en": label.en}


def _notified(news: News) -> Waiting:
    """Whom the definition's own `notify` events name, beside those that the new state waits for."""
    organizations: set[int] = set()
    users: set[int] = set()
    for event in (each for each in news.step.events if each["type"] == "notify"):
        match event["target"]:
            case "originator":
                organizations.add(news.facts.originator_organization_id)
            case "recipient":
                organizations |= news.facts.recipient_organization_ids
            case "assignee":
                users |= news.facts.assignee_user_ids
            case "submitter" if news.facts.submitter_user_id is not None:
                users.add(news.facts.submitter_user_id)
    return Waiting(frozenset(organizations), frozenset(users))


def _addressed(
    who: Waiting, organizations: dict[int, tuple[UUID, str]], users: dict[int, UUID]
) -> dict[str, Collection[Any]]:
    known = [organizations[key] for key in sorted(who.organizations) if key in organizations]
    return {
        "organizations": [{"publicId": str(public_id), "code": code} for public_id, code in known],
        "users": [str(users[key]) for key in sorted(who.users) if key in users],
    }
