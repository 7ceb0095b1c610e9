"""What a page may offer a reader of a sheet besides the workflow's actions; each verb checks again when it is used."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.service.presenting import envelopes, part_of
from saraban.documents.circulation.service.reading import find
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope


@dataclass(frozen=True, slots=True)
class Offers:
    edit: bool = False
    cancel: bool = False
    respond: bool = False


async def offers(session: AsyncSession, *, caller: Caller, public_id: UUID) -> Offers:
    """
    This will say which of edit, cancel and respond are open to the caller now.

    :raises NotFound: also for a sheet of another organization
    """
    row = await find(session, caller=caller, public_id=public_id)
    parts = await repository.parts(session, sheet_ids=[row.sheet.id])
    envelope = (await envelopes(session, caller=caller, rows=[row], parts=parts)).get(str(public_id))
    if row.sheet.cancelled_at is not None or envelope is None or envelope.terminal:
        return Offers()
    scope = Scope(frozenset({row.sheet.organization_id}), row.sheet.project_id)
    in_draft = envelope.current_state == domain.DRAFT
    own = [one for one in parts[row.sheet.id] if one.routing.assigned_to == caller.user_id]
    return Offers(
        edit=in_draft and caller.may(domain.CREATE, scope),
        cancel=caller.may(domain.CREATE if in_draft else domain.CLOSE, scope),
        respond=envelope.current_state == domain.ROUTING
        and any(
            domain.is_open(part_of(one))
            and any(caller.may(right, scope) for right in domain.rights_to_answer(one.routing.kind))
            for one in own
        ),
    )
