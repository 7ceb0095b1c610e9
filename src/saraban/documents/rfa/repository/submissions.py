"""Drawings for which approval has been asked."""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.models import DocumentRevision
from saraban.documents.drawing.domain import DrawingKind
from saraban.documents.rfa.models import RfaItemClaim
from saraban.documents.rfa.repository.items import DRAWINGS


async def submitted(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> set[int]:
    """Return which revisions an open RFA carries that is no draft any more."""
    if kind not in DRAWINGS:
        return set()
    column = DRAWINGS[kind].claim
    statement = (
        sa.select(column)
        .join(DocumentRevision, DocumentRevision.id == RfaItemClaim.rfa_revision_id)
        .where(column.in_(keys), DocumentRevision.issued_date.is_not(None))
    )
    return {key for key in await session.scalars(statement) if key is not None}
