"""The caller's notifications and notification settings."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.account import DeliveryPreferences
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound, invalid
from saraban.kit.json import JsonObject
from saraban.kit.pagination import Page, page_of
from saraban.notifications import repository
from saraban.notifications.domain.delivery_preferences import ACTION, KINDS
from saraban.notifications.domain.notices import render_notice
from saraban.notifications.models import Notification
from saraban.notifications.schemas import ChannelChoice, NotificationAnswer, PreferencesAnswer, PreferencesOrder


async def listing(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    language: str,
    unread: bool | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[NotificationAnswer]:
    rows = await repository.page(session, user_id=ctx.caller.user_id, unread=unread, cursor=cursor, limit=limit)
    answers = [_render(row, language) for row in rows]
    return page_of(answers, limit=limit, key=lambda answer: (answer.created_at, answer.public_id))


async def unread_count(ctx: RequestContext, session: AsyncSession) -> int:
    return await repository.count_unread(session, user_id=ctx.caller.user_id)


async def read(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> None:
    """:raises NotFound:"""
    row = await repository.one(session, user_id=ctx.caller.user_id, public_id=public_id)
    if row is None:
        raise NotFound(f"There is no notification {public_id}.")
    row.is_read = True
    await session.flush()


async def settle(ctx: RequestContext, session: AsyncSession, *, entity_id: str) -> None:
    await repository.settle_for_user(session, entity_id, user_id=ctx.caller.user_id, now=ctx.now)


async def read_all(ctx: RequestContext, session: AsyncSession) -> None:
    await repository.read_all(session, user_id=ctx.caller.user_id, until=ctx.now)


def _render(row: Notification, language: str) -> NotificationAnswer:
    title, message = render_notice(row.template, row.template_values, language)
    return NotificationAnswer(
        public_id=row.public_id,
        title=title,
        message=message,
        is_read=row.is_read,
        entity_type=row.entity_type,
        entity_public_id=row.entity_id,
        created_at=row.created_at,
    )


async def read_preferences(ctx: RequestContext, session: AsyncSession, *, mail_is_on: bool) -> PreferencesAnswer:
    profile = (await identity.load_delivery_profiles(session, user_ids=[ctx.caller.user_id]))[ctx.caller.user_id]
    preferences = profile.preferences
    return PreferencesAnswer(
        address=profile.email,
        mail_is_on=mail_is_on,
        email=preferences.by_mail,
        digest=preferences.digest,
        digest_hour=preferences.digest_hour,
        quiet_from=preferences.quiet_from,
        quiet_until=preferences.quiet_until,
        channels=[
            ChannelChoice(
                kind=kind,
                in_app=preferences.chose(kind, "inApp"),
                email=preferences.chose(kind, "email"),
                webhook=preferences.chose(kind, "webhook"),
            )
            for kind in KINDS
        ],
    )


async def save_preferences(ctx: RequestContext, session: AsyncSession, *, order: PreferencesOrder) -> None:
    """:raises Invalid:"""
    if (order.quiet_from is None) != (order.quiet_until is None):
        pointer = "/quietUntil" if order.quiet_until is None else "/quietFrom"
        raise invalid(pointer, "required", "ระบุทั้งเวลาเริ่มและเวลาสิ้นสุด", "Enter both the start and the end time.")
    for index, choice in enumerate(order.channels):
        if choice.kind in ACTION and not choice.in_app and not (choice.email and order.email):
            raise invalid(
                f"/channels/{index}",
                "needs_a_channel",
                "เรื่องที่ต้องดำเนินการต้องแจ้งอย่างน้อยหนึ่งช่องทาง",
                "Tasks that need your action must have at least one channel.",
            )
    channels: dict[str, JsonObject] = {
        choice.kind: {"inApp": choice.in_app, "email": choice.email, "webhook": choice.webhook}
        for choice in order.channels
    }
    preferences = DeliveryPreferences(
        order.email, order.digest, order.digest_hour, order.quiet_from, order.quiet_until, channels
    )
    await identity.save_delivery_preferences(ctx, session, preferences)
