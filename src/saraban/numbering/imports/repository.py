"""Imports of legacy numbers: how far each is, the lease of its worker, and the rows that are written."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.db import AnySelect
from saraban.kit.driver import DriverConnection, SqlStatement, insert_many, insert_statement
from saraban.kit.pagination import newest_first
from saraban.numbering.series.domain.states import ImportState
from saraban.numbering.series.models import (
    AUDIT,
    AUDIT_COLUMNS,
    LEDGER,
    LEDGER_COLUMNS,
    RENDERINGS,
    ImportRow,
    NumberImport,
)
from saraban.projects.models import Project

_UNDER_WAY = (ImportState.CHECKING, ImportState.IMPORTING)
_SELECT: AnySelect = (
    sa.select(NumberImport, Project.public_id, User.username, User.public_id)
    .join(Project, Project.id == NumberImport.project_id)
    .join(User, User.user_id == NumberImport.user_id)
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


async def find_import(session: AsyncSession, public_id: UUID) -> ImportRow | None:
    found = (await session.execute(_SELECT.where(NumberImport.public_id == public_id))).one_or_none()
    return ImportRow(*found) if found else None


async def imports_page(
    session: AsyncSession, *, project_id: int, cursor: str | None, limit: int
) -> Sequence[ImportRow]:
    """Return one row more than `limit`, newest first."""
    statement = newest_first(
        _SELECT.where(NumberImport.project_id == project_id),
        at=NumberImport.created_at,
        public_id=NumberImport.public_id,
        cursor=cursor,
        limit=limit,
    )
    return [ImportRow(*found) for found in await session.execute(statement)]


async def locked_import(session: AsyncSession, key: int) -> NumberImport:
    found = await session.scalars(
        sa.select(NumberImport)
        .where(NumberImport.id == key)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return found.one()


async def is_import(public_id: UUID, session: AsyncSession) -> bool:
    """Ask under the row's lock, which waits for a COMMIT that is still under way."""
    statement = sa.select(NumberImport.id).where(NumberImport.public_id == public_id).with_for_update()
    return await session.scalar(statement) is not None


def waiting_imports(now: sa.BindParameter[datetime]) -> sa.ColumnElement[bool]:
    return sa.select(NumberImport.id).where(*_waiting(now)).exists()


def _waiting(now: datetime | sa.BindParameter[datetime]) -> tuple[sa.ColumnElement[bool], ...]:
    free = sa.or_(NumberImport.lease_until.is_(None), NumberImport.lease_until < now)
    return (NumberImport.file_key.is_not(None), NumberImport.state.in_(_UNDER_WAY), free)


async def next_waiting(session: AsyncSession, *, now: datetime) -> ImportRow | None:
    """Return the upload that waits longest for a worker, or whose worker was not heard of for too long."""
    statement = _SELECT.where(*_waiting(now))
    found = (await session.execute(statement.order_by(NumberImport.updated_at, NumberImport.id).limit(1))).one_or_none()
    return ImportRow(*found) if found else None


async def acquire_lease(session: AsyncSession, *, key: int, lease: UUID, until: datetime, now: datetime) -> bool:
    """Say whether the turn is now that of `lease`; of two that ask, one gets it. A lease that ran out is counted as lost."""
    free = sa.or_(NumberImport.lease_until.is_(None), NumberImport.lease_until < now)
    return await _changed(
        session,
        sa.update(NumberImport)
        .where(NumberImport.id == key, NumberImport.state.in_(_UNDER_WAY), free)
        .ordered_values(  # MariaDB sets one after the other, and a later expression sees what was set
            (NumberImport.leases_lost, NumberImport.leases_lost + NumberImport.lease.is_not(None).cast(sa.Integer)),
            (NumberImport.lease, lease),
            (NumberImport.lease_until, until),
        ),
    )


async def extend_lease(
    session: AsyncSession, *, key: int, lease: UUID, until: datetime, values: Mapping[str, object]
) -> bool:
    """Return whether it is still the turn of `lease`, which then lasts `until`."""
    return await _changed(
        session,
        sa.update(NumberImport)
        .where(NumberImport.id == key, NumberImport.lease == lease)
        .values(lease_until=until, **values),
    )


async def write_progress(session: AsyncSession, *, key: int, lease: UUID | None, values: Mapping[str, object]) -> bool:
    """Write how far an import is; false when it is somebody else's turn."""
    return await _changed(
        session,
        sa.update(NumberImport)
        .where(NumberImport.id == key, NumberImport.lease.is_(None) if lease is None else NumberImport.lease == lease)
        .values(**values),
    )


async def _changed(session: AsyncSession, statement: sa.Update) -> bool:
    result = await session.execute(statement.execution_options(synchronize_session=False))
    return bool(result.rowcount)  # type: ignore[attr-defined]


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
