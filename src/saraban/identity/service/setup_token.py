"""The set-up page's token, printed at the terminal; the last one counts for all processes."""

import hmac
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.models import SetupToken
from saraban.identity.service.callers import lock_rights
from saraban.identity.service.first_run import AlreadySetUp
from saraban.identity.service.sessions import digest
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.ids import new_secret

SETUP_TOKEN_LIFE: Final = timedelta(hours=1)
SETUP_PATH: Final = "/setup"
_NEW_LINK = Text(
    "ขอลิงก์ใหม่ด้วยคำสั่ง `saraban setup --token` บนเซิร์ฟเวอร์",
    "Have a new link printed on the server with `saraban setup --token`.",
)


class SetupTokenWrong(DomainError):
    """The token of the set-up page is not valid: it was mistyped, or a newer one was printed."""

    kind, code = ErrorKind.FORBIDDEN, "SETUP_TOKEN_WRONG"
    says = Text("ลิงก์ตั้งค่าเริ่มต้นนี้ไม่ถูกต้อง", "This set-up link is not the right one.")
    recovery = (
        Text("เปิดลิงก์ล่าสุดที่เซิร์ฟเวอร์พิมพ์ไว้", "Open the link that the server printed last."),
        _NEW_LINK,
    )


class SetupTokenExpired(DomainError):
    """The set-up link is older than an hour."""

    kind, code = ErrorKind.GONE, "SETUP_TOKEN_EXPIRED"
    says = Text("ลิงก์ตั้งค่าเริ่มต้นนี้หมดอายุแล้ว (ใช้ได้หนึ่งชั่วโมง)", "This set-up link has expired: it works for an hour.")
    recovery = (_NEW_LINK,)


async def issue_setup_token(session: AsyncSession, *, now: datetime) -> str:
    """:raises AlreadySetUp:"""
    await lock_rights(session)
    if await repository.has_accounts(session):
        raise AlreadySetUp
    token = new_secret()
    expires_at = now + SETUP_TOKEN_LIFE
    await session.merge(SetupToken(id=1, token_hash=digest(token), expires_at=expires_at))
    return token


async def require_setup_token(session: AsyncSession, *, token: str, now: datetime) -> None:
    """:raises AlreadySetUp, SetupTokenWrong, SetupTokenExpired:"""
    if await repository.has_accounts(session):
        raise AlreadySetUp
    row = await session.get(SetupToken, 1)
    if row is None or not hmac.compare_digest(row.token_hash, digest(token)):
        raise SetupTokenWrong
    if row.expires_at <= now:
        raise SetupTokenExpired
