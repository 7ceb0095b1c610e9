"""People on each database: a role begins and ends by the clock of the database, and many at once leave somebody who administers."""

import asyncio
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.identity.domain.context import Scope
from saraban.identity.models import User, UserAssignment
from saraban.identity.service import LastSuperAdmin, RoleGrant
from saraban.kit.clock import SystemClock
from saraban.kit.db import Database
from saraban.workflow.runtime.repository import assignee_rows
from tests.accounts import open_session
from tests.factories.contexts import context
from tests.people_rows import people_rows
from tests.statement_count import counting

pytestmark = pytest.mark.sampled("mariadb")

HOUR = timedelta(hours=1)
CLOCK = SystemClock(ZoneInfo("Asia/Bangkok"))


@pytest.fixture
def people_db(any_people_db: Database) -> Database:
    return any_people_db


async def do(db: Database, verb: Any, by: str = "system", **given: Any) -> Any:
    async with db.reading() as session:
        caller = await identity.find_caller(session, username=by)
    assert caller is not None
    ctx = context(caller, CLOCK.now())
    return await db.transact(lambda session: verb(ctx, session, **given))


async def set_period(db: Database, begins: datetime | None, ends: datetime | None) -> None:
    """The viewer's role as an editor of คคง., from a moment until a moment that days cannot name."""
    changed = sa.update(UserAssignment).where(UserAssignment.changes_at.is_not(None))
    values = {"valid_from": begins, "valid_until": ends, "changes_at": begins or ends}
    await db.transact(lambda session: session.execute(changed.values(**values)))


@pytest_asyncio.fixture
async def editor(people_db: Database) -> Database:
    grant = RoleGrant("Editor", "คคง.", last=date(2199, 1, 1))
    await do(people_db, identity.grant_role, username="viewer", grant=grant)
    await people_db.transact(lambda session: session.execute(sa.delete(OutboxEvent)))
    return people_db


async def told(db: Database) -> int:
    async with db.reading() as session:
        return await session.scalar(sa.select(sa.func.count()).select_from(OutboxEvent)) or 0


class TestPeriod:
    @pytest.mark.parametrize(
        ("begins", "ends", "counts"),
        [(-HOUR, HOUR, True), (HOUR, None, False), (-2 * HOUR, -HOUR, False), (None, timedelta(seconds=-1), False)],
    )
    async def test_is_asked_by_whoever_asks_what_somebody_may(
        self, editor: Database, begins: timedelta | None, ends: timedelta | None, counts: bool
    ) -> None:
        now = CLOCK.now()
        await set_period(editor, None if begins is None else now + begins, None if ends is None else now + ends)
        async with editor.reading() as session:
            consultant = await identity.find_caller(session, username="dc.consultant")
            viewer = await identity.find_caller(session, username="viewer")
            assert consultant is not None
            assert viewer is not None
            here = frozenset({consultant.organization_id or 0})
            (again,) = (await identity.load_callers(session, [viewer.public_id])).values()
            held = await identity.profile(context(viewer, now), session)
            holders = await assignee_rows.holders(
                session, roles=["Editor"], permissions=["rfa.create"], scope=Scope(here)
            )
            found = [
                *(one.may("rfa.create", Scope(here)) for one in (viewer, again)),
                viewer.public_id in holders,
                viewer.public_id in {one.public_id for one in await identity.users_of(session, here)},
                viewer.public_id
                in (await identity.members_of_each(session, here, None))[consultant.organization_id or 0],
                viewer.public_id
                in (await identity.members_of_each(session, here, ["rfa.create"]))[consultant.organization_id or 0],
                "Editor" in {one.role for one in held.roles},
            ]
        issuer = identity.TokenIssuer(
            "a-key-of-this-test-and-of-nothing-else-at-all", access_minutes=15, refresh_days=7, clock=CLOCK
        )
        opened = await open_session(editor, issuer, "viewer")
        loaded = await identity.CallerLoader(editor).load(issuer.read(opened.access_token).session)

        assert [*found, loaded.may("rfa.create", Scope(here))] == [counts] * 8

    async def test_is_told_once_when_it_begins_and_once_when_it_ends(self, editor: Database) -> None:
        now = CLOCK.now()
        await set_period(editor, now - 2 * HOUR, now + HOUR)
        await asyncio.gather(*(identity.announce_periods(editor, now=now) for _ in range(4)))
        begun = await told(editor)
        await editor.transact(lambda session: session.execute(sa.update(UserAssignment).values(valid_until=None)))
        ended = sa.update(UserAssignment).where(UserAssignment.changes_at.is_not(None))
        await editor.transact(
            lambda session: session.execute(ended.values(valid_until=now - HOUR, changes_at=now - HOUR))
        )
        await asyncio.gather(*(identity.announce_periods(editor, now=now) for _ in range(4)))

        assert (begun, await told(editor)) == (1, 2)

    async def test_that_passed_while_no_worker_ran_is_told_still(self, editor: Database) -> None:
        now = CLOCK.now()
        await set_period(editor, now - 2 * HOUR, now - HOUR)

        assert await identity.announce_periods(editor, now=now) == 2
        assert await identity.announce_periods(editor, now=now) == 0
        assert await told(editor) == 2


class TestTheLastSuperAdmin:
    async def test_of_two_who_close_each_other_one_stays(self, people_db: Database) -> None:
        await do(people_db, identity.grant_role, username="padmin", grant=RoleGrant("Superadmin"))
        outcomes = await asyncio.gather(
            *(
                do(people_db, identity.set_active, by=by, username=whom, active=False)
                for by, whom in (("admin", "padmin"), ("padmin", "admin"))
            ),
            return_exceptions=True,
        )

        assert [type(one) for one in outcomes if isinstance(one, BaseException)] == [LastSuperAdmin]
        async with people_db.reading() as session:
            open_ones = set(await session.scalars(sa.select(User.username).where(User.is_active)))
        assert len({"admin", "padmin"} & open_ones) == 1


class TestImport:
    @pytest.mark.sampled("sqlite")
    async def test_of_many_takes_as_many_statements_as_one_of_few(self, people_db: Database) -> None:
        counts = []
        for start, people in ((0, 3), (100, 60)):
            rows = [
                [f"p{one}", f"p{one}@example.org", "ก", "ข", "คคง.", "Viewer", "", "คคง."]
                for one in range(start, start + people)
            ]
            with counting(people_db) as sent:
                await do(people_db, identity.import_people, rows=people_rows(*rows))
            counts.append(len(sent))

        # SQLite gives the keys of rows one by one, and has no round trips to save.
        assert counts[1] <= counts[0] + (3 * 57 if people_db.is_sqlite else 3)
        async with people_db.reading() as session:
            kept = list(await session.scalars(sa.select(AuditLog.action)))
        assert [kept.count(name) for name in ("user.create", "user.invite", "user.grant_role")] == [63, 63, 63]
