"""What a person chose about being told; the same words serve the API and the page."""

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.account import DeliveryPreferences
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import invalid
from saraban.kit.json import JsonObject
from saraban.notifications.domain.delivery_preferences import ACTION, KINDS
from saraban.notifications.schemas import ChannelChoice, PreferencesAnswer, PreferencesOrder


async def read_preferences(ctx: RequestContext, session: AsyncSession, *, mail_is_on: bool) -> PreferencesAnswer:
    """Return the caller's choices, each kind of notice among them."""
    chosen = (await identity.load_delivery_profiles(session, user_ids=[ctx.caller.user_id]))[ctx.caller.user_id]
    preferences = chosen.preferences
    return PreferencesAnswer(
        address=chosen.email,
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
    """
    Keep the caller's choices; a kind that is left out goes by every channel but webhooks.

    :raises Invalid: when half a quiet time is named, or a notice to act would reach nobody
    """
    if (order.quiet_from is None) != (order.quiet_until is None):
        pointer = "/quietUntil" if order.quiet_until is None else "/quietFrom"
        raise invalid(pointer, "required", "ระบุทั้งเวลาเริ่มและเวลาสิ้นสุด", "Enter both the start and the end time.")
    for place, choice in enumerate(order.channels):
        if choice.kind in ACTION and not choice.in_app and not (choice.email and order.email):
            raise invalid(
                f"/channels/{place}",
                "needs_a_channel",
                "เรื่องที่ต้องดำเนินการต้องแจ้งอย่างน้อยหนึ่งช่องทาง",
                "Tasks that need your action must have at least one channel.",
            )
    channels: dict[str, JsonObject] = {
        choice.kind: {"inApp": choice.in_app, "email": choice.email, "webhook": choice.webhook}
        for choice in order.channels
    }
    chosen = DeliveryPreferences(
        order.email, order.digest, order.digest_hour, order.quiet_from, order.quiet_until, channels
    )
    await identity.save_delivery_preferences(ctx, session, chosen)
