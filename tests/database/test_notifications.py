"""Notifications in a table that MariaDB keeps in partitions, and that has no unique public id there."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.service import Event
from saraban.identity.domain.caller import Caller
from saraban.identity.models import User
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications

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


class TestNotifications:
    async def test_are_found_across_the_turn_of_the_year(self, any_db: Database) -> None:
        reader, other = await open_account(any_db, "reader"), await open_account(any_db, "other")
        moments = [NEW_YEAR + timedelta(seconds=offset) for offset in (-1, 0, 1)]
        for number, at in enumerate(moments):
            event = told(reader.public_id, f"N-{number}", at)
            for _ in range(2):
                await any_db.transact(lambda session, event=event: notifications.react(session, event))

        async with any_db.reading() as session:
            first = await notifications.listing(session, caller=reader, language="en", limit=2)
            rest = await notifications.listing(session, caller=reader, language="en", limit=2, cursor=first.next_cursor)
            assert (await notifications.listing(session, caller=other, language="en")).items == []
        views = first.items + rest.items
        assert [view.title for view in views] == [f"N-{number} awaits your action" for number in (2, 1, 0)]
        assert views[0].message == "“น้ำหนักบรรทุก” has reached the step Review."

        await any_db.transact(lambda session: notifications.read(session, caller=reader, public_id=views[2].public_id))
        async with any_db.reading() as session:
            assert await notifications.unread_count(session, caller=reader) == 2
        await any_db.transact(lambda session: notifications.read_all(session, caller=reader, now=NEW_YEAR))
        async with any_db.reading() as session:
            assert await notifications.unread_count(session, caller=reader) == 1
        with pytest.raises(NotFound):
            await any_db.transact(
                lambda session: notifications.read(session, caller=other, public_id=views[0].public_id)
            )
