"""
How a command does its work: a reading session, or one transaction, in an account's name or the system's.

The command line names things by code where the API takes public ids; they are looked up here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar
from uuid import UUID

from saraban.cli.output import with_system
from saraban.kit.errors import unknown
from saraban.kit.text import Spellings

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.kit.clock import Clock
    from saraban.kit.pagination import Page
    from saraban.numbering.service import NumberRequest

P = ParamSpec("P")
T = TypeVar("T")
PAGE = 100
HERE = "command line"
# A function of a service: what it takes beside its context and its session is passed on.
Step = Callable[Concatenate["RequestContext", "AsyncSession", P], Awaitable[T]]


def as_account(account: str | None, step: "Step[P, T]", /, *args: P.args, **kwargs: P.kwargs) -> T:
    """
    Do one step in a transaction of its own, with the rights of an account; without one, as the user `system`.

    :raises Invalid: when there is no such account, or it is closed
    """
    return with_system(DatabaseStep(account, "", step, args, kwargs).change)


def as_operator(account: str | None, step: "Step[P, T]", /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do the same; the audit trail says that it was done on the server."""
    return with_system(DatabaseStep(account, HERE, step, args, kwargs).change)


def as_system(step: "Step[P, T]", /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Whoever can run commands on the server acts as the user `system`; the audit trail says so."""
    return with_system(DatabaseStep(None, HERE, step, args, kwargs).change)


def reading(step: "Step[P, T]", /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do one step that only reads; whoever can run commands here may read everything."""
    return with_system(DatabaseStep(None, "", step, args, kwargs).read)


def reading_as(account: str | None, step: "Step[P, T]", /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do one step that only reads, with the rights of an account; without one, as the user `system`."""
    return with_system(DatabaseStep(account, HERE, step, args, kwargs).read)


@dataclass(frozen=True, slots=True)
class DatabaseStep(Generic[T]):
    account: str | None
    address: str
    step: Callable[..., Awaitable[T]]
    args: Sequence[object]
    kwargs: Mapping[str, object]

    async def change(self, system: "System") -> T:
        return await system.db.transact(self._do, system.clock)

    async def read(self, system: "System") -> T:
        async with system.db.reading() as session:
            return await self._do(system.clock, session)

    async def _do(self, clock: "Clock", session: "AsyncSession") -> T:
        ctx = await account_context(session, clock, self.account, self.address)
        return await self.step(ctx, session, *self.args, **self.kwargs)


async def in_project(
    ctx: "RequestContext", session: "AsyncSession", project: str, verb: Callable[..., Awaitable[T]], /, **more: object
) -> T:
    """Call a function of a service with the public id of the project of a code."""
    return await verb(ctx, session, project_public_id=await project_named(session, project), **more)


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


async def request_in_codes(
    ctx: "RequestContext",
    session: "AsyncSession",
    places: tuple[str, str, str | None, str | None],
    kind: str,
    codes: Mapping[str, object],
) -> "NumberRequest":
    """
    :param places: codes of the project, the originator, the recipient and the contract
    :param codes: further fields of the request, as they are
    :raises Invalid: naming the option
    """
    from saraban.numbering.service import NumberRequest
    from saraban.projects import service as projects

    project_code, originator, recipient, contract = places
    project = await project_named(session, project_code)
    read = await projects.read_project(ctx, session, public_id=project)
    members = Spellings({one.organization_code: one.public_id for one in read.organizations})
    contracts = Spellings({one.contract_code: one.public_id for one in read.contracts})
    values: dict[str, Any] = dict(codes)
    return NumberRequest(
        project_public_id=project,
        correspondence_type_code=kind,
        originator_organization_public_id=_named(members, originator, "from"),
        recipient_organization_public_id=_named(members, recipient, "to") if recipient else None,
        contract_public_id=_named(contracts, contract, "contract") if contract else None,
        **values,
    )


async def account_context(
    session: "AsyncSession", clock: "Clock", account: str | None, address: str = ""
) -> "RequestContext":
    """
    Return in whose name something is done: an account's, or the user `system`'s where nobody is named.

    :raises Invalid: when there is no such account, or it is closed
    """
    from saraban.identity.domain.context import RequestContext
    from saraban.identity.service import find_caller, system_context

    if account is None:
        return await system_context(session, clock, address)
    caller = await find_caller(session, username=account)
    if caller is None:
        raise unknown("/as", account)
    return RequestContext(caller, clock.now(), clock.zone, address)


async def project_named(session: "AsyncSession", code: str) -> UUID:
    from saraban.projects import service as projects

    return (await projects.find_project_by_code(session, code=code, pointer="/project")).public_id


async def number_named(
    ctx: "RequestContext", session: "AsyncSession", project: str, number: str, register: str | None
) -> UUID:
    """
    Return the public id of a number as it is printed.

    :param register: of drawings; None for documents
    :raises NotFound: also for a number that the account may not see
    """
    from saraban.numbering import service as numbering
    from saraban.numbering.series.domain.states import DOCUMENTS

    place = await project_named(session, project)
    found = await numbering.resolve_number(
        ctx, session, project_public_id=place, number=number, register=register or DOCUMENTS
    )
    return found.asked.public_id


async def members_of(ctx: "RequestContext", session: "AsyncSession", project: str) -> tuple[UUID, Mapping[str, UUID]]:
    from saraban.projects import service as projects

    place = await project_named(session, project)
    read = await projects.read_project(ctx, session, public_id=place)
    return place, Spellings({one.organization_code: one.public_id for one in read.organizations})


def _named(known: Mapping[str, UUID], code: str, option: str) -> UUID:
    if code not in known:
        raise unknown(f"/{option}", code)
    return known[code]
