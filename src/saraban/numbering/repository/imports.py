"""The rows that tell how far each import is, and the turns that workers take at them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.pagination import newest_first
from saraban.numbering.models import NumberImport
from saraban.projects.models import Project

_UNDER_WAY = ("CHECKING", "IMPORTING")


class ImportRow(NamedTuple):
    """An import with its project and the account that asked for it."""

    row: NumberImport
    project: UUID
    username: str
    user: UUID


_SELECT: Any = (
    sa.select(NumberImport, Project.public_id, User.username, User.public_id)
    .join(Project, Project.id == NumberImport.project_id)
    .join(User, User.user_id == NumberImport.user_id)
)


async def unfinished_import(session: AsyncSession, *, project_id: int, sha256: str) -> NumberImport | None:
    """Return an import of the same file at a terminal that was interrupted."""
    return await session.scalar(
        sa.select(NumberImport)
        .where(
            NumberImport.project_id == project_id,
            NumberImport.file_sha256 == sha256,
            NumberImport.state == "IMPORTING",
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


async def next_waiting(session: AsyncSession, *, now: datetime) -> ImportRow | None:
    """Return the upload that waits longest for a worker, or whose worker was not heard of for too long."""
    free = sa.or_(NumberImport.lease_until.is_(None), NumberImport.lease_until < now)
    statement = _SELECT.where(NumberImport.file_key.is_not(None), NumberImport.state.in_(_UNDER_WAY), free)
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
    session: AsyncSession, *, key: int, lease: UUID, until: datetime, values: Mapping[str, Any]
) -> bool:
    """Return whether it is still the turn of `lease`, which then lasts `until`."""
    return await _changed(
        session,
        sa.update(NumberImport)
        .where(NumberImport.id == key, NumberImport.lease == lease)
        .values(lease_until=until, **values),
    )


async def write_progress(session: AsyncSession, *, key: int, lease: UUID | None, values: Mapping[str, Any]) -> bool:
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
