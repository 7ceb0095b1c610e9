"""How a verb does its work: one transaction in an account's name, or a look by the system at every page of a list."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from saraban.cli.codes import account_context, project_named
from saraban.cli.output import with_system

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.kit.clock import Clock
    from saraban.kit.pagination import Page

T = TypeVar("T")
PAGE = 100
HERE = "command line"


def as_account(account: str, step: "Callable[[RequestContext, AsyncSession], Awaitable[T]]", *, address: str = "") -> T:
    """
    Do one step in a transaction of its own, with the rights of an account.

    :raises Invalid: when there is no such account, or it is closed
    """

    async def work(system: "System") -> T:
        async def whole(session: "AsyncSession") -> T:
            return await step(await account_context(session, system.clock, account, address), session)

        return await system.db.transact(whole)

    return with_system(work)


def as_system(step: "Callable[[RequestContext, AsyncSession], Awaitable[T]]") -> T:
    """Whoever can run commands on the server acts as the user `system`; the audit trail says so."""
    from saraban.identity.service import system_context

    async def work(system: "System") -> T:
        async def whole(session: "AsyncSession") -> T:
            return await step(await system_context(session, system.clock, HERE), session)

        return await system.db.transact(whole)

    return with_system(work)


async def read_pages(read: "Callable[[str | None], Awaitable[Page[T]]]", *, most: int | None = None) -> list[T]:
    """Read a list page by page, to its end or to `most` rows; `read` takes the cursor."""
    found: list[T] = []
    cursor: str | None = None
    while most is None or len(found) < most:
        page = await read(cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    return found[:most]


async def system_context_and_project(
    session: "AsyncSession", clock: "Clock", project: str
) -> "tuple[RequestContext, UUID]":
    """Return in whose name something is read when nobody is named, and the public id of a project."""
    from saraban.identity.service import system_context

    return await system_context(session, clock), await project_named(session, project)
