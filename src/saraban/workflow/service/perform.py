"""
A transition as the doors ask for it: in the order of ruling W1, repeatable by its `Idempotency-Key`, counted and logged.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.idempotency import Answer, Remember, answer_once
from saraban.workflow.domain.subject import Envelope
from saraban.workflow.schemas import StepAttachmentOut, WorkflowOut
from saraban.workflow.service import transition as moves
from saraban.workflow.service.observe import Watch, admitted, taken_in, watched
from saraban.workflow.service.subjects import Subjects
from saraban.workflow.service.transition import Command, Seen


async def perform(
    db: Database,
    *,
    caller: Caller,
    subjects: Subjects,
    public_id: UUID,
    command: Command,
    now: datetime,
    address: str,
    key: str | None = None,
) -> Answer:
    """
    This will take one step and give the new envelope as a JSON answer with its `ETag`.

    It opens and commits its own transaction. Under a key that came before it gives the stored answer.

    :raises NotFound: when the caller may not see the instance; asked before anything else
    """

    async def step(session: AsyncSession, seen: Seen) -> Envelope:
        return await moves.transition(
            session,
            caller=caller,
            subjects=subjects,
            public_id=public_id,
            command=command,
            now=now,
            address=address,
            seen=seen,
        )

    asking = Asking(caller, subjects, public_id, command, now, key)
    return await once(db, asking, door="transitions", step=step)


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks for what of which instance; `more` is what the request says besides its command."""

    caller: Caller
    subjects: Subjects
    public_id: UUID
    command: Command
    now: datetime
    key: str | None
    more: Mapping[str, Any] = field(default_factory=dict)


async def once(
    db: Database, asking: Asking, *, door: str, step: Callable[[AsyncSession, Seen], Awaitable[Envelope]]
) -> Answer:
    """
    This will do something to an instance in a transaction of its own, in the order of ruling W1, once for a key.

    :param door: the last part of its address, without an id
    """
    command, caller = asking.command, asking.caller
    async with db.reading() as session:
        # What was answered under a key may only be repeated to those who see the instance still.
        seen = await moves.look(
            session,
            caller=caller,
            subjects=asking.subjects,
            public_id=asking.public_id,
            visibly=asking.key is not None,
        )

    async def run(remember: Remember) -> Answer:
        with watched(moves.watch(seen, command=command, caller=caller)) as watch:
            return await db.transact(lambda session: work(session, remember, watch))

    async def work(session: AsyncSession, remember: Remember, watch: Watch) -> Answer:
        try:
            envelope = await step(session, seen)
        except NotFound:
            watch.unknown = not admitted(session)
            raise
        watch.to_state, watch.taken = envelope.current_state, taken_in(session)
        answer = _answer(envelope)
        await remember(session, answer)
        return answer

    return await answer_once(
        db,
        key=asking.key,
        user=caller.public_id,
        operation=f"POST /workflow/instances/{asking.public_id}/{door}",
        payload=_payload(command) | dict(asking.more),
        now=asking.now,
        run=run,
    )


def _payload(command: Command) -> dict[str, Any]:
    # If-Match is no part of what is asked for: a client that repeats a request may have refreshed it.
    asked = asdict(command)
    del asked["if_match"]
    return asked


def _answer(envelope: Envelope) -> Answer:
    body = {
        "workflow": WorkflowOut.model_validate(envelope).model_dump(mode="json", by_alias=True),
        "stepAttachments": [
            StepAttachmentOut.model_validate(file).model_dump(mode="json", by_alias=True)
            for file in envelope.step_attachments
        ],
    }
    return Answer(200, body, {"ETag": f'"{envelope.version_no}"'})


__all__ = ["Asking", "Command", "Seen", "once", "perform"]
