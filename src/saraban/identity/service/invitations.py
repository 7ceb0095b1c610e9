"""Set passwords by one-time links; no queue stores a token, letters make their own."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.audit.service import AuditOrigin
from saraban.events import service as events
from saraban.identity import repository
from saraban.identity.domain.account import NO_PASSWORD, canonical_username
from saraban.identity.domain.context import RequestContext
from saraban.identity.domain.throttle import network_of
from saraban.identity.models import User, UserInvitation
from saraban.identity.repository import account_rows
from saraban.identity.service import accounts, passwords
from saraban.identity.service.accounts import NewAccount, load_manageable, open_accounts, replace_password
from saraban.identity.service.assignments import Person, Placed, anywhere, entry, record
from saraban.identity.service.callers import NotSignedIn, display_name
from saraban.identity.service.sessions import digest
from saraban.kit.admission import slot_released
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text, invalid
from saraban.kit.ids import new_secret
from saraban.kit.rate_limits import RateLimiter, RateLimitRule

OF_ACCOUNT: Final = 10
MINUTES: Final = 15
OF_ADDRESS: Final = 60  # a whole office may open its invitations from one address
RESETS_OF_ADDRESS, RESETS_OF_ACCOUNT, RESET_MINUTES = 20, 3, 60


class TooManyPasswords(DomainError):
    """Too many passwords were tried for one account, or with invitations from one address."""

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
    Replace the caller's password; no connection is held during argon2.

    :param refresh_token: of the session to keep
    :raises Invalid, TooManyPasswords:
    """
    await count_attempt(limiter, "password", str(ctx.caller.public_id), OF_ACCOUNT, minutes=MINUTES)
    async with db.reading() as session:
        user = await repository.user_named(session, username=ctx.caller.username, with_password=True)
        if user is None:
            raise NotSignedIn
        await accounts.check_new_password(session, user, new, pointer="/newPassword")
    if not await passwords.matches(current, user.password_hash):
        await db.transact(_note_failure, replace(ctx, now=clock.now()))
        raise invalid("/currentPassword", "wrong", "รหัสผ่านปัจจุบันไม่ถูกต้อง", "The current password is incorrect.")
    if new == current:
        raise invalid("/newPassword", "same", "รหัสผ่านใหม่ต้องไม่ซ้ำกับรหัสเดิม", "The new password is the present one.")
    password_hash = await passwords.hash_password(new)
    await db.transact(
        _save_password,
        ctx,
        clock=clock,
        checked=user.password_hash,
        password_hash=password_hash,
        but=digest(refresh_token),
    )


async def _save_password(
    ctx: RequestContext, session: AsyncSession, *, clock: Clock, checked: str, password_hash: str, but: str
) -> None:
    row = await repository.lock_user(session, user_id=ctx.caller.user_id, with_password=True)
    if row is None or not row.is_active or row.password_hash != checked:  # the password was reset meanwhile
        raise NotSignedIn
    now = clock.now()
    await replace_password(session, row, password_hash, but=but, now=now)
    await record(replace(ctx, now=now), session, "user.change_password", row)


async def _note_failure(ctx: RequestContext, session: AsyncSession) -> None:
    row = await repository.lock_user(session, user_id=ctx.caller.user_id)
    if row is not None:
        await record(ctx, session, "user.change_password_failed", row)


async def count_attempt(limiter: RateLimiter, policy: str, whom: str, most: int, *, minutes: int = 1) -> None:
    """:raises TooManyPasswords:"""
    result = await limiter.take([RateLimitRule(policy, whom, most, minutes)])
    if result.refused is not None:
        raise TooManyPasswords(values={"minutes": ceil(result.reset / 60)}, retry_after=result.reset)


USER_INVITED: Final = "user.invited"
RESET_REQUESTED: Final = "user.reset_requested"
LIFE: Final = timedelta(days=7)
HANDED_OVER_LIFE: Final = timedelta(hours=24)
RESET_LIFE: Final = timedelta(minutes=30)


class InvitationEnded(DomainError):
    """The link was used, was replaced by another one or has expired, or its account is closed."""

    kind, code = ErrorKind.GONE, "INVITATION_ENDED"
    says = Text("ลิงก์นี้ใช้ไม่ได้แล้ว", "This link no longer works.")
    recovery = (
        Text("หากตั้งรหัสผ่านแล้ว ให้เข้าสู่ระบบได้เลย", "If you have set your password already, sign in."),
        Text("หากยังไม่ได้ตั้ง ให้ขอลิงก์ใหม่จากผู้ดูแลระบบ", "If not, ask your administrator for a new link."),
    )


@dataclass(frozen=True, slots=True)
class Invitation:
    public_id: UUID
    username: str
    display_name: str
    token: str = field(repr=False)

    @property
    def path(self) -> str:
        return link_path(self.token)


def link_path(token: str) -> str:
    return f"/invitations/{token}"


async def invite_user(
    ctx: RequestContext, session: AsyncSession, new: NewAccount, *, token: str | None = None
) -> Invitation:
    """:raises Invalid, UsernameTaken:"""
    (invitation,) = await invite_users(ctx, session, [new], token=token)
    return invitation


async def invite_users(
    ctx: RequestContext,
    session: AsyncSession,
    new: Sequence[NewAccount],
    *,
    at: Placed = anywhere,
    token: str | None = None,
) -> list[Invitation]:
    """:param at: context of each account's error; it may suppress the error"""
    users = await open_accounts(ctx, session, new, password_hash=NO_PASSWORD, at=at)
    invited = [_invitation(user, token or new_secret()) for user in users]
    session.add_all(
        UserInvitation(user_id=user.user_id, created_at=ctx.now, **_link_columns(invitation.token, ctx.now))
        for user, invitation in zip(users, invited, strict=True)
    )
    await session.flush()
    await _record_invited(ctx, session, users)
    return invited


async def invite_again(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    username: Person,
    handed_over: bool = False,
    token: str | None = None,
) -> Invitation:
    """
    :param handed_over: not mailed, and valid for 24 hours
    :raises Invalid: for a closed account or a program's
    """
    user = await load_manageable(ctx, session, username, "user.edit")
    if user.is_service or not user.is_active:
        raise invalid(
            "/username",
            "not_invitable",
            "“{value}” เป็นบัญชีที่ปิดอยู่หรือบัญชีของโปรแกรม จึงเชิญไม่ได้",
            "“{value}” is closed or belongs to a program, so nobody can be invited to it.",
            value=user.username,
        )
    life = HANDED_OVER_LIFE if handed_over else LIFE
    invitation = await _open_link(session, user, token or new_secret(), now=ctx.now, life=life)
    if handed_over:
        await record(ctx, session, "user.make_reset_link", user)
    else:
        await _record_invited(ctx, session, [user])
    return invitation


async def request_reset(
    db: Database, *, limiter: RateLimiter, identifier: str, address: str, now: datetime, least_seconds: float
) -> None:
    """
    Mail a reset link; take `least_seconds` whether the account exists or not.

    :raises TooManyPasswords:
    """
    ends = stopwatch() + least_seconds
    await count_attempt(limiter, "reset", network_of(address), RESETS_OF_ADDRESS, minutes=RESET_MINUTES)
    async with db.reading() as session:
        user = await account_rows.resettable_user(session, canonical_username(identifier))
    limit_key = str(user.public_id) if user is not None else digest(identifier)
    result = await limiter.take([RateLimitRule("reset_account", limit_key, RESETS_OF_ACCOUNT, RESET_MINUTES)])
    if user is not None and result.refused is None:
        await db.transact(_request_reset, user.user_id, address=address, now=now)
    with slot_released():
        await asyncio.sleep(max(0.0, ends - stopwatch()))


async def _request_reset(user_id: int, session: AsyncSession, *, address: str, now: datetime) -> None:
    user = await repository.lock_user(session, user_id=user_id)
    if user is None or not user.is_active:
        return
    await _open_link(session, user, new_secret(), now=now, life=RESET_LIFE)
    await record(AuditOrigin(user, now, address), session, "user.request_reset", user)
    key = str(user.public_id)
    await events.record_all(session, [events.NewEvent(RESET_REQUESTED, "user", key, {"userPublicId": key}, now)])


async def renew_invitation(session: AsyncSession, *, user_id: int, now: datetime) -> Invitation | None:
    row, user = await repository.lock_invitation(session, user_id), await session.get(User, user_id)
    if row is None or user is None or row.expires_at <= now:
        return None
    token = new_secret()
    row.token_hash, row.updated_at = digest(token), now
    return _invitation(user, token)


async def read_invitation(session: AsyncSession, token: str, now: datetime) -> Invitation:
    """:raises InvitationEnded:"""
    user = await repository.invited_user(session, token_hash=digest(token), now=now)
    if user is None:
        raise InvitationEnded
    return _invitation(user, token)


async def accept_invitation(
    db: Database, *, limiter: RateLimiter, token: str, password: str, address: str, now: datetime
) -> str:
    """
    Set the password and return the user name; no connection is held during argon2.

    :raises Invalid: the link stays valid
    :raises InvitationEnded, TooManyPasswords:
    """
    await count_attempt(limiter, "invitation", address, OF_ADDRESS)
    async with db.reading() as session:
        user = await repository.invited_user(session, token_hash=digest(token), now=now)
        if user is None:
            raise InvitationEnded
        await accounts.check_new_password(session, user, password)
    password_hash = await passwords.hash_password(password)
    await db.transact(_save_accepted, token, password_hash=password_hash, now=now, address=address)
    return user.username


async def _save_accepted(token: str, session: AsyncSession, *, password_hash: str, now: datetime, address: str) -> None:
    user = await repository.invited_user(session, token_hash=digest(token), now=now, lock=True)
    if user is None:
        raise InvitationEnded
    await replace_password(session, user, password_hash, now=now)
    await record(AuditOrigin(user, now, address), session, "user.accept_invitation", user)


async def _open_link(session: AsyncSession, user: User, token: str, *, now: datetime, life: timedelta) -> Invitation:
    row = await repository.lock_invitation(session, user_id=user.user_id)
    if row is None:
        row = UserInvitation(user_id=user.user_id, created_at=now)
        session.add(row)
    for name, value in _link_columns(token, now, life).items():
        setattr(row, name, value)
    await session.flush()
    return _invitation(user, token)


def _invitation(user: User, token: str) -> Invitation:
    return Invitation(user.public_id, user.username, display_name(user), token)


def _link_columns(token: str, now: datetime, life: timedelta = LIFE) -> dict[str, object]:
    return {"token_hash": digest(token), "expires_at": now + life, "updated_at": now}


async def _record_invited(ctx: RequestContext, session: AsyncSession, users: Sequence[User]) -> None:
    await audit.record_all(ctx, session, [entry("user.invite", user) for user in users])
    people = [str(user.public_id) for user in users]
    news = [events.NewEvent(USER_INVITED, "user", key, {"userPublicId": key}, ctx.now) for key in people]
    await events.record_all(session, news)
