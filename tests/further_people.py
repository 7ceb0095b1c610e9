"""Accounts that the demo has not: somebody without a role, and the administrator of an organization."""

from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity


async def add_people(app: FastAPI) -> None:
    """Open `outsider` and `orgadmin`, both of the consultant."""
    async with app.state.db.reading() as session:
        ctx = await identity.system_context(session, app.state.clock)

    async def work(session: AsyncSession) -> None:
        for name in ("outsider", "orgadmin"):
            new = identity.NewAccount(name, f"{name}@example.org", organization_code="คคง.")
            await identity.create_user(ctx, session, new, password="Correct-Horse-7")
        grant = identity.RoleGrant("Org Admin", organization_code="คคง.")
        await identity.grant_role(ctx, session, "orgadmin", grant)

    await app.state.db.transact(work)
