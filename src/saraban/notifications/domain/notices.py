"""Which event tells whom what: an event's name and payload in, notices out."""

from dataclasses import dataclass, replace
from uuid import UUID

from saraban.kit.json import Json, JsonObject, as_list, as_object, as_text
from saraban.workflow.engine.pending_assignees import SubjectState

WEBHOOK_OFF = "webhook.switched_off"


@dataclass(frozen=True, slots=True)
class Audience:
    """
    People, by public ids; of all of them only those who may see what they are told of.

    :param organizations: their members who may act in workflows; others of them are not disturbed
    :param acts: of these rather the members whom the step that was reached asks, by what it requires
    :param users: told whatever their permissions are
    :param parties: places in a document: `originator`, `recipients` (once it was issued), `author`
    """

    organizations: frozenset[UUID] = frozenset()
    users: frozenset[UUID] = frozenset()
    parties: frozenset[str] = frozenset()
    acts: bool = False

    def __bool__(self) -> bool:
        return bool(self.organizations or self.users or self.parties)


@dataclass(frozen=True, slots=True)
class Notice:
    """
    One text for some people; `actor` is never told of what it did itself.

    :param stand: which state of what it tells of, where the event says so
    """

    template: str
    values: JsonObject
    entity_type: str
    entity_id: str
    actor: UUID | None
    audience: Audience
    stand: SubjectState | None = None


_OF_DOCUMENTS = {
    "document.created": ("created", Audience(parties=frozenset({"originator"}))),
    "document.revised": ("revised", Audience(parties=frozenset({"originator"}))),
    "document.cancelled": ("cancelled", Audience(parties=frozenset({"originator", "recipients", "author"}))),
}


def notices(name: str, payload: JsonObject) -> list[Notice]:
    """Return what is to be said about an event; a person in two audiences is told the first notice only."""
    if name == "workflow.transitioned":
        return _transitioned(payload)
    if name == "document.reminded":
        return [_reminded(payload)]
    if name == WEBHOOK_OFF:
        return [_webhook_off(payload)]
    if name in _OF_DOCUMENTS:
        template, audience = _OF_DOCUMENTS[name]
        named = _audience(payload.get("notify"))
        return [_notice(template, payload, replace(audience, users=named.users))]
    return []


def _webhook_off(payload: JsonObject) -> Notice:
    """Only those it belongs to: nobody else may have known of it."""
    url, since = str(payload["url"]), str(payload["failingSince"])
    return Notice(
        template=f"webhook_{payload['because']}",
        values={"url": url, "host": url.split("/")[2], "since": f"{since[:10]} {since[11:16]} UTC"},
        entity_type="webhook",
        entity_id=str(payload["webhookPublicId"]),
        actor=None,
        audience=Audience(users=frozenset(UUID(str(one)) for one in as_list(payload["userPublicIds"]))),
    )


def _transitioned(payload: JsonObject) -> list[Notice]:
    """Those who have to act now come first, then those the workflow's definition wants to be told."""
    waiting, told = replace(_audience(payload.get("waiting")), acts=True), _audience(payload.get("notify"))
    outcome = "finished" if payload.get("terminal") else "moved"
    asks = "waiting"
    if payload.get("returned"):
        asks = outcome = "returned"
    if payload.get("comment"):
        outcome += "_with_comment"
        asks = outcome if payload.get("returned") else asks
    return [_notice(template, payload, who) for template, who in ((asks, waiting), (outcome, told)) if who]


def _reminded(payload: JsonObject) -> Notice:
    """Those it waits for; once it is late, the one who wrote it too."""
    stage = int(str(payload["stage"]))
    template = "due_today" if stage == 0 else "due_soon" if stage < 0 else "overdue"
    parties = frozenset({"author"}) if stage > 0 else frozenset[str]()
    return _notice(template, payload, replace(_audience(payload.get("waiting")), parties=parties, acts=True))


def _notice(template: str, payload: JsonObject, audience: Audience) -> Notice:
    actor = as_object(payload.get("actor"))
    values = {
        "number": payload.get("number") or payload.get("documentNumber"),
        "subject": payload.get("title") or payload.get("subject"),
        "state": payload.get("stateLabel") or payload.get("to"),
        "action": payload.get("actionLabel") or payload.get("action"),
        "actor": actor.get("displayName"),
        "comment": payload.get("comment"),
        "revision": payload.get("revision"),
        "reason": payload.get("reason"),
        "days": payload.get("days"),
        "due": payload.get("due"),
    }
    return Notice(
        template=template,
        values={name: value for name, value in values.items() if value is not None},
        entity_type=str(payload.get("documentKind") or payload.get("kind") or ""),
        entity_id=str(payload.get("documentPublicId") or ""),
        actor=_id(actor.get("publicId") or payload.get("actorPublicId")),
        audience=audience,
        stand=_stand(payload),
    )


def _stand(payload: JsonObject) -> SubjectState | None:
    entity = payload.get("entityId")
    if not entity:
        return None
    definition = _id(payload.get("definitionPublicId"))
    state = as_text(payload.get("to") or payload.get("state"))
    return SubjectState(str(entity), str(payload.get("entityType") or ""), state, definition)


def _audience(part: Json) -> Audience:
    named = as_object(part)
    return Audience(
        organizations=frozenset(UUID(str(as_object(one)["publicId"])) for one in as_list(named.get("organizations"))),
        users=frozenset(UUID(str(one)) for one in as_list(named.get("users"))),
    )


def _id(text: Json) -> UUID | None:
    return UUID(str(text)) if text else None
