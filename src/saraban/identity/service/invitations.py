"""
How people set their own password: by the link of an invitation, which works once, or knowing the present password.

Tries are counted: a session that was left open is no key. The token of a link leaves this module once: printed by a command, or
in a letter, which makes a token of its own when it is written (`renew_invitation`), so that no queue keeps one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.audit.service import AuditOrigin
from saraban.events import service as events
from saraban.identity import repository
from saraban.identity.domain.account import NO_PASSWORD
from saraban.identity.domain.context import RequestContext
from saraban.identity.models import User, UserInvitation
from saraban.identity.service import passwords
from saraban.identity.service.accounts import NewAccount, load_manageable, open_accounts, replace_password
from saraban.identity.service.assignments import Person, Placed, anywhere, entry, record
from saraban.identity.service.callers import NotSignedIn, display_name
from saraban.identity.service.sessions import digest
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text, invalid
from saraban.kit.ids import new_secret
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
        user = await repository.user_named(session, username=ctx.caller.username, with_password=True)
    if not await passwords.matches(current, user.password_hash if user is not None else None):
        await db.transact(partial(_note_failure, ctx=replace(ctx, now=clock.now())))
        raise invalid("/currentPassword", "wrong", "รหัสผ่านปัจจุบันไม่ถูกต้อง", "The current password is incorrect.")
    password_hash = await passwords.hash_password(new)

    checked = user.password_hash if user is not None else ""
    change = partial(_change, ctx=ctx, clock=clock, checked=checked, password_hash=password_hash)
    await db.transact(partial(change, but=digest(refresh_token)))


async def _change(
    session: AsyncSession, *, ctx: RequestContext, clock: Clock, checked: str, password_hash: str, but: str
) -> None:
    row = await repository.lock_user(session, user_id=ctx.caller.user_id, with_password=True)
    if row is None or not row.is_active or row.password_hash != checked:  # a reset came first
        raise NotSignedIn
    now = clock.now()
    await replace_password(session, row, password_hash, but=but, now=now)
    await record(replace(ctx, now=now), session, "user.change_password", row)


async def _note_failure(session: AsyncSession, *, ctx: RequestContext) -> None:
    row = await repository.lock_user(session, user_id=ctx.caller.user_id)
    if row is not None:
        await record(ctx, session, "user.change_password_failed", row)


async def count_attempt(limiter: RateLimiter, policy: str, whom: str, most: int, *, minutes: int = 1) -> None:
    """:raises TooManyPasswords: when the tries of these minutes are used up"""
    result = await limiter.take([RateLimitRule(policy, whom, most, minutes)])
    if result.refused is not None:
        raise TooManyPasswords(values={"minutes": ceil(result.reset / 60)}, retry_after=result.reset)


USER_INVITED: Final = "user.invited"
LIFE: Final = timedelta(days=7)


class InvitationEnded(DomainError):
    """The link was used, replaced by another invitation, has expired, or its account is closed."""

    kind, code = ErrorKind.GONE, "INVITATION_ENDED"
    says = Text("ลิงก์คำเชิญนี้ใช้ไม่ได้แล้ว", "This invitation link no longer works.")
    recovery = (
        Text("หากตั้งรหัสผ่านแล้ว ให้เข้าสู่ระบบได้เลย", "If you have set your password already, sign in."),
        Text("หากยังไม่ได้ตั้ง ให้ขอคำเชิญใหม่จากผู้ดูแลระบบ", "If not, ask your administrator for a new invitation."),
    )


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invited account; the token is for the person alone."""

    public_id: UUID
    username: str
    display_name: str
    token: str = field(repr=False)

    @property
    def path(self) -> str:
        return f"/invitations/{self.token}"


async def invite_user(ctx: RequestContext, session: AsyncSession, new: NewAccount) -> Invitation:
    """
    Open an account without a password and without roles, and invite its person.

    :raises Invalid: when a field is not acceptable
    :raises UsernameTaken: when the name or the address is in use
    """
    (invitation,) = await invite_users(ctx, session, [new])
    return invitation


async def invite_users(
    ctx: RequestContext, session: AsyncSession, new: Sequence[NewAccount], *, at: Placed = anywhere
) -> list[Invitation]:
    """
    Do the same for many, with a bounded number of statements.

    :param at: what the refusal of each is told in; one that it keeps to itself is left out
    """
    users = await open_accounts(ctx, session, new, password_hash=NO_PASSWORD, at=at)
    made = [Invitation(user.public_id, user.username, display_name(user), new_secret()) for user in users]
    session.add_all(
        UserInvitation(user_id=user.user_id, created_at=ctx.now, **_opened(one.token, ctx.now))
        for user, one in zip(users, made, strict=True)
    )
    await session.flush()
    await _tell_invited(ctx, session, users)
    return made


async def invite_again(ctx: RequestContext, session: AsyncSession, *, username: Person) -> Invitation:
    """
    Replace the link of an account; a password that is there stays good until the person sets another.

    :raises Invalid: for a closed account and for an account of a program
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
    return await _invite(ctx, session, user)


async def renew_invitation(session: AsyncSession, *, user_id: int, now: datetime) -> Invitation | None:
    """Give a new token to an invitation that is still open, for the letter that is being written; the old one ends."""
    row, user = await repository.lock_invitation(session, user_id), await session.get(User, user_id)
    if row is None or user is None or row.expires_at <= now:
        return None
    token = new_secret()
    row.token_hash, row.updated_at = digest(token), now
    return Invitation(user.public_id, user.username, display_name(user), token)


async def read_invitation(session: AsyncSession, token: str, now: datetime) -> Invitation:
    """
    :raises InvitationEnded: when the token opens nothing
    """
    user = await repository.invited_user(session, token_hash=digest(token), now=now)
    if user is None:
        raise InvitationEnded
    return Invitation(user.public_id, user.username, display_name(user), token)


async def accept_invitation(
    db: Database, *, limiter: RateLimiter, token: str, password: str, address: str, now: datetime
) -> str:
    """
    Set the password that an invited person chose, end the link and all sessions, and give the user name.

    No connection is held while argon2 works.

    :raises Invalid: when the password is too weak; the link stays good
    :raises InvitationEnded: when the token opens nothing
    :raises TooManyPasswords: after too many tries from one address
    """
    await count_attempt(limiter, "invitation", address, OF_ADDRESS)
    async with db.reading() as session:
        invited = await read_invitation(session, token, now)
    passwords.require_strong(password, invited.username)
    password_hash = await passwords.hash_password(password)

    await db.transact(partial(_accept, token=token, password_hash=password_hash, now=now, address=address))
    return invited.username


async def _accept(session: AsyncSession, *, token: str, password_hash: str, now: datetime, address: str) -> None:
    user = await repository.invited_user(session, token_hash=digest(token), now=now, lock=True)
    if user is None:
        raise InvitationEnded
    await replace_password(session, user, password_hash, now=now)
    await record(AuditOrigin(user, now, address), session, "user.accept_invitation", user)


async def _invite(ctx: RequestContext, session: AsyncSession, user: User) -> Invitation:
    token = new_secret()
    row = await repository.lock_invitation(session, user_id=user.user_id)
    if row is None:
        row = UserInvitation(user_id=user.user_id, created_at=ctx.now)
        session.add(row)
    for name, value in _opened(token, ctx.now).items():
        setattr(row, name, value)
    await session.flush()
    await _tell_invited(ctx, session, [user])
    return Invitation(user.public_id, user.username, display_name(user), token)


def _opened(token: str, now: datetime) -> dict[str, object]:
    return {"token_hash": digest(token), "expires_at": now + LIFE, "updated_at": now}


async def _tell_invited(ctx: RequestContext, session: AsyncSession, users: Sequence[User]) -> None:
    await audit.record_all(ctx, session, [entry("user.invite", user) for user in users])
    people = [str(user.public_id) for user in users]
    news = [events.NewEvent(USER_INVITED, "user", key, {"userPublicId": key}, ctx.now) for key in people]
    await events.record_all(session, news)
