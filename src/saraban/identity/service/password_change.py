"""Everybody changes the own password, knowing the present one. Tries are counted: a session that was left open is no key."""

from dataclasses import replace
from math import ceil
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.identity.repository import accounts as repository
from saraban.identity.service import passwords
from saraban.identity.service.accounts import record, replace_password
from saraban.identity.service.tokens import NotSignedIn, digest
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text, invalid
from saraban.kit.rate_limits import RateLimiter, RateLimitRule

OF_ACCOUNT: Final = 10
MINUTES: Final = 15
OF_ADDRESS: Final = 60  # an office whose people all open their invitations this morning comes from one


class TooManyPasswords(DomainError):
    """More passwords were tried than a person types: for one account, or with invitations from one address."""

    kind, code = ErrorKind.THROTTLED, "TOO_MANY_PASSWORDS"
    says = Text("ลองบ่อยเกินไป กรุณารอ {minutes} นาที", "Too many attempts. Please wait for {minutes} min.")
    recovery = (Text("รอแล้วลองใหม่", "Wait, then try again."),)


async def change_password(
    ctx: RequestContext,
    db: Database,
    *,
    limiter: RateLimiter,
    current: str,
    new: str,
    refresh_token: str = "",
    clock: Clock,
) -> None:
    """
    Replace the caller's own password and end the other sessions. No connection is held while argon2 works.

    :param refresh_token: of the session that goes on
    :raises Invalid: when the present password is wrong or the new one too weak
    :raises TooManyPasswords: after too many tries
    """
    await count_attempt(limiter, "password", str(ctx.caller.public_id), OF_ACCOUNT, minutes=MINUTES)
    passwords.require_strong(new, ctx.caller.username, pointer="/newPassword")
    async with db.reading() as session:
        user = await repository.by_username(session, username=ctx.caller.username)
    if not await passwords.matches(current, user.password_hash if user is not None else None):
        await _note_failure(replace(ctx, now=clock.now()), db)
        raise invalid("/currentPassword", "wrong", "รหัสผ่านปัจจุบันไม่ถูกต้อง", "The current password is incorrect.")
    password_hash = await passwords.hash_password(new)

    async def settle(session: AsyncSession) -> None:
        row = await repository.for_update(session, user_id=ctx.caller.user_id)
        if row is None or not row.is_active:
            raise NotSignedIn
        now = clock.now()
        await replace_password(session, row, password_hash, but=digest(refresh_token), now=now)
        await record(replace(ctx, now=now), session, "user.change_password", row)

    await db.transact(settle)


async def _note_failure(ctx: RequestContext, db: Database) -> None:
    async def note(session: AsyncSession) -> None:
        row = await repository.for_update(session, user_id=ctx.caller.user_id)
        if row is not None:
            await record(ctx, session, "user.change_password_failed", row)

    await db.transact(note)


async def count_attempt(limiter: RateLimiter, policy: str, whom: str, most: int, *, minutes: int = 1) -> None:
    """:raises TooManyPasswords: when the tries of these minutes are used up"""
    result = await limiter.take([RateLimitRule(policy, whom, most, minutes)])
    if result.refused is not None:
        raise TooManyPasswords(values={"minutes": ceil(result.reset / 60)}, retry_after=result.reset)
