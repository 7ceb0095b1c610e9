"""Stretches of a series that its main counter steps over: kept for somebody, or barred."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import NotFound, invalid, unknown
from saraban.kit.ids import new_id
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.numbering import repository
from saraban.numbering.domain.states import RangeOverlaps, RangePassed, RangeReleased
from saraban.numbering.models import NumberRange
from saraban.numbering.repository import counting
from saraban.numbering.service.overriding import check_main_series
from saraban.numbering.service.planning import Plan
from saraban.numbering.service.resolving import forget
from saraban.numbering.service.voiding import MANAGES
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef


@dataclass(frozen=True, slots=True)
class RangeRow:
    """A range with the public id of whom it is kept for, and the last number its own counter gave."""

    range: NumberRange
    organization: UUID | None
    last: int | None


async def close(
    session: AsyncSession,
    *,
    caller: Caller,
    plan: Plan,
    kind: str,
    first: int,
    last: int,
    organization: UUID | None,
    reason: str,
    address: str,
) -> RangeRow:
    """
    This will have the main counter of the plan's series step over `first` to `last` from now on.

    :param organization: the only one that may draw from a kept range; None: whoever may draw from the series
    :raises RangeOverlaps: when part of it is closed already
    :raises RangePassed: when the series has counted past `first`
    """
    caller.require(MANAGES, Scope(project=plan.project.id))
    check_main_series(plan)
    owner = await _owner(session, plan.project, kind, organization)
    await repository.ensure_counter(session, key=plan.key, series=plan.series, now=plan.now)
    row = await _closed(
        session,
        caller=caller,
        project=plan.project,
        series=plan.series,
        kind=kind,
        first=first,
        last=last,
        owner=owner,
        reason=reason,
        now=plan.now,
        address=address,
    )
    return RangeRow(row, organization, first - 1 if kind == "KEPT" else None)


async def close_in_series(
    session: AsyncSession,
    *,
    caller: Caller,
    project_public_id: UUID,
    series: str,
    kind: str,
    first: int,
    last: int,
    organization: UUID | None,
    reason: str,
    now: datetime,
    address: str,
) -> NumberRange:
    """
    This will do the same to a series that has counted already, named as the books name it.

    :raises Invalid: also at `/series`, when the project has no such series
    """
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    caller.require(MANAGES, Scope(project=project.id))
    owner = await _owner(session, project, kind, organization)
    return await _closed(
        session,
        caller=caller,
        project=project,
        series=fold(series),
        kind=kind,
        first=first,
        last=last,
        owner=owner,
        reason=reason,
        now=now,
        address=address,
    )


async def _closed(
    session: AsyncSession,
    *,
    caller: Caller,
    project: ProjectRef,
    series: str,
    kind: str,
    first: int,
    last: int,
    owner: int | None,
    reason: str,
    now: datetime,
    address: str,
) -> NumberRange:
    project_id = project.id
    if last < first:
        raise invalid("/lastNumber", "too_small", "ต้องไม่น้อยกว่าเลขแรก", "This must not be below the first number.")
    counter = await counting.locked_counter(session, project_id=project_id, series=series)
    if counter is None:
        raise unknown("/series", series)
    if first <= counter.last_number:
        raise RangePassed(values={"last": counter.last_number})
    if await counting.overlapping(session, project_id=project_id, series=series, first=first, last=last):
        raise RangeOverlaps
    row = NumberRange(
        public_id=new_id(),
        project_id=project_id,
        series=series,
        number=await counting.highest_range(session, project_id=project_id, series=series) + 1,
        kind=kind,
        first_number=first,
        last_number=last,
        organization_id=owner,
        reason=reason,
        user_id=caller.user_id,
        created_at=now,
    )
    await counting.add_range(session, row, like=counter, now=now)
    counter.range_count, counter.version = counter.range_count + 1, counter.version + 1
    await _note(session, row, caller=caller, old=None, new=kind, reason=reason, now=now, address=address)
    return row


async def ranges(
    session: AsyncSession, *, caller: Caller, project_public_id: UUID, cursor: str | None, limit: int
) -> Page[RangeRow]:
    """This will give the ranges of a project, the released ones too, newest first."""
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    caller.require("numbering.view_counters", Scope(project=project.id))
    page = await counting.ranges_page(session, project_id=project.id, cursor=cursor, limit=limit)
    return Page([RangeRow(*row) for row in page.items], page.next_cursor)


async def release(
    session: AsyncSession, *, caller: Caller, public_id: UUID, reason: str, now: datetime, address: str
) -> NumberRange:
    """
    This will open a range again: what the main counter has not passed, it will give.

    :raises RangeReleased: when it was released before
    """
    found = await repository.range_by_public_id(session, public_id)
    if found is None or not caller.may(MANAGES, Scope(project=found.project_id)):
        raise NotFound("There is no such range.")
    counter = await counting.locked_counter(session, project_id=found.project_id, series=found.series)
    row = await counting.range_locked(session, public_id)
    assert counter is not None and row is not None  # noqa: PT018  neither is ever deleted
    await session.refresh(row)
    if row.released_at is not None:
        raise RangeReleased
    row.released_at = now
    counter.range_count, counter.version = counter.range_count - 1, counter.version + 1
    if row.kind == "KEPT":
        await counting.raise_version(session, project_id=row.project_id, series=row.series, range_=row.number)
    await session.flush()
    forget(session)
    await _note(
        session,
        row,
        caller=caller,
        old=row.kind,
        new="RELEASED",
        reason=reason,
        now=now,
        address=address,
        counter=counter.last_number,
    )
    return row


async def _owner(session: AsyncSession, project: ProjectRef, kind: str, organization: UUID | None) -> int | None:
    if organization is None:
        return None
    if kind != "KEPT":
        raise invalid("/organizationPublicId", "not_kept", "ช่วงที่ห้ามใช้ไม่มีเจ้าของ", "A barred range is kept for nobody.")
    found = await projects.find_member(
        session, project=project, public_id=organization, pointer="/organizationPublicId"
    )
    return found.id


async def _note(
    session: AsyncSession,
    row: NumberRange,
    *,
    caller: Caller,
    old: str | None,
    new: str,
    reason: str,
    now: datetime,
    address: str,
    counter: int | None = None,
) -> None:
    """:param counter: where the main counter stood: what it had passed by then stays a hole of this range's"""
    stretch = {"range": str(row.public_id), "first": row.first_number, "last": row.last_number, "counter": counter}
    await repository.insert_audit(
        session,
        {
            "uuid": new_id(),
            "operation": "RANGE",
            "project_id": row.project_id,
            "series": row.series,
            "sequence_number": row.first_number,
            "skipped_to": row.last_number,
            "old_value": orjson.dumps({**stretch, "state": old}).decode() if old else None,
            "new_value": orjson.dumps({**stretch, "state": new}).decode(),
            "reason": reason,
            "user_id": caller.user_id,
            "ip_address": address[:45] or None,
            "created_at": now,
        },
    )
