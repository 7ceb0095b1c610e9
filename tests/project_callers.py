"""Every kind of caller beside the demo project: nobody, people of it, and people who have no part in it."""

from collections.abc import Awaitable, Callable

import httpx

from saraban.identity import service as identity
from saraban.identity.service import NewAccount, RoleGrant
from saraban.kit.db import Database
from tests.factories.contexts import context
from tests.other_project import add_other_project

SUPER, MANAGER, CONTROL, REVIEWER, READER = "admin", "padmin", "dc.contractor", "reviewer.consultant", "viewer"
ANONYMOUS, OUTSIDER, OTHER_MANAGER, ORG_ADMIN = "anonymous", "outsider", "other.manager", "org.admin"
# Of those with an account.
SIGNED_IN = (SUPER, MANAGER, CONTROL, REVIEWER, READER, OUTSIDER, OTHER_MANAGER, ORG_ADMIN)
CALLERS = (ANONYMOUS, *SIGNED_IN)
_ADDED = (
    (OUTSIDER, "อื่น", RoleGrant("Viewer", organization_code="อื่น")),
    (OTHER_MANAGER, "อื่น", RoleGrant("Project Manager", project_code="OTHER")),
    (ORG_ADMIN, "ผรม.2", RoleGrant("Org Admin", organization_code="ผรม.2")),
)


async def add_callers(db: Database) -> None:
    """Open the accounts that the demo lacks, in a second project where they need one."""
    await add_other_project(db)
    async with db.writing() as session:
        ctx = context(caller=await identity.system_caller(session))
        for name, organization, grant in _ADDED:
            account = NewAccount(name, f"{name}@example.org", organization_code=organization)
            await identity.create_user(ctx, session, account, password="Correct-Horse-7")
            await identity.grant_role(ctx, session, name, grant)


async def statuses(
    ask: Callable[[httpx.AsyncClient], Awaitable[httpx.Response]],
    signed_in: Callable[[str], Awaitable[httpx.AsyncClient]],
    anonymous: httpx.AsyncClient,
) -> dict[str, int]:
    """Ask as each caller, and give the status that each was answered with."""
    found = {ANONYMOUS: (await ask(anonymous)).status_code}
    for name in SIGNED_IN:
        found[name] = (await ask(await signed_in(name))).status_code
    return found


def everybody(status: int, **others: int) -> dict[str, int]:
    """Give the same status to all but those named, with `_` for dots."""
    return dict.fromkeys(CALLERS, status) | {name.replace("_", "."): one for name, one in others.items()}
