"""Documents as the books of numbering see them: which number each holds, and what it prints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.register.domain.consistency import NumberedDocument
from saraban.projects.models import Project


@dataclass(frozen=True)
class DocumentNumbers:
    """
    The numbers that the documents of one table carry, for `number verify`.

    :param document: the mapped class of the documents
    :param printed: its attribute with the number as it is printed now
    """

    document: Any
    printed: Any

    async def named(self, session: AsyncSession, public_ids: Sequence[UUID]) -> Sequence[NumberedDocument]:
        rows = await session.execute(self._select().where(self.document.public_id.in_(public_ids)))
        return [self._carried(row) for row in rows.all()]

    async def page(
        self, session: AsyncSession, *, after: int, limit: int
    ) -> tuple[Sequence[tuple[str, NumberedDocument]], int]:
        statement = self._select().where(self.document.id > after).order_by(self.document.id).limit(limit)
        rows = (await session.execute(statement)).all()
        return [(row.project_code, self._carried(row)) for row in rows], rows[-1].id if rows else after

    async def count(self, session: AsyncSession) -> int:
        return await session.scalar(sa.select(sa.func.count()).select_from(self.document)) or 0

    def _select(self) -> Any:
        document = self.document
        return sa.select(
            document.id,
            document.public_id,
            document.number_uuid,
            self.printed.label("printed"),
            document.cancelled_at,
            Project.project_code,
        ).join(Project, Project.id == document.project_id)

    def _carried(self, row: Any) -> NumberedDocument:
        return NumberedDocument(row.public_id, row.number_uuid, row.printed, row.cancelled_at is not None)
