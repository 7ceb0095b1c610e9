"""Transitions: each is one transaction under the row lock of its instance (REQ-WFL-02, decision 61)."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.idempotency import Idempotency
from saraban.kit.operation import Receipt
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Step, TransitionNotPossible
from saraban.workflow.language.subject import Envelope, InstanceStatus
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import delegation, interventions
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.repository import LockedInstance
from saraban.workflow.runtime.service import definitions, instances, tasks
from saraban.workflow.runtime.service.delegations import delegators_of
from saraban.workflow.runtime.service.persist_transition import persist_transition
from saraban.workflow.runtime.service.subjects import Subjects, seen
from saraban.workflow.runtime.service.transition_metrics import report
from saraban.workflow.runtime.service.transition_request import (
    Command,
    Decision,
    DecisionPolicy,
    HeldInstance,
    Transitioned,
    TransitionRequest,
    check_payload,
    check_version,
)


class ByRight(DecisionPolicy):
    path = "transitions"

    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        """:raises TransitionNotPossible, ActionForbidden, ConditionNotMet, Invalid: the step is refused"""
        await check_running(session, held, request)
        held, step = await _advance(session, held, request.command)
        return Decision(held, step, request.command)


BY_RIGHT = ByRight()


class Transitions:
    def __init__(self, db: Database, subjects: Subjects, idempotency: Idempotency) -> None:
        self._db, self._subjects, self._idempotency = db, subjects, idempotency
        self._concurrent: dict[UUID, list[TransitionRequest]] = {}  # by instance

    async def take(
        self, ctx: RequestContext, *, public_id: UUID, command: Command, policy: DecisionPolicy = BY_RIGHT
    ) -> Transitioned:
        """
        Run one request for an instance, once for an idempotency key; committed when it returns.

        :raises NotFound: when the caller may not see the instance; a repetition is refused by `show`
        :raises Invalid: for a reserved name in the payload
        :raises VersionConflict, StaleInstance, TransitionNotPossible, ActionForbidden, ConditionNotMet: nothing happened
        """
        request = TransitionRequest(ctx, public_id, command, policy)
        concurrent = self._concurrent.setdefault(public_id, [])
        # The request was made for the version that uncommitted requests have read.
        request.seen_version = max((other.read_version for other in concurrent), default=0)
        concurrent.append(request)
        try:
            return await self._take(request)
        finally:
            concurrent.remove(request)
            if not concurrent:
                del self._concurrent[public_id]

    async def _take(self, request: TransitionRequest) -> Transitioned:
        started = stopwatch()
        if not request.command.names_a_version:
            await self._read_version(request)
        operation = request.policy.operation(request.ctx, request.instance_id, request.command)
        try:
            receipt = await self._idempotency.run(operation, self.step, request)
        except Exception as error:
            # The endpoint counts failures before the instance was read.
            if request.is_visible or (request.workflow_code and not isinstance(error, DomainError)):
                report(request, (stopwatch() - started) * 1000, error)
            raise
        if request.done is None:
            return Transitioned(request.instance_id, receipt)
        report(request, (stopwatch() - started) * 1000)
        return request.done

    async def step(self, request: TransitionRequest, session: AsyncSession) -> Receipt:
        """:raises NotFound: when there is none, or the caller may not see its subject"""
        locked = await repository.lock_instance(session, request.instance_id)
        held = await hold(request.ctx, session, locked, subjects=self._subjects)
        action, request.workflow_code = request.command.action, held.definition.code
        request.is_known = action in held.definition.actions or action in interventions.WORDS
        self._record_version(request, held.row)
        request.is_visible = True
        check_payload(request.command, held)
        request.done = await persist_transition(session, await request.policy.decide(session, held, request))
        return request.done.receipt

    async def _read_version(self, request: TransitionRequest) -> None:
        """Read the version that a request without one is made for: a step of another process must not count as seen."""
        async with self._db.reading() as session:
            row = await repository.instance(session, request.instance_id)
        if row is not None:
            self._record_version(request, row)

    def _record_version(self, request: TransitionRequest, row: Instance) -> None:
        """Record the version that a request read, for concurrent requests that have read none, too."""
        request.seen_state, request.read_version = request.seen_state or row.current_state, row.version_no
        for other in (request, *self._concurrent.get(row.id, ())):
            other.seen_version = other.seen_version or row.version_no

    async def show(self, ctx: RequestContext, done: Transitioned) -> Envelope:
        """
        Return an instance after a request: as it was then, or for a repetition as it is now.

        :raises NotFound: when the caller of a repetition may not see its subject any more
        """
        after = done.after
        if after is None:
            async with self._db.reading() as session:
                return await tasks.find(ctx, session, subjects=self._subjects, public_id=done.instance_id, now=ctx.now)
        plain = instances.envelope_without_query(after, done.waiting)
        if plain is not None:
            return plain
        async with self._db.reading() as session:
            return await instances.envelope_after(session, after, done.waiting)


async def hold(
    ctx: RequestContext, session: AsyncSession, locked: LockedInstance | None, *, subjects: Subjects
) -> HeldInstance:
    """:raises NotFound: when there is no instance, or the caller may not see its subject"""
    facts = await seen(ctx, session, locked.row, subjects=subjects) if locked is not None else None
    if locked is None or facts is None:
        raise NotFound("There is no such workflow instance, or the caller may not see what it moves.")
    definition = await definitions.load(session, locked.row.definition_id)
    port = subjects.port(locked.row.entity_type)
    return HeldInstance(locked.row, definition, facts, port=port, ctx=ctx, has_files=locked.has_files)


async def check_running(session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> None:
    """
    :raises VersionConflict, StaleInstance: when the client saw another version
    :raises TransitionNotPossible: when the instance has ended, or has moved since the request arrived
    """
    row, command = held.row, request.command
    check_version(command, row.version_no)
    if not command.names_a_version and request.seen_version != row.version_no:
        raise TransitionNotPossible("Somebody else moved the instance first.", raced=True)
    if row.status != InstanceStatus.ACTIVE:
        raise TransitionNotPossible(
            f"The instance is {row.status.lower()}.", raced=await _was_just_taken(session, row, command)
        )


async def _advance(session: AsyncSession, held: HeldInstance, command: Command) -> tuple[HeldInstance, Step]:
    facts = _decision_facts(held, command)
    position = (held.definition, held.row.current_state, command.action)
    seats: tuple[Caller, ...] = ()
    try:
        if command.on_behalf_of in {None, held.caller.public_id}:
            try:
                return held, decisions.advance(*position, facts)
            except decisions.ActionForbidden:
                if command.on_behalf_of is not None:
                    raise
        code, project = held.definition.code, held.facts.scope.project
        seats = tuple(await delegators_of(held.ctx, session, workflow_code=code, project_id=project))
        delegated = delegation.chosen(*position, facts, seats, named=command.on_behalf_of)
        return replace(held, seat=delegated.caller, seats=seats), decisions.advance(*position, delegated)
    except TransitionNotPossible as error:
        error.raced = await _was_just_taken(session, held.row, command)
        raise
    except decisions.ActionForbidden:
        all_facts = (facts, *(delegation.in_place_of(facts, seat) for seat in seats))
        if await _was_allowed(session, held, command, all_facts):
            raise TransitionNotPossible("The step this was meant for has been taken.", raced=True) from None
        raise


def _decision_facts(held: HeldInstance, command: Command) -> decisions.Facts:
    row = held.row
    return decisions.Facts(
        held.caller,
        held.facts,
        command.comment,
        command.payload,
        row.context or {},
        bool(command.attachment_public_ids),
        command.response_code,
        row.assigned_user_id,
    )


async def _was_just_taken(session: AsyncSession, row: Instance, command: Command) -> bool:
    latest = await repository.latest_step(session, row.id)
    return latest is not None and latest.action == command.action


async def _was_allowed(
    session: AsyncSession, held: HeldInstance, command: Command, all_facts: Iterable[decisions.Facts]
) -> bool:
    """Return whether the caller could have acted one step earlier: a lost race or a second click."""
    if command.names_a_version:
        return False
    latest = await repository.latest_step(session, held.row.id)
    if latest is None or latest.from_state not in held.definition.states:
        return False
    transition = held.definition.states[latest.from_state].on.get(command.action)
    return transition is not None and any(decisions.permitted(transition.require, facts) for facts in all_facts)
