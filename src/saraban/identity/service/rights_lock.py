"""
Whoever writes down whom something asks, and whoever changes what people may do, exclude each other.

Without it a grant could be committed and told while a step that has read the rights of before is not committed yet: who
hears of the grant does not see the step, the step does not see the grant, and what it wrote stays wrong. So the first hold
the rights together (`keep`), the second alone (`change`), until their transactions end. Then a writer is either committed
before the rights change, and who hears of the change finds what it wrote; or it reads the rights as they are after it.

What is held is one row that nobody writes, the first role's; SQLite has one writer at a time anyway. Whoever keeps the rights
has the locks of its instances already, so that the two wait for each other no longer than a transaction takes; where other
rows make a deadlock of it, the database ends one of the two and it is run again.
"""

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.repository import accounts as repository


async def hold_shared(session: AsyncSession) -> None:
    """Keep what people may do as it is until the transaction ends; called before it is read."""
    await repository.lock_rights(session, alone=False)


async def hold_exclusive(session: AsyncSession) -> None:
    """Wait for all who keep the rights, and let nobody keep them until they are changed."""
    await repository.lock_rights(session, alone=True)
