"""
Rows of definitions, instances, histories and work items; decides nothing.

An instance is handed out detached from the session: it changes by compare-and-set alone, never by a flush.
"""

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
from saraban.kit.db import AnyRow, AnySelect, table_of
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.kit.pagination import Cursor
from saraban.kit.statements import PreparedStatement, Query
from saraban.workflow.language.registers import Matter
from saraban.workflow.runtime.models import (
    Instance,
    UuidText,
    WorkflowAssignment,
    WorkflowDefinition,
    WorkflowHistory,
    WorkflowInstance,
    WorkflowWorkItem,
)

NO_STATE_SYNC = {"synchronize_session": False}

# The statements of every transition are made once: making one takes as long as a fifth of its execution.
_KEY = sa.bindparam("key", type_=UuidText())
_INSTANCE = sa.select(WorkflowInstance).where(WorkflowInstance.id == _KEY)
_STAND = sa.select(
    WorkflowInstance.entity_type,
    WorkflowInstance.entity_id,
    WorkflowInstance.definition_id,
    WorkflowInstance.current_state,
    WorkflowInstance.version_no,
).where(WorkflowInstance.id == _KEY)


_NUMBERS: Any = sa.bindparam("keys", expanding=True)
_ORGANIZATIONS = PreparedStatement(
    sa.select(Organization.id, Organization.public_id, Organization.organization_code).where(
        Organization.id.in_(_NUMBERS)
    )
)
_USERS = sa.select(User.user_id, User.public_id).where(User.user_id.in_(_NUMBERS))


def _latest_with_files() -> AnySelect:
    place = sa.func.row_number().over(
        partition_by=WorkflowHistory.instance_id,
        order_by=(WorkflowHistory.created_at.desc(), WorkflowHistory.id.desc()),
    )
    ranked = (
        sa.select(WorkflowHistory.instance_id, WorkflowHistory.id, WorkflowHistory.from_state, place.label("place"))
        .where(WorkflowHistory.instance_id.in_(sa.bindparam("instances", expanding=True)))
        .subquery()
    )
    with_files = sa.exists().where(Attachment.workflow_history_id == ranked.c.id)
    return (
        sa.select(ranked.c.instance_id, ranked.c.id, ranked.c.from_state)
        .where(ranked.c.place <= sa.bindparam("each"), with_files)
        .order_by(ranked.c.instance_id, ranked.c.place)
    )


_LATEST_WITH_FILES = PreparedStatement(_latest_with_files())


_COLUMNS = [table_of(WorkflowInstance).columns[name] for name in Instance.__slots__]
_OF_ENTITIES: Any = (  # sa.Select; it has more columns than its type can count
    sa.select(*_COLUMNS)
    .where(
        WorkflowInstance.entity_type == sa.bindparam("entity_type"),
        WorkflowInstance.entity_id.in_(sa.bindparam("entities", expanding=True)),
    )
    .order_by(WorkflowInstance.created_at, WorkflowInstance.id)
)
_OF = PreparedStatement(_OF_ENTITIES)
_LOCKED_OF = PreparedStatement(_OF_ENTITIES.with_for_update())


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
    row = await session.scalar(_INSTANCE, {"key": public_id})
    return None if row is None else Instance.detached(session, row)


async def stand(session: AsyncSession, public_id: UUID) -> AnyRow | None:
    """(entity type, entity, definition, state, version) of an instance at this moment, None when there is none."""
    return (await session.execute(_STAND, {"key": public_id})).one_or_none()


async def instances(session: AsyncSession, ids: Collection[UUID]) -> Sequence[Instance]:
    rows = (await session.scalars(sa.select(WorkflowInstance).where(WorkflowInstance.id.in_(ids)))).all()
    return [Instance.detached(session, row) for row in rows]


async def instances_of(
    session: AsyncSession, entity_type: str, entity_ids: Collection[str], *, lock: bool = False
) -> dict[str, Instance]:
    asked = {"entity_type": entity_type, "entities": list(entity_ids)}
    found = [Instance(*row) for row in await (_LOCKED_OF if lock else _OF).rows(session, **asked)]
    return {row.entity_id: row for row in found}


async def has_instances(session: AsyncSession, entity_type: str) -> bool:
    instance = sa.select(WorkflowInstance.id).where(WorkflowInstance.entity_type == entity_type)
    return await session.scalar(instance.limit(1)) is not None


async def compare_and_set(
    session: AsyncSession, *, public_id: UUID, expected: int, values: Mapping[str, object]
) -> bool:
    """Write `values` and the next version number, unless somebody else has moved the instance since."""
    statement = (
        sa.update(WorkflowInstance)
        .where(WorkflowInstance.id == public_id, WorkflowInstance.version_no == expected)
        .values(version_no=expected + 1, **values)
        .execution_options(**NO_STATE_SYNC)
    )
    return bool((await session.execute(statement)).rowcount == 1)  # type: ignore[attr-defined]


async def latest_step(session: AsyncSession, instance_id: UUID) -> WorkflowHistory | None:
    statement = (
        sa.select(WorkflowHistory)
        .where(WorkflowHistory.instance_id == instance_id)
        .order_by(WorkflowHistory.created_at.desc(), WorkflowHistory.id.desc())
        .limit(1)
    )
    return await session.scalar(statement)


async def latest_steps_with_files(
    session: AsyncSession, instance_ids: Collection[UUID], *, each: int
) -> Sequence[tuple[UUID, UUID, str]]:
    """(instance, history, state that was left) of those among the newest `each` steps that have files, newest first."""
    if not instance_ids:
        return []
    rows = await _LATEST_WITH_FILES.rows(session, instances=list(instance_ids), each=each)
    return [tuple(row) for row in rows]


class StepRow(NamedTuple):
    """
    One step as its history shows it.

    :param organization_code: of the organization for which the actor acted
    :param absent: in whose place the actor acted
    """

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
_STEPS = PreparedStatement(
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
    .where(WorkflowHistory.instance_id.in_(sa.bindparam("instances", type_=UuidText(), expanding=True)))
    .order_by(WorkflowHistory.created_at, WorkflowHistory.id)
    .limit(sa.bindparam("limit", type_=sa.Integer()))
)


async def steps_of(session: AsyncSession, instance_ids: Collection[UUID], *, limit: int) -> Sequence[StepRow]:
    """The steps of some instances, oldest first."""
    rows = await _STEPS.rows(session, instances=list(instance_ids), limit=limit)
    return [StepRow._make((*row[:9], _person(row[9:13]), _person(row[13:]))) for row in rows]


def _person(values: Sequence[Any]) -> UserName | None:
    return None if values[0] is None else UserName._make(values)


async def bare_steps(session: AsyncSession, instance_ids: Collection[UUID]) -> Sequence[WorkflowHistory]:
    """The steps of several instances, oldest first."""
    statement = (
        sa.select(WorkflowHistory)
        .where(WorkflowHistory.instance_id.in_(instance_ids))
        .order_by(WorkflowHistory.created_at, WorkflowHistory.id)
    )
    return (await session.scalars(statement)).all()


async def inbox_page(
    session: AsyncSession, *, users: Collection[int], organizations: Collection[int], after: Cursor | None, limit: int
) -> Sequence[tuple[datetime, UUID]]:
    """
    (since, instance) of what waits for some people or for organizations, newest first, at most `limit`.

    Each person and each organization is a branch of its own, so that each reads `limit` rows along its index and no more.
    """
    branches = [_branch(WorkflowWorkItem.user_id == key, after, limit) for key in sorted(users)]
    branches += [_branch(WorkflowWorkItem.organization_id == key, after, limit) for key in sorted(organizations)]
    merged = sa.union(*branches).subquery()  # not ALL: one instance can wait for several of the caller's organizations
    statement = (
        sa.select(merged.c.created_at, merged.c.instance_id)
        .order_by(merged.c.created_at.desc(), merged.c.instance_id.desc())
        .limit(limit)
    )
    return [tuple(row) for row in (await session.execute(statement)).all()]


async def work_items(
    session: AsyncSession, instances: Collection[UUID], *, users: Collection[int], organizations: Collection[int]
) -> Sequence[tuple[datetime, UUID]]:
    """(since, instance) of those instances that wait for some people or for organizations."""
    item = WorkflowWorkItem
    mine = sa.or_(item.user_id.in_(users), item.organization_id.in_(organizations))
    statement = sa.select(item.created_at, item.instance_id).where(item.instance_id.in_(instances), mine)
    return [(row.created_at, row.instance_id) for row in await session.execute(statement)]


def _branch(mine: sa.ColumnElement[bool], after: Cursor | None, limit: int) -> AnySelect:
    at, key = WorkflowWorkItem.created_at, WorkflowWorkItem.instance_id
    inner = sa.select(at, key).where(mine)
    if after is not None:
        inner = inner.where(sa.or_(at < after.at, sa.and_(at == after.at, key < after.public_id)))
    part = inner.order_by(at.desc(), key.desc()).limit(limit).subquery()
    return sa.select(part.c.created_at, part.c.instance_id)


async def organizations(session: AsyncSession, ids: Collection[int]) -> dict[int, tuple[UUID, str]]:
    rows = await _ORGANIZATIONS.rows(session, keys=list(ids)) if ids else []
    return {key: (public_id, code) for key, public_id, code in rows}


async def user_public_ids(session: AsyncSession, ids: Collection[int]) -> dict[int, UUID]:
    rows = (await session.execute(_USERS, {"keys": list(ids)})).all() if ids else []
    return {row.user_id: row.public_id for row in rows}


async def user_ids(session: AsyncSession, public_ids: Collection[UUID]) -> frozenset[int]:
    if not public_ids:
        return frozenset()
    statement = sa.select(User.user_id).where(User.public_id.in_(public_ids), User.is_active)
    return frozenset((await session.scalars(statement)).all())


async def instance_of_file(session: AsyncSession, attachment_id: int) -> Instance | None:
    """The instance in one of whose steps a file was attached."""
    statement = (
        sa.select(WorkflowInstance)
        .join(WorkflowHistory, WorkflowHistory.instance_id == WorkflowInstance.id)
        .join(Attachment, Attachment.workflow_history_id == WorkflowHistory.id)
        .where(Attachment.id == attachment_id)
    )
    row = await session.scalar(statement)
    return None if row is None else Instance.detached(session, row)


@dataclass(frozen=True, slots=True)
class WorkItems:
    """Whom an instance waits for in its state, by key, and since when."""

    instance_id: UUID
    state: str
    organizations: Collection[int]
    users: Collection[int]
    since: datetime


_KEYS = sa.bindparam("keys", type_=UuidText(), expanding=True)
_HAS_FILES = (
    sa.exists()
    .where(WorkflowHistory.instance_id == WorkflowInstance.id, Attachment.workflow_history_id == WorkflowHistory.id)
    .correlate(WorkflowInstance)
)
_ROWS: Any = (  # sa.Select; it has more columns than its type can count
    sa.select(*_COLUMNS, _HAS_FILES.label("files"))
    .where(WorkflowInstance.id.in_(_KEYS))
    .order_by(WorkflowInstance.id)
    # There is an index on the key and the version too, and weighing it takes MariaDB as long as reading the rows.
    .with_hint(WorkflowInstance, "USE INDEX (PRIMARY)", "mariadb")
)
_LOCKED = PreparedStatement(_ROWS.with_for_update())
_FREE = PreparedStatement(_ROWS.with_for_update(skip_locked=True))
_HISTORIES = table_of(WorkflowHistory)
_INSTANCES = table_of(WorkflowInstance)
_WRITTEN = (
    "definition_id",
    "current_state",
    "status",
    "context",
    "due_on",
    "assigned_user_id",
    "last_transition_at",
    "updated_at",
)
_ITEMS = table_of(WorkflowWorkItem)


async def lock_instances(
    session: AsyncSession, ids: Collection[UUID], *, wait: bool
) -> Sequence[tuple[Instance, bool]]:
    """
    Lock some instances until the transaction ends, and say whether a step of each has files.

    :param wait: for those that another transaction holds; otherwise they are left out
    """
    rows = await (_LOCKED if wait else _FREE).rows(session, keys=list(ids))
    return [(Instance(*row[:-1]), bool(row[-1])) for row in rows]


async def update_instance(session: AsyncSession, row: Instance) -> bool:
    """
    Save a step by compare-and-set of `version_no`, and return whether the instance still had the version before it.

    :param row: as it is after the step, the new version number included
    """
    unchanged = _INSTANCES.c.id == row.id, _INSTANCES.c.version_no == row.version_no - 1
    statement = sa.update(_INSTANCES).where(*unchanged).values(version_no=row.version_no, **_new(row))
    changed: Any = await session.execute(statement)
    return bool(changed.rowcount == 1)


def _new(row: Instance) -> dict[str, object]:
    return {name: getattr(row, name) for name in _WRITTEN}


async def insert_histories(session: AsyncSession, histories: Sequence[Mapping[str, object]]) -> None:
    await session.execute(sa.insert(_HISTORIES), list(histories))


async def write_work_items(session: AsyncSession, one: WorkItems) -> None:
    """Make the work items of an instance exactly these."""
    await session.execute(sa.delete(_ITEMS).where(_ITEMS.c.instance_id == one.instance_id))
    if rows := _items(one):
        await session.execute(sa.insert(_ITEMS), rows)


def _items(one: WorkItems) -> list[dict[str, object]]:
    common = {"instance_id": str(one.instance_id), "state": one.state, "created_at": one.since}
    return [
        *(
            {"id": str(new_id()), **common, "organization_id": key, "user_id": None}
            for key in sorted(one.organizations)
        ),
        *({"id": str(new_id()), **common, "organization_id": None, "user_id": key} for key in sorted(one.users)),
    ]


EVERYWHERE, EVERY_TYPE = 0, ""
_C, _D = WorkflowAssignment, WorkflowDefinition

# The project before the installation, and within either a type before all: the greater key is the more specific.
_CHOSEN = (
    sa.select(_C.workflow_code)
    .where(
        _C.kind == sa.bindparam("kind"),
        _C.reach.in_([EVERYWHERE, sa.bindparam("project")]),
        _C.type_code.in_([EVERY_TYPE, sa.bindparam("type_code")]),
    )
    .order_by(_C.reach.desc(), _C.type_code.desc())
    .limit(1)
    .scalar_subquery()
)
_STARTS = (
    sa.select(_D.id)
    .where(_D.workflow_code == sa.func.coalesce(_CHOSEN, sa.bindparam("otherwise")), _D.is_active)
    .order_by(_D.version.desc())
    .limit(1)
)


_STARTING = PreparedStatement(_STARTS)
_ROWS = table_of(WorkflowInstance)
# Nothing is read under the lock of a series: whether another version starts by now is a condition of the row itself.
_START = sa.insert(_ROWS).from_select(
    [column.name for column in _ROWS.c],
    sa.select(*(sa.bindparam(column.name, type_=column.type).label(column.name) for column in _ROWS.c)).where(
        _STARTS.scalar_subquery() == sa.bindparam("planned", type_=_D.id.type)
    ),
    include_defaults=False,
)


def starting_id(matter: Matter | None, *, otherwise: str) -> Query[UUID | None]:
    """The active version of the workflow that is chosen for a document, or of the one `otherwise`."""
    return Query(_STARTING, _asked(matter, otherwise), lambda rows: rows[0][0] if rows else None)


async def start(session: AsyncSession, row: Instance, matter: Matter | None, *, otherwise: str) -> bool:
    """Insert an instance if new instances still run on its version, and return whether they do."""
    values = {column.name: getattr(row, column.name) for column in _ROWS.c}
    given = {**values, **_asked(matter, otherwise), "planned": row.definition_id}
    inserted: Any = await session.execute(_START, given)
    return bool(inserted.rowcount == 1)


def _asked(matter: Matter | None, otherwise: str) -> dict[str, object]:
    matter = matter or Matter("", EVERYWHERE, EVERY_TYPE)
    return {"kind": matter.kind, "project": matter.project, "type_code": matter.type_code, "otherwise": otherwise}


async def chosen_code(session: AsyncSession, matter: Matter) -> str | None:
    """The workflow that is chosen for a document, in force or not."""
    given = {"kind": matter.kind, "project": matter.project, "type_code": matter.type_code}
    return await session.scalar(sa.select(_CHOSEN), given)
