"""Statements about imports and the leases of their workers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.imports.domain import ImportState
from saraban.imports.models import FileImport, ImportRow, OneImport
from saraban.kit.db import AnySelect
from saraban.kit.pagination import newest_first
from saraban.projects.models import Project

_ACTIVE_STATES = (ImportState.CHECKING, ImportState.IMPORTING)


def _select(model: type[FileImport]) -> AnySelect:
    return (
        sa.select(model, Project.public_id, User.username, User.public_id)
        .join(Project, Project.id == model.project_id)
        .join(User, User.user_id == model.user_id)
    )


async def find_import(session: AsyncSession, model: type[OneImport], public_id: UUID) -> ImportRow[OneImport] | None:
    row = (await session.execute(_select(model).where(model.public_id == public_id))).one_or_none()
    return ImportRow(*row) if row else None


async def imports_page(
    session: AsyncSession,
    model: type[OneImport],
    *conditions: sa.ColumnElement[bool],
    project_id: int,
    cursor: str | None,
    limit: int,
) -> Sequence[ImportRow[OneImport]]:
    statement = newest_first(
        _select(model).where(model.project_id == project_id, *conditions),
        at=model.created_at,
        public_id=model.public_id,
        cursor=cursor,
        limit=limit,
    )
    return [ImportRow(*row) for row in await session.execute(statement)]


async def lock_import(session: AsyncSession, model: type[OneImport], key: int) -> OneImport:
    rows = await session.scalars(
        sa.select(model).where(model.id == key).with_for_update().execution_options(populate_existing=True)
    )
    return rows.one()


async def is_import(public_id: UUID, session: AsyncSession, model: type[FileImport]) -> bool:
    """Lock the row, to wait for a pending COMMIT."""
    statement = sa.select(model.id).where(model.public_id == public_id).with_for_update()
    return await session.scalar(statement) is not None


def waiting_imports(model: type[FileImport], now: sa.BindParameter[datetime]) -> sa.ColumnElement[bool]:
    return sa.select(model.id).where(*_waiting_conditions(model, now)).exists()


def _waiting_conditions(
    model: type[FileImport], now: datetime | sa.BindParameter[datetime]
) -> tuple[sa.ColumnElement[bool], ...]:
    free = sa.or_(model.lease_until.is_(None), model.lease_until < now)
    return (model.file_key.is_not(None), model.state.in_(_ACTIVE_STATES), free)


async def find_waiting(session: AsyncSession, model: type[OneImport], *, now: datetime) -> ImportRow[OneImport] | None:
    statement = _select(model).where(*_waiting_conditions(model, now))
    row = (await session.execute(statement.order_by(model.updated_at, model.id).limit(1))).one_or_none()
    return ImportRow(*row) if row else None


async def acquire_lease(
    lease: UUID, session: AsyncSession, model: type[FileImport], *, key: int, until: datetime, now: datetime
) -> bool:
    """Return whether the lease was acquired; an expired lease is counted as lost."""
    free = sa.or_(model.lease_until.is_(None), model.lease_until < now)
    return await _execute_update(
        session,
        sa.update(model)
        .where(model.id == key, model.state.in_(_ACTIVE_STATES), free)
        .ordered_values(  # MariaDB assigns in this order, and later expressions see earlier values
            (model.leases_lost, model.leases_lost + model.lease.is_not(None).cast(sa.Integer)),
            (model.lease, lease),
            (model.lease_until, until),
        ),
    )


async def write_progress(
    session: AsyncSession, model: type[FileImport], *, key: int, lease: UUID | None, values: Mapping[str, object]
) -> bool:
    """Return False if another worker has the lease."""
    return await _execute_update(
        session,
        sa.update(model)
        .where(model.id == key, model.lease.is_(None) if lease is None else model.lease == lease)
        .values(**values),
    )


async def _execute_update(session: AsyncSession, statement: sa.Update) -> bool:
    result = await session.execute(statement.execution_options(synchronize_session=False))
    return bool(result.rowcount)  # type: ignore[attr-defined]
