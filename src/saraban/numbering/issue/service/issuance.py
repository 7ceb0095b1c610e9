"""Numbers that a keyed request asks for: once for a key, and shown again to who may see them then (REQ-NUM-10)."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.idempotency import Idempotency
from saraban.kit.operation import Operation, Receipt
from saraban.numbering.issue.repository import ledger_entries
from saraban.numbering.issue.service import lifecycle
from saraban.numbering.issue.service.allocator import Allocator
from saraban.numbering.issue.service.lifecycle import NumberToVoid
from saraban.numbering.issue.service.number_batch import Issued, IssueRequest, issued_of
from saraban.numbering.issue.service.number_plan import plan_apart
from saraban.numbering.issue.service.number_request import NumberRequest, permission_to_create
from saraban.numbering.series.models import LedgerEntry


async def issue_number(
    ctx: RequestContext,
    db: Database,
    numbers: Allocator,
    idempotency: Idempotency,
    operation: Operation,
    *,
    request: NumberRequest,
    lasts: timedelta | None = None,
) -> Issued:
    """
    Issue the next number for no document; a repetition shows the one that was issued.

    :param lasts: reserve it for so long
    """
    async with idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return await read_issued(ctx, db, claim.receipt)
        plan = await plan_apart(ctx, db, request=request)
        return await numbers.issue(IssueRequest(ctx, plan, operation.token, claim, lasts=lasts))


async def replace_number(
    ctx: RequestContext,
    db: Database,
    numbers: Allocator,
    idempotency: Idempotency,
    operation: Operation,
    *,
    void: NumberToVoid,
    request: NumberRequest,
) -> Issued:
    """Void a number that no document carries and issue another one in its place, in one transaction that links the two."""
    async with idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return await read_issued(ctx, db, claim.receipt)
        plan = await plan_apart(ctx, db, request=request)
        write = partial(lifecycle.void_for, ctx, void, plan.project.id)
        outcome = {"voided": str(void.public_id)}
        return await numbers.issue(IssueRequest(ctx, plan, operation.token, claim, write=write, outcome=outcome))


async def read_issued(ctx: RequestContext, db: Database, receipt: Receipt) -> Issued:
    """
    Return the number of a receipt as it stands now.

    :raises NotFound: for who may not see it any more
    """
    async with db.reading() as session:
        entry = await ledger_entries.by_public_id(session, receipt.resource_id)
        if entry is None or not await _may_still_see(ctx, session, entry):
            raise NotFound("There is no such number.")
        return replace(issued_of(entry), repeated=receipt.repeated)


async def _may_still_see(ctx: RequestContext, session: AsyncSession, entry: LedgerEntry) -> bool:
    """Whoever sees the ledger, manages its numbers or could issue such a one; and a reservation, who holds it."""
    if lifecycle.may_see(ctx, entry) or (entry.reserved_at is not None and entry.user_id == ctx.caller.user_id):
        return True
    _, _, type_code = await ledger_entries.project_and_type_of(session, entry)
    here = Scope(project=entry.project_id)
    return any(ctx.caller.may(one, here) for one in (lifecycle.MANAGE_NUMBERS, permission_to_create(type_code)))
