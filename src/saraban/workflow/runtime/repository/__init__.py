"""Rows of definitions, instances, histories and work items. An instance is detached from the session."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.attachments.models import Attachment
from saraban.identity.models import Organization, User, UserName, name_columns
from saraban.kit.db import AnySelect, table_of
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.kit.pagination import Cursor
from saraban.workflow.language.registers import Matter
from saraban.workflow.runtime.models import (
    Instance,
    WorkflowAssignment,
    WorkflowDefinition,
    WorkflowHistory,
    WorkflowInstance,
    WorkflowWorkItem,
)

NO_STATE_SYNC = {"synchronize_session": False}

_INSTANCES = table_of(WorkflowInstance)
_HISTORIES = table_of(WorkflowHistory)
_ITEMS = table_of(WorkflowWorkItem)
_SELECT: AnySelect = sa.select(*(_INSTANCES.c[name] for name in Instance.__slots__))
_INSTANCE = _SELECT.where(_INSTANCES.c.id == sa.bindparam("public_id"))
_HAS_FILES = (
    sa.exists()
    .where(WorkflowHistory.instance_id == _INSTANCES.c.id, Attachment.workflow_history_id == WorkflowHistory.id)
    .correlate(_INSTANCES)
)
# MariaDB weighs the index on id and version as long as it reads the row.
_HINTED = _INSTANCE.add_columns(_HAS_FILES).with_hint(_INSTANCES, "USE INDEX (PRIMARY)", "mariadb")
_CHANGE_INSTANCE = sa.update(_INSTANCES).where(
    _INSTANCES.c.id == sa.bindparam("public_id"), _INSTANCES.c.version_no == sa.bindparam("expected")
)
_INSERT_HISTORY = sa.insert(_HISTORIES)
_INSERT_ITEMS = sa.insert(_ITEMS)
_CHANGE_ITEMS, _DELETE_ITEMS = (
    statement.where(_ITEMS.c.instance_id == sa.bindparam("instance"))
    for statement in (sa.update(_ITEMS), sa.delete(_ITEMS))
)
_LOCKED = _HINTED.with_for_update()


async def definition(session: AsyncSession, definition_id: UUID) -> WorkflowDefinition | None:
    return await session.get(WorkflowDefinition, definition_id)


async def active_id(session: AsyncSession, code: str) -> UUID | None:
    statement = (
        sa.select(WorkflowDefinition.id)
        .where(WorkflowDefinition.workflow_code == code, WorkflowDefinition.is_active)
        .order_by(WorkflowDefinition.version.desc())
        .limit(1)
    )
    return await session.scalar(statement)


async def instance(session: AsyncSession, public_id: UUID) -> Instance | None:
    row = (await session.execute(_INSTANCE, {"public_id": public_id})).one_or_none()
    return None if row is None else Instance(*row)


async def instances(session: AsyncSession, ids: Collection[UUID]) -> Sequence[Instance]:
    return [Instance(*row) for row in await session.execute(_SELECT.where(_INSTANCES.c.id.in_(ids)))]


_INSTANCES_OF = _SELECT.where(
    _INSTANCES.c.entity_type == sa.bindparam("entity_type"),
    _INSTANCES.c.entity_id.in_(sa.bindparam("entity_ids", expanding=True)),
).order_by(_INSTANCES.c.created_at, _INSTANCES.c.id)


async def instances_of(
    session: AsyncSession, entity_type: str, entity_ids: Collection[str], *, lock: bool = False
) -> dict[str, Instance]:
    statement = _INSTANCES_OF.with_for_update() if lock else _INSTANCES_OF
    rows = await session.execute(statement, {"entity_type": entity_type, "entity_ids": list(entity_ids)})
    return {row.entity_id: row for row in (Instance(*values) for values in rows)}


_INSTANCES_WITH_FILES = _INSTANCES_OF.add_columns(_HAS_FILES)


async def instances_with_files(
    session: AsyncSession, entity_type: str, entity_ids: Collection[str]
) -> dict[str, tuple[Instance, bool]]:
    """Return each instance by entity id, and whether one of its steps has files."""
    parameters = {"entity_type": entity_type, "entity_ids": list(entity_ids)}
    rows = (await session.execute(_INSTANCES_WITH_FILES, parameters)).all()
    instances = ((Instance(*values[:-1]), bool(values[-1])) for values in rows)
    return {instance.entity_id: (instance, has_files) for instance, has_files in instances}


async def has_instances(session: AsyncSession, entity_type: str) -> bool:
    instance = sa.select(WorkflowInstance.id).where(WorkflowInstance.entity_type == entity_type)
    return await session.scalar(instance.limit(1)) is not None


def count_of(result: Any) -> int:
    return int(result.rowcount)


async def compare_and_set(
    session: AsyncSession, *, public_id: UUID, expected: int, values: Mapping[str, object]
) -> bool:
    """Update an instance and raise its version; return False if the version is not `expected`."""
    parameters = {"public_id": public_id, "expected": expected, "version_no": expected + 1, **values}
    return count_of(await session.execute(_CHANGE_INSTANCE, parameters)) == 1


async def latest_step(session: AsyncSession, instance_id: UUID) -> WorkflowHistory | None:
    statement = (
        sa.select(WorkflowHistory)
        .where(WorkflowHistory.instance_id == instance_id)
        .order_by(WorkflowHistory.created_at.desc(), WorkflowHistory.id.desc())
        .limit(1)
    )
    return await session.scalar(statement)


_PLACE = sa.func.row_number().over(
    partition_by=_HISTORIES.c.instance_id, order_by=(_HISTORIES.c.created_at.desc(), _HISTORIES.c.id.desc())
)
_RANKED = (
    sa.select(_HISTORIES.c.instance_id, _HISTORIES.c.id, _HISTORIES.c.from_state, _PLACE.label("place"))
    .where(_HISTORIES.c.instance_id.in_(sa.bindparam("instances", expanding=True)))
    .subquery()
)
_STEPS_WITH_FILES = (
    sa.select(_RANKED.c.instance_id, _RANKED.c.id, _RANKED.c.from_state)
    .where(_RANKED.c.place <= sa.bindparam("each"))
    .where(sa.exists().where(table_of(Attachment).c.workflow_history_id == _RANKED.c.id))
    .order_by(_RANKED.c.instance_id, _RANKED.c.place)
)


async def latest_steps_with_files(
    session: AsyncSession, instance_ids: Collection[UUID], *, each: int
) -> Sequence[tuple[UUID, UUID, str]]:
    """List (instance id, history id, `from_state`) of the newest `each` steps that have files."""
    if not instance_ids:
        return []
    rows = await session.execute(_STEPS_WITH_FILES, {"instances": list(instance_ids), "each": each})
    return [tuple(row) for row in rows]


class StepRow(NamedTuple):
    """:param absent: the delegator on whose behalf the actor acted"""

    id: UUID
    instance_id: UUID
    from_state: str
    to_state: str
    action: str
    comment: str | None
    details: dict[str, Json] | None
    created_at: datetime
    organization_code: str | None
    actor: UserName | None
    absent: UserName | None


_ABSENT = aliased(User)
_STEPS: AnySelect = (
    sa.select(
        *(getattr(WorkflowHistory, name) for name in StepRow._fields[:8]),
        Organization.organization_code,
        *name_columns(User),
        *name_columns(_ABSENT),
    )
    .select_from(WorkflowHistory)
    .outerjoin(User, User.user_id == WorkflowHistory.action_by_user_id)
    .outerjoin(_ABSENT, _ABSENT.user_id == WorkflowHistory.on_behalf_of_user_id)
    .outerjoin(Organization, Organization.id == WorkflowHistory.acting_organization_id)
    .order_by(WorkflowHistory.created_at, WorkflowHistory.id)
)


async def steps_of(session: AsyncSession, instance_ids: Collection[UUID], *, limit: int) -> Sequence[StepRow]:
    rows = await session.execute(_STEPS.where(WorkflowHistory.instance_id.in_(instance_ids)).limit(limit))
    return [StepRow._make((*row[:9], _user_name(row[9:13]), _user_name(row[13:]))) for row in rows]


def _user_name(values: Sequence[Any]) -> UserName | None:
    return None if values[0] is None else UserName._make(values)


async def bare_steps(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[WorkflowHistory]:
    statement = (
        sa.select(WorkflowHistory)
        .where(WorkflowHistory.instance_id.in_(instance_ids))
        .order_by(WorkflowHistory.created_at, WorkflowHistory.id)
    )
    return (await session.scalars(statement)).all()


async def inbox_page(
    session: AsyncSession, *, users: Collection[int], organizations: Collection[int], after: Cursor | None, limit: int
) -> Sequence[tuple[datetime, UUID]]:
    """List (since, instance id), newest first; each assignee reads at most `limit` rows of its index."""
    branches = [_select_assignee_items(WorkflowWorkItem.user_id == key, after, limit) for key in sorted(users)]
    branches += [
        _select_assignee_items(WorkflowWorkItem.organization_id == key, after, limit) for key in sorted(organizations)
    ]
    merged = sa.union(*branches).subquery()  # not ALL: an instance can await several organizations of the caller
    statement = (
        sa.select(merged.c.created_at, merged.c.instance_id)
        .order_by(merged.c.created_at.desc(), merged.c.instance_id.desc())
        .limit(limit)
    )
    return [tuple(row) for row in (await session.execute(statement)).all()]


async def work_items(
    session: AsyncSession, instances: Collection[UUID], *, users: Collection[int], organizations: Collection[int]
) -> Sequence[tuple[datetime, UUID]]:
    item = WorkflowWorkItem
    is_of_assignee = sa.or_(item.user_id.in_(users), item.organization_id.in_(organizations))
    statement = sa.select(item.created_at, item.instance_id).where(item.instance_id.in_(instances), is_of_assignee)
    return [(row.created_at, row.instance_id) for row in await session.execute(statement)]


def _select_assignee_items(is_of_assignee: sa.ColumnElement[bool], after: Cursor | None, limit: int) -> AnySelect:
    at, key = WorkflowWorkItem.created_at, WorkflowWorkItem.instance_id
    inner = sa.select(at, key).where(is_of_assignee)
    if after is not None:
        inner = inner.where(sa.or_(at < after.at, sa.and_(at == after.at, key < after.public_id)))
    part = inner.order_by(at.desc(), key.desc()).limit(limit).subquery()
    return sa.select(part.c.created_at, part.c.instance_id)


async def organizations(session: AsyncSession, ids: Collection[int]) -> dict[int, tuple[UUID, str]]:
    if not ids:
        return {}
    statement = sa.select(Organization.id, Organization.public_id, Organization.organization_code)
    rows = await session.execute(statement.where(Organization.id.in_(ids)))
    return {row.id: (row.public_id, row.organization_code) for row in rows}


async def user_public_ids(session: AsyncSession, ids: Collection[int]) -> dict[int, UUID]:
    if not ids:
        return {}
    rows = await session.execute(sa.select(User.user_id, User.public_id).where(User.user_id.in_(ids)))
    return {row.user_id: row.public_id for row in rows}


async def user_ids(session: AsyncSession, public_ids: Collection[UUID]) -> frozenset[int]:
    if not public_ids:
        return frozenset()
    statement = sa.select(User.user_id).where(User.public_id.in_(public_ids), User.is_active)
    return frozenset((await session.scalars(statement)).all())


async def instance_of_file(session: AsyncSession, attachment_id: int) -> Instance | None:
    statement = (
        _SELECT.join(WorkflowHistory, WorkflowHistory.instance_id == _INSTANCES.c.id)
        .join(Attachment, Attachment.workflow_history_id == WorkflowHistory.id)
        .where(Attachment.id == attachment_id)
    )
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else Instance(*row)


@dataclass(frozen=True, slots=True)
class WorkItems:
    """:param before: the number of its work items: 0 is certain, 1 is likely, None is unknown"""

    instance_id: UUID
    state: str
    organizations: Collection[int]
    users: Collection[int]
    since: datetime
    before: int | None = None


_STEP_COLUMNS = (
    "definition_id",
    "current_state",
    "status",
    "context",
    "due_on",
    "assigned_user_id",
    "last_transition_at",
    "updated_at",
)


@dataclass(frozen=True, slots=True)
class LockedInstance:
    row: Instance
    has_files: bool


async def lock_instance(session: AsyncSession, public_id: UUID) -> LockedInstance | None:
    row = (await session.execute(_LOCKED, {"public_id": public_id})).one_or_none()
    return None if row is None else LockedInstance(Instance(*row[:-1]), bool(row[-1]))


async def update_instance(session: AsyncSession, row: Instance) -> bool:
    """:param row: the instance after the step, with the raised version"""
    values = {name: getattr(row, name) for name in _STEP_COLUMNS}
    return await compare_and_set(session, public_id=row.id, expected=row.version_no - 1, values=values)


async def insert_history(session: AsyncSession, history: Mapping[str, object]) -> None:
    await session.execute(_INSERT_HISTORY, dict(history))


async def write_work_items(session: AsyncSession, items: WorkItems) -> None:
    assignees = [(key, None) for key in sorted(items.organizations)] + [(None, key) for key in sorted(items.users)]
    common = {"instance_id": items.instance_id, "state": items.state, "created_at": items.since}
    rows = [{**common, "organization_id": organization, "user_id": user} for organization, user in assignees]
    instance = {"instance": items.instance_id}
    if items.before == len(rows) == 1 and count_of(await session.execute(_CHANGE_ITEMS, instance | rows[0])) == 1:
        return
    if items.before != 0:
        await session.execute(_DELETE_ITEMS, instance)
    if rows:
        await session.execute(_INSERT_ITEMS, [{"id": new_id(), **row} for row in rows])


EVERYWHERE, EVERY_TYPE = 0, ""
_ANY_MATTER = Matter("", EVERYWHERE, EVERY_TYPE)


# The greater key is more specific: a project before the installation, a type before all types.
_CHOSEN = (
    sa.select(WorkflowAssignment.workflow_code)
    .where(
        WorkflowAssignment.kind == sa.bindparam("kind"),
        WorkflowAssignment.reach.in_(sa.bindparam("places", expanding=True)),
        WorkflowAssignment.type_code.in_(sa.bindparam("types", expanding=True)),
    )
    .order_by(WorkflowAssignment.reach.desc(), WorkflowAssignment.type_code.desc())
    .limit(1)
)
_STARTING = (
    sa.select(WorkflowDefinition.id)
    .where(
        WorkflowDefinition.workflow_code
        == sa.func.coalesce(_CHOSEN.scalar_subquery(), sa.bindparam("otherwise", type_=sa.String())),
        WorkflowDefinition.is_active,
    )
    .order_by(WorkflowDefinition.version.desc())
    .limit(1)
)
_NEW = {column.name: sa.bindparam(f"new_{column.name}", type_=column.type) for column in _INSTANCES.c}
# One statement inserts and checks the version, so that nothing is read under the lock of a series.
_START = sa.insert(_INSTANCES).from_select(
    list(_NEW),
    sa.select(*(value.label(name) for name, value in _NEW.items())).where(
        _STARTING.scalar_subquery() == _NEW["definition_id"]
    ),
    include_defaults=False,
)


def _choice_parameters(matter: Matter | None) -> dict[str, object]:
    matter = matter or _ANY_MATTER
    return {
        "kind": matter.kind,
        "places": [EVERYWHERE, matter.project],
        "types": [EVERY_TYPE, matter.type_code],
    }


async def starting_id(session: AsyncSession, matter: Matter | None, *, otherwise: str) -> UUID | None:
    """Return the active version of the workflow chosen for a document, or of `otherwise`."""
    return await session.scalar(_STARTING, {**_choice_parameters(matter), "otherwise": otherwise})


async def start(session: AsyncSession, row: Instance, matter: Matter | None, *, otherwise: str) -> bool:
    """Insert an instance; return False if its version is no longer the one that new instances run on."""
    values = {f"new_{name}": getattr(row, name) for name in _NEW}
    return (
        count_of(await session.execute(_START, {**_choice_parameters(matter), "otherwise": otherwise, **values})) == 1
    )


async def chosen_code(session: AsyncSession, matter: Matter) -> str | None:
    return await session.scalar(_CHOSEN, _choice_parameters(matter))
