"""
The steps of one process: those that are asked for at the same moment, of different instances, share a transaction.

A step is taken together with others only where nothing stands against it. Whoever is refused here, or asks for something
out of the ordinary, takes his step alone afterwards, and gets the answer that he would have got by himself. So no step
can be undone, or kept waiting for a lock, by another one (decision 30).
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from uuid import UUID

import orjson
import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.errors import DomainError
from saraban.kit.idempotency import OperationResult, Remember
from saraban.kit.trace import trace_id
from saraban.workflow.language.subject import Envelope, InstanceStatus, SubjectFacts
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.repository import transitions as stepping
from saraban.workflow.runtime.service import definitions
from saraban.workflow.runtime.service import transitions as moves
from saraban.workflow.runtime.service.instance_requests import (
    InstanceRequest,
    answer_by_key,
    envelope_answer,
    read_snapshot,
    run_alone,
)
from saraban.workflow.runtime.service.persist_transition import Decision, HeldInstance, persist_transitions
from saraban.workflow.runtime.service.subjects import Subjects
from saraban.workflow.runtime.service.transition_metrics import TransitionAttempt, report, taken_in
from saraban.workflow.runtime.service.transition_request import Command, check_payload, check_version
from saraban.workflow.runtime.service.transitions import InstanceSnapshot

BATCH_SIZE = 50  # steps of one transaction: their locks are held until all are committed
LANES = 4  # transactions at the same time, at most
PATIENCE = 0.1  # seconds that a transaction may take before those who wait for its end get another lane
LONG = 16_000  # characters of comment and payload: a statement with fifty of them stays far below what the server takes

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _QueuedTransition:
    """
    One request that waits for its step.

    :param seen: what the request is meant for: where the instance stood when it arrived, as far as that is known
    :param watch: set as soon as its step is among those that are written
    :param answer: None for who has to take the step alone
    """

    asking: InstanceRequest
    remember: Remember
    seen: InstanceSnapshot | None
    watch: TransitionAttempt | None = None
    trace: str = field(default_factory=trace_id)
    arrived: float = field(default_factory=stopwatch)
    context: Context = field(default_factory=copy_context)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    answer: "asyncio.Future[OperationResult | None]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def is_plain(self) -> bool:
        """Whether it asks for no more than a step in the caller's own right."""
        command, caller = self.asking.command, self.asking.ctx.caller
        said = len(command.comment or "") + (len(orjson.dumps(command.payload)) if command.payload else 0)
        mine = command.on_behalf_of in {None, caller.public_id}
        return mine and not command.attachment_public_ids and said <= LONG

    def tell(self, answer: OperationResult | Exception | None) -> None:
        if self.answer.done():
            return
        if isinstance(answer, Exception):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)

    def report(self, outcome: str) -> None:
        """Counts and logs the step in the request's own context: its trace belongs into the line."""
        if self.watch is not None:
            self.context.run(report, self.watch, outcome, (stopwatch() - self.arrived) * 1000)


class Transitions:
    """One for each process; it takes the steps that its doors ask for."""

    def __init__(self, db: Database, subjects: Subjects) -> None:
        self._db, self._subjects = db, subjects
        self._waiting: deque[_QueuedTransition] = deque()
        self._moving: dict[UUID, _QueuedTransition] = {}
        self._lanes: set[asyncio.Task[None]] = set()
        self._open = 0
        self._held_up: set[asyncio.Task[None]] = set()

    async def take(self, ctx: RequestContext, *, public_id: UUID, command: Command) -> OperationResult:
        """
        Take one step and give the new envelope as a JSON answer with its `ETag`; committed when it returns.

        Under a key that came before it gives the stored answer.

        :raises NotFound: when the caller may not see the instance; asked before anything else
        :raises Invalid: for a reserved name in the payload
        :raises VersionConflict, StaleInstance, TransitionNotPossible, ActionForbidden, ConditionNotMet: nothing happened
        """
        asking = InstanceRequest(ctx, self._subjects, public_id, command)
        seen = await read_snapshot(self._db, asking) if ctx.key is not None else None

        async def run(remember: Remember) -> OperationResult:
            member = _QueuedTransition(asking, remember, seen)
            try:
                taken = await self._together(member) if member.is_plain else None
                return taken if taken is not None else await self._alone(member)
            finally:
                member.ended.set()

        return await answer_by_key(self._db, asking, door="transitions", run=run)

    async def close(self) -> None:
        """Wait for the steps on their way."""
        while self._lanes:
            await asyncio.wait(self._lanes)

    async def _alone(self, member: _QueuedTransition) -> OperationResult:
        asking = member.asking

        async def step(session: AsyncSession, seen: InstanceSnapshot) -> Envelope:
            return await moves.transition(
                asking.ctx,
                session,
                subjects=self._subjects,
                public_id=asking.public_id,
                command=asking.command,
                seen=seen,
            )

        member.seen = member.seen or await read_snapshot(self._db, asking)
        return await run_alone(self._db, asking, member.seen, step, member.remember)

    async def _together(self, member: _QueuedTransition) -> OperationResult | None:
        """Gives None when the step has to be taken alone."""
        key = member.asking.public_id
        first = self._moving.get(key)
        if first is not None:
            # Unless the one before it is refused, it has lost the race: it was meant for where that one found the instance.
            await first.ended.wait()
            member.seen = member.seen or first.seen
            return None
        self._moving[key] = member
        self._waiting.append(member)
        self._open_lane()
        return await member.answer

    def _open_lane(self) -> None:
        """
        One lane does as a rule: the more share a transaction, the less each costs this process and the database. Another one
        is opened when more wait than share one, and when all transactions under way are held up.
        """
        needed = self._open == len(self._held_up) or len(self._waiting) > BATCH_SIZE
        if self._waiting and needed and self._open < LANES:
            self._open += 1
            lane = asyncio.get_running_loop().create_task(self._serve(), name="workflow-steps")
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)

    async def _serve(self) -> None:
        try:
            await asyncio.sleep(0)  # whoever asks in the same turn of the loop comes along
            while self._waiting:
                if members := self._next():
                    await self._take_in_time(members)
        finally:
            self._open -= 1  # at once: whoever comes next must find it so

    async def _take_in_time(self, members: Sequence[_QueuedTransition]) -> None:
        lane = asyncio.current_task()
        assert lane is not None

        def give_way() -> None:
            self._held_up.add(lane)
            self._open_lane()

        late = asyncio.get_running_loop().call_later(PATIENCE, give_way)
        try:
            await self._take(members)
        finally:
            late.cancel()
            self._held_up.discard(lane)

    def _next(self) -> list[_QueuedTransition]:
        """Those who waited longest; who left meanwhile is dropped."""
        members: list[_QueuedTransition] = []
        while self._waiting and len(members) < BATCH_SIZE:
            member = self._waiting.popleft()
            if member.answer.done():
                del self._moving[member.asking.public_id]
            else:
                members.append(member)
        return members

    async def _take(self, members: Sequence[_QueuedTransition]) -> None:
        answers: Mapping[UUID, OperationResult] = {}
        lost: Exception | None = None
        try:
            answers = await self._db.transact(lambda session: self._work(session, members))
        except Exception as error:  # noqa: BLE001  whatever it is, each is told of it, or finds it by himself
            if database_fault(error) is DatabaseFault.CONNECTION:
                lost = error
            elif not isinstance(error, DomainError):
                log.warning("workflow.not_together", steps=len(members), error=str(error)[:300])
        for member in members:
            del self._moving[member.asking.public_id]
            if lost is not None and member.watch is not None:
                # Whether it was committed nobody knows (REQ-NUM-09), so it must not be tried again here.
                member.tell(lost)
            else:
                member.tell(answers.get(member.asking.public_id))
        for member in members:
            if lost is not None or member.asking.public_id in answers:
                member.report("success" if lost is None else "system_error")

    async def _work(
        self, session: AsyncSession, members: Sequence[_QueuedTransition]
    ) -> Mapping[UUID, OperationResult]:
        asked = {member.asking.public_id: member for member in members}
        for member in members:
            member.watch = None
        found: dict[str, dict[str, Instance]] = {}
        with_files = set()
        for row, has_files in await stepping.free_instances(session, asked):
            if row.entity_type in self._subjects:
                found.setdefault(row.entity_type, {}).setdefault(row.entity_id, row)
            if has_files:
                with_files.add(row.id)
        decided: list[Decision] = []
        for kind, rows in found.items():
            callers = {entity_id: asked[row.id].asking.ctx.caller for entity_id, row in rows.items()}
            facts = await self._subjects.port(kind).facts_for(session, callers)
            for entity_id, known in facts.items():
                row = rows[entity_id]
                one = await self._decided(session, asked[row.id], row, known, has_files=row.id in with_files)
                decided += [one] if one is not None else []
        if not decided:
            return {}
        for one in decided:
            member = asked[one.held.row.id]
            member.seen = _seen(one.held)
            member.watch = moves.attempt_of(one.held.ctx, member.seen, command=one.command)
        answers = {}
        for one, envelope in zip(decided, await persist_transitions(session, decided), strict=True):
            member = asked[one.held.row.id]
            answer = answers[member.asking.public_id] = envelope_answer(envelope)
            await member.remember(session, answer)
            if member.watch is not None:
                member.watch.to_state = envelope.current_state
                member.watch.taken = taken_in(session, one.held.row.id)
        return answers

    async def _decided(
        self, session: AsyncSession, member: _QueuedTransition, row: Instance, facts: SubjectFacts, *, has_files: bool
    ) -> Decision | None:
        """The step that the request may take now, None where anything stands against it."""
        asking, command, seen = member.asking, member.asking.command, member.seen
        lost = seen is not None and not command.names_a_version and seen.version_no != row.version_no
        if lost or row.status != InstanceStatus.ACTIVE:
            return None
        definition = await definitions.load(session, row.definition_id)
        port = self._subjects.port(row.entity_type)
        held = HeldInstance(row, port, facts, definition, asking.ctx, has_files=has_files)
        try:
            check_payload(command)
            check_version(command, row.version_no)
            step = moves.own_step(held, command)
        except DomainError:
            return None
        return Decision(held, step, command, asking.ctx.now, trace=member.trace or None)


def _seen(held: HeldInstance) -> InstanceSnapshot:
    row, definition = held.row, held.definition
    return InstanceSnapshot(row.id, definition.code, row.current_state, row.version_no, definition.actions)
