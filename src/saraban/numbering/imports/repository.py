"""Imports of legacy numbers: how far each is, the lease of its worker, and the rows that are written."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.imports.domain import ImportState
from saraban.kit.driver import DriverConnection, SqlStatement, insert_many, insert_statement
from saraban.numbering.series.models import (
    AUDIT,
    AUDIT_COLUMNS,
    LEDGER,
    LEDGER_COLUMNS,
    RENDERINGS,
    NumberImport,
)

# Printed forms of the rows just inserted. A committed import of somebody else has its printed forms already.
_PRINT = (
    f"INSERT INTO {RENDERINGS.name} (project_id, reservation_id, document_number, revision_label, kind, created_at) "  # noqa: S608
    f"SELECT l.project_id, l.id, l.document_number, l.revision_label, 'ISSUE', l.created_at FROM {LEDGER.name} AS l "
    "WHERE l.id >= {} AND l.project_id = {} AND l.source = 'IMPORT' "
    f"AND NOT EXISTS (SELECT 1 FROM {RENDERINGS.name} AS r WHERE r.reservation_id = l.id)"
)


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
    session: AsyncSession, *, project_id: int, bases: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, UUID], frozenset[str]]:
    """:returns: base number to request token of those in the ledger, and which of `numbers` were ever printed"""
    held = sa.select(LEDGER.c.base_number, LEDGER.c.token).where(
        LEDGER.c.project_id == project_id, LEDGER.c.base_number.in_({*bases, *numbers})
    )
    printed = sa.select(RENDERINGS.c.document_number).where(
        RENDERINGS.c.project_id == project_id, RENDERINGS.c.document_number.in_({*bases, *numbers})
    )
    found = {row[0]: row[1] for row in await session.execute(held)}
    return found, frozenset(await session.scalars(printed))


async def insert_imported(
    session: AsyncSession, *, project_id: int, entries: Sequence[Sequence[object]], audits: Sequence[Sequence[object]]
) -> None:
    """Write a batch: numbers and audit in the order of `LEDGER_COLUMNS` and `AUDIT_COLUMNS`, printed forms."""
    driver = await DriverConnection.of(session)
    if driver.on_sqlite:
        first = int(await session.scalar(sa.select(sa.func.coalesce(sa.func.max(LEDGER.c.id), 0))) or 0) + 1
        await insert_many(driver, LEDGER, LEDGER_COLUMNS, entries)
        await driver.run([SqlStatement(_PRINT.replace("{}", "?"), (first, project_id))])
        await insert_many(driver, AUDIT, AUDIT_COLUMNS, audits)
        return
    await driver.run(
        [
            insert_statement(driver, LEDGER, LEDGER_COLUMNS, entries),
            SqlStatement(_PRINT.format("LAST_INSERT_ID()", project_id)),
            insert_statement(driver, AUDIT, AUDIT_COLUMNS, audits),
        ]
    )
