"""Numbers printed outside Saraban: manual numbers without a counter (REQ-NUM-27)."""

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
    """:param label: of the revision that first printed the number"""

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
    """:raises IntegrityError: naming one of `NUMBER_CONSTRAINTS` when the register has one of them"""
    if not numbers:
        return
    drawing_type = await projects.find_type(session, code=DRAWING, pointer="/")
    year = year_of_issue(ctx.now, ctx.zone)
    shared = {
        "project_id": project.id,
        "register": register,
        "series": series_in(register, ""),
        "sequence_number": 0,
        "correspondence_type_id": drawing_type.id,
        "document_type": drawing_type.code,
        "reason": _REASON,
        "user_id": ctx.caller.user_id,
        "ip_address": ctx.address[:45] or None,
        "idempotency_key": ctx.key,
        "issue_year": year,
        "confirmed_at": ctx.now,
        "created_at": ctx.now,
        **_COMMON_VALUES,
    }
    keys = {(number.contract, number.originator): _counter_key_text(project, number, year=year) for number in numbers}
    await repository.insert_numbers(
        session,
        entries=[_row(LEDGER_COLUMNS, shared | _ledger_values(number)) for number in numbers],
        audits=[
            _row(AUDIT_COLUMNS, shared | _audit_values(number, keys[number.contract, number.originator]))
            for number in numbers
        ],
    )


# Common values of ledger and audit rows; no counter and no lock is involved.
_COMMON_VALUES: Final = {
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


def _ledger_values(number: ExternalNumber) -> dict[str, object]:
    return {
        "uuid": number.public_id,
        "token": new_id(),
        "originator_organization_id": number.originator.id if number.originator else NONE,
        "base_number": number.number,
        "document_number": number.number,
        "revision_label": number.label,
        "holder_kind": number.holder.kind,
        "holder_public_id": number.holder.public_id,
    }


def _audit_values(number: ExternalNumber, key: str) -> dict[str, object]:
    return {
        "uuid": new_id(),
        "reservation_uuid": number.public_id,
        "generated_number": number.number,
        "holder_public_id": number.holder.public_id,
        "counter_key": key,
    }


def _counter_key_text(project: ProjectRef, number: ExternalNumber, *, year: int) -> str:
    codes = {
        "project": project.code,
        "originator": number.originator.code if number.originator else None,
        "recipient": None,
        "type": DRAWING,
        "contract": number.contract.code if number.contract else None,
        "subType": None,
        "rfaType": None,
        "discipline": None,
        "category": None,
        "year": year,
    }
    return orjson.dumps(codes).decode()


async def taken_in(
    session: AsyncSession, *, project_id: int, register: str, numbers: Collection[str]
) -> dict[str, str]:
    """Return taken numbers, each with the look-alike that the register has."""
    if not numbers:
        return {}
    candidates = sorted(numbers)
    return await repository.taken_numbers(
        session, project_id=project_id, bases=candidates, numbers=candidates, register=register
    )
