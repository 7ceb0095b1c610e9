"""Writes down whom events concern: a notification in the application, a line of e-mail, news for a webhook."""

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
    """
    People by public id, with their keys.

    :param members: of each organization, by its key, those who come into question
    :param parties: keys of organizations and authors, by document
    :param callers: what each may do at this moment
    """

    organizations: Mapping[UUID, int]
    members: Mapping[int, Mapping[UUID, int]]
    users: Mapping[UUID, int]
    authors: Mapping[UUID, int]
    parties: Mapping[UUID, DocumentParties]
    hearing: NotificationAudience
    callers: Mapping[UUID, Caller] = field(default_factory=dict)

    def readers(self, notice: Notice) -> list[int]:
        """Return the keys of a notice's people, as far as they may see what it tells of; without the one who did it."""
        audience = notice.audience
        keys = {self.organizations[one] for one in audience.organizations if one in self.organizations}
        people = {one: self.users[one] for one in audience.users if one in self.users}
        if audience.parties and notice.entity_id:
            parties = self.parties.get(UUID(notice.entity_id), DocumentParties())
            keys |= parties.originator if "originator" in audience.parties else frozenset()
            keys |= parties.recipients if "recipients" in audience.parties else frozenset()
            if "author" in audience.parties:
                people |= {public_id: key for public_id, key in self.authors.items() if key in parties.author}
        for key in keys:
            people |= {one: user for one, user in self.members.get(key, {}).items() if self._acts(one, notice)}
        return sorted(
            user_id
            for public_id, user_id in people.items()
            if public_id != notice.actor and self.may_know(self.callers.get(public_id), notice)
        )

    def may_know(self, person: Caller | None, notice: Notice) -> bool:
        """Return whether somebody may see what a notice tells of, in the state it tells of."""
        stand = stand_of(notice, self.parties)
        return person is not None and (stand is None or self.hearing.sees(person, stand))

    def with_facts(self, notice: Notice) -> Notice:
        stand = stand_of(notice, self.parties)
        return add_facts(notice, self.hearing.facts.get(stand.entity_id) if stand else None)

    def _acts(self, public_id: UUID, notice: Notice) -> bool:
        person, stand = self.callers.get(public_id), notice.stand
        if person is None:
            return False
        if notice.audience.acts and stand is not None:
            return self.hearing.asks(person, stand)
        return person.may_anywhere(ACTS)


def stand_of(notice: Notice, parties: Mapping[UUID, DocumentParties]) -> SubjectState | None:
    """Return what a notice tells of: an event of a document names it, and its present revision is meant."""
    if notice.stand is not None or not notice.audience.parties or not notice.entity_id:
        return notice.stand
    revision = parties.get(UUID(notice.entity_id), DocumentParties()).revision
    return SubjectState(str(revision)) if revision is not None else None


async def directory(session: AsyncSession, notices: Sequence[Notice], *, subjects: Subjects) -> AudienceDirectory:
    """Look up everybody whom the notices name, with what each may do and what may be known of."""
    documents = {UUID(one.entity_id) for one in notices if one.audience.parties and one.entity_id}
    parties = await repository.parties(session, documents)
    organizations = await repository.organization_keys(
        session, public_ids={one for notice in notices for one in notice.audience.organizations}
    )
    keys = frozenset(organizations.values()).union(*(one.originator | one.recipients for one in parties.values()))
    stands = {stand for one in notices if (stand := stand_of(one, parties)) is not None}
    heard = await audience_of(session, stands, subjects=subjects)
    members = await identity.members_of_each(session, keys, _permissions(notices, heard))
    users = await repository.user_keys(session, {one for notice in notices for one in notice.audience.users})
    authors = await repository.public_ids_of(session, {key for one in parties.values() for key in one.author})
    everybody = {*users, *authors}.union(*members.values())
    callers = await identity.load_callers(session, everybody)
    return AudienceDirectory(organizations, members, users, authors, parties, heard, callers)


def _permissions(notices: Sequence[Notice], heard: NotificationAudience) -> frozenset[str] | None:
    """Of which every member has one who can come into question; None where a step asks some who need none."""
    found = {ACTS}
    for one in notices:
        if one.audience.acts and one.stand is not None:
            asked = heard.permissions(one.stand)
            if asked is None:
                return None
            found |= asked
    return frozenset(found)


NOTICE = "notification.created"
# What a step brought about, or still waits for.
OF_STEPS = frozenset({"workflow.transitioned", "document.reminded"})
_SETTLES = frozenset({"workflow.transitioned", "document.cancelled"})
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
    Tell each person whom an event concerns, once, for many events with as few statements as for one.

    A repeated delivery tells nobody again.

    :param subjects: what workflows move; of anything else that an event says it moves nobody is told
    :param mail_settings: how e-mail is sent; without it everything stays in the application
    """
    await repository.mark_settled(session, before=_settled(events))
    said = [(event, notice) for event in events for notice in notices(event.name, event.payload)]
    if not said:
        return
    known = await directory(session, [notice for _, notice in said], subjects=subjects or Subjects())
    concerned = [(event, known.with_facts(notice), known.readers(notice)) for event, notice in said]
    deputies = await _deputies(session, concerned, known)
    told = await repository.already_notified(session, event_uuids=[event.public_id for event in events])
    told |= await repository.already_mailed(session, event_uuids=[event.public_id for event in events])
    telling: list[tuple[Event, Notice, list[int]]] = []
    for event, notice, people in concerned:
        everybody = sorted({*people, *deputies.of(event, notice, people)})
        readers = [user for user in everybody if (event.public_id, user) not in told]
        told.update((event.public_id, user) for user in readers)
        telling.append((event, notice, readers))
    await _tell(session, telling, mail_settings)


async def settle_answered(session: AsyncSession, event: Event, *, subjects: Subjects) -> None:
    """Take back what asked people to answer in a review that does not await them any more: they or others have answered."""
    entity_id, instances = str(event.payload["documentPublicId"]), {event.uuid_in("instancePublicId")}
    asked = await repository.asked_users(session, entity_id)
    for public_id, caller in (await identity.load_callers(session, asked)).items():
        ctx = RequestContext(caller, event.created_at, ZoneInfo("UTC"))
        if not await awaited_instances(ctx, session, subjects=subjects, instances=instances):
            await repository.mark_own_settled(session, entity_id, user_id=asked[public_id], now=event.created_at)


def _settled(events: Sequence[Event]) -> dict[tuple[str, str], datetime]:
    """What went on, by kind and public id, with the moment until which whoever was asked to act is asked no more."""
    found: dict[tuple[str, str], datetime] = {}
    for event in events:
        said = event.payload
        if event.name in _SETTLES and (entity_id := as_text(said.get("documentPublicId"))):
            entity = (str(said.get("documentKind") or said.get("kind") or ""), entity_id)
            found[entity] = max(event.created_at, found.get(entity, event.created_at))
    return found


@dataclass(frozen=True, slots=True)
class _Deputies:
    """The delegates of people who are away. They are notified only of what they may see."""

    delegates: Delegates
    directory: AudienceDirectory

    def of(self, event: Event, notice: Notice, people: Sequence[int]) -> list[int]:
        """Return the keys of the delegates for a notice of a step; for others none, because only steps are delegated."""
        if event.name not in OF_STEPS:
            return []
        project, code = as_text(event.payload.get("projectPublicId")), as_text(event.payload.get("workflowCode"))
        known = self.delegates.of(
            people, workflow_code=code or "", project=UUID(project) if project else None, moment=event.created_at
        )
        return [
            person.user_id
            for public_id, person in known.items()
            if public_id != notice.actor and self.directory.may_know(person, notice)
        ]


async def _deputies(
    session: AsyncSession, concerned: Sequence[tuple[Event, Notice, list[int]]], directory: AudienceDirectory
) -> _Deputies:
    steps = [(event, people) for event, _, people in concerned if event.name in OF_STEPS]
    if not steps:
        return _Deputies(Delegates(), directory)
    moments, people = [event.created_at for event, _ in steps], {one for _, people in steps for one in people}
    return _Deputies(await delegates_of(session, people, first=min(moments), last=max(moments)), directory)


async def _tell(
    session: AsyncSession, telling: Sequence[tuple[Event, Notice, list[int]]], mail_settings: MailSettings | None
) -> None:
    chosen = await identity.load_delivery_profiles(
        session, user_ids={user for _, _, readers in telling for user in readers}
    )
    preferences = {user: delivery.preferences for user, delivery in chosen.items()}
    rows: list[dict[str, object]] = []
    lines: list[dict[str, object]] = []
    hooked: list[NewEvent] = []
    for event, notice, readers in telling:
        kind, words = kind_of(notice.template), _words(event, notice)
        for user in readers:
            in_app, by_mail = channels_of(preferences[user], kind, mail_is_on=mail_settings is not None)
            if in_app:
                rows.append({"public_id": new_id(), "user_id": user, **words})
            if by_mail and mail_settings is not None:
                lines.append(
                    mail_queue.mail_row(
                        mail_settings=mail_settings,
                        event=event,
                        notice=notice,
                        user_id=user,
                        preferences=preferences[user],
                    )
                )
            if preferences[user].chose(kind, "webhook"):
                hooked.append(_news(event, notice, chosen[user].public_id))
    await repository.add_notifications(session, rows)
    await repository.add_mails(session, rows=lines)
    await record_all(session, hooked)


def _news(event: Event, notice: Notice, user: UUID) -> NewEvent:
    """
    What `webhooks` tells the person's own: that there is something to see, and where.

    It leaves the house, so it has a document's number and step and no word of what the document says.
    """
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


def _words(event: Event, notice: Notice) -> dict[str, object]:
    """What all readers of a notice are told alike."""
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
