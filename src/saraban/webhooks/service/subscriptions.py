"""Manages webhooks of projects and people."""

import base64
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.audit.domain.changes import set_fields
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit import encryption
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text, invalid
from saraban.kit.etags import Stale, require_match
from saraban.kit.ids import new_id, new_secret
from saraban.kit.json import JsonObject
from saraban.kit.pagination import Page, page_of
from saraban.projects import service as projects
from saraban.webhooks import repository
from saraban.webhooks.domain import (
    MOST_EARLIER,
    NAMED,
    NOTICE,
    OVERLAP,
    PREFIX,
    EarlierSecret,
    InvalidWebhookAddress,
    encoded,
    target_of,
    valid_secrets,
)
from saraban.webhooks.models import Webhook, WebhookOutcome
from saraban.webhooks.schemas import OwnWebhookIn, WebhookChangeIn, WebhookIn

MANAGES = "project.edit"
MOST = 20
MOST_OWN = 3

_OWN = (
    "webhook ส่วนตัวแจ้งเฉพาะเรื่องที่แจ้งถึงเจ้าของ",
    "A webhook of your own receives your notifications only, not the events of a project.",
)
_NEEDS_EVENT = (
    "ระบุหัวข้อได้เมื่อเลือกเหตุการณ์ workflow.webhook",
    "Topics can be given only with the event workflow.webhook.",
)
_FAULTS = {
    "malformed": ("ต้องเป็นที่อยู่เช่น https://example.com/hook", "This must be an address such as https://example.com/hook."),
    "not_https": ("ต้องขึ้นต้นด้วย https://", "This must begin with https://."),
    "port": ("ใช้ได้เฉพาะพอร์ต 443 และ 8443", "Only the ports 443 and 8443 can be used."),
    "notation": (
        "เขียนที่อยู่ IP ในรูปแบบปกติ เช่น 203.0.113.7 หรือใช้ชื่อโดเมน",
        "Write the IP address in its usual form, such as 203.0.113.7, or use a name.",
    ),
    "private": (
        "ต้องเป็นที่อยู่บนอินเทอร์เน็ต ไม่ใช่ในเครือข่ายภายใน",
        "This must be an address of the internet, not of a private network.",
    ),
}


class TooManyWebhooks(DomainError):
    """Each event is sent to every webhook of its project, so their number is limited."""

    kind, code = ErrorKind.CONFLICT, "WEBHOOKS_TOO_MANY"
    says = Text("โครงการนี้มี webhook ครบ 20 รายการแล้ว", "This project has 20 webhooks already.")
    recovery = (Text("ลบ webhook ที่ไม่ใช้แล้ว", "Delete one that is no longer used."),)


class TooManyOwnWebhooks(DomainError):
    """Each notice is sent to every webhook of its reader, so their number is limited."""

    kind, code = ErrorKind.CONFLICT, "WEBHOOKS_TOO_MANY_OWN"
    says = Text("คุณมี webhook ส่วนตัวครบ 3 รายการแล้ว", "You have 3 webhooks of your own already.")
    recovery = (Text("ลบ webhook ที่ไม่ใช้แล้ว", "Delete one that is no longer used."),)


class WebhookChanged(Stale):
    """`If-Match` names an older version: somebody has changed the webhook since."""

    code = "WEBHOOK_CHANGED"
    says = Text("มีผู้แก้ไข webhook นี้ไปแล้ว", "Somebody has changed this webhook in the meantime.")


class TooManySecrets(DomainError):
    """The secret was rotated too often: earlier secrets stay valid for their full 24 hours."""

    kind, code = ErrorKind.CONFLICT, "WEBHOOK_SECRETS_TOO_MANY"
    says = Text(
        "webhook นี้มีรหัสลับเดิมที่ยังใช้ได้ครบ {most} ชุดแล้ว เปลี่ยนได้อีกครั้งหลัง {until}",
        "{most} earlier secrets of this webhook are still valid; it can be changed again after {until}.",
    )
    recovery = (
        Text("ใช้รหัสลับที่ได้จากการเปลี่ยนครั้งล่าสุด", "Use the secret that the last change gave."),
        Text("รอจนกว่ารหัสลับเดิมชุดหนึ่งจะหมดอายุ", "Wait until one of the earlier ones ends."),
    )


async def create(ctx: RequestContext, session: AsyncSession, project_public_id: UUID, new: WebhookIn) -> Webhook:
    """:raises TooManyWebhooks:"""
    project = await _managed_project(ctx, session, project_public_id)
    _check_url(new.url)
    if await repository.count(session, of=repository.of_project(project)) >= MOST:
        raise TooManyWebhooks
    row = _new_webhook(ctx, project, new, new.events)
    row.topics = _drop_duplicates(new.topics) or None
    _check_topics(row)
    session.add(row)
    await _record(ctx, session, "create", row)
    return row


async def create_own(ctx: RequestContext, session: AsyncSession, new: OwnWebhookIn) -> Webhook:
    """:raises TooManyOwnWebhooks:"""
    _check_url(new.url)
    if await repository.count(session, of=repository.of_person(ctx.caller.user_id)) >= MOST_OWN:
        raise TooManyOwnWebhooks
    row = _new_webhook(ctx, None, new, [NOTICE])
    session.add(row)
    await _record(ctx, session, "create", row)
    return row


def _new_webhook(
    ctx: RequestContext, project: int | None, new: WebhookIn | OwnWebhookIn, events: Sequence[str]
) -> Webhook:
    return Webhook(
        public_id=new_id(),
        project_id=project,
        user_id=ctx.caller.user_id,
        url=new.url,
        description=new.description,
        event_names=_drop_duplicates(events),
        topics=None,
        is_active=True,
        given_up=0,
        secret=_encrypt_secret(_generate_secret()),
        version=1,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def listing(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, cursor: str | None, limit: int
) -> Page[Webhook]:
    project = await _managed_project(ctx, session, project_public_id)
    rows = await repository.page(session, of=repository.of_project(project), cursor=cursor, limit=limit)
    return page_of(rows, limit=limit, key=lambda row: (row.created_at, row.public_id))


async def listing_own(ctx: RequestContext, session: AsyncSession, *, cursor: str | None, limit: int) -> Page[Webhook]:
    rows = await repository.page(session, of=repository.of_person(ctx.caller.user_id), cursor=cursor, limit=limit)
    return page_of(rows, limit=limit, key=lambda row: (row.created_at, row.public_id))


async def read(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Webhook:
    """:raises NotFound:"""
    return await _find_managed(session, ctx.caller, public_id)


async def change(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, change: WebhookChangeIn, if_match: str | None
) -> Webhook:
    """:raises WebhookChanged:"""
    row = await _find_managed(session, ctx.caller, public_id, locked=True)
    require_match(if_match, etag(row), WebhookChanged)
    if row.project_id is None and (change.events is not None or change.topics is not None):
        raise invalid("/events" if change.events is not None else "/topics", "not_of_a_project", *_OWN)
    if change.url is not None:
        _check_url(change.url)
        if change.url != row.url:
            row.failing_since, row.given_up = None, 0
            row.user_id = ctx.caller.user_id  # the new receiver gets only what this person can see
    if change.is_active is not None:
        row.off_because, row.failing_since, row.given_up = None, None, 0
    values = change.model_dump(exclude_none=True)
    if change.events is not None:
        values["event_names"] = _drop_duplicates(values.pop("events"))
    if change.topics is not None:
        values["topics"] = _drop_duplicates(change.topics) or None
    changes = set_fields(row, values, named={"event_names": "events", "is_active": "isActive"})
    _check_topics(row)
    row.version, row.updated_at = row.version + 1, ctx.now
    await _record(ctx, session, "change", row, changes)
    return row


async def rotate(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, if_match: str | None = None
) -> Webhook:
    """
    Rotate the secret; for a day messages are signed with the old one, too.

    :raises WebhookChanged, TooManySecrets:
    """
    row = await _find_managed(session, ctx.caller, public_id, locked=True)
    require_match(if_match, etag(row), WebhookChanged)
    earlier = valid_secrets(row.earlier_secrets, now=ctx.now)
    if len(earlier) >= MOST_EARLIER:
        next_rotation = earlier[-1].until
        raise TooManySecrets(
            values={"most": MOST_EARLIER, "until": f"{next_rotation:%Y-%m-%dT%H:%M:%SZ}"},
            retry_after=(next_rotation - ctx.now).total_seconds(),
        )
    earlier.insert(0, EarlierSecret(row.secret, ctx.now + OVERLAP))
    row.earlier_secrets, row.secret = [secret.as_json for secret in earlier], _encrypt_secret(_generate_secret())
    row.version, row.updated_at = row.version + 1, ctx.now
    await _record(ctx, session, "rotate", row)
    return row


async def remove(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> None:
    """Delete a webhook; undelivered messages are not sent."""
    row = await _find_managed(session, ctx.caller, public_id, locked=True)
    await _record(ctx, session, "remove", row)
    await repository.remove(session, row)


async def outcomes(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, cursor: str | None, limit: int
) -> Page[WebhookOutcome]:
    row = await _find_managed(session, ctx.caller, public_id)
    rows = await repository.outcomes(session, webhook_id=row.id, cursor=cursor, limit=limit)
    return page_of(rows, limit=limit, key=lambda outcome: (outcome.created_at, outcome.public_id))


def etag(row: Webhook) -> str:
    return f'"{row.version}"'


def earlier_until(row: Webhook) -> datetime | None:
    """Return until when an earlier secret still signs."""
    moments = [datetime.fromisoformat(secret["until"]) for secret in row.earlier_secrets or ()]
    return max(moments, default=None)


async def _managed_project(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> int:
    visible = await projects.read_project(ctx, session, public_id=public_id)
    project = await projects.find_project(session, public_id=visible.public_id, pointer="path:publicId")
    ctx.caller.require(MANAGES, Scope(project=project.id))
    return project.id


async def _find_managed(session: AsyncSession, caller: Caller, public_id: UUID, *, locked: bool = False) -> Webhook:
    row = await repository.one(session, public_id, locked=locked)
    if row is None or not can_manage(caller, row):
        raise NotFound(f"There is no webhook {public_id}.")
    return row


def can_manage(caller: Caller, row: Webhook) -> bool:
    if row.project_id is None:
        return row.user_id == caller.user_id
    return caller.may(MANAGES, Scope(project=row.project_id))


def _check_topics(row: Webhook) -> None:
    if row.topics is not None and NAMED not in row.event_names:
        raise invalid("/topics", "needs_event", *_NEEDS_EVENT)


def _check_url(url: str) -> None:
    try:
        target_of(url)
    except InvalidWebhookAddress as fault:
        raise invalid("/url", fault.reason, *_FAULTS[fault.reason]) from None


def _drop_duplicates(events: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(events))


def _generate_secret() -> str:
    text = new_secret(32)
    return encoded(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def _encrypt_secret(secret: str) -> str:
    return encryption.encrypt(secret.removeprefix(PREFIX))


def secret_of(stored: str) -> str | None:
    """Return the secret; None if the signing key of the installation has changed."""
    if stored.startswith(PREFIX):  # not encrypted yet
        return stored
    secret = encryption.decrypt(stored)
    return None if secret is None else PREFIX + secret


async def encrypt_secrets(session: AsyncSession) -> None:
    """Encrypt secrets that an earlier version stored as plain text."""
    for row in await repository.lock_plain_secrets(session):
        row.secret = _encrypt_secret(row.secret)
        row.earlier_secrets = [
            {**earlier, "secret": _encrypt_secret(earlier["secret"])} for earlier in row.earlier_secrets or ()
        ]


async def _record(
    ctx: RequestContext, session: AsyncSession, action: str, row: Webhook, changes: JsonObject | None = None
) -> None:
    await session.flush()
    details = {
        "url": row.url,
        "events": row.event_names,
        "topics": row.topics,
        "isActive": row.is_active,
        "version": row.version,
        **({"changes": changes} if changes else {}),
    }
    await audit.record(ctx, session, audit.AuditEntry(f"webhook.{action}", "webhook", str(row.public_id), details))
