"""The statements of imports and of the ledger's export."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.models import Organization, User
from saraban.kit.pipeline import DriverConnection, SqlStatement, insert_many, insert_statement
from saraban.numbering.models import LedgerEntry, NumberFormat
from saraban.numbering.repository.drawing import AUDIT, AUDIT_COLUMNS, LEDGER, LEDGER_COLUMNS, RENDERINGS
from saraban.projects.models import CorrespondenceType

# Printed forms of the rows just inserted. A committed import of somebody else has its printed forms already.
_PRINT = (
    f"INSERT INTO {RENDERINGS.name} (project_id, reservation_id, document_number, revision_label, kind, created_at) "  # noqa: S608
    f"SELECT l.project_id, l.id, l.document_number, l.revision_label, 'ISSUE', l.created_at FROM {LEDGER.name} AS l "
    "WHERE l.id >= {} AND l.project_id = {} AND l.source = 'IMPORT' "
    f"AND NOT EXISTS (SELECT 1 FROM {RENDERINGS.name} AS r WHERE r.reservation_id = l.id)"
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
    session: AsyncSession, *, project_id: int, entries: Sequence[Sequence[Any]], audits: Sequence[Sequence[Any]]
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


_originator = aliased(Organization, name="originator")
_recipient = aliased(Organization, name="recipient")
_EXPORTED = (
    LedgerEntry.id,
    LedgerEntry.document_number,
    CorrespondenceType.type_code,
    _originator.organization_code,
    _recipient.organization_code,
    LedgerEntry.series,
    LedgerEntry.sequence_number,
    LedgerEntry.revision_label,
    LedgerEntry.document_number_status,
    LedgerEntry.source,
    LedgerEntry.holder_kind,
    LedgerEntry.holder_public_id,
    LedgerEntry.reason,
    User.username,
    LedgerEntry.created_at,
    LedgerEntry.confirmed_at,
    LedgerEntry.cancelled_at,
    LedgerEntry.voided_at,
    LedgerEntry.public_id,
    LedgerEntry.replaces_uuid,
    LedgerEntry.replaced_by_uuid,
    LedgerEntry.format_template,
    LedgerEntry.format_source,
    NumberFormat.sub_type_code,
    NumberFormat.rfa_type_code,
    NumberFormat.discipline_code,
)


async def ledger_page(
    session: AsyncSession, *, project_id: int, type_code: str | None, series: str | None, after: int, limit: int
) -> Sequence[Any]:
    """Return numbers of a project in the order of issue, whatever their state, those with a key above `after`."""
    statement = (
        sa.select(*_EXPORTED)
        .join(CorrespondenceType, CorrespondenceType.id == LedgerEntry.correspondence_type_id)
        .outerjoin(_originator, _originator.id == LedgerEntry.originator_organization_id)
        .outerjoin(_recipient, _recipient.id == LedgerEntry.recipient_organization_id)
        .join(User, User.user_id == LedgerEntry.user_id)
        .outerjoin(NumberFormat, NumberFormat.public_id == LedgerEntry.format_uuid)
        .where(LedgerEntry.project_id == project_id, LedgerEntry.id > after)
        .order_by(LedgerEntry.id)
        .limit(limit)
    )
    if type_code is not None:
        statement = statement.where(CorrespondenceType.type_code == type_code)
    if series is not None:
        statement = statement.where(LedgerEntry.series == series)
    return (await session.execute(statement)).all()
