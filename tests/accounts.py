"""The office in which accounts are opened and changed, and the fields of one account."""

from typing import Any

import pytest

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.identity.repository import user_named
from saraban.identity.service import (
    Device,
    LogInThrottle,
    LogInThrottled,
    OpenedSession,
    TokenIssuer,
    WrongCredentials,
    sessions,
)
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from tests.factories.contexts import context

STRONG = "Correct-Horse-7"


async def open_session(db: Database, issuer: TokenIssuer, username: str) -> OpenedSession:
    """Open a session without a password: thousands of tests need one, and logging in has tests of its own."""
    async with db.writing() as session:
        user = await user_named(session, username=username)
        assert user is not None, username
        return await sessions.open_session(session, user, issuer=issuer, device=Device(), now=issuer.clock.now())


class Office:
    """Does an administrator's deeds as one of the demo people."""

    def __init__(self, db: Database, clock: FixedClock, issuer: TokenIssuer, throttle: LogInThrottle) -> None:
        self.db, self.clock, self.issuer, self.throttle = db, clock, issuer, throttle

    async def who(self, username: str) -> Caller:
        async with self.db.reading() as session:
            found = await identity.find_caller(session, username=username)
        assert found is not None
        return found

    async def do(self, verb: Any, by: str = "system", **given: Any) -> Any:
        ctx = context(await self.who(by), self.clock.now())
        return await self.db.transact(lambda session: verb(ctx, session, **given))

    async def enters(self, username: str, password: str) -> bool:
        account: dict[str, Any] = {"username": username, "password": password, "device": Device()}
        try:
            await identity.log_in(self.db, issuer=self.issuer, throttle=self.throttle, **account)
        except (WrongCredentials, LogInThrottled):
            return False
        return True


@pytest.fixture
def office(people_db: Database, clock: FixedClock, issuer: TokenIssuer, throttle: LogInThrottle) -> Office:
    return Office(people_db, clock, issuer, throttle)


def somchai(**changes: Any) -> dict[str, Any]:
    account = {"username": "Somchai", "email": "somchai@example.org"} | changes
    return {"password": account.pop("password", STRONG), "new": identity.NewAccount(**account)}
