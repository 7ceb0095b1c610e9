"""Log-in and tokens; functions with a `Database` commit a failure before they raise it."""

import asyncio
import base64
import hashlib
import hmac
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

import jwt
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity import repository
from saraban.identity.domain import token
from saraban.identity.domain.account import canonical_username
from saraban.identity.domain.context import Caller, Grant
from saraban.identity.models import RefreshToken, User
from saraban.identity.repository import account_rows
from saraban.identity.service import passwords
from saraban.identity.service.callers import SIGN_IN_AGAIN, NotSignedIn, load_caller
from saraban.identity.service.throttle import LogInThrottle
from saraban.kit.admission import slot_released
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.ids import new_id, new_secret
from saraban.kit.json import JsonObject
from saraban.kit.text import normal_form

_ALGORITHM = "HS256"


class SessionEnded(DomainError):
    """The refresh token is unknown, expired, or was used before."""

    kind, code = ErrorKind.UNAUTHENTICATED, "SESSION_ENDED"
    says = Text("เซสชันหมดอายุ กรุณาเข้าสู่ระบบใหม่", "The session has ended. Please sign in again.")
    recovery = (SIGN_IN_AGAIN,)


@dataclass(frozen=True)
class TokenIssuer:
    """A token's own `alg` is never trusted."""

    secret: str = field(repr=False)
    access_minutes: int
    refresh_days: int
    clock: Clock
    idle_minutes: int = 480

    @property
    def access_seconds(self) -> int:
        return self.access_minutes * 60

    @property
    def refresh_life(self) -> timedelta:
        return timedelta(days=self.refresh_days)

    def ends_at(self, started_at: datetime, now: datetime) -> datetime:
        return min(now + timedelta(minutes=self.idle_minutes), started_at + self.refresh_life)

    def access(self, caller: Caller, *, session: UUID, seconds: int) -> str:
        access = token.AccessClaims(caller.public_id, session, self._rights(caller))
        claims = token.claims_for(access, token_id=new_id(), now=self.clock.now(), seconds=seconds)
        return jwt.encode(claims, self.secret, algorithm=_ALGORITHM)

    def successor(self, refresh_token: str) -> str:
        """Return the next token: deterministic, and secret."""
        made = hmac.digest(self.secret.encode(), b"saraban-refresh:" + refresh_token.encode(), "sha384")
        return base64.urlsafe_b64encode(made).decode()

    def read(self, access_token: str) -> token.AccessClaims:
        """
        Return the claims; check `require_rights` and the session too.

        :raises NotSignedIn:
        """
        try:
            claims = _claims(access_token, self.secret)
        except jwt.InvalidTokenError as fault:
            raise NotSignedIn(f"The access token is not acceptable: {type(fault).__name__}.") from fault
        access = token.read_claims(claims, self.clock.now())
        if access is None:
            raise NotSignedIn("The access token has expired or is not meant for this server.")
        return access

    def require_rights(self, access: token.AccessClaims, caller: Caller) -> None:
        """:raises NotSignedIn:"""
        if access.subject != caller.public_id or access.rights != self._rights(caller):
            raise NotSignedIn("The rights of this account have changed: refresh the token.")

    def _rights(self, caller: Caller) -> str:
        # Keyed, because a token must not disclose the integer keys in it (REQ-IDN-01).
        text = "\n".join([str(caller.organization_id), *map(_grant_text, caller.grants)])
        return hashlib.blake2b(text.encode(), digest_size=12, key=self.secret.encode()[:64]).hexdigest()


@lru_cache(maxsize=2048)
def _grant_text(grant: Grant) -> str:
    place = (grant.role, grant.organization, grant.project, grant.contract)
    return f"{place} {' '.join(sorted(grant.permissions))}"


@lru_cache(maxsize=2048)
def _claims(access_token: str, secret: str) -> JsonObject:
    # `domain.token` checks the times on each call, with the injected clock.
    unchecked = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False}
    return jwt.decode(access_token, secret, algorithms=[_ALGORITHM], options=unchecked)  # type: ignore[arg-type]


def digest(refresh_token: str) -> str:
    return hashlib.sha256(refresh_token.encode("utf-8", "surrogatepass")).hexdigest()


# Two tabs of a browser may present the same token at the same moment; a later use means a stolen token.
GRACE = timedelta(seconds=30)
_SUSPICIOUS = frozenset({"login.throttled", "login.token_reused"})


class WrongCredentials(DomainError):
    """The user name or the password is wrong, or the account is closed; the response does not tell which."""

    kind, code = ErrorKind.UNAUTHENTICATED, "INVALID_CREDENTIALS"
    says = Text("ชื่อผู้ใช้หรือรหัสผ่านไม่ถูกต้อง", "The user name or password is incorrect.")
    recovery = (
        Text("ตรวจสอบชื่อผู้ใช้และรหัสผ่าน แล้วลองใหม่", "Check the user name and password, then try again."),
        Text("หากลืมรหัสผ่าน ติดต่อผู้ดูแลระบบ", "If you forgot your password, contact the administrator."),
    )


@dataclass(frozen=True, slots=True)
class Device:
    """:param cookie: of a known browser, or empty"""

    address: str = ""
    user_agent: str = ""
    cookie: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class OpenedSession:
    access_token: str
    refresh_token: str
    expires_in: int
    public_id: UUID
    device_cookie: str = ""


async def log_in(
    db: Database, *, issuer: TokenIssuer, throttle: LogInThrottle, username: str, password: str, device: Device
) -> OpenedSession:
    """
    Open a session; unknown names take as long as known ones.

    :raises WrongCredentials, PasswordsBusy:
    :raises LogInThrottled: even with the right password
    """
    name = canonical_username(username)
    async with db.reading() as session:
        user = await repository.user_named(session, username=name, with_password=True)
    name = user.username if user else normal_form(name)  # failures count together for all spellings
    attempt = throttle.attempt(
        name=name,
        address=device.address,
        unlocked=user.locked_until if user else None,
        device=throttle.cookies.device(device.cookie, name=name, now=issuer.clock.now()),
    )
    async with throttle.turn(attempt) as patience:
        password_hash = user.password_hash if user is not None and user.is_active else None
        right = await passwords.matches(password, password_hash, within=patience)
        if right:
            await throttle.succeeded(attempt)
        waits_now = not right and await throttle.failed(attempt)
    earliest_response = stopwatch() + throttle.rules.least

    outcome = await db.transact(_record_attempt, device, user=user, issuer=issuer, right=right, waits=waits_now)
    if isinstance(outcome, DomainError):
        with slot_released():
            await asyncio.sleep(max(0.0, earliest_response - stopwatch()))
        raise outcome
    return replace(outcome, device_cookie=throttle.cookies.issue(name, now=issuer.clock.now()))


async def refresh(db: Database, *, issuer: TokenIssuer, refresh_token: str, device: Device) -> OpenedSession:
    """
    Exchange a refresh token; an old one, used again, ends its session.

    :raises SessionEnded:
    """
    outcome = await db.transact(_rotate, device, issuer, refresh_token)
    if isinstance(outcome, DomainError):
        raise outcome
    return outcome


async def user_of_token(session: AsyncSession, refresh_token: str) -> UUID | None:
    return await account_rows.token_owner(session, token_hash=digest(refresh_token))


async def log_out(refresh_token: str, session: AsyncSession, *, address: str, now: datetime) -> None:
    row = await account_rows.lock_refresh_token(session, token_hash=digest(refresh_token))
    if row is None or not await account_rows.family_lives(session, family=row.family, now=now):
        return
    await repository.revoke_family(session, family=row.family, now=now)
    user = await session.get(User, row.user_id)
    if user is not None:
        await _record(audit.AuditOrigin(user, now, address), session, "logout", user)


async def _record_attempt(
    device: Device, session: AsyncSession, *, user: User | None, issuer: TokenIssuer, right: bool, waits: bool
) -> OpenedSession | DomainError:
    row = await repository.lock_user(session, user_id=user.user_id, with_password=True) if user is not None else None
    if user is None or row is None:
        return WrongCredentials()  # a name without an account is never written
    now = issuer.clock.now()
    origin = audit.AuditOrigin(row, now, device.address)
    # The password that was checked may have been replaced since.
    if right and row.is_active and row.password_hash == user.password_hash:
        row.failed_attempts, row.last_login_at = 0, now
        await _record(origin, session, "login.success", row)
        return await open_session(session, row, issuer=issuer, device=device, now=now)
    row.failed_attempts += 1
    await _record(origin, session, "login.failed", row)
    if waits:
        await _record(origin, session, "login.throttled", row)
    return WrongCredentials()


async def delete_expired_sessions(session: AsyncSession, *, now: datetime) -> int:
    return await account_rows.delete_expired_tokens(session, before=now, limit=1000)


async def _rotate(
    device: Device, session: AsyncSession, issuer: TokenIssuer, refresh_token: str
) -> OpenedSession | DomainError:
    now, secret = issuer.clock.now(), refresh_token
    user = await account_rows.lock_token_owner(session, token_hash=digest(secret))
    row = await account_rows.lock_refresh_token(session, token_hash=digest(secret))
    if user is None or row is None or not user.is_active or user.deleted_at is not None:
        return SessionEnded()
    if row.replaced_by_token is not None and row.revoked_at is not None and now - row.revoked_at > GRACE:
        if await account_rows.family_lives(session, family=row.family, now=now):
            await repository.revoke_family(session, family=row.family, now=now)
            await _record(audit.AuditOrigin(user, now, device.address), session, "login.token_reused", user)
        return SessionEnded("The refresh token was used before; its session has ended.")
    is_repeated = row.replaced_by_token is not None
    while row is not None and row.replaced_by_token is not None:
        secret = issuer.successor(secret)
        row = await account_rows.lock_refresh_token(session, token_hash=digest(secret))
    if row is None or row.is_revoked or row.expires_at <= now:
        return SessionEnded()
    if is_repeated:
        return await _issue_tokens(session, issuer, user, row, secret)
    secret = issuer.successor(secret)
    row.is_revoked, row.revoked_at, row.replaced_by_token = True, now, digest(secret)
    row.expires_at, row.updated_at = row.session_started_at + issuer.refresh_life, now
    return await open_session(session, user, issuer=issuer, device=device, now=now, replaced=row, secret=secret)


async def open_session(
    session: AsyncSession,
    user: User,
    *,
    issuer: TokenIssuer,
    device: Device,
    now: datetime,
    replaced: RefreshToken | None = None,
    secret: str = "",
) -> OpenedSession:
    """Continue the session of `replaced`, with the token `secret`, if given."""
    secret = secret or new_secret(48)
    started_at = replaced.session_started_at if replaced is not None else now
    row = RefreshToken(
        user_id=user.user_id,
        family=replaced.family if replaced is not None else new_id(),
        token_hash=digest(secret),
        expires_at=issuer.ends_at(started_at, now),
        session_started_at=started_at,
        ip_address=device.address[:45] or None,
        user_agent=device.user_agent[:255] or None,
        last_active_at=now,
        created_at=now,
        updated_at=now,
    )
    session.add(row)
    await session.flush()
    return await _issue_tokens(session, issuer, user, row, secret)


async def _issue_tokens(
    session: AsyncSession, issuer: TokenIssuer, user: User, row: RefreshToken, secret: str
) -> OpenedSession:
    seconds = min(issuer.access_seconds, int((row.expires_at - issuer.clock.now()).total_seconds()))
    access = issuer.access(await load_caller(session, user.public_id), session=row.family, seconds=seconds)
    return OpenedSession(access, secret, seconds, user.public_id)


async def _record(ctx: audit.AuditOrigin, session: AsyncSession, action: str, user: User) -> None:
    severity = audit.Severity.WARN if action in _SUSPICIOUS else audit.Severity.INFO
    details = {"username": user.username}
    await audit.record(ctx, session, audit.AuditEntry(action, "user", str(user.public_id), details, severity))
