"""
What a transition is compared with: others that take a document one step, on rows of the same tables.

Each locks its row, decides, writes history and event, and commits: one transaction a transition, nothing remembered
between two. Whoever the libraries leave to the application (who may act) is checked against a set of organizations.
"""

import json
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from SpiffWorkflow.bpmn.parser import BpmnParser
from SpiffWorkflow.bpmn.serializer import BpmnWorkflowSerializer
from SpiffWorkflow.bpmn.workflow import BpmnWorkflow
from SpiffWorkflow.util.task import TaskState
from sqlalchemy.dialects import mysql
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from statemachine import State, StateMachine

from benchmarks.load import Operation
from benchmarks.number_baselines import Pool
from benchmarks.pending_rfas import BACK, FORWARD, Pattern, PendingRfas
from saraban.audit.models import AuditLog
from saraban.documents.core.models import DocumentRevision
from saraban.documents.rfa.models import RfaRevision
from saraban.events.models import OutboxEvent
from saraban.identity.domain.context import Caller
from saraban.kit.clock import SystemClock
from saraban.kit.ids import new_id
from saraban.workflow.runtime.models import UuidText, WorkflowHistory, WorkflowInstance, WorkflowWorkItem

CLOCK = SystemClock(ZoneInfo("Asia/Bangkok"))
REVIEW, APPROVAL = "pending_review", "pending_approval"
NEXT = {FORWARD: (REVIEW, APPROVAL), BACK: (APPROVAL, REVIEW)}
# As long as what our own transitions tell.
TOLD = {"title": "รายละเอียดเหล็กเสริมฐานราก", "number": "LCBP3-C2-RFA-STR-SDW-0001-A", "more": "x" * 1000}
_HISTORY = (
    "INSERT INTO workflow_histories (id, instance_id, from_state, to_state, action, action_by_user_id, "
    "action_by_user_uuid, metadata, created_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_EVENT = (
    "INSERT INTO outbox_events (uuid, name, aggregate_type, aggregate_id, payload, created_at, available_at, "
    "delivered_at) VALUES (%s, 'baseline.moved', 'baseline', %s, %s, %s, %s, %s)"
)


def in_turn(instances: Iterable[UUID]) -> deque[tuple[UUID, str]]:
    return deque((each, FORWARD) for each in instances)


def _now() -> datetime:
    return CLOCK.now()


def floor(pool: Pool, instances: Iterable[UUID], *, caller: Caller, more: int = 0) -> Operation:
    """
    Row lock, update, history, event, commit; the bare driver, and nobody asks who may.

    :param more: short readings by key besides, for as many statements as somebody else sends
    """
    waiting = in_turn(instances)
    told = json.dumps(TOLD)

    async def operation() -> object:
        instance, action = waiting.popleft()
        before, after = NEXT[action]
        key, now = str(instance), _now().replace(tzinfo=None)
        async with pool.transaction() as cursor:
            await cursor.execute("SELECT version_no FROM workflow_instances WHERE id = %s FOR UPDATE", (key,))
            (version,) = await cursor.fetchone()
            for _ in range(more):
                await cursor.execute("SELECT * FROM workflow_instances WHERE id = %s", (key,))
                await cursor.fetchone()
            await cursor.execute(
                "UPDATE workflow_instances SET current_state = %s, version_no = %s, last_transition_at = %s, "
                "updated_at = %s WHERE id = %s AND version_no = %s",
                (after, version + 1, now, now, key, version),
            )
            who = (caller.user_id, str(caller.public_id))
            await cursor.execute(_HISTORY, (str(new_id()), key, before, after, action, *who, "{}", now))
            # Delivered, because there is no worker for the baselines' events and nobody shall wait behind them.
            await cursor.execute(_EVENT, (str(new_id()), key, told, now, now, now))
        waiting.append((instance, BACK if action == FORWARD else FORWARD))
        return instance

    return operation


class Review(StateMachine):
    """The same two states and actions, with a guard."""

    pending_review = State(initial=True)
    pending_approval = State()
    approve = pending_review.to(pending_approval, cond="permitted")
    send_back = pending_approval.to(pending_review, cond="permitted")

    def __init__(self, model: WorkflowInstance, *, seats: frozenset[int], allowed: frozenset[int]) -> None:
        self._seats, self._allowed = seats, allowed
        super().__init__(model, state_field="current_state")

    def permitted(self) -> bool:
        return bool(self._seats & self._allowed)


def state_machine(
    engine: AsyncEngine, instances: Iterable[UUID], *, caller: Caller, pattern: Pattern, whole: bool
) -> Operation:
    """
    python-statemachine, its model a mapped row.

    :param whole: all the rows that ours writes: audit, work items, and the status of revision and RFA beside
    """
    waiting = in_turn(instances)
    seats = caller.organization_ids
    events = {FORWARD: "approve", BACK: "send_back"}

    async def operation() -> object:
        instance, action = waiting.popleft()
        now = _now()
        async with AsyncSession(engine, expire_on_commit=False) as session, session.begin():
            row = await session.get_one(WorkflowInstance, instance, with_for_update=True)
            before = row.current_state
            Review(row, seats=seats, allowed=seats).send(events[action])
            row.version_no += 1
            row.last_transition_at = row.updated_at = now
            session.add_all(_told(row, before, action, caller, now))
            if whole:
                await _beside(session, row, caller, pattern, now)
        waiting.append((instance, BACK if action == FORWARD else FORWARD))
        return instance

    return operation


def _told(row: WorkflowInstance, before: str, action: str, caller: Caller, now: datetime) -> Sequence[Any]:
    history = WorkflowHistory(
        id=new_id(),
        instance_id=row.id,
        from_state=before,
        to_state=row.current_state,
        action=action,
        action_by_user_id=caller.user_id,
        action_by_user_uuid=str(caller.public_id),
        details={},
        created_at=now,
    )
    return history, _event(row.id, now)


def _event(instance: UUID, now: datetime) -> OutboxEvent:
    return OutboxEvent(
        name="baseline.moved",
        aggregate_type="baseline",
        aggregate_id=str(instance),
        payload=TOLD,
        created_at=now,
        available_at=now,
        delivered_at=now,
    )


async def _beside(
    session: AsyncSession, row: WorkflowInstance, caller: Caller, pattern: Pattern, now: datetime
) -> None:
    items = WorkflowWorkItem
    await session.execute(sa.delete(items).where(items.instance_id == row.id))
    common = {"instance_id": row.id, "state": row.current_state, "created_at": now}
    session.add_all(items(organization_id=key, **common) for key in sorted(caller.organization_ids))
    session.add(
        AuditLog(
            user_id=caller.user_id,
            actor_uuid=caller.public_id,
            action="baseline.moved",
            severity="INFO",
            entity_type="baseline",
            entity_id=str(row.id),
            details_json={"to": row.current_state},
            created_at=now,
        )
    )
    # The status of its own revision, by the key that the instance names, and of the RFA beside it.
    of_revision = sa.select(DocumentRevision).where(DocumentRevision.public_id == UUID(row.entity_id))
    revision = (await session.scalars(of_revision)).one()
    rfa = await session.get_one(RfaRevision, revision.id)
    revision.remarks = rfa_word = row.current_state
    rfa.details = {"state": rfa_word, "pattern": pattern.revision, "version": row.version_no}


class BaselineTables(DeclarativeBase):
    """The table that only a baseline has."""


class BaselineWorkflow(BaselineTables):
    """A workflow as SpiffWorkflow's serializer writes it."""

    __tablename__ = "baseline_workflows"

    id: Mapped[UUID] = mapped_column(UuidText(), primary_key=True)
    serialized: Mapped[str] = mapped_column(mysql.LONGTEXT())
    updated_at: Mapped[datetime] = mapped_column(mysql.DATETIME(fsp=6))


_BPMN = f"""<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" id="baseline" targetNamespace="http://bpmn.io/schema/bpmn">
  <process id="rfa" isExecutable="true">
    <startEvent id="start"><outgoing>a</outgoing></startEvent>
    <exclusiveGateway id="again"><incoming>a</incoming><incoming>d</incoming><outgoing>b</outgoing></exclusiveGateway>
    <manualTask id="{REVIEW}"><incoming>b</incoming><outgoing>c</outgoing></manualTask>
    <manualTask id="{APPROVAL}"><incoming>c</incoming><outgoing>e</outgoing></manualTask>
    <exclusiveGateway id="decided" default="f"><incoming>e</incoming><outgoing>d</outgoing><outgoing>f</outgoing>
    </exclusiveGateway>
    <endEvent id="end"><incoming>f</incoming></endEvent>
    <sequenceFlow id="a" sourceRef="start" targetRef="again"/>
    <sequenceFlow id="b" sourceRef="again" targetRef="{REVIEW}"/>
    <sequenceFlow id="c" sourceRef="{REVIEW}" targetRef="{APPROVAL}"/>
    <sequenceFlow id="e" sourceRef="{APPROVAL}" targetRef="decided"/>
    <sequenceFlow id="d" sourceRef="decided" targetRef="again">
      <conditionExpression>action == "{BACK}"</conditionExpression></sequenceFlow>
    <sequenceFlow id="f" sourceRef="decided" targetRef="end"/>
  </process>
</definitions>
"""


class Spiff:
    """SpiffWorkflow as its manual says: restored from the stored text, one task run, stored again."""

    def __init__(self) -> None:
        parser = BpmnParser()
        parser.add_bpmn_str(_BPMN.encode())
        self._serializer = BpmnWorkflowSerializer(BpmnWorkflowSerializer.configure())
        workflow = BpmnWorkflow(parser.get_spec("rfa"))
        workflow.do_engine_steps()
        self.fresh: str = self._serializer.serialize_json(workflow)

    def step(self, stored: str, action: str) -> str:
        """Take the step that waits and give the workflow as it is to be stored."""
        workflow, task = self._waiting(stored)
        task.data["action"] = action
        task.run()
        workflow.do_engine_steps()
        text: str = self._serializer.serialize_json(workflow)
        return text

    def stands(self, stored: str) -> str:
        """Return the name of the step that waits."""
        return str(self._waiting(stored)[1].task_spec.bpmn_id)

    def _waiting(self, stored: str) -> tuple[BpmnWorkflow, Any]:
        workflow = self._serializer.deserialize_json(stored)
        (task,) = workflow.get_tasks(state=TaskState.READY, manual=True)
        return workflow, task

    async def prepare(self, engine: AsyncEngine, instances: Sequence[UUID]) -> None:
        async with engine.begin() as connection:
            await connection.run_sync(BaselineTables.metadata.drop_all)
            await connection.run_sync(BaselineTables.metadata.create_all)
            now = _now().replace(tzinfo=None)
            rows = [{"id": key, "serialized": self.fresh, "updated_at": now} for key in instances]
            await connection.execute(sa.insert(BaselineWorkflow), rows)

    def moving(self, engine: AsyncEngine, instances: Iterable[UUID], *, caller: Caller) -> Operation:
        waiting = in_turn(instances)

        async def operation() -> object:
            instance, action = waiting.popleft()
            before, after = NEXT[action]
            now = _now()
            async with AsyncSession(engine, expire_on_commit=False) as session, session.begin():
                row = await session.get_one(BaselineWorkflow, instance, with_for_update=True)
                row.serialized, row.updated_at = self.step(row.serialized, action), now.replace(tzinfo=None)
                session.add(
                    WorkflowHistory(
                        instance_id=instance,
                        from_state=before,
                        to_state=after,
                        action=action,
                        action_by_user_id=caller.user_id,
                        action_by_user_uuid=str(caller.public_id),
                        details={},
                        created_at=now,
                    )
                )
                session.add(_event(instance, now))
            waiting.append((instance, BACK if action == FORWARD else FORWARD))
            return instance

        return operation


def engine_of(pending: PendingRfas, *, clients: int) -> AsyncEngine:
    """SQLAlchemy as the product uses it, with a connection for each client."""
    from sqlalchemy.ext.asyncio import create_async_engine

    return create_async_engine(
        pending.system.db.url, pool_size=clients, isolation_level="READ COMMITTED", pool_reset_on_return=None
    )
