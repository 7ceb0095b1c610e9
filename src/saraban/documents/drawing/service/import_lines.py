"""Judges and writes lines of register files."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from pydantic.alias_generators import to_camel
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import REVISE, CurrentPeriod, DrawingKind, next_period
from saraban.documents.drawing.domain.register_import import (
    LISTS,
    MissingCodes,
    RevisionEntry,
    judge_agreement,
    judge_history,
    registered_differences,
)
from saraban.documents.drawing.models import DrawingRevision
from saraban.documents.drawing.repository import imports as repository
from saraban.documents.drawing.repository import registers as register_rows
from saraban.documents.drawing.repository.imports import (
    CategoryPair,
    EndedRevision,
)
from saraban.documents.drawing.repository.registers import DrawingRow
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import DrawingSheetLine
from saraban.documents.drawing.service import approval, registers
from saraban.documents.drawing.service.placement import belonging, classified, find_place
from saraban.documents.drawing.service.registers import DrawingReader
from saraban.documents.drawing.service.registration import DrawingNumberTaken
from saraban.identity.domain.context import RequestContext
from saraban.imports.domain import MISSING, READY, REFUSED, JudgedRow
from saraban.imports.service.run import ImportRun, Lookups
from saraban.kit.child_processes import CHILDREN
from saraban.kit.db import Database, table_of
from saraban.kit.errors import NO_FORMULA, DomainError, FieldProblem, Invalid, Text, unknown
from saraban.kit.ids import new_id
from saraban.kit.problem import checked_values
from saraban.kit.sheet_columns import SheetRow, at_column
from saraban.kit.text import Spellings, normal_form, sort_key
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.projects.domain.drawing_settings import DrawingSettings
from saraban.projects.domain.master_data import ContractRef, OrganizationRef, ProjectRef
from saraban.projects.schemas import ProjectDetail
from saraban.search_index import service as search_index

Place = tuple[ContractRef | None, OrganizationRef | None]
BATCH: Final = 500  # drawings
# Optional columns of the file, and their columns of a revision.
_OPTIONAL: Final = {"title_en": "title_en", "status_code": "status_code", "legacy_number": "legacy_drawing_number"}
_FIELDS: Final = {
    "categoryCode": "category",
    "subCategoryCode": "sub_category",
    "volumeCode": "volume",
    "volumePage": "page",
    "disciplineCode": "discipline",
    "contractPublicId": "contract",
    "originatorOrganizationPublicId": "originator",
    **{to_camel(name): name for name in DrawingSheetLine.model_fields},
}


@dataclass(frozen=True, slots=True)
class ReadLine:
    row: SheetRow
    stated: DrawingSheetLine | None
    faults: tuple[FieldProblem, ...] = ()


def read_line(kind: DrawingKind, row: SheetRow) -> ReadLine:
    formulas = [FieldProblem(f"/{key}", "formula", NO_FORMULA) for key, text in row.cells.items() if text[:1] == "="]
    if row.faults or formulas:
        return ReadLine(row, None, (*row.faults, *formulas))
    values = {"category" if key == "main_category" else key: text for key, text in row.cells.items() if text}
    try:
        return ReadLine(row, checked_values(DrawingSheetLine, values))
    except Invalid as error:
        return ReadLine(row, None, tuple(at_column(problem, _columns_by_field(kind)) for problem in error.fields))


def _columns_by_field(kind: DrawingKind) -> dict[str, str]:
    return _FIELDS | ({} if kind.whole else dict.fromkeys(("category", "categoryCode"), "main_category"))


def by_drawing(rows: Iterable[SheetRow], kind: DrawingKind) -> list[list[ReadLine]]:
    """Return unreadable lines alone, then the lines of each drawing together."""
    drawings: dict[str, list[ReadLine]] = defaultdict(list)
    unreadable = []
    for row in rows:
        read = read_line(kind, row)
        if read.stated is None:
            unreadable.append([read])
        else:
            drawings[normal_form(read.stated.drawing_number)].append(read)
    return [*unreadable, *drawings.values()]


def place_ids(project: ProjectDetail) -> dict[str, Mapping[str, UUID]]:
    return {
        "contract": Spellings({row.contract_code: row.public_id for row in project.contracts}),
        "originator": Spellings({row.organization_code: row.public_id for row in project.organizations}),
    }


@dataclass(slots=True)
class RegisterRows:
    """:param printed: public ids, by key, of drawings whose number prints the revision"""

    heads: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[numbering.ExternalNumber] = field(default_factory=list)
    printed: dict[int, UUID] = field(default_factory=dict)
    ended: list[EndedRevision] = field(default_factory=list)
    revisions: list[tuple[UUID | int, dict[str, Any]]] = field(default_factory=list)


class RegisterImport(ImportRun[Sequence[Sequence[ReadLine]], RegisterRows]):
    """
    :param defaults: codes of contract and originator for lines without one
    :ivar codes: open codes of the project's lists; `pairs`: category pairs
    """

    def __init__(
        self, ctx: RequestContext, kind: DrawingKind, project: ProjectRef, defaults: Mapping[str, str | None]
    ) -> None:
        self.ctx, self.kind, self.project, self._defaults = ctx, kind, project, defaults
        self.constraints = (*tables_of(kind).taken, *numbering.NUMBER_CONSTRAINTS)
        self.missing, self._fields = MissingCodes(), _columns_by_field(kind)
        self._settings: DrawingSettings
        self._first_label: str
        self._has_workflows: bool
        self._reader: DrawingReader
        self.ids: Mapping[str, Mapping[str, UUID]]
        self._spellings: dict[str, dict[str, str]] = {}
        self.codes: dict[str, set[str]]
        self.pairs: set[CategoryPair] = set()
        self._columns: Lookups[dict[str, object]] = Lookups()
        self._places: Lookups[Place] = Lookups()
        self._revises: dict[tuple[int | None, int | None], bool] = {}

    async def load(self, session: AsyncSession) -> None:
        project = self.project
        self._settings = await projects.drawing_settings(session, project_id=project.id, register=self.kind.path)
        self._first_label = self._settings.scheme.next_labels(None)[0]
        self._has_workflows = self.kind in approval.KINDS and (
            self._settings.own_workflow or await approval.any_approvals(session, self.kind)
        )
        self._reader = await registers.reader_of(self.ctx, session, project.id)
        detail = await projects.read_project(self.ctx, session, public_id=project.public_id)
        self.ids = place_ids(detail)
        lists = await register_rows.open_lists(session, self.kind, project_id=project.id)
        self.codes = {name: {row.code for row in rows} for name, rows in lists.items()}
        for name, codes in {**self.ids, **self.codes}.items():
            self._spellings[name] = {normal_form(code): code for code in codes} | {code: code for code in codes}
        if self.kind.whole:
            self.pairs = await repository.pairs(session, project_id=project.id)

    async def batches(self, db: Database, rows: Iterable[SheetRow]) -> AsyncGenerator[list[list[ReadLine]], None]:  # noqa: ARG002
        drawings = await CHILDREN.run_in_background(partial(by_drawing, rows, self.kind))
        for start in range(0, len(drawings), BATCH):
            yield drawings[start : start + BATCH]

    async def judge(
        self, session: AsyncSession, batch: Sequence[Sequence[ReadLine]], *, lock: bool = False
    ) -> tuple[list[JudgedRow], RegisterRows]:
        judged = [JudgedRow(read.row, REFUSED, read.faults) for lines in batch for read in lines if read.stated is None]
        drawings = [list(map(self._respell_codes, lines)) for lines in batch if lines[0].stated is not None]
        numbers = [lines[0].stated.drawing_number for lines in drawings if lines[0].stated is not None]
        if not numbers:
            return judged, RegisterRows()
        if lock and self._has_workflows:
            keys = await repository.current_revisions(session, self.kind, project_id=self.project.id, numbers=numbers)
            await approval.hold(session, self.kind, *keys)
        registered = await repository.by_number(
            session, self.kind, project_id=self.project.id, numbers=numbers, lock=lock
        )
        new = set(numbers) - registered.keys()
        taken = await numbering.taken_in(session, project_id=self.project.id, register=self.kind.path, numbers=new)
        rows = RegisterRows()
        for number, lines in zip(numbers, drawings, strict=True):
            if number in taken:  # an earlier number of a drawing that has another number now
                judged += [JudgedRow(read.row, REFUSED, (_number_taken(taken[number]),)) for read in lines]
                continue
            judged += await self._judge_drawing(session, lines, registered.get(number, ()), rows, lock=lock)
        return judged, rows

    def _respell_codes(self, read: ReadLine) -> ReadLine:
        """Spell codes as the project does, else as the first line does."""
        changed = {}
        for name, spellings in self._spellings.items():
            if (code := getattr(read.stated, name)) is not None and spellings.get(code) != code:
                changed[name] = spellings.setdefault(normal_form(code), code)
        return replace(read, stated=read.stated and read.stated.model_copy(update=changed)) if changed else read

    async def _judge_drawing(
        self,
        session: AsyncSession,
        lines: Sequence[ReadLine],
        history: Sequence[DrawingRow],
        rows: RegisterRows,
        *,
        lock: bool,
    ) -> list[JudgedRow]:
        """:param history: registered revisions, newest last"""
        judged, fitting = [], []
        waiting: dict[int, Sequence[FieldProblem]] = {}  # a dry run judges the history of these lines, too
        if not history:
            lines, disagreements = _fill_placement(lines)
            if disagreements:
                return [JudgedRow(read.row, REFUSED, tuple(disagreements)) for read in lines]
        for read in lines:
            state, faults = await self._judge_line(session, read, history[-1] if history else None)
            if state == MISSING and not lock:
                waiting[read.row.number], faults = faults, ()
            if faults:
                judged.append(JudgedRow(read.row, state, tuple(at_column(fault, self._fields) for fault in faults)))
            else:
                fitting.append(read)
        by_line = {read.row.number: read for read in fitting}
        entries = judge_history(
            self._settings.scheme,
            [_registered_entry(row.revision) for row in history],
            [self._entry(read, history) for read in fitting],
            takes_more=not self.kind.whole or self._settings.addenda,
        )
        new = []
        for judgement in entries:
            read, differences = by_line[judgement.entry.line], []
            is_ready = judgement.state == READY
            if history and (is_ready or judgement.entry.label == (history[-1].revision.revision_label or "")):
                differences = registered_differences(_classification(self.kind, history[-1]), dict(read.stated or ()))
            if is_ready and read.row.number in waiting:
                faults = [at_column(fault, self._fields) for fault in waiting[read.row.number]]
                judged.append(JudgedRow(read.row, MISSING, faults))
                continue
            faults = [*judgement.faults, *(at_column(fault, self._fields) for fault in differences)]
            judged.append(JudgedRow(read.row, judgement.state, faults))
            if is_ready:
                new.append(read)
        if new:
            await self._collect(session, rows, history, new)
        return judged

    def _entry(self, read: ReadLine, history: Sequence[DrawingRow] = ()) -> RevisionEntry:
        """:param history: if registered: an empty cell means its first label"""
        stated = read.stated
        assert stated is not None  # unreadable lines are refused before
        first = history[0].revision.revision_label or "" if history else self._first_label
        more = {name: getattr(stated, name) for name in _OPTIONAL}
        return RevisionEntry(stated.revision or first, stated.title, stated.revision_date, read.row.number, more)

    async def _judge_line(
        self, session: AsyncSession, read: ReadLine, registered: DrawingRow | None
    ) -> tuple[str, Sequence[FieldProblem]]:
        stated = read.stated
        assert stated is not None
        missing = self._missing_codes(stated) if registered is None else []
        try:
            if registered is not None:  # the line does not change its classification
                await self._require_ownership(session, stated, registered)
                return READY, ()
            if self._settings.pattern is not None:
                self._settings.pattern.require(stated.drawing_number)
            await self._placement_columns(session, stated.model_copy(update=dict.fromkeys(LISTS) if missing else {}))
        except DomainError as refused:
            return REFUSED, list(refused.fields) or [
                FieldProblem("/originator", "forbidden", refused.words, refused.values)
            ]
        return (MISSING if missing else READY), missing

    def _missing_codes(self, stated: DrawingSheetLine) -> list[FieldProblem]:
        problems: list[FieldProblem] = []
        for name in LISTS:
            code = getattr(stated, name)
            if code is not None and name in self.codes and code not in self.codes[name]:
                self.missing.codes[name][code] = None
                problems += unknown(f"/{name}", code).fields
        pair = CategoryPair(stated.category or "", stated.sub_category or "")
        if self.kind.whole and all(pair) and pair not in self.pairs:
            self.missing.pairs[pair] = None
            problems += [] if problems else [FieldProblem("/sub_category", "not_paired", _NOT_PAIRED)]
        return problems

    async def _require_ownership(self, session: AsyncSession, stated: DrawingSheetLine, registered: DrawingRow) -> None:
        """:raises DrawingNumberTaken: if the drawing is hidden, not the caller's to revise, or of another party"""
        taken = DrawingNumberTaken(fields=[_number_taken(registered.named["number"])])
        if not self._reader.sees(registered.audience):
            raise taken
        key = registered.head.contract_id, registered.head.originator_id
        if key not in self._revises:
            scope = await registers.scope_of(self.ctx, session, registered.head)
            self._revises[key] = self.ctx.caller.may(REVISE, scope)
        if not self._revises[key]:
            raise taken
        contract, originator = registered.contract, registered.originator
        codes = {
            "contract": contract and contract.contract_code,
            "originator": originator and originator.organization_code,
        }
        for name, code in codes.items():
            if getattr(stated, name) not in {None, code}:
                problem = FieldProblem(f"/{name}", "differs", _OTHERS, {"value": code or "-"})
                raise DrawingNumberTaken(fields=[problem])

    async def _place(self, session: AsyncSession, stated: DrawingSheetLine) -> Place:
        contract = stated.contract or self._defaults.get("contract")
        originator = stated.originator or self._defaults.get("originator")
        return await self._places.get((contract, originator), self._find_place, session, contract, originator)

    async def _find_place(self, session: AsyncSession, contract: str | None, originator: str | None) -> Place:
        ids = {"contract": self._id("contract", contract), "originator": self._id("originator", originator)}
        return await find_place(self.ctx, session, self.kind, self.project, **ids)

    def _id(self, name: str, code: str | None) -> UUID | None:
        if code is None:
            return None
        if code not in self.ids[name]:
            raise unknown(f"/{name}", code)
        return self.ids[name][code]

    async def _placement_columns(self, session: AsyncSession, stated: DrawingSheetLine) -> dict[str, object]:
        contract, _ = await self._place(session, stated)
        names = ("category", "sub_category", "volume", "discipline")
        given = {f"{name}_code": code for name in names if (code := getattr(stated, name)) is not None}
        key = (contract and contract.code, *given.items())
        return await self._columns.get(key, classified, session, self.kind, self.project, contract, given)

    async def _collect(
        self,
        session: AsyncSession,
        rows: RegisterRows,
        history: Sequence[DrawingRow],
        new: Sequence[ReadLine],
    ) -> None:
        """Add the new revisions of one drawing; the newest line classifies it."""
        newest = new[-1].stated
        assert newest is not None
        place, before = 0, None
        drawing: UUID | int
        if not history:
            drawing = new_id()
            contract, originator = await self._place(session, newest)
            holder, label = numbering.Holder(self.kind.entity_type, drawing), self._entry(new[0]).label
            number = numbering.ExternalNumber(newest.drawing_number, holder, label, contract, originator)
            rows.numbers.append(number)
            rows.heads.append(await self._head(session, newest, number))
        else:
            head, last = history[-1].head, history[-1].revision
            drawing, place, before = head.id, last.revision_number + 1, CurrentPeriod(last.current_from)
            if last.drawing_number is not None:
                rows.printed[head.id] = head.public_id
        since = next_period(before, at=self.ctx.now).since
        if history:
            by = self._entry(new[-1]).label
            rows.ended.append(EndedRevision(head.id, last.id, last.public_id, since, by, newest.title))
        for step, read in enumerate(new):
            is_current = read is new[-1]
            rows.revisions.append((drawing, self._revision(read, place + step, since, is_current=is_current)))

    async def _head(
        self, session: AsyncSession, stated: DrawingSheetLine, number: numbering.ExternalNumber
    ) -> dict[str, object]:
        tables, ctx = tables_of(self.kind), self.ctx
        columns = dict.fromkeys(_CLASSIFYING[self.kind.whole]) | await self._placement_columns(session, stated)
        return {
            "uuid": number.holder.public_id,
            "number_uuid": number.public_id,
            **belonging(self.project, number.contract, number.originator),
            **columns,
            **({"volume_page": stated.page, "title": stated.title} if self.kind.whole else {}),
            tables.number.key: stated.drawing_number,
            "number_sort": sort_key(stated.drawing_number),
            "scale": stated.scale,
            "sheet_size": stated.sheet_size,
            "zone": stated.zone,
            "version": 1,
            "created_at": ctx.now,
            "updated_at": ctx.now,
            "updated_by": ctx.caller.user_id,
        }

    def _revision(self, read: ReadLine, place: int, since: datetime, *, is_current: bool) -> dict[str, Any]:
        stated, entry = read.stated, self._entry(read)
        assert stated is not None
        return {
            "uuid": new_id(),
            "revision_number": place,
            "revision_label": entry.label,
            "drawing_number": None,
            "is_current": True if is_current else None,
            "revision_date": stated.revision_date,
            "title": stated.title,
            "title_en": stated.title_en,
            "status_code": stated.status_code,
            "legacy_drawing_number": stated.legacy_number,
            "current_from": since,
            "current_until": None if is_current else since,
            "created_at": self.ctx.now,
            "created_by": self.ctx.caller.user_id,
        }

    async def findings(self, session: AsyncSession) -> Mapping[str, object]:  # noqa: ARG002
        return {"missing": self.missing.report()}

    async def write(self, session: AsyncSession, rows: RegisterRows) -> int:
        await numbering.register_external(
            self.ctx, session, project=self.project, register=self.kind.path, numbers=rows.numbers
        )
        tables = tables_of(self.kind)
        await repository.insert_rows(session, tables.head, rows.heads)
        new = {row["uuid"] for row in rows.heads}
        keys = await repository.keys_of(session, tables.head, new) if new else {}
        await self._reprint_numbers(session, rows)
        await repository.end_current(session, self.kind, rows.ended, user=self.ctx.caller.user_id, now=self.ctx.now)
        if rows.ended and self.kind in approval.KINDS:
            labels = {revision.public_id: revision.by for revision in rows.ended}
            await approval.supersede_many(self.ctx, session, self.kind, labels)
        of_drawing = tables.drawing.key
        written: list[dict[str, Any]] = [
            {of_drawing: keys[drawing] if isinstance(drawing, UUID) else drawing, **row}
            for drawing, row in rows.revisions
        ]
        await repository.insert_rows(session, tables.revision, written)
        heads, drawings = table_of(tables.head), {row[of_drawing] for row in written}
        await search_index.note_keys(session, self.kind.searched_as, heads, drawings)
        return len(rows.revisions)

    async def _reprint_numbers(self, session: AsyncSession, rows: RegisterRows) -> None:
        """Print numbers that contain the revision again, in order."""
        current: dict[int, str] = {}
        for drawing, row in rows.revisions:
            if isinstance(drawing, int) and drawing in rows.printed:
                holder = numbering.Holder(self.kind.entity_type, rows.printed[drawing])
                current[drawing] = row["drawing_number"] = await numbering.revise_number(
                    self.ctx, session, holder=holder, revision_label=row["revision_label"]
                )
        await repository.renumber(session, self.kind, current)


def _registered_entry(revision: DrawingRevision) -> RevisionEntry:
    more = {name: getattr(revision, column) for name, column in _OPTIONAL.items()}
    return RevisionEntry(revision.revision_label or "", revision.title, revision.revision_date, more=more)


def _classification(kind: DrawingKind, row: DrawingRow) -> dict[str, object]:
    head, tables = row.head, tables_of(kind)
    return {
        **{name: getattr(head, name) for name in ("scale", "sheet_size", "zone")},
        "discipline": row.discipline and row.discipline.discipline_code,
        **{name: row.named[name] for name in tables.lists},
        **({"page": row.named["volume_page"]} if tables.page is not None else {}),
    }


def _fill_placement(lines: Sequence[ReadLine]) -> tuple[Sequence[ReadLine], list[FieldProblem]]:
    """Copy contract and originator to lines without them; return disagreements."""
    cells = {name: [getattr(read.stated, name) for read in lines] for name in ("contract", "originator")}
    stated, faults = judge_agreement(cells)
    if not stated or len(lines) == 1:
        return lines, faults
    return [replace(read, stated=read.stated and read.stated.model_copy(update=stated)) for read in lines], faults


def _number_taken(number: str) -> FieldProblem:
    return FieldProblem("/drawing_number", "taken", DrawingNumberTaken.says, {"value": number})


_CLASSIFYING: Final = {
    True: ("map_cat_id", "volume_id", "discipline_id"),
    False: ("main_category_id", "sub_category_id", "discipline_id"),
}
_NOT_PAIRED: Final = Text(
    "หมวดและหมวดย่อยยังไม่เป็นคู่ที่โครงการกำหนดไว้", "Category and sub category are no pair of the project yet."
)
_OTHERS: Final = Text("แบบเลขที่นี้เป็นของ “{value}”", "The drawing with this number belongs to “{value}”.")
