"""An account that is opened for a test, and what its owner was notified of."""

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.service import Event
from saraban.identity.domain.context import Caller
from saraban.identity.models import User
from saraban.kit.db import Database
from saraban.kit.ids import new_id

NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)


def account(username: str) -> User:
    return User(
        username=username,
        password_hash="!",
        email=f"{username}@saraban.invalid",
        created_at=NEW_YEAR,
        updated_at=NEW_YEAR,
    )


async def open_account(db: Database, username: str) -> Caller:
    async def work(session: AsyncSession) -> Caller:
        user = account(username)
        session.add(user)
        await session.flush()
        return Caller(user.user_id, user.public_id, username, username, None, frozenset(), ())

    return await db.transact(work)


def told(user: UUID, number: str, at: datetime) -> Event:
    payload = {
        "documentPublicId": str(new_id()),
        "documentKind": "rfa",
        "number": number,
        "title": "น้ำหนักบรรทุก",
        "stateLabel": {"th": "ตรวจ", "en": "Review"},
        "waiting": {"organizations": [], "users": [str(user)]},
    }
    return Event(new_id(), "workflow.transitioned", "workflow_instance", str(new_id()), payload, at)
