"""
What the doors ask for of one instance: in the order of REQ-WFL-02, repeatable by its `Idempotency-Key`, counted and logged.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.idempotency import OperationResult, Remember, answer_once
from saraban.workflow.language.subject import Envelope
from saraban.workflow.runtime.schemas import instance_answer
from saraban.workflow.runtime.service import transitions as moves
from saraban.workflow.runtime.service.subjects import Subjects
from saraban.workflow.runtime.service.transition_metrics import admitted, measured, taken_in
from saraban.workflow.runtime.service.transition_request import Command
from saraban.workflow.runtime.service.transitions import InstanceSnapshot

TransitionWork = Callable[[AsyncSession, InstanceSnapshot], Awaitable[Envelope]]


@dataclass(frozen=True, slots=True)
class InstanceRequest:
    """Who asks for what of which instance; `more` is what the request says besides its command."""

    ctx: RequestContext
    subjects: Subjects
    public_id: UUID
    command: Command
    more: Mapping[str, Any] = field(default_factory=dict)


async def run_once(db: Database, asking: InstanceRequest, *, door: str, step: TransitionWork) -> OperationResult:
    """
    Do something to an instance in a transaction of its own, in the order of REQ-WFL-02, once for a key.

    :param door: the last part of its address, without an id
    """
    seen = await read_snapshot(db, asking)
    return await answer_by_key(db, asking, door=door, run=lambda remember: run_alone(db, asking, seen, step, remember))


async def read_snapshot(db: Database, asking: InstanceRequest) -> InstanceSnapshot:
    """
    Read where an instance stands as the request arrives.

    :raises NotFound: when there is none; with a key also when the caller may not see it: what was answered under a key
        may only be repeated to those who see the instance still
    """
    async with db.reading() as session:
        return await moves.snapshot(
            asking.ctx,
            session,
            subjects=asking.subjects,
            public_id=asking.public_id,
            visibly=asking.ctx.key is not None,
        )


async def answer_by_key(
    db: Database, asking: InstanceRequest, *, door: str, run: Callable[[Remember], Awaitable[OperationResult]]
) -> OperationResult:
    """Return what was answered under the request's key before, or run it and keep its answer."""
    return await answer_once(
        db,
        key=asking.ctx.key,
        user=asking.ctx.caller.public_id,
        operation=f"POST /workflow/instances/{asking.public_id}/{door}",
        payload=_payload(asking.command) | dict(asking.more) if asking.ctx.key is not None else None,
        now=asking.ctx.now,
        run=run,
    )


async def run_alone(
    db: Database, asking: InstanceRequest, seen: InstanceSnapshot, step: TransitionWork, remember: Remember
) -> OperationResult:
    """Do something to one instance in a transaction that holds nothing else, counted and logged."""

    async def work(session: AsyncSession) -> OperationResult:
        try:
            envelope = await step(session, seen)
        except NotFound:
            watch.unknown = not admitted(session)
            raise
        watch.to_state, watch.taken = envelope.current_state, taken_in(session, asking.public_id)
        answer = envelope_answer(envelope)
        await remember(session, answer)
        return answer

    with measured(moves.attempt_of(asking.ctx, seen, command=asking.command)) as watch:
        return await db.transact(work)


def _payload(command: Command) -> dict[str, Any]:
    # If-Match is no part of what is asked for: a client that repeats a request may have refreshed it.
    asked = asdict(command)
    del asked["if_match"]
    return asked


def envelope_answer(envelope: Envelope) -> OperationResult:
    """Return an envelope as a JSON answer with its `ETag`."""
    body = instance_answer(envelope).model_dump(mode="json", by_alias=True)
    return OperationResult(200, body, {"ETag": f'"{envelope.version_no}"'})
