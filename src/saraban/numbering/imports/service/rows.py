"""Rows of a legacy register, checked and written as numbers."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, time
from itertools import islice
from typing import NamedTuple
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.imports.domain import READY, REFUSED, THERE, JudgedRow, row_problem
from saraban.imports.service.run import ImportRun, Lookups
from saraban.kit.child_processes import CHILDREN
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, FieldProblem, Invalid, Text, invalid, unknown
from saraban.kit.ids import derived_id, new_id
from saraban.kit.sheet_columns import SheetRow, at_column
from saraban.kit.text import Spellings, normal_form, plain_signs
from saraban.numbering.imports import repository
from saraban.numbering.imports.domain import COLUMN_KEYS, LegacyRow, literal_template, parse_row
from saraban.numbering.issue.repository import NUMBER_CONSTRAINTS, TOKEN_CONSTRAINTS, insert_numbers
from saraban.numbering.issue.service.manual_number import lock_counter, sequence_of, skip_to
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
from saraban.numbering.series.repository import last_number
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef

REASON = "Imported from an earlier register."
BATCH = 1000
MOST_SERIES = 1000
_NOT_OF_FORMAT = (
    "“{number}” ไม่ตรงกับรูปแบบ {example} ของปี {year} ให้แก้เลขที่ วันที่ หรือปี หรือกรอกเลขลำดับ",
    "“{number}” does not match the format {example} of {year}. Correct the number, the date or the year, or fill in the sequence.",
)
_OTHER_SEQUENCE = ("เลขลำดับในเลขที่คือ {sequence}", "The sequence of this number is {sequence}.")
_COLUMN_OF = {key: key for key in COLUMN_KEYS} | {
    "correspondenceTypeCode": "type",
    "originatorOrganizationPublicId": "originator",
    "recipientOrganizationPublicId": "recipient",
    "contractPublicId": "contract",
    "subTypeCode": "subType",
    "rfaTypeCode": "rfaType",
    "disciplineCode": "discipline",
    "categoryCode": "category",
}


@dataclass(frozen=True, slots=True)
class ImportTarget:
    project: ProjectRef
    organizations: Mapping[str, UUID]
    contracts: Mapping[str, UUID]


async def import_target(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> ImportTarget:
    """:raises Forbidden: when the caller does not manage the project's numbers"""
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    ctx.caller.require(OVERRIDE, Scope(project=project.id))
    detail = await projects.read_project(ctx, session, public_id=project.public_id)
    return ImportTarget(
        project,
        Spellings({part.organization_code: part.public_id for part in detail.organizations}),
        Spellings({part.contract_code: part.public_id for part in detail.contracts}),
    )


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Shared by rows of the same codes and period; `plan` is None if the format cannot print them."""

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
    is_literal: bool
    group: RowGroup
    issued: datetime | None


Printed = tuple[str, str, str, int, str, bool]  # number, base, series, sequence, template and whether that is literal


class CheckedRow(NamedTuple):
    row: SheetRow
    number: ImportedNumber | None
    faults: Sequence[FieldProblem]


@dataclass(slots=True)
class HighestNumber:
    """:param plan: of its counter; None for literal numbers, whose series cannot move"""

    series: str
    sequence: int
    plan: Plan | None
    counter: int = 0

    @property
    def jump(self) -> int:
        return max(self.sequence - self.counter, 0) if self.plan is not None else 0


class NumberRun(ImportRun[list[CheckedRow], list[ImportedNumber]]):
    """:param moves: last number by series whose counter moves, as the dry run showed it"""

    constraints = (*NUMBER_CONSTRAINTS, *TOKEN_CONSTRAINTS)

    def __init__(self, ctx: RequestContext, place: ImportTarget, moves: Mapping[str, int]) -> None:
        self.ctx, self.place, self._moves = ctx, place, moves
        self.highest: dict[str, HighestNumber] = {}
        self._groups: Lookups[RowGroup] = Lookups()
        self._lines: dict[str, int] = {}
        self._accepted: list[ImportedNumber] = []  # of the batch, which may be judged again

    async def batches(self, db: Database, rows: Iterable[SheetRow]) -> AsyncGenerator[list[CheckedRow], None]:
        """The next batch is read while the database writes."""
        remaining = iter(rows)
        following = asyncio.ensure_future(self._read_batch(db, remaining))
        try:
            while batch := await following:
                following = asyncio.ensure_future(self._read_batch(db, remaining))
                yield batch
                self._update_highest()
        finally:
            following.cancel()
            await asyncio.wait([following])

    async def _read_batch(self, db: Database, remaining: Iterator[SheetRow]) -> list[CheckedRow]:
        checked = []
        rows = await CHILDREN.run_in_background(lambda: list(islice(remaining, BATCH)))
        if not rows:
            return []
        async with db.reading() as session:
            for row in rows:
                checked.append(await self.read(session, row))
                if len(checked) % 50 == 0:
                    await asyncio.sleep(0)  # yields to other tasks, such as the write of the previous batch
        return checked

    async def judge(
        self,
        session: AsyncSession,
        batch: list[CheckedRow],
        *,
        lock: bool = False,  # noqa: ARG002
    ) -> tuple[list[JudgedRow], list[ImportedNumber]]:
        numbers = [checked.number for checked in batch if checked.number is not None]
        ledger_numbers = {
            register: await repository.numbers_in_ledger(
                session,
                project_id=self.place.project.id,
                register=register,
                bases=[number.base for number in numbers],
                numbers=[number.number for number in numbers],
            )
            for register in {number.group.register for number in numbers}
        }
        judged: list[JudgedRow] = []
        new_numbers, self._accepted = [], []
        for row, number, faults in batch:
            if number is None:
                judged.append(JudgedRow(row, REFUSED, faults))
                continue
            tokens, printed = ledger_numbers[number.group.register]
            if tokens.get(number.base) == number.token:
                judged.append(JudgedRow(row, THERE))
            elif {number.base, number.number} & (tokens.keys() | printed):
                fault = row_problem("number", "taken", "เลขที่นี้ออกไปแล้วในระบบ", "This number is already issued.")
                judged.append(JudgedRow(row, REFUSED, [fault]))
                continue
            else:
                judged.append(JudgedRow(row, READY))
                new_numbers.append(number)
            self._accepted.append(number)
        return judged, new_numbers

    def _update_highest(self) -> None:
        for number in self._accepted:
            plan = None if number.is_literal else number.group.plan
            highest = self.highest.setdefault(number.series, HighestNumber(number.series, 0, plan))
            highest.sequence = max(highest.sequence, number.sequence)

    async def write(self, session: AsyncSession, rows: list[ImportedNumber]) -> int:
        if rows:
            keys = [(new_id(), number) for number in rows]
            await insert_numbers(
                session,
                entries=[list(map(self._ledger_values(*pair).get, LEDGER_COLUMNS)) for pair in keys],
                audits=[list(map(self._audit_values(*pair).get, AUDIT_COLUMNS)) for pair in keys],
            )
        return len(rows)

    async def findings(self, session: AsyncSession) -> Mapping[str, object]:
        await self._read_counters(session)
        series = sorted(self.highest.values(), key=lambda highest: highest.series)
        shown = [
            {"series": highest.series, "highest": highest.sequence, "counter": highest.counter, "jump": highest.jump}
            for highest in series[:MOST_SERIES]
        ]
        return {"series": shown, "seriesTotal": len(series)}

    async def finish(self, session: AsyncSession) -> Mapping[str, object]:
        await self._read_counters(session)
        moves: dict[str, list[int]] = {}
        for series in sorted(self._moves.keys() & self.highest.keys()):
            highest = self.highest[series]
            to = min(self._moves[series], highest.sequence)  # never past what was shown, nor past what the file has
            if highest.plan is not None and to > highest.counter:
                moves[series] = [highest.counter, to]
                counter = await lock_counter(session, highest.plan, now=self.ctx.now)
                await skip_to(self.ctx, session, counter, to, reason=REASON, plan=highest.plan)
        return {"moved": moves}

    async def _read_counters(self, session: AsyncSession) -> None:
        for highest in self.highest.values():
            highest.counter = await last_number(session, project_id=self.place.project.id, series=highest.series)

    async def read(self, session: AsyncSession, row: SheetRow) -> CheckedRow:
        parsed, line = parse_row(row), row.number
        if isinstance(parsed, list):
            return CheckedRow(row, None, parsed)
        try:
            number = await self._build_number(session, parsed)
        except DomainError as error:
            return CheckedRow(row, None, _column_faults(error))
        first = min(self._lines.setdefault(normal_form(form), line) for form in (number.base, number.number))
        if first != line:
            fault = row_problem(
                "number", "twice", "ซ้ำกับแถว {line} ในไฟล์นี้", "Already on row {line} of this file.", line=first
            )
            return CheckedRow(row, None, [fault])
        return CheckedRow(row, number, ())

    async def _build_number(self, session: AsyncSession, line: LegacyRow) -> ImportedNumber:
        group = await self._group(session, line)
        sequence = _find_sequence(group.plan, line) if group.plan else None
        printed = (
            _print_with_plan(group.plan, sequence)
            if group.plan and sequence is not None
            else _print_literal(group, line)
        )
        token = derived_id("import", str(self.place.project.public_id), line.number)
        return ImportedNumber(token, *printed, group, self._moment_of_issue(line))

    def _moment_of_issue(self, line: LegacyRow) -> datetime | None:
        return datetime.combine(line.issued, time(12), self.ctx.zone) if line.issued else None

    async def _group(self, session: AsyncSession, line: LegacyRow) -> RowGroup:
        month = (line.issued.year, line.issued.month) if line.issued else line.year
        key = (line.codes, month, line.sequence is None)
        return await self._groups.get(key, self._build_group, session, line)

    async def _build_group(self, session: AsyncSession, line: LegacyRow) -> RowGroup:
        request = self._request(line)
        moment = self._moment_of_issue(line) or self.ctx.now
        year = line.issued.year if line.issued else line.year or year_of_issue(self.ctx.now, self.ctx.zone)
        try:
            group_plan = await plan(replace(self.ctx, now=moment), session, request)
        except DomainError:
            if line.sequence is None:
                raise
            parties = (await resolve(session, request)).parties
            check_permission(self.ctx, parties)
            codes = orjson.dumps(key_in_codes(parties, year, request)).decode()
            return RowGroup(parties, None, codes, year, line.codes.revision or "A")
        return RowGroup(group_plan.parties, group_plan, group_plan.codes_text, group_plan.year, group_plan.revision)

    def _request(self, line: LegacyRow) -> NumberRequest:
        codes = line.codes
        return NumberRequest(
            project_public_id=self.place.project.public_id,
            correspondence_type_code=codes.type,
            originator_organization_public_id=_find_by_code(self.place.organizations, codes.originator, "originator"),
            recipient_organization_public_id=(
                _find_by_code(self.place.organizations, codes.recipient, "recipient") if codes.recipient else None
            ),
            contract_public_id=_find_by_code(self.place.contracts, codes.contract, "contract")
            if codes.contract
            else None,
            sub_type_code=codes.sub_type or None,
            rfa_type_code=codes.rfa_type or None,
            discipline_code=codes.discipline or None,
            category_code=codes.category or None,
            revision=codes.revision or None,
            year=None if line.issued else line.year,
            year_reason=REASON,
        )

    def _ledger_values(self, key: UUID, number: ImportedNumber) -> dict[str, object]:
        parties, plan = number.group.parties, number.group.plan
        recipient = parties.recipient.id if parties.recipient else NO_RECIPIENT
        printed_by = None if number.is_literal else plan
        return {
            **self._common_values(number),
            "uuid": key,
            "token": number.token,
            "register": number.group.register,
            "correspondence_type_id": parties.type.id,
            "originator_organization_id": parties.originator.id,
            "recipient_organization_id": plan.key.recipient_organization_id if plan else recipient,
            "range": 0,
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
            "confirmed_at": number.issued or self.ctx.now,
        }

    def _audit_values(self, key: UUID, number: ImportedNumber) -> dict[str, object]:
        return {
            **self._common_values(number),
            "uuid": new_id(),
            "operation": OperationCode.IMPORT,
            "reservation_uuid": key,
            "generated_number": number.number,
            "document_type": number.group.parties.type.code,
            "counter_key": number.group.codes_text,
            "template_used": number.template,
            "retry_count": 0,
            "lock_wait_ms": 0,
        }

    def _common_values(self, number: ImportedNumber) -> dict[str, object]:
        return {
            "project_id": self.place.project.id,
            "series": number.series,
            "sequence_number": number.sequence,
            "user_id": self.ctx.caller.user_id,
            "ip_address": self.ctx.address[:45] or None,
            "reason": REASON,
            "created_at": self.ctx.now,
        }


def _find_sequence(plan: Plan, line: LegacyRow) -> int | None:
    """
    Return None where another format printed the number and the row states the sequence.

    :raises Invalid: for another format without a stated sequence, or a different sequence
    """
    for number in (line.number, plain_signs(line.number)):
        with suppress(Invalid):
            sequence = sequence_of(plan, number)
            break
    else:
        if line.sequence is None:
            example = plan.number(1)
            raise invalid(
                "/number", "not_of_the_format", *_NOT_OF_FORMAT, number=line.number, example=example, year=plan.year
            )
        return None
    if line.sequence not in {None, sequence}:
        raise invalid("/sequence", "differs", *_OTHER_SEQUENCE, sequence=sequence)
    return sequence


def _print_with_plan(plan: Plan, sequence: int) -> Printed:
    if plan.refuses_overflow and plan.template.overflows(sequence):
        raise SequenceExhausted
    return plan.number(sequence), plan.base(sequence), plan.series, sequence, plan.template.text, False


def _print_literal(group: RowGroup, line: LegacyRow) -> Printed:
    assert line.sequence is not None
    literal = literal_template(line.number, line.sequence)
    if literal is None:
        th, en = "ไม่มีเลข {sequence} อยู่ในเลขที่นี้", "The number does not contain {sequence}."
        raise invalid("/sequence", "not_in_number", th, en, sequence=line.sequence)
    template = stored_template(literal.text)
    series = series_in(group.register, template.series({}, resets=True))
    return line.number, line.number, series, line.sequence, template.text, True


def _find_by_code(ids: Mapping[str, UUID], code: str, column: str) -> UUID:
    if code not in ids:
        raise unknown(f"/{column}", code)
    return ids[code]


def _column_faults(error: DomainError) -> list[FieldProblem]:
    if not error.fields:
        return [FieldProblem("/number", error.code.lower(), Text(error.words.th, error.words.en), error.values)]
    return [at_column(fault, _COLUMN_OF, otherwise="number") for fault in error.fields]
