"""Creates notifications, e-mail lines and webhook events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.service import Event, Handlers, NewEvent, record_all
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.ids import derived_id, new_id
from saraban.kit.json import as_text
from saraban.notifications import repository
from saraban.notifications.domain.delivery_preferences import channels_of, kind_of
from saraban.notifications.domain.mail_message import INVITATION, PASSWORD_RESET
from saraban.notifications.domain.notices import WEBHOOK_OFF, Notice, add_facts, notices, render_notice
from saraban.notifications.repository import DocumentParties
from saraban.notifications.service import mail_queue
from saraban.notifications.service.mail_queue import MailSettings
from saraban.workflow.engine.pending_assignees import ACTS, SubjectState
from saraban.workflow.runtime.service.assignees import NotificationAudience, audience_of
from saraban.workflow.runtime.service.delegations import Delegates, delegates_of
from saraban.workflow.service import Subjects, awaited_instances


@dataclass(frozen=True, slots=True)
class AudienceDirectory:
    """:param members: by organization key"""

    organizations: Mapping[UUID, int]
    members: Mapping[int, Mapping[UUID, int]]
    users: Mapping[UUID, int]
    authors: Mapping[UUID, int]
    parties: Mapping[UUID, DocumentParties]
    hearing: NotificationAudience
    callers: Mapping[UUID, Caller] = field(default_factory=dict)

    def readers(self, notice: Notice) -> list[int]:
        audience = notice.audience
        keys = {self.organizations[each] for each in audience.organizations if each in self.organizations}
        people = {user: self.users[user] for user in audience.users if user in self.users}
        if audience.parties and notice.entity_id:
            parties = self.parties.get(UUID(notice.entity_id), DocumentParties())
            keys |= parties.originator if "originator" in audience.parties else frozenset()
            keys |= parties.recipients if "recipients" in audience.parties else frozenset()
            if "author" in audience.parties:
                people |= {public_id: key for public_id, key in self.authors.items() if key in parties.author}
        for key in keys:
            members = self.members.get(key, {})
            people |= {public_id: user for public_id, user in members.items() if self._may_act(public_id, notice)}
        return sorted(
            user_id
            for public_id, user_id in people.items()
            if public_id != notice.actor and self.may_know(self.callers.get(public_id), notice)
        )

    def may_know(self, person: Caller | None, notice: Notice) -> bool:
        state = subject_state(notice, self.parties)
        return person is not None and (state is None or self.hearing.sees(person, state))

    def add_facts_to(self, notice: Notice) -> Notice:
        state = subject_state(notice, self.parties)
        return add_facts(notice, self.hearing.facts.get(state.entity_id) if state else None)

    def _may_act(self, public_id: UUID, notice: Notice) -> bool:
        person, state = self.callers.get(public_id), notice.stand
        if person is None:
            return False
        if notice.audience.acts and state is not None:
            return self.hearing.asks(person, state)
        return person.may_anywhere(ACTS)


def subject_state(notice: Notice, parties: Mapping[UUID, DocumentParties]) -> SubjectState | None:
    """Return the state of a notice, or that of the document's current revision."""
    if notice.stand is not None or not notice.audience.parties or not notice.entity_id:
        return notice.stand
    revision = parties.get(UUID(notice.entity_id), DocumentParties()).revision
    return SubjectState(str(revision)) if revision is not None else None


async def load_directory(session: AsyncSession, notices: Sequence[Notice], *, subjects: Subjects) -> AudienceDirectory:
    documents = {UUID(notice.entity_id) for notice in notices if notice.audience.parties and notice.entity_id}
    parties = await repository.parties(session, documents)
    organizations = await repository.organization_keys(
        session, public_ids={public_id for notice in notices for public_id in notice.audience.organizations}
    )
    keys = frozenset(organizations.values()).union(*(each.originator | each.recipients for each in parties.values()))
    states = {state for notice in notices if (state := subject_state(notice, parties)) is not None}
    audience = await audience_of(session, states, subjects=subjects)
    members = await identity.members_of_each(session, keys, _permissions(notices, audience))
    named = {user for notice in notices for user in notice.audience.users}
    users = await repository.readers_by_public_id(session, named)
    authors = await repository.readers_by_key(session, {key for each in parties.values() for key in each.author})
    everybody = {*users, *authors}.union(*members.values())
    callers = await identity.load_callers(session, everybody)
    return AudienceDirectory(organizations, members, users, authors, parties, audience, callers)


def _permissions(notices: Sequence[Notice], audience: NotificationAudience) -> frozenset[str] | None:
    """Return permissions one of which each asked member has; None if a step needs none."""
    permissions = {ACTS}
    for notice in notices:
        if notice.audience.acts and notice.stand is not None:
            needed = audience.permissions(notice.stand)
            if needed is None:
                return None
            permissions |= needed
    return frozenset(permissions)


NOTICE = "notification.created"
STEP_EVENTS = frozenset({"workflow.transitioned", "document.reminded"})
_SETTLING_EVENTS = frozenset({"workflow.transitioned", "document.cancelled"})
EVENTS = (
    *("document.created", "document.revised", "document.cancelled", "document.reminded", "workflow.transitioned"),
    *("workflow.unattended", WEBHOOK_OFF),
)


def subscribe(handlers: Handlers, *, subjects: Subjects, mail_settings: MailSettings | None = None) -> None:
    for name in EVENTS:
        handlers.add_all(name, partial(react_all, subjects=subjects, mail_settings=mail_settings))
    handlers.add("workflow.answered", partial(settle_answered, subjects=subjects))
    for name, template in ((identity.USER_INVITED, INVITATION), (identity.RESET_REQUESTED, PASSWORD_RESET)):
        handlers.add(name, partial(mail_queue.mail_link, mail_settings=mail_settings, template=template))
    handlers.add(mail_queue.GIVEN_UP, mail_queue.retry_dead_mail)


async def react_all(
    session: AsyncSession,
    events: Sequence[Event],
    *,
    subjects: Subjects | None = None,
    mail_settings: MailSettings | None = None,
) -> None:
    """
    Notify each person once, even if the delivery is repeated.

    :param subjects: kinds that workflows move; notices about others are not sent
    """
    await repository.settle_before(session, before=_settled_entities(events))
    pairs = [(event, notice) for event in events for notice in notices(event.name, event.payload)]
    if not pairs:
        return
    directory = await load_directory(session, [notice for _, notice in pairs], subjects=subjects or Subjects())
    audiences = [(event, directory.add_facts_to(notice), directory.readers(notice)) for event, notice in pairs]
    deputies = await _load_deputies(session, audiences, directory)
    notified = await repository.already_notified(session, event_uuids=[event.public_id for event in events])
    notified |= await repository.already_mailed(session, event_uuids=[event.public_id for event in events])
    new_notices: list[tuple[Event, Notice, list[int]]] = []
    for event, notice, people in audiences:
        everybody = sorted({*people, *deputies.of(event, notice, people)})
        readers = [user for user in everybody if (event.public_id, user) not in notified]
        notified.update((event.public_id, user) for user in readers)
        new_notices.append((event, notice, readers))
    await _notify(session, new_notices, mail_settings)


async def settle_answered(session: AsyncSession, event: Event, *, subjects: Subjects) -> None:
    """Settle notices to people whom a review no longer waits for."""
    entity_id, instances = str(event.payload["documentPublicId"]), {event.uuid_in("instancePublicId")}
    asked = await repository.asked_users(session, entity_id)
    for public_id, caller in (await identity.load_callers(session, asked)).items():
        ctx = RequestContext(caller, event.created_at, ZoneInfo("UTC"))
        if not await awaited_instances(ctx, session, subjects=subjects, instances=instances):
            await repository.settle_for_user(session, entity_id, user_id=asked[public_id], now=event.created_at)


def _settled_entities(events: Sequence[Event]) -> dict[tuple[str, str], datetime]:
    moments: dict[tuple[str, str], datetime] = {}
    for event in events:
        payload = event.payload
        if event.name in _SETTLING_EVENTS and (entity_id := as_text(payload.get("documentPublicId"))):
            entity = (str(payload.get("documentKind") or payload.get("kind") or ""), entity_id)
            moments[entity] = max(event.created_at, moments.get(entity, event.created_at))
    return moments


@dataclass(frozen=True, slots=True)
class _Deputies:
    delegates: Delegates
    directory: AudienceDirectory

    def of(self, event: Event, notice: Notice, people: Sequence[int]) -> list[int]:
        """Return delegates only for steps."""
        if event.name not in STEP_EVENTS:
            return []
        project, code = as_text(event.payload.get("projectPublicId")), as_text(event.payload.get("workflowCode"))
        delegates = self.delegates.of(
            people, workflow_code=code or "", project=UUID(project) if project else None, moment=event.created_at
        )
        return [
            person.user_id
            for public_id, person in delegates.items()
            if public_id != notice.actor and self.directory.may_know(person, notice)
        ]


async def _load_deputies(
    session: AsyncSession, audiences: Sequence[tuple[Event, Notice, list[int]]], directory: AudienceDirectory
) -> _Deputies:
    steps = [(event, people) for event, _, people in audiences if event.name in STEP_EVENTS]
    if not steps:
        return _Deputies(Delegates(), directory)
    moments = [event.created_at for event, _ in steps]
    people = {user for _, users in steps for user in users}
    return _Deputies(await delegates_of(session, people, first=min(moments), last=max(moments)), directory)


async def _notify(
    session: AsyncSession, notices: Sequence[tuple[Event, Notice, list[int]]], mail_settings: MailSettings | None
) -> None:
    profiles = await identity.load_delivery_profiles(
        session, user_ids={user for _, _, readers in notices for user in readers}
    )
    preferences = {user: delivery.preferences for user, delivery in profiles.items()}
    rows: list[dict[str, object]] = []
    mail_rows: list[dict[str, object]] = []
    webhook_events: list[NewEvent] = []
    for event, notice, readers in notices:
        kind, columns = kind_of(notice.template), _notification_columns(event, notice)
        for user in readers:
            in_app, by_mail = channels_of(preferences[user], kind, mail_is_on=mail_settings is not None)
            if in_app:
                rows.append({"public_id": new_id(), "user_id": user, **columns})
            if by_mail and mail_settings is not None:
                mail_rows.append(
                    mail_queue.mail_row(
                        mail_settings=mail_settings,
                        event=event,
                        notice=notice,
                        user_id=user,
                        preferences=preferences[user],
                    )
                )
            if preferences[user].chose(kind, "webhook"):
                webhook_events.append(_webhook_event(event, notice, profiles[user].public_id))
    await repository.add_notifications(session, rows)
    await repository.add_mails(session, rows=mail_rows)
    await record_all(session, webhook_events)


def _webhook_event(event: Event, notice: Notice, user: UUID) -> NewEvent:
    """Leave out contents of the document, because the event leaves the installation."""
    titles = {language: render_notice(notice.template, notice.values, language)[0] for language in ("th", "en")}
    return NewEvent(
        name=NOTICE,
        aggregate_type="user",
        aggregate_id=str(user),
        payload={
            "noticePublicId": str(derived_id("notice", str(event.public_id), str(user))),
            "userPublicId": str(user),
            "aboutPublicId": str(event.public_id),
            "event": event.name,
            "notice": kind_of(notice.template),
            "says": titles,
            "number": notice.values.get("number"),
            "documentKind": notice.entity_type or None,
            "documentPublicId": notice.entity_id or None,
        },
        at=event.created_at,
    )


def _notification_columns(event: Event, notice: Notice) -> dict[str, object]:
    title, message = render_notice(notice.template, notice.values, language="th")
    return {
        "title": title,
        "message": message,
        "notification_type": "SYSTEM",
        "is_read": False,
        "entity_type": notice.entity_type or None,
        "entity_id": notice.entity_id or None,
        "template": notice.template,
        "template_values": dict(notice.values),
        "event_uuid": event.public_id,
        "created_at": event.created_at,
    }
