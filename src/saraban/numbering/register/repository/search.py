"""Numbers by a part of any form in which they were ever printed."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.register.domain import FoundNumber
from saraban.numbering.register.repository.ledger import RegisterPlace
from saraban.numbering.series.models import LedgerEntry, NumberRendering

_LAST_LETTER = "\U0010ffff"


async def find_numbers(session: AsyncSession, place: RegisterPlace, *, text: str, limit: int) -> Sequence[FoundNumber]:
    """
    Return numbers of a project that were ever printed with `text` in them, each once, those that begin with it first.

    Other than by its beginning, a part is looked for in every printed number, along the index that has them; a whole number
    is not.
    """
    printed = NumberRendering.document_number
    found: dict[int, FoundNumber] = {}
    for fits in (
        sa.and_(printed >= text, printed < text + _LAST_LETTER),
        sa.func.instr(sa.func.upper(printed), text.upper()) > 0,
    ):
        statement = (
            sa.select(
                LedgerEntry.id,
                printed,
                LedgerEntry.public_id,
                LedgerEntry.document_number,
                LedgerEntry.document_number_status,
                LedgerEntry.series,
                LedgerEntry.holder_kind,
                LedgerEntry.holder_public_id,
                LedgerEntry.replaced_by_uuid,
            )
            .join_from(NumberRendering, LedgerEntry, LedgerEntry.id == NumberRendering.reservation_id)
            .where(NumberRendering.project_id == place.project, fits)
            .where(*place.of(LedgerEntry.originator_organization_id))
            .order_by(printed)
            .limit(limit)
            .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
        )
        for row in (await session.execute(statement)).all():
            found.setdefault(row.id, FoundNumber(*row))
        if len(found) >= limit or any(one.printed == text for one in found.values()):
            break
    return list(found.values())[:limit]
