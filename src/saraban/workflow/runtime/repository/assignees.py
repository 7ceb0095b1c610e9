"""Who holds what, and the running instances whose states ask for it; decides nothing."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Scope
from saraban.identity.models import Permission, Role, RolePermission, User, UserAssignment
from saraban.kit.db import AnyRow
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import Instance, WorkflowDefinition, WorkflowInstance, WorkflowWorkItem

_ROW = WorkflowInstance


async def holders(
    session: AsyncSession, *, roles: Collection[str], permissions: Collection[str], scope: Scope
) -> frozenset[UUID]:
    """The public ids of people, no programs, who hold a role or a permission for what the scope names, or everywhere."""
    given = UserAssignment
    here = sa.or_(
        given.organization_id.in_(scope.organizations),
        sa.and_(given.organization_id.is_(None), given.project_id == scope.project),
        sa.and_(given.organization_id.is_(None), given.project_id.is_(None), given.contract_id == scope.contract),
        sa.and_(given.organization_id.is_(None), given.project_id.is_(None), given.contract_id.is_(None)),
    )
    gives = (
        sa.exists()
        .where(RolePermission.role_id == Role.role_id)
        .where(Permission.permission_id == RolePermission.permission_id)
        .where(Permission.permission_name.in_(permissions), Permission.is_active)
    )
    statement = (
        sa.select(User.public_id)
        .join(given, given.user_id == User.user_id)
        .join(Role, Role.role_id == given.role_id)
        .where(User.is_active, User.is_service.is_(False), User.deleted_at.is_(None), Role.deleted_at.is_(None))
        .where(here, sa.or_(Role.role_name.in_(roles), gives))
    )
    return frozenset((await session.scalars(statement)).all())


async def versions_running(session: AsyncSession) -> Sequence[UUID]:
    """The versions under which instances run."""
    runs = sa.exists().where(_ROW.definition_id == WorkflowDefinition.id, _ROW.status == InstanceStatus.ACTIVE)
    return (await session.scalars(sa.select(WorkflowDefinition.id).where(runs))).all()


async def in_states(
    session: AsyncSession, states: Mapping[UUID, Collection[str]], *, after: UUID | None = None, most: int | None = None
) -> Sequence[Instance]:
    """
    The running instances that stand in one of the states of a version, in the order of their ids.

    :param states: by the key of the version
    :param most: how many of those `after` an id
    """
    if not states:
        return []
    there = [sa.and_(_ROW.definition_id == key, _ROW.current_state.in_(names)) for key, names in states.items()]
    which = sa.or_(*there)
    return await _running(session, which if after is None else sa.and_(which, _ROW.id > after), most=most)


async def waiting_for(session: AsyncSession, *, public_id: UUID) -> Sequence[Instance]:
    """The running instances that have somebody among those whom they wait for, his account open or closed."""
    item = WorkflowWorkItem
    mine = sa.exists().where(item.instance_id == _ROW.id, User.user_id == item.user_id, User.public_id == public_id)
    return await _running(session, mine)


async def asked_people(session: AsyncSession, instance_ids: Collection[UUID], *, most: int) -> Sequence[AnyRow]:
    """Rows of (instance id, public id, first name, last name, user name, how many they are): at most `most` of each."""
    item = WorkflowWorkItem
    count = sa.func.count().over(partition_by=item.instance_id).label("count")
    place = sa.func.row_number().over(partition_by=item.instance_id, order_by=User.username).label("place")
    found = (
        sa.select(item.instance_id, User.public_id, User.first_name, User.last_name, User.username, count, place)
        .join(User, User.user_id == item.user_id)
        .where(item.instance_id.in_(instance_ids))
        .subquery()
    )
    statement = sa.select(found).where(found.c.place <= most).order_by(found.c.instance_id, found.c.place)
    return (await session.execute(statement)).all()


async def waited_for(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[tuple[UUID, UUID]]:
    """(instance, public id) of everybody for whom some instances wait in person."""
    item = WorkflowWorkItem
    statement = sa.select(item.instance_id, User.public_id).join(User, User.user_id == item.user_id)
    rows = (await session.execute(statement.where(item.instance_id.in_(instance_ids)))).all()
    return [(row.instance_id, row.public_id) for row in rows]


async def names(session: AsyncSession, public_ids: Collection[UUID]) -> Sequence[AnyRow]:
    """Rows of (public id, first name, last name, user name), of closed accounts too."""
    statement = sa.select(User.public_id, User.first_name, User.last_name, User.username)
    return (await session.execute(statement.where(User.public_id.in_(public_ids)))).all()


async def current_states(session: AsyncSession, entity_ids: Collection[str]) -> Sequence[tuple[str, str, str]]:
    """(entity type, entity, state) of each instance of some entities, the newest last."""
    statement = sa.select(_ROW.entity_type, _ROW.entity_id, _ROW.current_state).where(_ROW.entity_id.in_(entity_ids))
    found = (await session.execute(statement.order_by(_ROW.created_at, _ROW.id))).all()
    return [(row.entity_type, row.entity_id, row.current_state) for row in found]


async def hold(session: AsyncSession, *, instance_ids: Collection[UUID]) -> Sequence[Instance]:
    """Those of some instances that run still, under their row locks, in the order of their ids."""
    return await _running(session, _ROW.id.in_(list(instance_ids)), locked=True)


async def _running(
    session: AsyncSession, which: sa.ColumnElement[bool], *, locked: bool = False, most: int | None = None
) -> Sequence[Instance]:
    statement = sa.select(_ROW).where(_ROW.status == InstanceStatus.ACTIVE, which).order_by(_ROW.id).limit(most)
    rows = (await session.scalars(statement.with_for_update() if locked else statement)).all()
    return [Instance.detached(session, row) for row in rows]
