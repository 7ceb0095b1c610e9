"""
Everything that can be decided about a number before any lock is taken: whose it is, which format, which series.

Reads only. What comes out is enough to draw the number without asking the database for a code again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.errors import unknown
from saraban.numbering import repository
from saraban.numbering.domain import counter
from saraban.numbering.domain.template import FALLBACK, Template, stored
from saraban.numbering.service.checks import (
    DRAWING,
    DRAWING_CATEGORIES,
    NumberRequest,
    Parties,
    check_codes,
    check_recipient_type,
    check_right,
    revision_asked,
    year_asked,
)
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

# An RFA goes along its approval path and a sheet stays inside its organization: their counters have no recipient.
_WITHOUT_RECIPIENT = frozenset({"RFA", "CIRCULATION", DRAWING})


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


async def plan(session: AsyncSession, *, caller: Caller, request: NumberRequest, now: datetime, zone: ZoneInfo) -> Plan:
    """
    This will resolve a request for a number and check that the caller may make it (ruling N14).

    :param now: when the request arrived; it decides the year and serves every attempt (ruling N5)
    :raises Invalid: naming the field; nothing has been touched
    :raises Forbidden: when the caller may not create such a document
    :raises NotYourOrganization: when the caller does not act for the originator
    """
    check_codes(request)
    parties = await _parties(session, request)
    check_right(caller, parties)
    check_recipient_type(request, parties.recipient)
    year = year_asked(request, caller, parties, now, zone)
    revision = revision_asked(request.revision)
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


async def _parties(session: AsyncSession, request: NumberRequest) -> Parties:
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
        session, request, Parties(project, kind, originator, recipient, contract, None, None, None)
    )


async def _with_master_data(session: AsyncSession, request: NumberRequest, parties: Parties) -> Parties:
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
    return Parties(
        project, parties.type, parties.originator, parties.recipient, contract, sub_type, rfa_type, discipline
    )


async def _format(session: AsyncSession, parties: Parties) -> tuple[Template, str, bool, bool]:
    row = await repository.format_for(session, project_id=parties.project.id, type_id=parties.type.id)
    if row is None:
        return stored(FALLBACK), "fallback", True, False
    source = "default" if row.correspondence_type_id is None else "specific"
    return stored(row.format_template), source, row.reset_sequence_yearly, row.overflow == "refuse"


def _codes(parties: Parties, category: str | None) -> counter.Codes:
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


def _counter_key(parties: Parties, year: int) -> counter.CounterKey:
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


def _key_in_codes(parties: Parties, year: int, request: NumberRequest) -> dict[str, object]:
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
