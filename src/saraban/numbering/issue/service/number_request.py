"""
Requests for numbers: validation, permission (REQ-NUM-16), resolution.

Each process caches resolutions briefly. A stale format is noticed in the transaction of the number, which plans again
with `fresh`.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller, NotYourOrganization, RequestContext, Scope
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, database_of
from saraban.kit.errors import Forbidden, Invalid, invalid, unknown
from saraban.kit.text import system_code
from saraban.numbering.issue import repository
from saraban.numbering.series.domain.counter import Period, ad_year, year_of_issue
from saraban.numbering.series.domain.states import DRAWING, FormatSource, OverflowRule, RangeKind, register_of
from saraban.numbering.series.domain.template import (
    FALLBACK,
    FormatKey,
    Narrowing,
    Template,
    matching_format_keys,
    stored_template,
)
from saraban.numbering.series.models import NumberFormat
from saraban.numbering.series.repository import format_for, range_by_public_id
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
FIRST_REVISION = "A"
OVERRIDE = "numbering.override"
_REVISION_LABEL = re.compile(r"[A-Z]{1,3}\Z|[A-Z]{0,3}[0-9]{1,3}\Z")
_RECIPIENT_TYPES = frozenset({"OWNER", "CONTRACTOR", "CONSULTANT"})
_REMEMBERED_SECONDS = 2.0
_MOST_REMEMBERED = 5000
_CREATES = {
    "RFA": "rfa.create",
    "TRANSMITTAL": "transmittal.create",
    "CIRCULATION": "circulation.create",
    DRAWING: "drawing.create",
}
_TYPE_OF_FIELD = {
    "rfa_type_code": ("RFA", "/rfaTypeCode"),
    "category_code": (DRAWING, "/categoryCode"),
    "drawing_register": (DRAWING, "/register"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRequest:
    """Public ids and codes as in the API. The default register is that of shop drawings."""

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
    drawing_register: str | None = None

    @property
    def unique_in(self) -> str:
        return register_of(system_code(self.correspondence_type_code), self.drawing_register)


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

    def code(self, name: str) -> str | None:
        ref = getattr(self, name)
        return ref.code if ref is not None else None

    @property
    def contract_id(self) -> int | None:
        """The stated contract, or the contract of one of the codes."""
        if self.contract is not None:
            return self.contract.id
        return next((ref.contract_id for ref in (self.rfa_type, self.discipline, self.sub_type) if ref), None)


def permission_to_create(type_code: str) -> str:
    return _CREATES.get(type_code, "correspondence.create")


def may_create(caller: Caller, permission: str, scope: Scope) -> bool:
    """A role at a contract counts only for the originator's members; `scope` has one organization."""
    is_member = scope.organizations <= caller.organization_ids
    return caller.may(permission, scope if is_member else replace(scope, contract=None))


def check_permission(ctx: RequestContext, parties: NumberParties) -> None:
    """:raises Forbidden: without the permission to create the document for the originator"""
    permission = permission_to_create(parties.type.code)
    if may_create(ctx.caller, permission, scope_of(parties)):
        return
    if parties.originator.id in ctx.caller.organization_ids:
        raise Forbidden(f"The permission {permission} is needed here.")
    raise NotYourOrganization.at("/originatorOrganizationPublicId")


def scope_of(parties: NumberParties) -> Scope:
    organizations = frozenset({parties.originator.id})
    return Scope(organizations=organizations, project=parties.project.id, contract=parties.contract_id)


def check_codes(request: NumberRequest) -> None:
    for name, (type_code, pointer) in _TYPE_OF_FIELD.items():
        if getattr(request, name) and system_code(request.correspondence_type_code) != type_code:
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


def requested_year(ctx: RequestContext, request: NumberRequest, parties: NumberParties) -> int:
    current = year_of_issue(ctx.now, ctx.zone)
    if request.year is None:
        return current
    stated = ad_year(request.year)
    if stated == current:
        return stated
    ctx.caller.require(OVERRIDE, scope_of(parties))
    if not (request.year_reason or "").strip():
        raise invalid(
            "/yearReason",
            "required",
            "การออกเลขที่ของปีอื่นต้องระบุเหตุผล",
            "A number of another year requires a reason.",
        )
    return stated


def requested_revision(label: str) -> str:
    if not _REVISION_LABEL.match(label):
        raise invalid(
            "/revision",
            "malformed",
            "รหัสฉบับแก้ไขต้องเป็น A-Z (หรือ AA) หรือตัวเลข หรือตัวอักษรนำหน้าตัวเลข เช่น P01",
            "A revision is letters A-Z (or AA), a number, or letters before a number, as P01.",
        )
    return label


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """
    :param keys: of matching formats, best first
    :param mark: id and version of the format; None for the fallback
    :param range: 0 for the main counter
    :param plans: cache by request and period
    """

    parties: NumberParties
    template: Template
    source: FormatSource
    resets: bool
    refuses_overflow: bool
    keys: tuple[FormatKey, ...]
    mark: tuple[int, int] | None
    format_public_id: UUID | None
    narrowing: Narrowing
    first_revision: str
    range: int = 0
    range_series: str | None = None
    plans: dict[tuple[NumberRequest, Period], Any] = field(default_factory=dict, compare=False)


class _CachedResolution(NamedTuple):
    """:param renew: after it, one caller resolves again; the others use this until `until`"""

    renew: float
    until: float
    resolved: ResolvedRequest


ResolutionCache = OrderedDict[tuple[object, ...], _CachedResolution]
_caches: WeakKeyDictionary[Database, ResolutionCache] = WeakKeyDictionary()
_EMPTY_CACHE: ResolutionCache = OrderedDict()


async def resolve(session: AsyncSession, request: NumberRequest, *, fresh: bool = False) -> ResolvedRequest:
    """:raises Invalid: naming the field"""
    cached = None if fresh else remembered_resolution(database_of(session), request)
    if cached is not None:
        return cached
    resolved = await _resolve_uncached(session, request)
    cache = _caches.setdefault(database_of(session), OrderedDict())
    now = stopwatch()
    cache[_cache_key(request)] = _CachedResolution(now + _REMEMBERED_SECONDS / 2, now + _REMEMBERED_SECONDS, resolved)
    if len(cache) > _MOST_REMEMBERED:
        cache.popitem(last=False)
    return resolved


def remembered_resolution(db: Database, request: NumberRequest) -> ResolvedRequest | None:
    """None also where one caller should resolve again for the others."""
    key, cache, now = _cache_key(request), _caches.get(db, _EMPTY_CACHE), stopwatch()
    cached = cache.get(key)
    if cached is None or cached.until <= now:
        return None
    if cached.renew <= now:
        cache[key] = cached._replace(renew=cached.until)
        return None
    return cached.resolved


def _cache_key(request: NumberRequest) -> tuple[object, ...]:
    return (
        request.project_public_id,
        request.correspondence_type_code,
        request.originator_organization_public_id,
        request.recipient_organization_public_id,
        request.contract_public_id,
        request.sub_type_code,
        request.rfa_type_code,
        request.discipline_code,
        request.range_public_id,
        request.unique_in,
        request.category_code,
    )


def forget_resolutions(session: AsyncSession) -> None:
    """Call it after a format or a range has changed."""
    _caches.pop(database_of(session), None)


async def _resolve_uncached(session: AsyncSession, request: NumberRequest) -> ResolvedRequest:
    parties = await _find_parties(session, request)
    keys = matching_format_keys(parties.type.id, narrowing_of(parties))
    row = await format_for(session, project_id=parties.project.id, keys=keys)
    range_number, series = await _find_range(session, request, parties)
    return ResolvedRequest(
        parties=parties,
        template=stored_template(row.format_template if row else FALLBACK),
        source=_format_source(row),
        resets=row.reset_sequence_yearly if row else True,
        refuses_overflow=row is not None and row.overflow == OverflowRule.REFUSE,
        keys=keys,
        mark=(row.id, row.version) if row else None,
        format_public_id=row.public_id if row else None,
        narrowing=row.narrowing if row else Narrowing(),
        first_revision=await _first_revision(session, request, parties.project),
        range=range_number,
        range_series=series,
    )


async def _first_revision(session: AsyncSession, request: NumberRequest, project: ProjectRef) -> str:
    """`A` for documents and for registers without a scheme (REQ-NUM-06)."""
    if system_code(request.correspondence_type_code) != DRAWING:
        return FIRST_REVISION
    settings = await projects.drawing_settings(session, project_id=project.id, register=request.unique_in)
    return settings.scheme.next_labels(None)[0] if settings.is_decided else FIRST_REVISION


def narrowing_of(parties: NumberParties) -> Narrowing:
    return Narrowing(*(parties.code(name) or "" for name in ("sub_type", "rfa_type", "discipline")))


def _format_source(row: NumberFormat | None) -> FormatSource:
    if row is None:
        return FormatSource.FALLBACK
    return FormatSource.DEFAULT if row.correspondence_type_id is None else FormatSource.SPECIFIC


async def _find_range(session: AsyncSession, request: NumberRequest, parties: NumberParties) -> tuple[int, str | None]:
    if request.range_public_id is None:
        return 0, None
    row = await range_by_public_id(session, request.range_public_id)
    if row is None or row.project_id != parties.project.id or row.released_at is not None or row.kind != RangeKind.KEPT:
        raise unknown("/rangePublicId", str(request.range_public_id))
    if row.organization_id is not None and row.organization_id != parties.originator.id:
        raise invalid(
            "/rangePublicId",
            "not_yours",
            "ช่วงเลขนี้จองไว้ให้องค์กรอื่น",
            "This range is reserved for another organization.",
        )
    return row.number, row.series


async def _find_parties(session: AsyncSession, request: NumberRequest) -> NumberParties:
    project = await projects.find_project(session, public_id=request.project_public_id, pointer="/projectPublicId")
    document_type = await projects.find_type(
        session, code=request.correspondence_type_code, pointer="/correspondenceTypeCode"
    )
    originator = await projects.find_organization(
        session,
        project=project,
        public_id=request.originator_organization_public_id,
        pointer="/originatorOrganizationPublicId",
    )
    contract = None
    if request.contract_public_id is not None:
        contract = await projects.find_contract(session, project=project, public_id=request.contract_public_id)
    parties = NumberParties(project, document_type, originator, None, contract, None, None, None)
    return await _add_recipient(session, request, await _add_codes(session, request, parties))


async def _add_recipient(session: AsyncSession, request: NumberRequest, parties: NumberParties) -> NumberParties:
    """Add the recipient, with its role in the contract if there is one."""
    if request.recipient_organization_public_id is None:
        return parties
    recipient = await projects.find_organization(
        session,
        project=parties.project,
        public_id=request.recipient_organization_public_id,
        pointer="/recipientOrganizationPublicId",
        contract_id=parties.contract_id,
    )
    return replace(parties, recipient=recipient)


async def _add_codes(session: AsyncSession, request: NumberRequest, parties: NumberParties) -> NumberParties:
    project, contract = parties.project, parties.contract
    discipline = rfa_type = sub_type = None
    if request.discipline_code:
        discipline = await projects.find_discipline(
            session, project=project, contract=contract, code=request.discipline_code
        )
    if request.rfa_type_code:
        rfa_type = await projects.find_rfa_type(session, project=project, contract=contract, code=request.rfa_type_code)
    if request.sub_type_code:
        sub_type = await projects.find_sub_type(
            session,
            project=project,
            contract=contract,
            type_id=parties.type.id,
            code=request.sub_type_code,
        )
    if request.category_code and request.category_code not in DRAWING_CATEGORIES:
        register = (project.id, request.unique_in)
        if not await repository.has_drawing_category(session, *register, request.category_code):
            raise unknown("/categoryCode", request.category_code)
    return replace(parties, discipline=discipline, rfa_type=rfa_type, sub_type=sub_type)
