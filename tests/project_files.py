"""Applying a project file, and what it answered."""

from datetime import UTC, datetime
from typing import Any

from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.setup import service as setup
from tests.factories.contexts import context

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)


async def applied(db: Database, text: str, *, by: str = "system", **how: Any) -> setup.AppliedFile:
    async def work(session: Any) -> setup.AppliedFile:
        caller = await identity.find_caller(session, username=by)
        assert caller is not None
        return await setup.apply(context(caller, NOW, address="test"), session, content=text.encode(), **how)

    return await db.transact(work)


def said(found: setup.AppliedFile) -> list[tuple[str, str]]:
    return [(one.what.value, one.pointer) for one in found.differences]
