"""One number with everything that became of it, what the reader may still do with it, and where an old number leads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit.errors import NotFound
from saraban.kit.text import fold
from saraban.numbering.issue.domain import NumberActor, required_state
from saraban.numbering.issue.repository import (
    by_holder,
    by_printed_number,
    by_public_id,
    project_and_type_of,
    recorded_issue,
)
from saraban.numbering.issue.service.lifecycle import MANAGE_NUMBERS, may_see
from saraban.numbering.issue.service.number_plan import FormatChoice, format_choice
from saraban.numbering.issue.service.number_request import NumberRequest
from saraban.numbering.register.repository import ledger
from saraban.numbering.series.domain.states import NumberState
from saraban.numbering.series.domain.tokens import RFA_TYPE
from saraban.numbering.series.models import LedgerEntry, NumberOperation, NumberRendering
from saraban.numbering.series.repository import database_now
from saraban.projects import service as projects


async def audit_trail(session: AsyncSession, *, number: str) -> list[NumberOperation]:
    """
    Return what was done with a number, oldest first.

    :raises NotFound: when nothing was ever printed like it
    """
    found = await ledger.operations_of_number(session, fold(number))
    if not found:
        raise NotFound(f"No document was ever numbered {number}.")
    return found


@dataclass(frozen=True, slots=True)
class NumberResolution:
    """The entry a number was printed for, and the one that is in its place now; the same where nothing replaced it."""

    asked: LedgerEntry
    current: LedgerEntry


async def resolve_number(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, number: str
) -> NumberResolution:
    """
    Find what a printed number became, however often it was replaced since.

    :raises NotFound: also where the caller neither administers the project nor is one of the number's parties
    """
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    entry = await by_printed_number(session, project_id=project.id, number=fold(number))
    if entry is None or not may_see(ctx, entry):
        raise NotFound("No such number is known here.")
    current, seen = entry, {entry.public_id}
    while current.replaced_by_uuid is not None and current.replaced_by_uuid not in seen:
        following = await by_public_id(session, current.replaced_by_uuid)
        if following is None:
            break
        current = following
        seen.add(current.public_id)
    return NumberResolution(entry, current)


async def rfa_type_of(session: AsyncSession, *, number: UUID) -> str | None:
    """Return the code of the RFA type that a number was issued for; None for what is no RFA."""
    issued_for = await recorded_issue(session, number)
    if issued_for is not None:
        found = orjson.loads(issued_for[1]).get("rfaType")
        return str(found) if found else None
    entry = await by_public_id(session, number)
    return entry.format_values.get(RFA_TYPE) if entry else None


@dataclass(frozen=True, slots=True)
class NumberHistory:
    """
    A number's life.

    :param neighbours: the numbers it replaces and was replaced by, as they are printed now
    :param may_void: the reader may make it void now
    :param may_replace: and have another drawn for the same parties
    :param may_settle: it is the reader's own reservation, to confirm or give up, and not yet over by the database's clock
    """

    entry: LedgerEntry
    format: FormatChoice
    project: UUID
    project_code: str
    type_code: str
    renderings: Sequence[NumberRendering]
    history: Sequence[NumberOperation]
    neighbours: Mapping[UUID, str]
    may_void: bool
    may_replace: bool
    may_settle: bool


async def number_history(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> NumberHistory:
    """
    :raises NotFound: also for who neither sees the project's counters nor belongs to the number's originator
    """
    entry = await by_public_id(session, public_id)
    if entry is None or not may_see(ctx, entry):
        raise NotFound("There is no such number.")
    project, project_code, type_code = await project_and_type_of(session, entry)
    beside = [one for one in (entry.replaces_uuid, entry.replaced_by_uuid) if one is not None]
    may_void = _may_void(ctx.caller, entry)
    choice = await format_choice(session, public_id)
    assert choice is not None, "the number was there a moment ago, and none is ever deleted"
    return NumberHistory(
        entry=entry,
        format=choice,
        project=project,
        project_code=project_code,
        type_code=type_code,
        renderings=await ledger.renderings(session, entry),
        history=await ledger.operations_on(session, public_id),
        neighbours=await ledger.printed_numbers(session, beside) if beside else {},
        may_void=may_void,
        may_replace=may_void and await recorded_issue(session, public_id) is not None,
        may_settle=_may_settle(replace(ctx, now=await database_now(session)), entry),
    )


def _may_void(caller: Caller, entry: LedgerEntry) -> bool:
    return (
        entry.document_number_status == required_state(NumberState.VOID, NumberActor.ADMINISTRATOR)
        and entry.holder_public_id is None
        and caller.may(MANAGE_NUMBERS, Scope(project=entry.project_id))
    )


def _may_settle(ctx: RequestContext, entry: LedgerEntry) -> bool:
    return (
        entry.document_number_status == required_state(NumberState.CONFIRMED, NumberActor.RESERVER)
        and entry.user_id == ctx.caller.user_id
        and entry.expires_at is not None
        and entry.expires_at > ctx.now
    )


async def request_like(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> NumberRequest:
    """
    Return the request that draws a number for the same parties, type and codes as this one was issued for.

    :raises NotFound: also for a number whose issue is not recorded: nobody knows what to issue another one for
    """
    entry = await by_public_id(session, public_id)
    kept = await recorded_issue(session, public_id)
    if entry is None or kept is None or not may_see(ctx, entry):
        raise NotFound("There is no such number.")
    project, _, type_code = await project_and_type_of(session, entry)
    detail = await projects.read_project(ctx, session, public_id=project)
    issued_for = orjson.loads(kept[1])
    organizations = {one.organization_code: one.public_id for one in detail.organizations}
    contracts = {one.contract_code: one.public_id for one in detail.contracts}
    if issued_for["originator"] not in organizations:
        raise NotFound("The organization that the number was issued for has left the project.")
    return NumberRequest(
        project_public_id=project,
        correspondence_type_code=type_code,
        originator_organization_public_id=organizations[issued_for["originator"]],
        recipient_organization_public_id=organizations.get(issued_for.get("recipient")),
        contract_public_id=contracts.get(issued_for.get("contract")),
        sub_type_code=issued_for.get("subType"),
        rfa_type_code=issued_for.get("rfaType"),
        discipline_code=issued_for.get("discipline"),
        category_code=issued_for.get("category"),
        revision=entry.revision_label if "{REV}" in entry.format_template else None,
    )


async def number_of_holder(ctx: RequestContext, session: AsyncSession, *, holder: UUID) -> UUID | None:
    """Return the public id of the number that a document carries, to who may read the number's life."""
    entry = await by_holder(session, holder)
    return entry.public_id if entry is not None and may_see(ctx, entry) else None
