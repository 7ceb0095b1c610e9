"""
Logs people in and out, and rotates their refresh tokens.

`log_in` and `refresh` take the database, not a session: a wrong password must be counted although the answer is an
error, and no connection is held while argon2 works.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.account import canonical_username
from saraban.identity.domain.lockout import Failures, LockoutRules, after_failure
from saraban.identity.models import RefreshToken, User
from saraban.identity.repository import accounts, strangers, tokens
from saraban.identity.service import passwords
from saraban.identity.service.tokens import SessionEnded, TokenIssuer, digest, new_refresh_token
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, Kind, Text
from saraban.kit.ids import new_id

# Two tabs of one browser may present the same token at the same moment; later, it is a stolen one.
GRACE = timedelta(seconds=30)
# How long a wrong log-in under a name without an account is remembered.
REMEMBERED = timedelta(days=30)
_SUSPICIOUS = frozenset({"login.locked", "login.token_reused"})


class WrongCredentials(DomainError):
    """The user name or the password is wrong, or the account is closed: which of them, nobody is told."""

    kind, code = Kind.UNAUTHENTICATED, "INVALID_CREDENTIALS"
    says = Text("ชื่อผู้ใช้หรือรหัสผ่านไม่ถูกต้อง", "The user name or the password is wrong.")
    recovery = (
        Text("ตรวจสอบชื่อผู้ใช้และรหัสผ่าน แล้วลองใหม่", "Check the user name and the password, then try again."),
        Text("หากลืมรหัสผ่าน ติดต่อผู้ดูแลระบบ", "If the password is forgotten, contact the administrator."),
    )


class AccountLocked(DomainError):
    """Too many wrong passwords in a row."""

    kind, code = Kind.THROTTLED, "ACCOUNT_LOCKED"
    says = Text(
        "บัญชีถูกระงับชั่วคราวเนื่องจากใส่รหัสผ่านผิดหลายครั้ง ลองใหม่ใน {minutes} นาที",
        "The account is locked after repeated wrong passwords. Try again in {minutes} minutes.",
    )
    recovery = (
        Text("รอจนครบเวลาแล้วลองใหม่", "Wait, then try again."),
        Text("ติดต่อผู้ดูแลระบบเพื่อปลดล็อก", "Ask the administrator to unlock the account."),
    )


@dataclass(frozen=True, slots=True)
class Device:
    """Where a session was opened."""

    address: str = ""
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What a client keeps: the short-lived token, the one that renews it, and the seconds the first one lives."""

    access_token: str
    refresh_token: str
    expires_in: int
    public_id: UUID


async def log_in(
    db: Database,
    *,
    issuer: TokenIssuer,
    rules: LockoutRules,
    username: str,
    password: str,
    device: Device,
) -> SignedIn:
    """
    This will open a session, taking as long for unknown names as for known ones.

    :raises WrongCredentials: unknown name, wrong password, closed account
    :raises AccountLocked: after too many failures in a row, even with the right password
    """
    now = issuer.clock.now()
    name = canonical_username(username)
    async with db.reading() as session:
        user = await accounts.by_username(session, username=name)
        past = _past(user) if user is not None else await strangers.past(session, name=name)
    _refuse_locked(past, now)
    right = await passwords.matches(password, user.password_hash if user is not None and user.is_active else None)

    async def settle(session: AsyncSession) -> SignedIn | DomainError:
        if user is None:
            return await _count_stranger(session, name, rules=rules, address=device.address, now=issuer.clock.now())
        return await _settle(session, user_id=user.user_id, right=right, rules=rules, issuer=issuer, device=device)

    try:
        outcome = await db.transact(settle)
    except IntegrityError:  # two first failures of one unknown name at once: the second one finds the row
        outcome = await db.transact(settle)
    if isinstance(outcome, DomainError):
        raise outcome
    return outcome


async def refresh(db: Database, *, issuer: TokenIssuer, refresh_token: str, device: Device) -> SignedIn:
    """
    This will exchange a refresh token for a new pair; an old one, used again, ends every session of its chain.

    :raises SessionEnded: when it is unknown, expired, revoked or used before
    """
    outcome = await db.transact(
        lambda session: _rotate(session, issuer=issuer, refresh_token=refresh_token, device=device)
    )
    if isinstance(outcome, DomainError):
        raise outcome
    return outcome


async def log_out(session: AsyncSession, *, refresh_token: str, address: str, now: datetime) -> None:
    """This will end the session of that token, on this device only; an unknown token is no error."""
    row = await tokens.for_update(session, token_hash=digest(refresh_token))
    if row is None or not await tokens.family_lives(session, family=row.family, now=now):
        return
    await tokens.revoke_family(session, family=row.family, now=now)
    user = await session.get(User, row.user_id)
    if user is not None:
        await _record(session, "logout", user, address=address, now=now)


async def _settle(
    session: AsyncSession,
    *,
    user_id: int,
    right: bool,
    rules: LockoutRules,
    issuer: TokenIssuer,
    device: Device,
) -> SignedIn | DomainError:
    """The verdict is given under the row's lock: of many guesses at once, no more than the allowed number is answered."""
    now = issuer.clock.now()
    user = await accounts.for_update(session, user_id=user_id)
    if user is None:
        return WrongCredentials()
    locked = _locked(_past(user), now)
    if locked is not None:
        return locked
    if not right or not user.is_active:
        return await _count_failure(session, user, rules=rules, address=device.address, now=now)
    user.failed_attempts, user.locked_until, user.last_login_at = 0, None, now
    await _record(session, "login.success", user, address=device.address, now=now)
    return await _open(session, user, family=new_id(), issuer=issuer, device=device, now=now)


async def _count_failure(
    session: AsyncSession, user: User, *, rules: LockoutRules, address: str, now: datetime
) -> DomainError:
    failures = after_failure(_past(user), rules, now)
    user.failed_attempts, user.locked_until = failures.count, failures.locked_until
    await _record(session, "login.failed", user, address=address, now=now)
    if failures.locked_until is None:
        return WrongCredentials()
    await _record(session, "login.locked", user, address=address, now=now)
    return _locked(failures, now) or WrongCredentials()


async def _count_stranger(
    session: AsyncSession, name: str, *, rules: LockoutRules, address: str, now: datetime
) -> DomainError:
    """A name without an account answers as one with an account would, or the lock would tell which names exist."""
    row = await strangers.for_update(session, name=name)
    locked = _locked(strangers.failures_of(row), now)
    if locked is not None:
        return locked
    failures = after_failure(strangers.failures_of(row), rules, now)
    await strangers.keep(session, row, name=name, failures=failures, now=now)
    await _record_stranger(session, "login.failed", name, address=address, now=now)
    if failures.locked_until is None:
        return WrongCredentials()
    await _record_stranger(session, "login.locked", name, address=address, now=now)
    return _locked(failures, now) or WrongCredentials()


async def forget_sessions(session: AsyncSession, *, now: datetime) -> int:
    """This will delete a bounded number of refresh tokens that have run out, and give their number."""
    return await tokens.forget_expired(session, before=now, limit=1000)


async def forget_strangers(session: AsyncSession, *, now: datetime) -> int:
    """This will delete the oldest failures of unknown names after a month without another one, and give their number."""
    return await strangers.forget(session, before=now - REMEMBERED, limit=1000)


def _past(user: User) -> Failures:
    return Failures(user.failed_attempts, user.locked_until)


def _locked(failures: Failures, now: datetime) -> AccountLocked | None:
    seconds = failures.locked_for(now)
    if not seconds:
        return None
    return AccountLocked(values={"minutes": max(1, round(seconds / 60))}, retry_after=seconds)


def _refuse_locked(failures: Failures, now: datetime) -> None:
    locked = _locked(failures, now)
    if locked is not None:
        raise locked


async def _rotate(
    session: AsyncSession, *, issuer: TokenIssuer, refresh_token: str, device: Device
) -> SignedIn | DomainError:
    now = issuer.clock.now()
    row = await tokens.for_update(session, token_hash=digest(refresh_token))
    if row is None or row.expires_at <= now:
        return SessionEnded()
    user = await session.get(User, row.user_id)
    if user is None or not user.is_active or user.deleted_at is not None:
        return SessionEnded()
    if row.is_revoked and not await _is_second_tab(session, row, now):
        await tokens.revoke_family(session, family=row.family, now=now)
        await _record(session, "login.token_reused", user, address=device.address, now=now)
        return SessionEnded("The refresh token was used before; its whole chain is closed.")
    opened = await _open(session, user, family=row.family, issuer=issuer, device=device, now=now)
    if not row.is_revoked:
        row.is_revoked, row.revoked_at, row.replaced_by_token = True, now, digest(opened.refresh_token)
        row.updated_at = now
    return opened


async def _is_second_tab(session: AsyncSession, row: RefreshToken, now: datetime) -> bool:
    """Rotated (not logged out) moments ago, and the chain it belongs to is still open."""
    rotated = row.replaced_by_token is not None and row.revoked_at is not None
    if not rotated or row.revoked_at is None or now - row.revoked_at > GRACE:
        return False
    return await tokens.family_lives(session, family=row.family, now=now)


async def _open(
    session: AsyncSession, user: User, *, family: UUID, issuer: TokenIssuer, device: Device, now: datetime
) -> SignedIn:
    secret = new_refresh_token()
    session.add(
        RefreshToken(
            user_id=user.user_id,
            family=family,
            token_hash=digest(secret),
            expires_at=now + issuer.refresh_life,
            ip_address=device.address[:45] or None,
            user_agent=device.user_agent[:255] or None,
            last_active_at=now,
            created_at=now,
            updated_at=now,
        )
    )
    await session.flush()
    return SignedIn(issuer.access(user.public_id), secret, issuer.access_seconds, user.public_id)


async def _record(session: AsyncSession, action: str, user: User, *, address: str, now: datetime) -> None:
    await audit.write(
        session,
        action=action,
        caller=user,
        entity_type="user",
        entity_id=str(user.public_id),
        details={"username": user.username},
        address=address,
        now=now,
        severity="WARN" if action in _SUSPICIOUS else "INFO",
    )


async def _record_stranger(session: AsyncSession, action: str, name: str, *, address: str, now: datetime) -> None:
    await audit.write(
        session,
        action=action,
        caller=None,
        entity_type="user",
        entity_id="",
        details={"username": name[:50]},
        address=address,
        now=now,
        severity="WARN" if action in _SUSPICIOUS else "INFO",
    )
