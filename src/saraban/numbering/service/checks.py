"""What a request for a number may say, and who may make it (ruling N14). Checked before anything is touched."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.identity.domain.caller import Caller, NotYourOrganization
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import Invalid, invalid
from saraban.numbering.domain import counter
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
_RECIPIENT_TYPES = frozenset({"OWNER", "CONTRACTOR", "CONSULTANT"})
_CREATES = {
    "RFA": "rfa.create",
    "TRANSMITTAL": "transmittal.create",
    "CIRCULATION": "circulation.create",
    DRAWING: "drawing.create",
}
_BELONGS = {"rfa_type_code": ("RFA", "/rfaTypeCode"), "category_code": (DRAWING, "/categoryCode")}


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
    range_public_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class NumberParties:
    project: ProjectRef
    type: TypeRef
    originator: OrganizationRef
    recipient: OrganizationRef | None
    contract: ContractRef | None
    sub_type: SubTypeRef | None
    rfa_type: RfaTypeRef | None
    discipline: DisciplineRef | None


def permission_to_create(type_code: str) -> str:
    """Who may create the document may draw its number (ruling N14)."""
    return _CREATES.get(type_code, "correspondence.create")


def check_permission(caller: Caller, parties: NumberParties) -> None:
    """A role at the contract counts for the originator's own people; a role over the whole project for everybody's."""
    permission, scope = permission_to_create(parties.type.code), scope_of(parties)
    if parties.originator.id in caller.organization_ids:
        caller.require(permission, scope)
    elif not caller.may(permission, replace(scope, contract=None)):
        raise NotYourOrganization.at("/originatorOrganizationPublicId")


def scope_of(parties: NumberParties) -> Scope:
    contract = parties.contract.id if parties.contract else None
    for ref in (parties.rfa_type, parties.discipline, parties.sub_type):
        contract = contract or (ref.contract_id if ref else None)
    return Scope(organizations=frozenset({parties.originator.id}), project=parties.project.id, contract=contract)


def check_codes(request: NumberRequest) -> None:
    """A code of another kind of document would stand in the books of this one; and nobody writes to himself."""
    for name, (type_code, pointer) in _BELONGS.items():
        if getattr(request, name) and request.correspondence_type_code != type_code:
            raise not_of_type(pointer, request.correspondence_type_code)
    if request.recipient_organization_public_id == request.originator_organization_public_id:
        raise invalid(
            "/recipientOrganizationPublicId",
            "self",
            "ผู้ส่งและผู้รับเป็นองค์กรเดียวกันไม่ได้",
            "The originator cannot be the recipient.",
        )


def not_of_type(pointer: str, type_code: str) -> Invalid:
    return invalid(
        pointer,
        "not_of_this_type",
        "ใช้รหัสนี้กับเอกสารประเภท {type} ไม่ได้",
        "This code does not belong to documents of type {type}.",
        type=type_code,
    )


def check_recipient_type(request: NumberRequest, recipient: OrganizationRef | None) -> None:
    if request.recipient_type is None:
        return
    if recipient is None:
        raise invalid(
            "/recipientType",
            "without_recipient",
            "ระบุประเภทผู้รับโดยไม่มีผู้รับไม่ได้",
            "A recipient type requires a recipient.",
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


def requested_year(
    request: NumberRequest, caller: Caller, parties: NumberParties, now: datetime, zone: ZoneInfo
) -> int:
    current = counter.year_of_issue(now, zone)
    if request.year is None:
        return current
    stated = counter.ad_year(request.year)
    if stated == current:
        return stated
    caller.require(OTHER_YEAR_PERMISSION, scope_of(parties))
    if not (request.year_reason or "").strip():
        raise invalid(
            "/yearReason",
            "required",
            "การออกเลขที่ของปีอื่นต้องระบุเหตุผล",
            "A number of another year requires a reason.",
        )
    return stated


def requested_revision(label: str | None) -> str:
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
