"""A number after it was issued: rendered again for a revision, cancelled with its document. Append, never delete."""

from datetime import datetime

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.db import violates_constraint
from saraban.kit.errors import NotFound
from saraban.kit.ids import new_id
from saraban.kit.text import fold
from saraban.numbering import repository
from saraban.numbering.domain.sequence import NumberNotHeld, NumberTaken
from saraban.numbering.domain.states import NumberState
from saraban.numbering.domain.template import stored_template
from saraban.numbering.models import LedgerEntry
from saraban.numbering.repository import NumberOperation
from saraban.numbering.service.keys import RecordedKey, key_of_number
from saraban.numbering.service.ledger import Holder


async def revise_number(
    session: AsyncSession, *, caller: Caller, holder: Holder, revision_label: str, now: datetime, address: str
) -> str:
    """
    Print the holder's number again with the next revision, from the stored format and values (ruling N8).

    :returns: the new rendering; the same number where the format has no `{REV}`
    :raises NumberTaken: when another document's number already looks like it
    """
    entry = await _held(session, holder)
    printed = stored_template(entry.format_template).render(
        entry.format_values, sequence=entry.sequence_number, revision=revision_label
    )
    if printed != entry.document_number and not await _printed_before(session, entry, printed):
        await _insert_rendering(session, entry, printed, revision_label, now)
    old = entry.document_number
    entry.document_number, entry.revision_label = printed, revision_label
    await record_operation(session, entry, "REVISE", caller=caller, now=now, address=address, old=old, new=printed)
    return printed


async def restore_number(
    session: AsyncSession, *, caller: Caller, holder: Holder, revision_label: str, now: datetime, address: str
) -> str:
    """
    Take the holder's number back to an earlier revision; what was printed since stays taken.

    :returns: the rendering that holds again
    """
    entry = await _held(session, holder)
    old = entry.document_number
    entry.revision_label = revision_label
    entry.document_number = stored_template(entry.format_template).render(
        entry.format_values, sequence=entry.sequence_number, revision=revision_label
    )
    await record_operation(
        session, entry, "REVISE", caller=caller, now=now, address=address, old=old, new=entry.document_number
    )
    return entry.document_number


async def cancel_number(
    session: AsyncSession, *, caller: Caller, holder: Holder, reason: str, now: datetime, address: str
) -> None:
    """Mark the holder's number cancelled; it stays in the ledger and is never issued again (ruling N12)."""
    entry = await _held(session, holder)
    entry.document_number_status = NumberState.CANCELLED
    entry.cancelled_at, entry.reason = now, reason
    await record_operation(session, entry, "CANCEL", caller=caller, now=now, address=address, reason=reason)


async def audit_trail(session: AsyncSession, *, number: str) -> list[NumberOperation]:
    """
    Return what was done with a number, oldest first.

    :raises NotFound: when nothing was ever printed like it
    """
    found = await repository.operations_of_number(session, fold(number))
    if not found:
        raise NotFound(f"No document was ever numbered {number}.")
    return found


async def _held(session: AsyncSession, holder: Holder) -> LedgerEntry:
    entry = await repository.by_holder(session, holder.public_id, lock=True)
    if entry is None or entry.holder_kind != holder.kind or entry.document_number_status != NumberState.CONFIRMED:
        raise NumberNotHeld
    return entry


async def _printed_before(session: AsyncSession, entry: LedgerEntry, printed: str) -> bool:
    """Whether a revision that was withdrawn has printed the same already."""
    return await repository.printed_by(session, project_id=entry.project_id, number=printed) == entry.id


async def _insert_rendering(
    session: AsyncSession, entry: LedgerEntry, printed: str, revision_label: str, now: datetime
) -> None:
    try:
        await repository.insert_rendering(
            session,
            {
                "project_id": entry.project_id,
                "reservation_id": entry.id,
                "document_number": printed,
                "revision_label": revision_label,
                "kind": "REVISION",
                "created_at": now,
            },
        )
    except IntegrityError as error:
        if violates_constraint(error, *repository.NUMBER_CONSTRAINTS):
            raise NumberTaken(values={"number": printed}) from error
        raise


async def record_operation(
    session: AsyncSession,
    entry: LedgerEntry,
    operation: str,
    *,
    caller: Caller,
    now: datetime,
    address: str,
    old: str | None = None,
    new: str | None = None,
    reason: str | None = None,
    key: str | None = None,
    issued_for: RecordedKey | None = None,
) -> None:
    """
    Write the audit row of an operation on a number, in the transaction of the operation (ruling N15).

    :param issued_for: its counter key, where this is the operation that issues it
    """
    await session.flush()
    issued_for = issued_for or await key_of_number(session, entry)
    await repository.insert_audit(
        session,
        {
            "uuid": new_id(),
            "operation": operation,
            "project_id": entry.project_id,
            "reservation_uuid": entry.public_id,
            "generated_number": entry.document_number,
            "document_type": issued_for.type,
            "holder_public_id": entry.holder_public_id,
            "series": entry.series,
            "counter_key": issued_for.text,
            "template_used": entry.format_template,
            "sequence_number": entry.sequence_number,
            "old_value": old,
            "new_value": new,
            "reason": reason,
            "user_id": caller.user_id,
            "ip_address": address[:45] or None,
            "idempotency_key": key,
            "created_at": now,
        },
    )
