"""
Numbers that come from outside: what is printed on a drawing already stands in the ledger as stated by hand, in its own register
(REQ-NUM-27). No counter is asked and none moves; a series that comes to such a number steps over it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.ids import new_id
from saraban.numbering.issue import repository
from saraban.numbering.issue.service.issue_request import Holder
from saraban.numbering.series.domain.counter import NO_RECIPIENT, NONE, year_of_issue
from saraban.numbering.series.domain.states import DRAWING, NumberSource, NumberState, OperationCode, series_in
from saraban.numbering.series.models import AUDIT_COLUMNS, LEDGER_COLUMNS
from saraban.projects import service as projects
from saraban.projects.service import ContractRef, OrganizationRef, ProjectRef

_REASON = "เลขที่จากภายนอก / Given from outside"


@dataclass(frozen=True, slots=True)
class ExternalNumber:
    """
    :param public_id: of its row in the ledger
    :param label: of the revision that it was first printed with
    """

    number: str
    holder: Holder
    label: str
    contract: ContractRef | None = None
    originator: OrganizationRef | None = None
    public_id: UUID = field(default_factory=new_id)


async def register_external(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project: ProjectRef,
    register: str,
    numbers: Sequence[ExternalNumber],
) -> None:
    """
    Write numbers from outside into ledger and audit, final and held.

    :raises IntegrityError: naming one of `NUMBER_CONSTRAINTS` when the register has one of them already
    """
    if not numbers:
        return
    kind = await projects.find_type(session, code=DRAWING, pointer="/")
    year = year_of_issue(ctx.now, ctx.zone)
    shared = {
        "project_id": project.id,
        "register": register,
        "series": series_in(register, ""),
        "sequence_number": 0,
        "correspondence_type_id": kind.id,
        "document_type": kind.code,
        "reason": _REASON,
        "user_id": ctx.caller.user_id,
        "ip_address": ctx.address[:45] or None,
        "idempotency_key": ctx.key,
        "issue_year": year,
        "confirmed_at": ctx.now,
        "created_at": ctx.now,
        **_STATED,
    }
    keys = {(one.contract, one.originator): _key(project, one, year=year) for one in numbers}
    await repository.insert_numbers(
        session,
        entries=[_row(LEDGER_COLUMNS, shared | _entry(one)) for one in numbers],
        audits=[_row(AUDIT_COLUMNS, shared | _audit(one, keys[one.contract, one.originator])) for one in numbers],
    )


# What rows of the ledger and of the audit say of each of them; no counter has been asked, and no lock was waited for.
_STATED: Final = {
    "recipient_organization_id": NO_RECIPIENT,
    "range": 0,
    "document_number_status": NumberState.CONFIRMED,
    "source": NumberSource.OVERRIDE,
    "format_template": "",
    "format_values": {},
    "operation": OperationCode.OVERRIDE,
    "retry_count": 0,
    "lock_wait_ms": 0,
}


def _row(columns: Sequence[str], values: Mapping[str, object]) -> list[object]:
    return [values.get(column) for column in columns]


def _entry(one: ExternalNumber) -> dict[str, object]:
    return {
        "uuid": one.public_id,
        "token": new_id(),
        "originator_organization_id": one.originator.id if one.originator else NONE,
        "base_number": one.number,
        "document_number": one.number,
        "revision_label": one.label,
        "holder_kind": one.holder.kind,
        "holder_public_id": one.holder.public_id,
    }


def _audit(one: ExternalNumber, key: str) -> dict[str, object]:
    return {
        "uuid": new_id(),
        "reservation_uuid": one.public_id,
        "generated_number": one.number,
        "holder_public_id": one.holder.public_id,
        "counter_key": key,
    }


def _key(project: ProjectRef, one: ExternalNumber, *, year: int) -> str:
    told = {
        "project": project.code,
        "originator": one.originator.code if one.originator else None,
        "recipient": None,
        "type": DRAWING,
        "contract": one.contract.code if one.contract else None,
        "subType": None,
        "rfaType": None,
        "discipline": None,
        "category": None,
        "year": year,
    }
    return orjson.dumps(told).decode()


async def taken_in(
    session: AsyncSession, *, project_id: int, register: str, numbers: Collection[str]
) -> dict[str, str]:
    """Return which of these numbers a register has, or had printed for a revision, with those that look like them."""
    if not numbers:
        return {}
    asked = sorted(numbers)
    return await repository.taken_numbers(session, project_id=project_id, bases=asked, numbers=asked, register=register)
