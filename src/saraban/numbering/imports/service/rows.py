"""Rows of an old register, compared with the project and with the ledger, and written as numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import NamedTuple
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.imports.domain import row_problem
from saraban.kit.errors import DomainError, FieldProblem, Text, invalid, unknown
from saraban.kit.ids import derived_id, new_id
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.text import normal_form
from saraban.numbering.imports import repository
from saraban.numbering.imports.domain import COLUMN_KEYS, LegacyRow, literal_template, parse_row
from saraban.numbering.issue.repository import insert_numbers
from saraban.numbering.issue.service.manual_number import sequence_of
from saraban.numbering.issue.service.number_plan import Plan, key_in_codes, plan
from saraban.numbering.issue.service.number_request import (
    OVERRIDE,
    NumberParties,
    NumberRequest,
    check_permission,
    resolve,
)
from saraban.numbering.series.domain.counter import NO_RECIPIENT, SequenceExhausted, year_of_issue
from saraban.numbering.series.domain.states import NumberSource, NumberState, OperationCode, register_of, series_in
from saraban.numbering.series.domain.template import stored_template
from saraban.numbering.series.models import AUDIT_COLUMNS, LEDGER_COLUMNS
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef

REASON = "Imported from an earlier register."
_MOST_GROUPS = 2000
_COLUMN_OF = {
    "/correspondenceTypeCode": "type",
    "/originatorOrganizationPublicId": "originator",
    "/recipientOrganizationPublicId": "recipient",
    "/contractPublicId": "contract",
    "/subTypeCode": "subType",
    "/rfaTypeCode": "rfaType",
    "/disciplineCode": "discipline",
    "/categoryCode": "category",
    "/revision": "revision",
    "/year": "year",
}


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The project that is imported into, with what its codes stand for."""

    project: ProjectRef
    organizations: Mapping[str, UUID]
    contracts: Mapping[str, UUID]


async def import_target(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> ImportTarget:
    """:raises Forbidden: for who does not manage the numbers of the project"""
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    ctx.caller.require(OVERRIDE, Scope(project=project.id))
    read = await projects.read_project(ctx, session, public_id=project.public_id)
    return ImportTarget(
        project,
        {one.organization_code: one.public_id for one in read.organizations},
        {one.contract_code: one.public_id for one in read.contracts},
    )


@dataclass(frozen=True, slots=True)
class RowGroup:
    """What all lines of the same codes and period share; `plan` is None where the format cannot print for them."""

    parties: NumberParties
    plan: Plan | None
    codes_text: str
    year: int
    revision: str

    @property
    def register(self) -> str:
        return register_of(self.parties.type.code)


class ImportedNumber(NamedTuple):
    token: UUID
    number: str
    base: str
    series: str
    sequence: int
    template: str
    group: RowGroup
    issued: datetime | None
    is_literal: bool


class CheckedRow(NamedTuple):
    """A line of the file: what it would become, or what is wrong with it."""

    row: SheetRow
    number: ImportedNumber | None
    faults: Sequence[FieldProblem]


class RowReader:
    """Reads the lines of one file in their order. It remembers every number of the file, to find the second of two."""

    def __init__(self, ctx: RequestContext, place: ImportTarget) -> None:
        self.place = place
        self._ctx = ctx
        self._groups: dict[object, RowGroup | DomainError] = {}
        self._lines: dict[str, int] = {}

    async def read(self, session: AsyncSession, row: SheetRow) -> CheckedRow:
        found, line = parse_row(row), row.number
        if isinstance(found, list):
            return CheckedRow(row, None, found)
        try:
            number = await self._number(session, found)
        except DomainError as error:
            return CheckedRow(row, None, _faults(error))
        first = min(self._lines.setdefault(normal_form(one), line) for one in (number.base, number.number))
        if first != line:
            fault = row_problem(
                "number", "twice", "ซ้ำกับแถว {line} ในไฟล์นี้", "Already on row {line} of this file.", line=first
            )
            return CheckedRow(row, None, [fault])
        return CheckedRow(row, number, ())

    async def _number(self, session: AsyncSession, line: LegacyRow) -> ImportedNumber:
        group = await self._group(session, line)
        issued = self._moment(line)
        token = derived_id("import", str(self.place.project.public_id), line.number)
        if group.plan is not None:
            try:
                return _of_the_format(group.plan, group, line, token, issued)
            except SequenceExhausted:
                raise
            except DomainError:
                if line.sequence is None:
                    raise
        return self._literal(group, line, token, issued)

    def _literal(self, group: RowGroup, line: LegacyRow, token: UUID, issued: datetime | None) -> ImportedNumber:
        assert line.sequence is not None
        template = literal_template(line.number, line.sequence)
        if template is None:
            raise invalid(
                "/sequence",
                "not_in_number",
                "ไม่มีเลข {sequence} อยู่ในเลขที่นี้",
                "The number does not contain {sequence}.",
                sequence=line.sequence,
            )
        template = stored_template(template.text)
        series = series_in(group.register, template.series({}, resets=True))
        return ImportedNumber(
            token,
            line.number,
            line.number,
            series,
            line.sequence,
            template.text,
            group,
            issued,
            is_literal=True,
        )

    def _moment(self, line: LegacyRow) -> datetime | None:
        return datetime.combine(line.issued, time(12), self._ctx.zone) if line.issued else None

    async def _group(self, session: AsyncSession, line: LegacyRow) -> RowGroup:
        month = (line.issued.year, line.issued.month) if line.issued else line.year
        key = (line.codes, month, line.sequence is None)
        found = self._groups.get(key)
        if found is None:
            if len(self._groups) >= _MOST_GROUPS:
                self._groups.clear()
            try:
                found = await self._grouped(session, line)
            except DomainError as error:
                found = error
            self._groups[key] = found
        if isinstance(found, DomainError):
            raise found
        return found

    async def _grouped(self, session: AsyncSession, line: LegacyRow) -> RowGroup:
        request = self._request(line)
        moment = self._moment(line) or self._ctx.now
        year = line.issued.year if line.issued else line.year or year_of_issue(self._ctx.now, self._ctx.zone)
        try:
            made = await plan(replace(self._ctx, now=moment), session, request)
        except DomainError:
            if line.sequence is None:
                raise
            parties = (await resolve(session, request)).parties
            check_permission(self._ctx, parties)
            codes = orjson.dumps(key_in_codes(parties, year, request)).decode()
            return RowGroup(parties, None, codes, year, line.codes.revision or "A")
        return RowGroup(made.parties, made, made.codes_text, made.year, made.revision)

    def _request(self, line: LegacyRow) -> NumberRequest:
        codes = line.codes
        return NumberRequest(
            project_public_id=self.place.project.public_id,
            correspondence_type_code=codes.type,
            originator_organization_public_id=_named(self.place.organizations, codes.originator, "originator"),
            recipient_organization_public_id=(
                _named(self.place.organizations, codes.recipient, "recipient") if codes.recipient else None
            ),
            contract_public_id=_named(self.place.contracts, codes.contract, "contract") if codes.contract else None,
            sub_type_code=codes.sub_type or None,
            rfa_type_code=codes.rfa_type or None,
            discipline_code=codes.discipline or None,
            category_code=codes.category or None,
            revision=codes.revision or None,
            year=None if line.issued else line.year,
            year_reason=REASON,
        )


def _of_the_format(
    plan: Plan, group: RowGroup, line: LegacyRow, token: UUID, issued: datetime | None
) -> ImportedNumber:
    sequence = sequence_of(plan, line.number)
    if plan.refuses_overflow and plan.template.overflows(sequence):
        raise SequenceExhausted
    return ImportedNumber(
        token,
        line.number,
        plan.base(sequence),
        plan.series,
        sequence,
        plan.template.text,
        group,
        issued,
        is_literal=False,
    )


def _named(known: Mapping[str, UUID], code: str, column: str) -> UUID:
    if code not in known:
        raise unknown(f"/{column}", code)
    return known[code]


def _faults(error: DomainError) -> list[FieldProblem]:
    """What the project's rules say of a line, said of its columns."""
    if not error.fields:
        return [FieldProblem("/number", error.code.lower(), Text(error.words.th, error.words.en), error.values)]
    return [
        FieldProblem(f"/{_COLUMN_OF.get(one.pointer, _of_a_column(one.pointer))}", one.code, one.text, one.values)
        for one in error.fields
    ]


def _of_a_column(pointer: str) -> str:
    return pointer.lstrip("/") if pointer.lstrip("/") in COLUMN_KEYS else "number"


async def compare_with_ledger(
    session: AsyncSession, place: ImportTarget, reads: Sequence[CheckedRow]
) -> tuple[list[CheckedRow], set[int]]:
    """
    Hold lines against the ledger.

    :returns: the lines, those whose number is taken with their fault; and which lines were imported before
    """
    numbers = [read.number for read in reads if read.number is not None]
    known = {
        register: await repository.numbers_in_ledger(
            session,
            project_id=place.project.id,
            register=register,
            bases=[number.base for number in numbers],
            numbers=[number.number for number in numbers],
        )
        for register in {number.group.register for number in numbers}
    }
    before: set[int] = set()
    judged = []
    for read in reads:
        number = read.number
        held, printed = known[number.group.register] if number else ({}, frozenset())
        if number is not None and held.get(number.base) == number.token:
            before.add(read.row.number)
        elif number is not None and ({number.base, number.number} & (held.keys() | printed)):
            fault = row_problem("number", "taken", "เลขที่นี้ออกไปแล้วในระบบ", "This number is already issued.")
            judged.append(CheckedRow(read.row, None, [fault]))
            continue
        judged.append(read)
    return judged, before


async def write_rows(
    ctx: RequestContext, session: AsyncSession, place: ImportTarget, numbers: Sequence[ImportedNumber]
) -> None:
    ids = [new_id() for _ in numbers]
    entries = [_entry(ctx, place, key, number) for key, number in zip(ids, numbers, strict=True)]
    audits = [_audit(ctx, place, key, number) for key, number in zip(ids, numbers, strict=True)]
    await insert_numbers(
        session,
        project_id=place.project.id,
        source=NumberSource.IMPORT,
        entries=[[row.get(column) for column in LEDGER_COLUMNS] for row in entries],
        audits=[[row.get(column) for column in AUDIT_COLUMNS] for row in audits],
    )


def _entry(ctx: RequestContext, place: ImportTarget, key: UUID, number: ImportedNumber) -> dict[str, object]:
    parties, plan = number.group.parties, number.group.plan
    recipient = parties.recipient.id if parties.recipient else NO_RECIPIENT
    printed_by = None if number.is_literal else plan
    return {
        "uuid": key,
        "token": number.token,
        "project_id": place.project.id,
        "register": number.group.register,
        "correspondence_type_id": parties.type.id,
        "originator_organization_id": parties.originator.id,
        "recipient_organization_id": plan.key.recipient_organization_id if plan else recipient,
        "series": number.series,
        "range": 0,
        "sequence_number": number.sequence,
        "base_number": number.base,
        "document_number": number.number,
        "revision_label": number.group.revision,
        "document_number_status": NumberState.CONFIRMED,
        "source": NumberSource.IMPORT,
        "format_template": number.template,
        "format_values": printed_by.values if printed_by else {},
        "format_uuid": printed_by.format_public_id if printed_by else None,
        "format_source": printed_by.source if printed_by else None,
        "issue_year": number.group.year,
        "user_id": ctx.caller.user_id,
        "ip_address": ctx.address[:45] or None,
        "reason": REASON,
        "confirmed_at": number.issued or ctx.now,
        "created_at": ctx.now,
    }


def _audit(ctx: RequestContext, place: ImportTarget, key: UUID, number: ImportedNumber) -> dict[str, object]:
    return {
        "uuid": new_id(),
        "operation": OperationCode.IMPORT,
        "project_id": place.project.id,
        "reservation_uuid": key,
        "generated_number": number.number,
        "document_type": number.group.parties.type.code,
        "series": number.series,
        "counter_key": number.group.codes_text,
        "template_used": number.template,
        "sequence_number": number.sequence,
        "reason": REASON,
        "user_id": ctx.caller.user_id,
        "ip_address": ctx.address[:45] or None,
        "retry_count": 0,
        "lock_wait_ms": 0,
        "created_at": ctx.now,
    }
