"""
Everything that can be decided about a number before any lock is taken: whose it is, which format, which series.

Reads only. What comes out is enough to draw the number without asking the database for a code again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller, NotYourOrganization
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import invalid, unknown
from saraban.numbering import repository
from saraban.numbering.domain import counter
from saraban.numbering.domain.template import FALLBACK, Template, stored
from saraban.projects import service as projects
from saraban.projects.service import (
    ContractRef,
    DisciplineRef,
    OrganizationRef,
    ProjectRef,
    RfaTypeRef,
    SubTypeRef,
    TypeRef,
)

DRAWING_CATEGORIES = frozenset({"DRW", "CDW", "SDW", "ADW"})
DRAWING = "DRAWING"
OTHER_YEAR_PERMISSION = "numbering.manage_formats"
_LABEL = re.compile(r"[A-Z]{1,3}\Z|[0-9]{1,3}\Z")
_CREATES = {
    "RFA": "rfa.create",
    "TRANSMITTAL": "transmittal.create",
    "CIRCULATION": "circulation.create",
    DRAWING: "drawing.create",
}
_RECIPIENT_TYPES = frozenset({"OWNER", "CONTRACTOR", "CONSULTANT"})
# An RFA goes along its approval path and a sheet stays inside its organization: their counters have no recipient.
_WITHOUT_RECIPIENT = frozenset({"RFA", "CIRCULATION", DRAWING})


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRequest:
    """What a number is asked for; public ids and codes as the API takes them."""

    project_public_id: UUID
    correspondence_type_code: str
    originator_organization_public_id: UUID
    recipient_organization_public_id: UUID | None = None
    recipient_type: str | None = None
    contract_public_id: UUID | None = None
    sub_type_code: str | None = None
    rfa_type_code: str | None = None
    discipline_code: str | None = None
    category_code: str | None = None
    year: int | None = None
    year_reason: str | None = None
    revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A request resolved: the series it counts in and all that its number prints."""

    project: ProjectRef
    type: TypeRef
    originator: OrganizationRef
    recipient: OrganizationRef | None
    contract: ContractRef | None
    sub_type: SubTypeRef | None
    rfa_type: RfaTypeRef | None
    discipline: DisciplineRef | None
    template: Template
    source: str
    refuses_overflow: bool
    values: Mapping[str, str]
    series: str
    key: counter.CounterKey
    year: int
    year_reason: str | None
    revision: str
    now: datetime
    codes: Mapping[str, object] = field(default_factory=dict)

    @property
    def lock_name(self) -> str:
        return f"docnum:{self.project.public_id}:{self.series}"

    def number(self, sequence: int) -> str:
        return self.template.render(self.values, sequence=sequence, revision=self.revision)

    def base(self, sequence: int) -> str:
        return self.template.base(self.values, sequence=sequence)


@dataclass(frozen=True, slots=True)
class _Parties:
    project: ProjectRef
    type: TypeRef
    originator: OrganizationRef
    recipient: OrganizationRef | None
    contract: ContractRef | None
    sub_type: SubTypeRef | None
    rfa_type: RfaTypeRef | None
    discipline: DisciplineRef | None


async def plan(session: AsyncSession, *, caller: Caller, request: NumberRequest, now: datetime, zone: ZoneInfo) -> Plan:
    """
    This will resolve a request for a number and check that the caller may make it (ruling N14).

    :param now: when the request arrived; it decides the year and serves every attempt (ruling N5)
    :raises Invalid: naming the field; nothing has been touched
    :raises Forbidden: when the caller may not create such a document
    :raises NotYourOrganization: when the caller does not act for the originator
    """
    _check_codes(request)
    parties = await _parties(session, request)
    _check_right(caller, parties)
    _check_recipient_type(request, parties.recipient)
    year = _year(request, caller, parties, now, zone)
    revision = _revision(request.revision)
    template, source, resets, refuses = await _format(session, parties)
    codes = _codes(parties, request.category_code)
    values = counter.values_of(codes, year=year)
    made = Plan(
        project=parties.project,
        type=parties.type,
        originator=parties.originator,
        recipient=parties.recipient,
        contract=parties.contract,
        sub_type=parties.sub_type,
        rfa_type=parties.rfa_type,
        discipline=parties.discipline,
        template=template,
        source=source,
        refuses_overflow=refuses,
        values=counter.printed_values(template, values),
        series=template.series(values, resets=resets),
        key=_counter_key(parties, year),
        year=year,
        year_reason=request.year_reason,
        revision=revision,
        now=now,
        codes=_key_in_codes(parties, year, request),
    )
    made.number(1)  # a number that cannot be printed is refused before any counter is touched
    return made


def permission_to_create(type_code: str) -> str:
    """Who may create the document may draw its number (ruling N14)."""
    return _CREATES.get(type_code, "correspondence.create")


def _check_right(caller: Caller, parties: _Parties) -> None:
    """A role at the contract counts for the originator's own people; a role over the whole project for everybody's."""
    permission, scope = permission_to_create(parties.type.code), _scope(parties)
    if parties.originator.id in caller.organization_ids:
        caller.require(permission, scope)
    elif not caller.may(permission, replace(scope, contract=None)):
        raise NotYourOrganization.at("/originatorOrganizationPublicId")


async def _parties(session: AsyncSession, request: NumberRequest) -> _Parties:
    project = await projects.find_project(session, public_id=request.project_public_id, pointer="/projectPublicId")
    kind = await projects.find_type(session, code=request.correspondence_type_code, pointer="/correspondenceTypeCode")
    originator = await projects.find_member(
        session,
        project=project,
        public_id=request.originator_organization_public_id,
        pointer="/originatorOrganizationPublicId",
    )
    recipient = None
    if request.recipient_organization_public_id is not None:
        recipient = await projects.find_member(
            session,
            project=project,
            public_id=request.recipient_organization_public_id,
            pointer="/recipientOrganizationPublicId",
        )
    contract = None
    if request.contract_public_id is not None:
        contract = await projects.find_contract(
            session, project=project, public_id=request.contract_public_id, pointer="/contractPublicId"
        )
    return await _with_master_data(
        session, request, _Parties(project, kind, originator, recipient, contract, None, None, None)
    )


async def _with_master_data(session: AsyncSession, request: NumberRequest, parties: _Parties) -> _Parties:
    project, contract = parties.project, parties.contract
    discipline = rfa_type = sub_type = None
    if request.discipline_code:
        discipline = await projects.find_discipline(
            session, project=project, contract=contract, code=request.discipline_code, pointer="/disciplineCode"
        )
    if request.rfa_type_code:
        rfa_type = await projects.find_rfa_type(
            session, project=project, contract=contract, code=request.rfa_type_code, pointer="/rfaTypeCode"
        )
    if request.sub_type_code:
        sub_type = await projects.find_sub_type(
            session,
            project=project,
            contract=contract,
            type_id=parties.type.id,
            code=request.sub_type_code,
            pointer="/subTypeCode",
        )
    return _Parties(
        project, parties.type, parties.originator, parties.recipient, contract, sub_type, rfa_type, discipline
    )


def _scope(parties: _Parties) -> Scope:
    contract = parties.contract.id if parties.contract else None
    for ref in (parties.rfa_type, parties.discipline, parties.sub_type):
        contract = contract or (ref.contract_id if ref else None)
    return Scope(organizations=frozenset({parties.originator.id}), project=parties.project.id, contract=contract)


_BELONGS = {"rfa_type_code": ("RFA", "/rfaTypeCode"), "category_code": (DRAWING, "/categoryCode")}


def _check_codes(request: NumberRequest) -> None:
    """A code of another kind of document would stand in the books of this one; and nobody writes to himself."""
    for name, (type_code, pointer) in _BELONGS.items():
        if getattr(request, name) and request.correspondence_type_code != type_code:
            raise invalid(
                pointer,
                "not_of_this_type",
                "ใช้รหัสนี้กับเอกสารประเภท {type} ไม่ได้",
                "This code does not belong to documents of type {type}.",
                type=request.correspondence_type_code,
            )
    if request.recipient_organization_public_id == request.originator_organization_public_id:
        raise invalid(
            "/recipientOrganizationPublicId",
            "self",
            "ผู้ส่งและผู้รับเป็นองค์กรเดียวกันไม่ได้",
            "The originator cannot be the recipient.",
        )


def _check_recipient_type(request: NumberRequest, recipient: OrganizationRef | None) -> None:
    if request.recipient_type is None:
        return
    if recipient is None:
        raise invalid(
            "/recipientType",
            "without_recipient",
            "ระบุประเภทผู้รับโดยไม่มีผู้รับไม่ได้",
            "A recipient type needs a recipient.",
        )
    derived = recipient.role if recipient.role in _RECIPIENT_TYPES else "OTHER"
    if request.recipient_type != derived:
        raise invalid(
            "/recipientType",
            "disagrees",
            "ผู้รับ {organization} เป็น {derived} ในโครงการนี้ ไม่ใช่ {stated}",
            "{organization} is {derived} in this project, not {stated}.",
            organization=recipient.code,
            derived=derived,
            stated=request.recipient_type,
        )


def _year(request: NumberRequest, caller: Caller, parties: _Parties, now: datetime, zone: ZoneInfo) -> int:
    current = counter.year_of_issue(now, zone)
    if request.year is None:
        return current
    stated = counter.stated_year(request.year)
    if stated == current:
        return stated
    caller.require(OTHER_YEAR_PERMISSION, _scope(parties))
    if not (request.year_reason or "").strip():
        raise invalid(
            "/yearReason",
            "required",
            "การออกเลขที่ของปีอื่นต้องระบุเหตุผล",
            "A number of another year needs a reason.",
        )
    return stated


def _revision(label: str | None) -> str:
    if label is None:
        return "A"
    if not _LABEL.match(label):
        raise invalid(
            "/revision",
            "malformed",
            "รหัสฉบับแก้ไขต้องเป็น A-Z (หรือ AA) หรือตัวเลข",
            "A revision is letters A-Z (or AA) or a number.",
        )
    return label


async def _format(session: AsyncSession, parties: _Parties) -> tuple[Template, str, bool, bool]:
    row = await repository.format_for(session, project_id=parties.project.id, type_id=parties.type.id)
    if row is None:
        return stored(FALLBACK), "fallback", True, False
    source = "default" if row.correspondence_type_id is None else "specific"
    return stored(row.format_template), source, row.reset_sequence_yearly, row.overflow == "refuse"


def _codes(parties: _Parties, category: str | None) -> counter.Codes:
    if category and category not in DRAWING_CATEGORIES:
        raise unknown("/categoryCode", category)
    return counter.Codes(
        project=parties.project.code,
        originator=parties.originator.code,
        type=parties.type.code,
        recipient=parties.recipient.code if parties.recipient else "",
        sub_type_number=(parties.sub_type.number or "") if parties.sub_type else "",
        rfa_type=parties.rfa_type.code if parties.rfa_type else "",
        discipline=parties.discipline.code if parties.discipline else "",
        category=category or "",
    )


def _counter_key(parties: _Parties, year: int) -> counter.CounterKey:
    counts_recipient = parties.recipient is not None and parties.type.code not in _WITHOUT_RECIPIENT
    return counter.CounterKey(
        project_id=parties.project.id,
        originator_organization_id=parties.originator.id,
        recipient_organization_id=(
            parties.recipient.id if parties.recipient and counts_recipient else counter.NO_RECIPIENT
        ),
        correspondence_type_id=parties.type.id,
        sub_type_id=parties.sub_type.id if parties.sub_type else counter.NONE,
        rfa_type_id=parties.rfa_type.id if parties.rfa_type else counter.NONE,
        discipline_id=parties.discipline.id if parties.discipline else counter.NONE,
        current_year=year,
    )


def _key_in_codes(parties: _Parties, year: int, request: NumberRequest) -> dict[str, object]:
    """This will give the counter key as the audit keeps it: codes that still mean something in twenty years."""
    return {
        "project": parties.project.code,
        "originator": parties.originator.code,
        "recipient": parties.recipient.code if parties.recipient else None,
        "type": parties.type.code,
        "contract": parties.contract.code if parties.contract else None,
        "subType": parties.sub_type.code if parties.sub_type else None,
        "rfaType": parties.rfa_type.code if parties.rfa_type else None,
        "discipline": parties.discipline.code if parties.discipline else None,
        "category": request.category_code,
        "year": year,
    }
