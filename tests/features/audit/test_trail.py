"""The trail: written with the deed, read newest first, never changed."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.audit.models import AuditLog
from saraban.kit.db import Database
from saraban.kit.ids import begin_trace

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)


class Somebody:
    user_id = 7
    public_id = UUID(int=7)


async def write(db: Database, action: str, *, entity_id: str = "d-1", at: datetime = NOW, fails: bool = False) -> None:
    async def work(session: AsyncSession) -> None:
        await audit.record(
            audit.AuditOrigin(Somebody(), at, "203.0.113.9"),
            session,
            audit.AuditEntry(action, "rfa", entity_id, {"เหตุผล": "ขาดแบบ"}),
        )
        if fails:
            raise RuntimeError("the deed failed")

    await db.transact(work)


class TestWrite:
    async def test_keeps_who_did_what_from_where(self, db: Database) -> None:
        trace = begin_trace()
        await write(db, "rfa.create")

        async with db.reading() as session:
            (entry,) = (await audit.list_records(session)).items
        assert (entry.action, entry.entity_type, entry.entity_id) == ("rfa.create", "rfa", "d-1")
        assert (entry.actor_public_id, entry.address, entry.request_id) == (UUID(int=7), "203.0.113.9", trace)
        assert (entry.details, entry.created_at) == ({"เหตุผล": "ขาดแบบ"}, NOW)

    async def test_goes_down_with_the_deed(self, db: Database) -> None:
        with pytest.raises(RuntimeError):
            await write(db, "rfa.create", fails=True)

        async with db.reading() as session:
            assert (await audit.list_records(session)).items == []

    async def test_is_for_good(self, db: Database) -> None:
        await write(db, "rfa.create")

        async def change(session: AsyncSession) -> None:
            row = (await session.scalars(sa.select(AuditLog))).one()
            row.action = "rfa.nothing"

        async def remove(session: AsyncSession) -> None:
            await session.delete((await session.scalars(sa.select(AuditLog))).one())

        for deed in (change, remove):
            with pytest.raises(RuntimeError, match="append-only"):
                await db.transact(deed)


class TestListing:
    async def test_goes_page_by_page_through_what_was_asked_for(self, db: Database) -> None:
        for minute in range(5):
            await write(db, f"rfa.step{minute}", at=NOW + timedelta(minutes=minute))
        await write(db, "rfa.other", entity_id="d-2")

        seen, cursor = [], None
        async with db.reading() as session:
            while True:
                page = await audit.list_records(session, entity_type="rfa", entity_id="d-1", cursor=cursor, limit=2)
                seen += [entry.action for entry in page.items]
                cursor = page.next_cursor
                if cursor is None:
                    break

        assert seen == ["rfa.step4", "rfa.step3", "rfa.step2", "rfa.step1", "rfa.step0"]

    async def test_can_be_asked_for_one_person(self, db: Database) -> None:
        await write(db, "rfa.create")

        async with db.reading() as session:
            assert len((await audit.search_records(session, audit.AuditSearch(people=frozenset({7})))).items) == 1
            assert (await audit.search_records(session, audit.AuditSearch(people=frozenset({8})))).items == []
