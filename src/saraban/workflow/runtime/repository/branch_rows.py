"""
Rows of branches, and who stands behind those who are asked; decides nothing.

Like an instance, a branch is handed out detached: it changes by compare-and-set alone.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.domain.context import Caller
from saraban.identity.models import User
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.ids import new_id
from saraban.projects.models import ReviewTeam, ReviewTeamMember
from saraban.workflow.language.review import ANSWER, FELL, BranchStatus
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import Instance, WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from saraban.workflow.runtime.models.review import WorkflowBranch
from saraban.workflow.runtime.repository import NO_STATE_SYNC

_ANSWERED_BY, _BEHALF = aliased(User), aliased(User)


async def add(session: AsyncSession, rows: Sequence[Mapping[str, object]]) -> None:
    await session.execute(sa.insert(WorkflowBranch), [dict(row) for row in rows])


async def latest_rounds(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[AnyRow]:
    """
    The branches of the newest round of each instance, in their order.

    Rows of (branch, public id and names of who answered, the same of whom he stood in for).
    """
    newest = (
        sa.select(WorkflowBranch.instance_id, sa.func.max(WorkflowBranch.opened_version).label("opened_version"))
        .where(WorkflowBranch.instance_id.in_(instance_ids))
        .group_by(WorkflowBranch.instance_id)
        .subquery()
    )
    names = [
        column.label(f"{who}_{name}")
        for who, person in (("by", _ANSWERED_BY), ("behalf", _BEHALF))
        for name, column in (
            ("public_id", person.public_id),
            ("first_name", person.first_name),
            ("last_name", person.last_name),
            ("username", person.username),
        )
    ]
    statement = (
        sa.select(WorkflowBranch, *names)
        .join(
            newest,
            sa.and_(
                newest.c.instance_id == WorkflowBranch.instance_id,
                newest.c.opened_version == WorkflowBranch.opened_version,
            ),
        )
        .outerjoin(_ANSWERED_BY, _ANSWERED_BY.user_id == WorkflowBranch.answered_by_user_id)
        .outerjoin(_BEHALF, _BEHALF.user_id == WorkflowBranch.on_behalf_of_user_id)
        .order_by(WorkflowBranch.instance_id, WorkflowBranch.position)
    )
    rows = (await session.execute(statement)).all()
    for row in rows:
        session.expunge(row.WorkflowBranch)
    return rows


async def of_instances(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[WorkflowBranch]:
    """The branches of every round of some instances."""
    statement = sa.select(WorkflowBranch).where(WorkflowBranch.instance_id.in_(instance_ids))
    return await _detached(session, statement)


async def words_of(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[AnyRow]:
    """What histories keep of answers and verdicts: rows of (instance id, id, action, details)."""
    step = WorkflowHistory
    statement = sa.select(step.instance_id, step.id, step.action, step.details)
    ours = sa.and_(step.instance_id.in_(instance_ids), step.action.in_((ANSWER, *FELL.values())))
    return (await session.execute(statement.where(ours))).all()


async def branch(session: AsyncSession, *, instance_id: UUID, public_id: UUID) -> WorkflowBranch | None:
    statement = sa.select(WorkflowBranch).where(
        WorkflowBranch.id == public_id, WorkflowBranch.instance_id == instance_id
    )
    found = await _detached(session, statement)
    return found[0] if found else None


async def of_round(session: AsyncSession, *, instance_id: UUID, opened_version: int) -> Sequence[WorkflowBranch]:
    statement = sa.select(WorkflowBranch).where(
        WorkflowBranch.instance_id == instance_id, WorkflowBranch.opened_version == opened_version
    )
    return await _detached(session, statement)


async def pending(session: AsyncSession, *, instance_id: UUID) -> Sequence[WorkflowBranch]:
    statement = sa.select(WorkflowBranch).where(
        WorkflowBranch.instance_id == instance_id, WorkflowBranch.status == BranchStatus.PENDING
    )
    return await _detached(session, statement)


async def _detached(session: AsyncSession, statement: AnySelect) -> Sequence[WorkflowBranch]:
    rows = (await session.scalars(statement)).all()
    for row in rows:
        session.expunge(row)
    return rows


async def change(session: AsyncSession, *, public_id: UUID, expected: int, values: Mapping[str, object]) -> bool:
    """Write `values` and the next version of a pending branch, unless it has changed since."""
    statement = (
        sa.update(WorkflowBranch)
        .where(
            WorkflowBranch.id == public_id,
            WorkflowBranch.version_no == expected,
            WorkflowBranch.status == BranchStatus.PENDING,
        )
        .values(version_no=expected + 1, **values)
        .execution_options(**NO_STATE_SYNC)
    )
    return bool((await session.execute(statement)).rowcount == 1)  # type: ignore[attr-defined]


async def rewrite(session: AsyncSession, *, public_id: UUID, expected: int, values: Mapping[str, object]) -> bool:
    """Write `values` and the next version of a branch, whatever it is, unless it has changed since."""
    statement = (
        sa.update(WorkflowBranch)
        .where(WorkflowBranch.id == public_id, WorkflowBranch.version_no == expected)
        .values(version_no=expected + 1, **values)
        .execution_options(**NO_STATE_SYNC)
    )
    return bool((await session.execute(statement)).rowcount == 1)  # type: ignore[attr-defined]


async def close(session: AsyncSession, *, instance_id: UUID, now: datetime) -> None:
    """Tell of every branch that still waits that it is not asked any more."""
    statement = (
        sa.update(WorkflowBranch)
        .where(WorkflowBranch.instance_id == instance_id, WorkflowBranch.status == BranchStatus.PENDING)
        .values(status=BranchStatus.SKIPPED, version_no=WorkflowBranch.version_no + 1, updated_at=now)
        .execution_options(**NO_STATE_SYNC)
    )
    await session.execute(statement)


async def await_people(
    session: AsyncSession, *, instance_id: UUID, state: str, users: Collection[int], now: datetime
) -> frozenset[int]:
    """
    Make these the people an instance waits for; who was waited for before keeps his place in the inbox.

    Gives those who were not.
    """
    item = WorkflowWorkItem
    mine = sa.and_(item.instance_id == instance_id, item.user_id.is_not(None))
    there = frozenset((await session.scalars(sa.select(item.user_id).where(mine))).all())
    gone, more = there - set(users), set(users) - there
    if gone:
        statement = sa.delete(item).where(mine, item.user_id.in_(gone))
        await session.execute(statement.execution_options(**NO_STATE_SYNC))
    common = {"instance_id": instance_id, "state": state, "organization_id": None, "created_at": now}
    await _wait_for(session, [{**common, "user_id": key} for key in sorted(more)])
    return frozenset(more)


async def await_organizations(
    session: AsyncSession, *, instance_id: UUID, state: str, organizations: Collection[int], since: datetime
) -> None:
    """Make these the organizations an instance waits for, and leave its people as they are."""
    item = WorkflowWorkItem
    theirs = sa.and_(item.instance_id == instance_id, item.organization_id.is_not(None))
    await session.execute(sa.delete(item).where(theirs).execution_options(**NO_STATE_SYNC))
    common = {"instance_id": instance_id, "state": state, "user_id": None, "created_at": since}
    await _wait_for(session, [{**common, "organization_id": key} for key in sorted(organizations)])


async def _wait_for(session: AsyncSession, rows: Sequence[dict[str, object]]) -> None:
    if rows:
        await session.execute(sa.insert(WorkflowWorkItem), [{"id": new_id(), **row} for row in rows])


async def touch(session: AsyncSession, *, public_id: UUID, now: datetime) -> None:
    """Tell when the history of an instance last grew, where it stays the version that it is."""
    statement = sa.update(WorkflowInstance).where(WorkflowInstance.id == public_id).values(updated_at=now)
    await session.execute(statement.execution_options(**NO_STATE_SYNC))


async def asking_teams(session: AsyncSession) -> Sequence[Instance]:
    """The running instances that wait for a team or a discipline, in the order of their ids."""
    return await _instances(session, _asks(WorkflowBranch.assignee_kind.in_(("team", "discipline"))))


async def waiting_for(session: AsyncSession, *, public_id: UUID) -> Sequence[Instance]:
    """The running instances under review that have somebody among those whom they wait for, his account open or closed."""
    item = WorkflowWorkItem
    waits = (
        sa.exists()
        .where(item.instance_id == WorkflowInstance.id)
        .where(User.user_id == item.user_id, User.public_id == public_id)
    )
    return await _instances(session, sa.and_(_asks(), waits))


async def asking(session: AsyncSession, *, person: Caller) -> Sequence[tuple[Instance, WorkflowBranch]]:
    """The running instances with their branches that ask somebody by name, or for a role, team or discipline of his."""
    kind, name, seat = WorkflowBranch.assignee_kind, WorkflowBranch.assignee_name, ReviewTeamMember
    teams = sa.select(ReviewTeam.team_code).join(seat, seat.team_id == ReviewTeam.id)
    disciplines = sa.select(seat.discipline_code).where(seat.discipline_code.is_not(None))
    his = sa.or_(
        sa.and_(kind == "user", name == str(person.public_id)),
        sa.and_(kind == "role", name.in_(person.roles)),
        sa.and_(kind == "team", name.in_(teams.where(seat.user_id == person.user_id))),
        sa.and_(kind == "discipline", name.in_(disciplines.where(seat.user_id == person.user_id))),
    )
    statement = (
        sa.select(WorkflowInstance, WorkflowBranch)
        .join(WorkflowBranch, WorkflowBranch.instance_id == WorkflowInstance.id)
        .where(WorkflowInstance.status == InstanceStatus.ACTIVE, WorkflowBranch.status == BranchStatus.PENDING, his)
    )
    rows = [(row.WorkflowInstance, row.WorkflowBranch) for row in (await session.execute(statement)).all()]
    for found in {row for pair in rows for row in pair}:
        session.expunge(found)
    return [(Instance.of(row), branch) for row, branch in rows]


async def hold_asking(session: AsyncSession, *, instance_ids: Collection[UUID]) -> Sequence[Instance]:
    """Those of some instances that still wait for an answer, under their row locks, in the order of their ids."""
    return await _instances(session, sa.and_(_asks(), WorkflowInstance.id.in_(list(instance_ids))), locked=True)


def _asks(*which: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    waits = sa.exists().where(
        WorkflowBranch.instance_id == WorkflowInstance.id, WorkflowBranch.status == BranchStatus.PENDING, *which
    )
    return sa.and_(waits, WorkflowInstance.status == InstanceStatus.ACTIVE)


async def _instances(
    session: AsyncSession, which: sa.ColumnElement[bool], *, locked: bool = False
) -> Sequence[Instance]:
    statement = sa.select(WorkflowInstance).where(which).order_by(WorkflowInstance.id)
    rows = (await session.scalars(statement.with_for_update() if locked else statement)).all()
    return [Instance.detached(session, row) for row in rows]
