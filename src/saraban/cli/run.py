"""How a verb does its work: one transaction in an account's name, or a look by the system at every page of a list."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from saraban.cli.codes import caller_named, project_named
from saraban.cli.output import with_system

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.caller import Caller
    from saraban.identity.domain.context import RequestContext
    from saraban.kit.pagination import Page

T = TypeVar("T")
PAGE = 100


def as_account(account: str, step: "Callable[[RequestContext, AsyncSession], Awaitable[T]]") -> T:
    """
    Do one step in a transaction of its own, with the rights of an account.

    :raises Invalid: when there is no such account, or it is closed
    """

    from saraban.identity.domain.context import RequestContext

    async def work(system: "System") -> T:
        async def whole(session: "AsyncSession") -> T:
            caller = await caller_named(session, account)
            return await step(RequestContext(caller, system.clock.now(), system.clock.zone), session)

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


async def system_caller_and_project(session: "AsyncSession", project: str) -> "tuple[Caller, UUID]":
    """Return who looks when nobody is named, and the public id of a project."""
    from saraban.identity.service import system_caller

    return await system_caller(session), await project_named(session, project)
