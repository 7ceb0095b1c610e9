"""Where a number leads: an old one to the number that took its place, and so to the document (ruling N8)."""

from dataclasses import dataclass
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import NotFound
from saraban.kit.text import fold
from saraban.numbering.domain.template import RFA_TYPE
from saraban.numbering.models import LedgerEntry
from saraban.numbering.repository import codes, living
from saraban.projects import service as projects

_SEES = "numbering.view_counters"


@dataclass(frozen=True, slots=True)
class NumberResolution:
    """The entry a number was printed for, and the one that is in its place now; the same where nothing replaced it."""

    asked: LedgerEntry
    current: LedgerEntry


async def resolve_number(
    session: AsyncSession, *, caller: Caller, project_public_id: UUID, number: str
) -> NumberResolution:
    """
    Find what a printed number became, however often it was replaced since.

    :raises NotFound: also where the caller neither administers the project nor is one of the number's parties
    """
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    entry = await living.printed_as(session, project_id=project.id, number=fold(number))
    if entry is None or not may_see(caller, entry):
        raise NotFound("No such number is known here.")
    current, seen = entry, {entry.public_id}
    while current.replaced_by_uuid is not None and current.replaced_by_uuid not in seen:
        following = await living.by_public_id(session, current.replaced_by_uuid)
        if following is None:
            break
        current = following
        seen.add(current.public_id)
    return NumberResolution(entry, current)


async def rfa_type_of(session: AsyncSession, *, number: UUID) -> str | None:
    """Return the code of the RFA type that a number was issued for; None for what is no RFA."""
    issued_for = await codes.of_issue(session, number)
    if issued_for is not None:
        found = orjson.loads(issued_for[1]).get("rfaType")
        return str(found) if found else None
    entry = await living.by_public_id(session, number)
    return entry.format_values.get(RFA_TYPE) if entry else None


def may_see(caller: Caller, entry: LedgerEntry) -> bool:
    parties = {entry.originator_organization_id}
    return bool(parties & caller.organization_ids) or caller.may(_SEES, Scope(project=entry.project_id))
