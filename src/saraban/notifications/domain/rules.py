"""Which event tells whom what: an event's name and payload in, notices out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

# Whoever may act in a workflow for its organization; others of the organization are not disturbed.
ACTS = "workflow.action_review"


@dataclass(frozen=True, slots=True)
class Notice:
    """
    One text for some people.

    :param organizations: public ids; told are their members who may act in workflows
    :param users: public ids of people who are told whatever their permissions are
    :param actor: is never told of what it did itself
    """

    template: str
    values: Mapping[str, Any]
    entity_type: str
    entity_id: str
    actor: UUID | None = None
    organizations: frozenset[UUID] = field(default_factory=frozenset)
    users: frozenset[UUID] = field(default_factory=frozenset)


def notices(name: str, payload: Mapping[str, Any]) -> list[Notice]:
    """This will give what is to be said about an event; somebody named twice is told the first only."""
    match name:
        case "workflow.transitioned":
            return _transitioned(payload)
        case "document.created":
            return _told("created", payload, organizations=_waiting(payload, "organizations"))
        case "document.revised":
            return _told("revised", payload, organizations=_waiting(payload, "organizations"))
        case "document.cancelled":
            return _told("cancelled", payload, organizations=_ids(payload.get("recipientPublicIds")))
        case _:
            return []


def _transitioned(payload: Mapping[str, Any]) -> list[Notice]:
    waiting = _waiting(payload, "organizations")
    originator = _ids([payload.get("originatorPublicId")])
    if payload.get("terminal"):
        return _told("finished", payload)
    if originator and originator <= waiting:
        rest = _told("waiting", payload, organizations=waiting - originator, only_waiting=True)
        return _told("returned", payload, organizations=originator) + rest
    return _told("waiting", payload, organizations=waiting, only_waiting=True)


def _told(
    template: str,
    payload: Mapping[str, Any],
    *,
    organizations: frozenset[UUID] = frozenset(),
    only_waiting: bool = False,
) -> list[Notice]:
    """The person who sent the document off is told of everything but that others have to act now."""
    submitter = frozenset() if only_waiting else _ids([payload.get("submitterPublicId")])
    named = _waiting(payload, "users") if only_waiting or template in {"created", "revised"} else frozenset()
    if not (organizations or submitter or named):
        return []
    return [
        Notice(
            template=template,
            values={
                "number": payload.get("number"),
                "subject": payload.get("title"),
                "state": payload.get("stateLabel") or payload.get("toState"),
                "revision": payload.get("revision"),
                "reason": payload.get("reason"),
            },
            entity_type=str(payload.get("kind") or ""),
            entity_id=str(payload.get("documentPublicId") or ""),
            actor=next(iter(_ids([payload.get("actorPublicId")])), None),
            organizations=organizations,
            users=submitter | named,
        )
    ]


def _waiting(payload: Mapping[str, Any], part: str) -> frozenset[UUID]:
    return _ids((payload.get("waiting") or {}).get(part))


def _ids(values: object) -> frozenset[UUID]:
    return frozenset(UUID(str(value)) for value in values if value) if isinstance(values, list | tuple) else frozenset()
