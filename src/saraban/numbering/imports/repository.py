"""Reads for imports of legacy numbers."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.imports.domain import ImportState
from saraban.kit.text import key_text
from saraban.numbering.series.models import LEDGER, RENDERINGS, NumberImport


async def unfinished_import(session: AsyncSession, *, project_id: int, sha256: str) -> NumberImport | None:
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
    """:returns: request token by base number, and the numbers that were ever printed"""
    base_numbers = sa.select(LEDGER.c.base_number_key, LEDGER.c.token).where(
        LEDGER.c.project_id == project_id,
        LEDGER.c.base_number_key.in_({*bases, *numbers}),
        LEDGER.c.register == register,
    )
    renderings = sa.select(RENDERINGS.c.document_number_key).where(
        RENDERINGS.c.project_id == project_id,
        RENDERINGS.c.document_number_key.in_({*bases, *numbers}),
        RENDERINGS.c.register == register,
    )
    tokens = {row[0]: row[1] for row in await session.execute(base_numbers)}
    printed_keys = set(await session.scalars(renderings))
    keys = {number: key_text(number) for number in {*bases, *numbers}}
    token_by_number = {number: tokens[key] for number, key in keys.items() if key in tokens}
    return token_by_number, frozenset(number for number, key in keys.items() if key in printed_keys)
