"""What numbering asks of those whose documents carry numbers; they are registered where the parts meet."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.domain.examination import NumberedDocument


class NumberedDocuments(Protocol):
    """A register of documents, as far as numbers are concerned."""

    async def named(self, session: AsyncSession, public_ids: Sequence[UUID]) -> Sequence[NumberedDocument]:
        """Return those of these documents that the register has."""

    async def page(
        self, session: AsyncSession, *, after: int, limit: int
    ) -> tuple[Sequence[tuple[str, NumberedDocument]], int]:
        """Return documents with their projects' codes, above a key that stays inside the process, and the last key."""

    async def count(self, session: AsyncSession) -> int: ...
