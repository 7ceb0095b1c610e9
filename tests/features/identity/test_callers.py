"""Who asks is read anew for each request, and for all that ask at the same moment together."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from saraban.identity import service as identity
from saraban.identity.models import User
from saraban.identity.service import CallerLoader, NotSignedIn, TokenIssuer
from saraban.kit.db import Database
from tests.accounts import open_session

NOBODY = UUID("01930b5e-0000-7000-8000-000000000000")
IdsOf = Callable[..., Awaitable[list[UUID]]]


class Statements:
    """What a database is asked about callers; `hook` is called at each such statement before it runs."""

    def __init__(self) -> None:
        self.count = 0
        self.hook: Any = None

    def __call__(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "FROM refresh_tokens" in statement and "user_assignments" in statement:
            self.count += 1
            if self.hook is not None:
                self.hook(self.count)


@pytest.fixture
def statements() -> Iterator[Statements]:
    watch = Statements()
    event.listen(sa.Engine, "before_cursor_execute", watch)
    yield watch
    event.remove(sa.Engine, "before_cursor_execute", watch)


@pytest.fixture
def ids_of(people_db: Database, issuer: TokenIssuer) -> IdsOf:
    """`await ids_of("viewer")` opens a session of each account, and returns their public ids."""

    async def open_sessions(*usernames: str) -> list[UUID]:
        opened = [await open_session(people_db, issuer, name) for name in usernames]
        return [issuer.read(one.access_token).session for one in opened]

    return open_sessions


class TestCallers:
    async def test_gives_what_the_database_says_of_each(self, people_db: Database, ids_of: IdsOf) -> None:
        callers = CallerLoader(people_db)
        names = ("viewer", "dc.contractor", "reviewer.consultant", "admin")
        found = await asyncio.gather(*(callers.load(one) for one in await ids_of(*names)))

        async with people_db.reading() as session:
            alone = [await identity.find_caller(session, username=name) for name in names]
        assert list(found) == alone

    async def test_reads_those_that_ask_at_the_same_moment_with_one_statement(
        self, people_db: Database, ids_of: IdsOf, statements: Statements
    ) -> None:
        ids = await ids_of("viewer", "dc.contractor", "reviewer.consultant")
        before, callers = statements.count, CallerLoader(people_db)
        found = await asyncio.gather(*(callers.load(one) for one in ids * 30))

        assert statements.count - before == 1
        assert [one.session for one in found] == ids * 30

    async def test_tells_nobody_what_was_read_before_he_came(
        self, people_db: Database, ids_of: IdsOf, statements: Statements
    ) -> None:
        (viewer,) = await ids_of("viewer")
        callers, late = CallerLoader(people_db), []
        before = statements.count

        def comes_late(count: int) -> None:
            if count == before + 1:
                late.append(asyncio.ensure_future(callers.load(viewer)))

        statements.hook = comes_late
        await callers.load(viewer)
        await asyncio.gather(*late)

        assert len(late) == 1
        assert statements.count - before == 2

    async def test_remembers_nothing(self, people_db: Database, ids_of: IdsOf) -> None:
        (viewer,) = await ids_of("viewer")
        callers = CallerLoader(people_db)
        await callers.load(viewer)
        async with people_db.writing() as session:
            await session.execute(sa.update(User).where(User.username == "viewer").values(is_active=False))

        with pytest.raises(NotSignedIn):
            await callers.load(viewer)

    async def test_refuses_one_and_not_his_neighbours(self, people_db: Database, ids_of: IdsOf) -> None:
        (viewer,) = await ids_of("viewer")
        callers = CallerLoader(people_db)
        found = await asyncio.gather(callers.load(NOBODY), callers.load(viewer), return_exceptions=True)

        assert isinstance(found[0], NotSignedIn)
        assert not isinstance(found[1], BaseException)
        assert found[1].username == "viewer"

    async def test_goes_on_when_one_of_them_leaves(self, people_db: Database, ids_of: IdsOf) -> None:
        (viewer,) = await ids_of("viewer")
        callers = CallerLoader(people_db)
        leaves, stays = (asyncio.ensure_future(callers.load(viewer)) for _ in range(2))
        await asyncio.sleep(0)
        leaves.cancel()

        assert (await stays).username == "viewer"
        assert leaves.cancelled()

    async def test_tells_all_of_a_fault_and_tries_again_for_the_next(
        self, people_db: Database, ids_of: IdsOf, statements: Statements
    ) -> None:
        (viewer,) = await ids_of("viewer")
        callers, before = CallerLoader(people_db), statements.count

        def breaks(count: int) -> None:
            if count == before + 1:
                raise ConnectionResetError("the database went away")

        statements.hook = breaks
        told = await asyncio.gather(callers.load(viewer), callers.load(viewer), return_exceptions=True)

        assert [type(one) for one in told] == [ConnectionResetError, ConnectionResetError]
        assert (await callers.load(viewer)).username == "viewer"

        assert statements.count - before == 2
