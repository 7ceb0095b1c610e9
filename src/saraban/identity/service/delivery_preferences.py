"""Addresses and delivery preferences of people."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.domain.account import DeliveryPreferences
from saraban.identity.domain.context import RequestContext
from saraban.identity.models import User, UserPreference
from saraban.identity.service.callers import display_name
from saraban.kit.errors import invalid


@dataclass(frozen=True, slots=True)
class DeliveryProfile:
    user_id: int
    public_id: UUID
    display_name: str
    email: str
    language: str
    is_open: bool
    preferences: DeliveryPreferences


async def load_delivery_profiles(session: AsyncSession, *, user_ids: Collection[int]) -> dict[int, DeliveryProfile]:
    if not user_ids:
        return {}
    return {
        row[0].user_id: _delivery_profile(*row) for row in await repository.users_with_preferences(session, user_ids)
    }


async def save_delivery_preferences(ctx: RequestContext, session: AsyncSession, chosen: DeliveryPreferences) -> None:
    row = await _lock_preference(ctx, session)
    row.notify_email, row.digest_mode, row.digest_hour = chosen.by_mail, chosen.digest, chosen.digest_hour
    row.quiet_from, row.quiet_until, row.channels = chosen.quiet_from, chosen.quiet_until, dict(chosen.channels)
    await session.flush()


async def _lock_preference(ctx: RequestContext, session: AsyncSession) -> UserPreference:
    """Lock the account, so that only one row is created."""
    user_id = ctx.caller.user_id
    await repository.lock_user(session, user_id=user_id)
    row = await session.get(UserPreference, user_id)
    if row is None:
        row = UserPreference(user_id=user_id, language=ctx.caller.language)
        session.add(row)
    row.updated_at = ctx.now
    return row


async def chosen_language(ctx: RequestContext, session: AsyncSession) -> str | None:
    row = await session.get(UserPreference, ctx.caller.user_id)
    return None if row is None else row.language


async def choose_language(ctx: RequestContext, session: AsyncSession, *, language: str) -> None:
    if language not in {"th", "en"}:
        raise invalid("/language", "unknown", "ภาษาต้องเป็น th หรือ en", "The language is th or en.")
    (await _lock_preference(ctx, session)).language = language
    await session.flush()


async def chosen_project(ctx: RequestContext, session: AsyncSession) -> UUID | None:
    row = await session.get(UserPreference, ctx.caller.user_id)
    return None if row is None else row.project_uuid


async def choose_project(ctx: RequestContext, session: AsyncSession, *, project: UUID) -> None:
    (await _lock_preference(ctx, session)).project_uuid = project
    await session.flush()


def _delivery_profile(user: User, chosen: UserPreference | None) -> DeliveryProfile:
    return DeliveryProfile(
        user_id=user.user_id,
        public_id=user.public_id,
        display_name=display_name(user),
        email=user.email,
        language=chosen.language if chosen else "th",
        is_open=user.is_active and not user.is_service and user.deleted_at is None,
        preferences=_preferences(chosen) if chosen else DeliveryPreferences(),
    )


def _preferences(row: UserPreference) -> DeliveryPreferences:
    return DeliveryPreferences(
        by_mail=row.notify_email,
        digest=row.digest_mode,
        digest_hour=row.digest_hour,
        quiet_from=row.quiet_from,
        quiet_until=row.quiet_until,
        channels=row.channels or {},
    )
