"""What a page may offer a reader of a sheet besides the workflow's actions; each verb checks again when it is used."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.service.answering import may_answer, part_for
from saraban.documents.circulation.service.presenting import envelopes, part_of
from saraban.documents.circulation.service.reading import find
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.workflow.domain.subject import Represented
from saraban.workflow.runtime.service.delegated_rights import delegators_of


@dataclass(frozen=True, slots=True)
class CirculationActions:
    edit: bool = False
    cancel: bool = False
    respond: bool = False
    respond_for: tuple[Represented, ...] = ()


async def offers(session: AsyncSession, *, caller: Caller, public_id: UUID, now: datetime) -> CirculationActions:
    """
    Return which of edit, cancel and respond are open to the caller now, and for whom else he may answer.

    :raises NotFound: also for a sheet of another organization
    """
    row = await find(session, caller=caller, public_id=public_id)
    parts = await repository.parts(session, sheet_ids=[row.sheet.id])
    envelope = (await envelopes(session, caller=caller, rows=[row], parts=parts)).get(str(public_id))
    if row.sheet.cancelled_at is not None or envelope is None or envelope.terminal:
        return CirculationActions()
    scope = Scope(frozenset({row.sheet.organization_id}), row.sheet.project_id)
    in_draft = envelope.current_state == domain.DRAFT
    routing = envelope.current_state == domain.ROUTING
    asked = parts[row.sheet.id] if routing else []
    return CirculationActions(
        edit=envelope.can_edit and caller.may(domain.CREATE, scope),
        cancel=caller.may(domain.CREATE if in_draft else domain.CLOSE, scope),
        respond=(own := part_for(caller, asked)) is not None and may_answer(caller, row, own),
        respond_for=await _others(session, caller, row, asked, workflow_code=envelope.workflow_code, now=now),
    )


async def _others(
    session: AsyncSession,
    caller: Caller,
    row: CirculationRow,
    parts: list[AssigneeRow],
    *,
    workflow_code: str,
    now: datetime,
) -> tuple[Represented, ...]:
    if not any(domain.is_open(part_of(one)) for one in parts):
        return ()
    seats = await delegators_of(session, caller, workflow_code=workflow_code, project_id=row.sheet.project_id, now=now)
    return tuple(
        Represented(seat.public_id, seat.display_name)
        for seat in seats
        if (part := part_for(seat, parts)) and may_answer(seat, row, part)
    )
