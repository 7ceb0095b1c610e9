"""What taking steps reads under its locks and writes: instances, histories and work items, many of each in one statement."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.models import Attachment
from saraban.kit.db import table_of
from saraban.kit.ids import new_id
from saraban.kit.pipeline import Pipeline
from saraban.kit.statements import PreparedStatement
from saraban.workflow.runtime.models import Instance, UuidText, WorkflowHistory, WorkflowInstance, WorkflowWorkItem


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
    sa.select(*(table_of(WorkflowInstance).columns[name] for name in Instance.__slots__), _HAS_FILES.label("files"))
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


def update_instances(pipeline: Pipeline, rows: Sequence[Instance]) -> None:
    """
    Write what steps have changed by compare-and-set of `version_no`; the pipeline fails where one finds another version.

    One statement for all that come to the same state at the same version.

    :param rows: as they stand after the step, the new version number included
    """
    alike: dict[tuple[Any, ...], list[Instance]] = {}
    for row in rows:
        new = (orjson.dumps(value) if name == "context" else value for name, value in _new(row).items())
        alike.setdefault((row.version_no, *new), []).append(row)
    for those in alike.values():
        pipeline.update(
            _INSTANCES,
            {"version_no": those[0].version_no, **_new(those[0])},
            where={"id": [row.id for row in those], "version_no": [those[0].version_no - 1]},
            expect=len(those),
            by_key=True,
        )


def _new(row: Instance) -> dict[str, object]:
    return {name: getattr(row, name) for name in _WRITTEN}


def insert_histories(pipeline: Pipeline, histories: Sequence[Mapping[str, object]]) -> None:
    """Write rows of histories; the values are by column."""
    pipeline.insert(_HISTORIES, histories)


def replace_work_items(pipeline: Pipeline, awaited: Sequence[WorkItems]) -> None:
    """Make the work items of instances exactly these."""
    if awaited:
        pipeline.delete(_ITEMS, where={"instance_id": [one.instance_id for one in awaited]})
        pipeline.insert(_ITEMS, [row for one in awaited for row in _items(one)])


async def write_work_items(session: AsyncSession, one: WorkItems) -> None:
    """Make the work items of an instance exactly these, at once."""
    pipeline = Pipeline(session)
    replace_work_items(pipeline, [one])
    await pipeline.send()


def _items(one: WorkItems) -> list[dict[str, object]]:
    common = {"instance_id": str(one.instance_id), "state": one.state, "created_at": one.since}
    return [
        *(
            {"id": str(new_id()), **common, "organization_id": key, "user_id": None}
            for key in sorted(one.organizations)
        ),
        *({"id": str(new_id()), **common, "organization_id": None, "user_id": key} for key in sorted(one.users)),
    ]
