"""Rows of branches and work items. A branch is detached: it changes by compare-and-set alone."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.domain.context import Caller, Scope
from saraban.identity.models import Permission, Role, RolePermission, User, UserAssignment, in_force, named
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.ids import new_id
from saraban.projects.models import ReviewTeam, ReviewTeamMember
from saraban.workflow.language.review import ANSWER, FELL, BranchStatus
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import (
    Instance,
    WorkflowBranch,
    WorkflowDefinition,
    WorkflowHistory,
    WorkflowInstance,
    WorkflowWorkItem,
)
from saraban.workflow.runtime.repository import NO_STATE_SYNC, count_of

_ROW = WorkflowInstance


async def holders(
    session: AsyncSession, *, roles: Collection[str], permissions: Collection[str], scope: Scope
) -> frozenset[UUID]:
    """Return the public ids of active people who hold a role or permission in the scope."""
    assignment = UserAssignment
    is_for_all = assignment.organization_id.is_(None)
    is_in_scope = sa.or_(
        assignment.organization_id.in_(scope.organizations),
        sa.and_(is_for_all, assignment.project_id == scope.project),
        sa.and_(is_for_all, assignment.project_id.is_(None), assignment.contract_id == scope.contract),
        sa.and_(is_for_all, assignment.project_id.is_(None), assignment.contract_id.is_(None)),
    )
    grants_permission = (
        sa.exists()
        .where(RolePermission.role_id == Role.role_id)
        .where(Permission.permission_id == RolePermission.permission_id)
        .where(Permission.permission_name.in_(permissions), Permission.is_active)
    )
    statement = (
        sa.select(User.public_id)
        .join(assignment, assignment.user_id == User.user_id)
        .join(Role, Role.role_id == assignment.role_id)
        .where(User.is_active, User.is_service.is_(False), User.deleted_at.is_(None), Role.deleted_at.is_(None))
        .where(is_in_scope, in_force(), sa.or_(Role.role_name.in_(roles), grants_permission))
    )
    return frozenset((await session.scalars(statement)).all())


async def versions_running(session: AsyncSession) -> Sequence[UUID]:
    runs = sa.exists().where(_ROW.definition_id == WorkflowDefinition.id, _ROW.status == InstanceStatus.ACTIVE)
    return (await session.scalars(sa.select(WorkflowDefinition.id).where(runs))).all()


async def in_states(
    session: AsyncSession, states: Mapping[UUID, Collection[str]], *, after: UUID | None = None, most: int | None = None
) -> Sequence[Instance]:
    """:param states: by the id of the version"""
    if not states:
        return []
    conditions = [sa.and_(_ROW.definition_id == key, _ROW.current_state.in_(names)) for key, names in states.items()]
    condition = sa.or_(*conditions)
    return await _running_instances(
        session, condition if after is None else sa.and_(condition, _ROW.id > after), most=most
    )


async def waiting_for(session: AsyncSession, *, public_id: UUID) -> Sequence[Instance]:
    item = WorkflowWorkItem
    has_item = sa.exists().where(item.instance_id == _ROW.id, User.user_id == item.user_id, User.public_id == public_id)
    return await _running_instances(session, has_item)


async def asked_people(session: AsyncSession, instance_ids: Collection[UUID], *, most: int) -> Sequence[AnyRow]:
    """List at most `most` assignees of each instance with active accounts, and the count of all."""
    item = WorkflowWorkItem
    count = sa.func.count().over(partition_by=item.instance_id).label("count")
    place = sa.func.row_number().over(partition_by=item.instance_id, order_by=User.username).label("place")
    assignees = (
        sa.select(item.instance_id, User.public_id, User.first_name, User.last_name, User.username, count, place)
        .join(User, sa.and_(User.user_id == item.user_id, User.is_active))
        .where(item.instance_id.in_(instance_ids))
        .subquery()
    )
    statement = (
        sa.select(assignees).where(assignees.c.place <= most).order_by(assignees.c.instance_id, assignees.c.place)
    )
    return (await session.execute(statement)).all()


async def waited_for(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[tuple[UUID, UUID]]:
    item = WorkflowWorkItem
    statement = sa.select(item.instance_id, User.public_id).join(User, User.user_id == item.user_id)
    rows = (await session.execute(statement.where(item.instance_id.in_(instance_ids)))).all()
    return [(row.instance_id, row.public_id) for row in rows]


async def names(session: AsyncSession, public_ids: Collection[UUID]) -> Sequence[AnyRow]:
    statement = sa.select(User.public_id, User.first_name, User.last_name, User.username)
    return (await session.execute(statement.where(User.public_id.in_(public_ids)))).all()


async def current_states(session: AsyncSession, entity_ids: Collection[str]) -> Sequence[tuple[str, str, str]]:
    statement = sa.select(_ROW.entity_type, _ROW.entity_id, _ROW.current_state).where(_ROW.entity_id.in_(entity_ids))
    rows = (await session.execute(statement.order_by(_ROW.created_at, _ROW.id))).all()
    return [(row.entity_type, row.entity_id, row.current_state) for row in rows]


async def hold(session: AsyncSession, *, instance_ids: Collection[UUID]) -> Sequence[Instance]:
    """Lock the instances and return those that are running, ordered by id."""
    return await _running_instances(session, _ROW.id.in_(list(instance_ids)), locked=True)


async def _running_instances(
    session: AsyncSession, which: sa.ColumnElement[bool], *, locked: bool = False, most: int | None = None
) -> Sequence[Instance]:
    statement = sa.select(_ROW).where(_ROW.status == InstanceStatus.ACTIVE, which).order_by(_ROW.id).limit(most)
    rows = (await session.scalars(statement.with_for_update() if locked else statement)).all()
    return [Instance.detached(session, row) for row in rows]


_ANSWERED_BY, _BEHALF = aliased(User), aliased(User)


async def add(session: AsyncSession, rows: Sequence[Mapping[str, object]]) -> None:
    await session.execute(sa.insert(WorkflowBranch), [dict(row) for row in rows])


async def latest_rounds(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[AnyRow]:
    """
    List the branches of the newest round of each instance, by position.

    Rows of (branch, `by`: names of the respondent, `behalf`: names of the delegator).
    """
    newest = (
        sa.select(WorkflowBranch.instance_id, sa.func.max(WorkflowBranch.opened_version).label("opened_version"))
        .where(WorkflowBranch.instance_id.in_(instance_ids))
        .group_by(WorkflowBranch.instance_id)
        .subquery()
    )
    statement = (
        sa.select(WorkflowBranch, named("by", _ANSWERED_BY), named("behalf", _BEHALF))
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
    statement = sa.select(WorkflowBranch).where(WorkflowBranch.instance_id.in_(instance_ids))
    return await _detached_branches(session, statement)


async def words_of(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[AnyRow]:
    """List (instance_id, id, action, details) of answers and verdicts in histories."""
    step = WorkflowHistory
    statement = sa.select(step.instance_id, step.id, step.action, step.details)
    is_answer_or_verdict = sa.and_(step.instance_id.in_(instance_ids), step.action.in_((ANSWER, *FELL.values())))
    return (await session.execute(statement.where(is_answer_or_verdict))).all()


async def branch(session: AsyncSession, *, instance_id: UUID, public_id: UUID) -> WorkflowBranch | None:
    statement = sa.select(WorkflowBranch).where(
        WorkflowBranch.id == public_id, WorkflowBranch.instance_id == instance_id
    )
    branches = await _detached_branches(session, statement)
    return branches[0] if branches else None


async def _detached_branches(session: AsyncSession, statement: AnySelect) -> Sequence[WorkflowBranch]:
    rows = (await session.scalars(statement)).all()
    for row in rows:
        session.expunge(row)
    return rows


async def change(session: AsyncSession, *, public_id: UUID, expected: int, values: Mapping[str, object]) -> bool:
    """Update a branch and raise its version; return False if the version is no longer `expected`."""
    statement = (
        sa.update(WorkflowBranch)
        .where(WorkflowBranch.id == public_id, WorkflowBranch.version_no == expected)
        .values(version_no=expected + 1, **values)
        .execution_options(**NO_STATE_SYNC)
    )
    return count_of(await session.execute(statement)) == 1


async def close(session: AsyncSession, *, instance_id: UUID, now: datetime) -> None:
    """Mark every pending branch of an instance as skipped."""
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
    """Replace the people among the work items, and return the added; those who stay keep `created_at`."""
    item = WorkflowWorkItem
    is_of_person = sa.and_(item.instance_id == instance_id, item.user_id.is_not(None))
    current = frozenset((await session.scalars(sa.select(item.user_id).where(is_of_person))).all())
    removed, added = current - set(users), set(users) - current
    if removed:
        statement = sa.delete(item).where(is_of_person, item.user_id.in_(removed))
        await session.execute(statement.execution_options(**NO_STATE_SYNC))
    common = {"instance_id": instance_id, "state": state, "organization_id": None, "created_at": now}
    await _insert_work_items(session, [{**common, "user_id": key} for key in sorted(added)])
    return frozenset(added)


async def await_organizations(
    session: AsyncSession, *, instance_id: UUID, state: str, organizations: Collection[int], since: datetime
) -> None:
    """Replace the organizations among the work items; leave the people unchanged."""
    item = WorkflowWorkItem
    is_of_organization = sa.and_(item.instance_id == instance_id, item.organization_id.is_not(None))
    await session.execute(sa.delete(item).where(is_of_organization).execution_options(**NO_STATE_SYNC))
    common = {"instance_id": instance_id, "state": state, "user_id": None, "created_at": since}
    await _insert_work_items(session, [{**common, "organization_id": key} for key in sorted(organizations)])


async def _insert_work_items(session: AsyncSession, rows: Sequence[dict[str, object]]) -> None:
    if rows:
        await session.execute(sa.insert(WorkflowWorkItem), [{"id": new_id(), **row} for row in rows])


async def touch(session: AsyncSession, *, public_id: UUID, now: datetime) -> None:
    """Set `updated_at` without raising the version."""
    statement = sa.update(WorkflowInstance).where(WorkflowInstance.id == public_id).values(updated_at=now)
    await session.execute(statement.execution_options(**NO_STATE_SYNC))


async def asking_teams(session: AsyncSession) -> Sequence[Instance]:
    awaits_team = sa.exists().where(
        WorkflowBranch.instance_id == _ROW.id,
        WorkflowBranch.status == BranchStatus.PENDING,
        WorkflowBranch.assignee_kind.in_(("team", "discipline")),
    )
    return await _running_instances(session, awaits_team)


async def asking(session: AsyncSession, *, person: Caller) -> Sequence[tuple[Instance, WorkflowBranch]]:
    """List the pending branches that name a person, or one of their roles, teams or disciplines."""
    kind, name, seat = WorkflowBranch.assignee_kind, WorkflowBranch.assignee_name, ReviewTeamMember
    teams = sa.select(ReviewTeam.team_code).join(seat, seat.team_id == ReviewTeam.id)
    disciplines = sa.select(seat.discipline_code).where(seat.discipline_code.is_not(None))
    names_person = sa.or_(
        sa.and_(kind == "user", name == str(person.public_id)),
        sa.and_(kind == "role", name.in_(person.roles)),
        sa.and_(kind == "team", name.in_(teams.where(seat.user_id == person.user_id))),
        sa.and_(kind == "discipline", name.in_(disciplines.where(seat.user_id == person.user_id))),
    )
    statement = (
        sa.select(WorkflowInstance, WorkflowBranch)
        .join(WorkflowBranch, WorkflowBranch.instance_id == WorkflowInstance.id)
        .where(
            WorkflowInstance.status == InstanceStatus.ACTIVE,
            WorkflowBranch.status == BranchStatus.PENDING,
            names_person,
        )
    )
    rows = [(row.WorkflowInstance, row.WorkflowBranch) for row in (await session.execute(statement)).all()]
    for row in {row for pair in rows for row in pair}:
        session.expunge(row)
    return [(Instance.of(row), branch) for row, branch in rows]
