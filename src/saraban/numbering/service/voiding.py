"""A number made void, with its reason, and with the number that takes its place (ruling N12)."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import NotFound
from saraban.numbering.domain.reason import checked_reason
from saraban.numbering.domain.states import NumberActor, NumberHeld, NumberNotInState, NumberState, required_state
from saraban.numbering.models import LedgerEntry
from saraban.numbering.repository import living
from saraban.numbering.service.ledger import Holder, Issued, issued_of
from saraban.numbering.service.life import record_operation
from saraban.numbering.service.renumbering import may_see

MANAGE_NUMBERS = "numbering.manage_formats"


async def void_number(
    session: AsyncSession, *, caller: Caller, public_id: UUID, reason: str, now: datetime, address: str
) -> Issued:
    """
    Make a confirmed number that no document carries void. It is never issued again.

    :raises NotFound: also for a number that the caller may not see
    :raises Forbidden: for one of a project whose numbers the caller does not manage
    :raises NumberHeld: when a document carries it
    :raises NumberNotInState: when it is not confirmed
    """
    reason = checked_reason(reason)
    entry = await voidable(session, caller=caller, public_id=public_id, project_id=None)
    return await _made_void(
        session, entry, who=NumberActor.ADMINISTRATOR, caller=caller, reason=reason, by=None, now=now, address=address
    )


async def voidable(session: AsyncSession, *, caller: Caller, public_id: UUID, project_id: int | None) -> LedgerEntry:
    """Return a number that the caller may make void now."""
    entry = await living.by_public_id(session, public_id, lock=True)
    if entry is None or (project_id is not None and entry.project_id != project_id):
        raise NotFound("There is no such number.")
    here = Scope(project=entry.project_id)
    if not caller.may(MANAGE_NUMBERS, here) and not may_see(caller, entry):
        raise NotFound("There is no such number.")
    caller.require(MANAGE_NUMBERS, here)
    if entry.holder_public_id is not None:
        raise NumberHeld(values={"number": entry.document_number})
    if entry.document_number_status != required_state(NumberState.VOID, NumberActor.ADMINISTRATOR):
        raise NumberNotInState(values={"number": entry.document_number})
    return entry


async def replace_number(
    session: AsyncSession,
    *,
    caller: Caller,
    public_id: UUID,
    project_id: int,
    replacement: Issued,
    reason: str,
    now: datetime,
    address: str,
) -> Issued:
    """Make a number void for the one just drawn in this transaction, and link the two both ways."""
    reason = checked_reason(reason)
    entry = await voidable(session, caller=caller, public_id=public_id, project_id=project_id)
    await _made_void(
        session,
        entry,
        who=NumberActor.ADMINISTRATOR,
        caller=caller,
        reason=reason,
        by=replacement,
        now=now,
        address=address,
    )
    return replacement


async def replace_held_number(
    session: AsyncSession,
    *,
    caller: Caller,
    holder: Holder,
    number: UUID,
    replacement: Issued,
    reason: str,
    now: datetime,
    address: str,
) -> None:
    """
    Make a document's number void for the one just drawn for the same document: it is renumbered.

    The old number keeps its holder and its renderings, so it still finds the document.
    """
    entry = await living.by_public_id(session, number, lock=True)
    if entry is None or entry.holder_public_id != holder.public_id or entry.holder_kind != holder.kind:
        raise NotFound("The document does not carry this number.")
    await _made_void(
        session, entry, who=NumberActor.DOCUMENT, caller=caller, reason=reason, by=replacement, now=now, address=address
    )


async def _made_void(
    session: AsyncSession,
    entry: LedgerEntry,
    *,
    who: NumberActor,
    caller: Caller,
    reason: str,
    by: Issued | None,
    now: datetime,
    address: str,
) -> Issued:
    values: dict[str, object] = {"document_number_status": NumberState.VOID, "voided_at": now, "reason": reason}
    if by is not None:
        values["replaced_by_uuid"] = by.public_id
        await living.link_replacement(session, public_id=by.public_id, replaces=entry.public_id)
    if not await living.void_number(
        session, public_id=entry.public_id, source=required_state(NumberState.VOID, who), values=values
    ):
        raise NumberNotInState(values={"number": entry.document_number})
    await session.refresh(entry)
    await record_operation(
        session,
        entry,
        "VOID",
        caller=caller,
        now=now,
        address=address,
        old=entry.document_number,
        new=by.number if by else None,
        reason=reason,
    )
    return issued_of(entry)
