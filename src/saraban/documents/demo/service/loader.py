"""The demo project with its accounts and documents, as the set-up page and `saraban setup --demo` load it."""

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
        """
        Load the project and its accounts.

        :param update_shared: an organization of the demo may exist under another name
        """
        ctx = await identity.system_context(session, self.clock)
        await setup.apply(ctx, session, content=setup.demo(), update_shared=update_shared)
        await seed_demo_accounts(session)

    async def load_documents(self) -> int:
        """Write the demo documents that are missing, and return their number."""
        return await load(self.services, now=self.clock.now())
