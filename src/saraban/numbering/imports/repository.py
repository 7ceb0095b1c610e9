"""Imports of legacy numbers: how far each is, the lease of its worker, and the rows that are written."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.imports.domain import ImportState
from saraban.numbering.series.models import LEDGER, RENDERINGS, NumberImport


async def unfinished_import(session: AsyncSession, *, project_id: int, sha256: str) -> NumberImport | None:
    """Return an import of the same file at a terminal that was interrupted."""
    return await session.scalar(
        sa.select(NumberImport)
        .where(
            NumberImport.project_id == project_id,
            NumberImport.file_sha256 == sha256,
            NumberImport.state == ImportState.IMPORTING,
            NumberImport.file_key.is_(None),
        )
        .limit(1)
    )


async def numbers_in_ledger(
    session: AsyncSession, *, project_id: int, register: str, bases: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, UUID], frozenset[str]]:
    """:returns: base number to request token of those in the ledger, and which of `numbers` were ever printed"""
    held = sa.select(LEDGER.c.base_number, LEDGER.c.token).where(
        LEDGER.c.project_id == project_id,
        LEDGER.c.base_number.in_({*bases, *numbers}),
        LEDGER.c.register == register,
    )
    printed = sa.select(RENDERINGS.c.document_number).where(
        RENDERINGS.c.project_id == project_id,
        RENDERINGS.c.document_number.in_({*bases, *numbers}),
        RENDERINGS.c.register == register,
    )
    found = {row[0]: row[1] for row in await session.execute(held)}
    return found, frozenset(await session.scalars(printed))
