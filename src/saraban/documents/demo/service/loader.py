"""Loads the demo project, its accounts and its documents."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.demo.service import DemoServices, load
from saraban.identity import service as identity
from saraban.identity.service.first_run import seed_demo_accounts
from saraban.kit.clock import Clock
from saraban.setup import service as setup


@dataclass(frozen=True, slots=True)
class DemoLoader:
    clock: Clock
    services: DemoServices

    async def load_project(self, session: AsyncSession, *, update_shared: bool = False) -> None:
        """:param update_shared: an organization of the demo may exist under another name"""
        ctx = await identity.system_context(session, self.clock)
        await setup.apply(ctx, session, content=setup.demo(), update_shared=update_shared)
        await seed_demo_accounts(session)

    async def load_documents(self) -> int:
        return await load(self.services, now=self.clock.now())
