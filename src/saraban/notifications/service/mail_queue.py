"""
Sends e-mail, at least once and always under the same Message-ID.

After a day of attempts a mail becomes a dead letter, which an operator can revive.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

import structlog
from prometheus_client import Counter
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import service as events
from saraban.events.service import Event
from saraban.identity import service as identity
from saraban.identity.domain.account import DeliveryPreferences
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import DeliveryProfile
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.ids import derived_id
from saraban.kit.json import JsonObject, as_text
from saraban.kit.rate_limits import RateLimiter, outbound_rule
from saraban.notifications import repository
from saraban.notifications.domain.delivery_preferences import after_quiet, send_time
from saraban.notifications.domain.mail_message import (
    INVITATION,
    LINK_MAILS,
    Mailer,
    MailItem,
    MailMessage,
    MailRefused,
    compose,
    link_message,
)
from saraban.notifications.domain.notices import Notice, render_notice
from saraban.notifications.models import MailLine
from saraban.workflow.service import Subjects, awaited_instances

log = structlog.get_logger(__name__)

MAILS = Counter("saraban_mails_total", "Attempts to send an e-mail by outcome.", ["outcome"])
for _outcome in ("sent", "retry", "given_up"):
    MAILS.labels(_outcome)

GIVEN_UP: Final = "mail.given_up"
QUEUE: Final = "mails"
DIGEST: Final = "digest"
# Other templates also go to people who need not act.
ASKS_READER: Final = frozenset({"waiting", "due_soon", "due_today"})
LEASE: Final = timedelta(minutes=5)
KEEP: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class MailSettings:
    """
    :param per_minute: outgoing messages, including webhooks; 0: no limit
    :param address_of: link to a document by kind and public id, or empty
    :param home: base URL without a final slash; without it no links are mailed
    """

    mailer: Mailer
    zone: ZoneInfo
    gather: timedelta
    per_minute: int
    attempts: int
    address_of: Callable[[str | None, str | None], str]
    choices_link: str = ""
    home: str = ""


@dataclass(frozen=True, slots=True)
class _ClaimedMail:
    batch: UUID
    mail: MailMessage | None


def mail_row(
    *, mail_settings: MailSettings, event: Event, notice: Notice, user_id: int, preferences: DeliveryPreferences
) -> dict[str, object]:
    bundle = f"{notice.entity_type}:{notice.entity_id}" if notice.entity_id else f"event:{event.public_id}"
    return {
        "user_id": user_id,
        "event_uuid": event.public_id,
        "template": notice.template,
        "template_values": dict(notice.values),
        "entity_type": notice.entity_type or None,
        "entity_id": notice.entity_id or None,
        "bundle": DIGEST if preferences.digest else bundle,
        "created_at": event.created_at,
        "due_at": send_time(
            preferences, told_at=event.created_at, zone=mail_settings.zone, gather=mail_settings.gather
        ),
    }


async def _find_recipient(session: AsyncSession, event: Event) -> int | None:
    public_id = event.uuid_in("userPublicId")
    return (await repository.readers_by_public_id(session, [public_id])).get(public_id)


async def mail_link(
    session: AsyncSession, event: Event, *, mail_settings: MailSettings | None, template: str = INVITATION
) -> None:
    """Queue a mail; its link is created on sending, so that none is stored."""
    user = await _find_recipient(session, event)
    if mail_settings is None or not mail_settings.home or user is None:
        return
    if (event.public_id, user) in await repository.already_mailed(session, event_uuids=[event.public_id]):
        return
    row = {
        "user_id": user,
        "event_uuid": event.public_id,
        "template": template,
        "template_values": {},
        "entity_type": None,
        "entity_id": None,
        "bundle": f"event:{event.public_id}",
        "created_at": event.created_at,
        "due_at": event.created_at,
    }
    await repository.add_mails(session, rows=[row])


class MailJob:
    def __init__(
        self, db: Database, mail_settings: MailSettings, *, limiter: RateLimiter, clock: Clock, subjects: Subjects
    ) -> None:
        self._db, self._settings, self._clock, self._subjects = db, mail_settings, clock, subjects
        self._limiter, self._outbound = limiter, outbound_rule(mail_settings.per_minute)
        self.due = repository.due_mails(events.NOW)

    async def round(self) -> bool:
        """Return False if no mail is due or the rate limit is reached."""
        now = self._clock.now()
        async with self._db.reading() as session:
            key = await repository.first_due(session, now)
        if key is None or await self._limiter.seconds_left(self._outbound):
            return False
        claim = await self._db.transact(self._claim, key, now)
        if claim is None:
            return False
        if claim.mail is not None:
            if self._outbound.limit and (await self._limiter.take([self._outbound])).refused is not None:
                await self._db.transact(_release, claim.batch)
                return False
            await self._send(claim.batch, claim.mail)
        return True

    async def _send(self, batch: UUID, mail: MailMessage) -> None:
        try:
            await self._settings.mailer.send(mail)
        except MailRefused as failure:
            outcome = await self._db.transact(self._fail, batch, failure, self._clock.now())
            log.warning("mail_not_taken", message_id=str(batch), reason=str(failure), outcome=outcome)
        else:
            outcome = await self._db.transact(_mark_sent, batch, self._clock.now())
        MAILS.labels(outcome).inc()

    async def _claim(self, key: int, session: AsyncSession, now: datetime) -> _ClaimedMail | None:
        first = await repository.lock_due(session, key, now)
        if first is None:
            return None
        reader = (await identity.load_delivery_profiles(session, user_ids=[first.user_id]))[first.user_id]
        if first.batch_uuid is None:
            batch = derived_id("mail", str(first.event_uuid), str(reader.public_id))
            lines = await repository.lock_bundle(session, first)
        else:
            batch, lines = first.batch_uuid, await repository.lock_batch(session, batch=first.batch_uuid)
        # Check quiet hours again, because the mail can be late.
        is_link = first.template in LINK_MAILS
        send_at = now if is_link else after_quiet(reader.preferences, now, self._settings.zone)
        is_due = reader.is_open and send_at == now
        for line in lines:
            if not reader.is_open:
                line.given_up_at, line.last_error = now, "the account is closed"
            elif is_due:
                line.batch_uuid, line.claimed_until = batch, now + LEASE
            else:
                line.due_at = send_at
        if is_due:
            lines = await self._drop_settled(session, lines, reader.public_id, now)
        mail = await self._compose(session, reader, batch, lines, now) if is_due and lines else None
        await session.flush()
        return _ClaimedMail(batch, mail)

    async def _drop_settled(
        self, session: AsyncSession, lines: Sequence[MailLine], reader: UUID, now: datetime
    ) -> list[MailLine]:
        """Settle lines about steps that no longer wait for the reader, which events can miss."""
        steps = {line: step for line in lines if line.template in ASKS_READER and (step := _instance_id(line))}
        if not steps:
            return list(lines)
        ctx = RequestContext((await identity.load_callers(session, [reader]))[reader], now, self._settings.zone)
        awaited = await awaited_instances(ctx, session, subjects=self._subjects, instances=set(steps.values()))
        for line, step in steps.items():
            if step not in awaited:
                line.template, line.given_up_at = repository.SETTLED, now
        return [line for line in lines if line.template != repository.SETTLED]

    async def _compose(
        self,
        session: AsyncSession,
        reader: DeliveryProfile,
        batch: UUID,
        lines: Sequence[MailLine],
        now: datetime,
    ) -> MailMessage | None:
        """Return None for a link that was used or has expired."""
        if lines[0].template not in LINK_MAILS:
            return _compose_message(self._settings, reader, batch, lines, now)
        invitation = await identity.renew_invitation(session, user_id=reader.user_id, now=now)
        if invitation is None:
            for line in lines:
                line.given_up_at, line.last_error = now, "the invitation is no longer open"
            return None
        return link_message(
            lines[0].template,
            key=batch,
            to=reader.email,
            link=f"{self._settings.home}{invitation.path}",
            at=lines[0].created_at,
            values={"name": invitation.display_name, "username": invitation.username},
        )

    async def _fail(self, batch: UUID, session: AsyncSession, failure: MailRefused, now: datetime) -> str:
        lines, reason = await repository.lock_batch(session, batch), str(failure)[:500]
        is_final = failure.for_good or any(line.attempts + 1 >= self._settings.attempts for line in lines)
        for line in lines:
            line.attempts += 1
            line.claimed_until, line.last_error = None, reason
            line.due_at = now + timedelta(minutes=min(2 ** (line.attempts - 1), 60))
            line.given_up_at = now if is_final else None
        if is_final and lines:
            await _add_dead_letter(session, batch, lines[0], reason, now)
        return "given_up" if is_final else "retry"


async def retry_dead_mail(session: AsyncSession, event: Event) -> None:
    for line in await repository.lock_batch(session, batch=event.uuid_in("messageId")):
        line.given_up_at, line.attempts, line.due_at = None, 0, event.created_at


async def purge_mails(session: AsyncSession, *, now: datetime) -> int:
    return await repository.delete_done(session, before=now - KEEP)


def _instance_id(line: MailLine) -> UUID | None:
    public_id = as_text(line.template_values.get("instance"))
    return UUID(public_id) if public_id else None


async def _release(batch: UUID, session: AsyncSession) -> None:
    """Release a mail without counting an attempt."""
    for line in await repository.lock_batch(session, batch=batch):
        line.claimed_until = None


def _compose_message(
    mail_settings: MailSettings, reader: DeliveryProfile, batch: UUID, lines: Sequence[MailLine], now: datetime
) -> MailMessage:
    return compose(
        key=batch,
        to=reader.email,
        name=reader.display_name,
        language=reader.language,
        lines=[_mail_item(mail_settings, line, reader.language) for line in lines],
        digest=lines[0].bundle == DIGEST,
        choices_link=mail_settings.choices_link,
        at=now,
    )


def _mail_item(mail_settings: MailSettings, line: MailLine, language: str) -> MailItem:
    title, message = render_notice(line.template, line.template_values, language)
    values = {name: as_text(line.template_values.get(name)) or "" for name in ("number", "sender", "project", "dueOn")}
    return MailItem(
        title,
        message,
        values["number"],
        mail_settings.address_of(line.entity_type, line.entity_id),
        due=date.fromisoformat(values["dueOn"]) if values["dueOn"] else None,
        sender=values["sender"],
        project=values["project"],
        entity_id=line.entity_id or "",
    )


async def _mark_sent(batch: UUID, session: AsyncSession, now: datetime) -> str:
    for line in await repository.lock_batch(session, batch):
        line.sent_at, line.claimed_until = now, None
    return "sent"


async def _add_dead_letter(session: AsyncSession, batch: UUID, line: MailLine, reason: str, now: datetime) -> None:
    reader = (await identity.load_delivery_profiles(session, user_ids=[line.user_id]))[line.user_id]
    names: JsonObject = {"messageId": str(batch), "userPublicId": str(reader.public_id)}
    event = events.Event(batch, GIVEN_UP, "mail", str(batch), names, line.created_at, line.attempts)
    await events.add_dead_letter(session, event=event, queue=QUEUE, error=reason, now=now)
