"""
Rows of master data out of a spreadsheet and into one. An import adds what is new and changes what differs, all of it or nothing;
what the sheet leaves out stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import FieldProblem
from saraban.kit.json import Json
from saraban.kit.sheet_columns import RowFaults, SheetRow
from saraban.kit.spreadsheets import read_table
from saraban.kit.workbooks import write_table, write_template
from saraban.setup.domain import master_rows, master_workbook
from saraban.setup.domain.master_kinds import MasterKind
from saraban.setup.domain.master_rows import MOST, PLACE, ImportedRow, MasterCodeTaken, MasterImport, MasterRow, Values
from saraban.setup.repository import master_rows as repository
from saraban.setup.schemas.master_data import new_row
from saraban.setup.service import master_data
from saraban.setup.service.master_data import MasterPlace


@dataclass
class _Plan:
    """What a sheet comes to, held against the rows that are there."""

    kind: MasterKind
    owner: int | None
    there: Mapping[tuple[str, str], MasterRow]
    alike: Sequence[MasterRow]
    keys: Mapping[str, Mapping[str, int]]
    faults: RowFaults
    added: list[tuple[Values, Mapping[str, object]]] = field(default_factory=list)
    changed: list[tuple[MasterRow, dict[str, Json]]] = field(default_factory=list)
    rows: list[ImportedRow] = field(default_factory=list)

    def take(self, row: SheetRow) -> None:
        with self.faults.at(row.number):
            self._decide(row.number, master_workbook.checked(row, new_row(self.kind)))

    def _decide(self, line: int, values: Mapping[str, Json]) -> None:
        kind = self.kind
        code = str(values[kind.code.name])
        within = str(values.get(kind.within) or kind.field(kind.within).default) if kind.within else ""
        known = self.there.get((code, within))
        if known is None:
            whole = master_data.with_defaults(kind, values)
            master_rows.require_sensible(kind, whole)
            master_rows.require_own_code(kind, whole, self.alike, owner=self.owner)
            self.added.append((whole, master_data.as_columns(kind, whole, self.keys)))
            self.rows.append(ImportedRow(line, code, "add"))
            return
        given = {name: master_rows.held(kind.field(name), value) for name, value in values.items()}
        changed = master_rows.changes(known, given)
        master_rows.require_sensible(kind, {**known.values, **changed})
        master_data.as_columns(kind, changed, self.keys)
        if changed or not known.is_active:
            self.changed.append((known, changed))
        self.rows.append(ImportedRow(line, code, "change" if changed or not known.is_active else "same"))

    def require_unique(self, lines: Mapping[str, int]) -> None:
        """A further field that is unique must be so when all is done."""
        name = self.kind.unique
        if name is None:
            return
        final = {row.code: row.values[name] for row in self.there.values()}
        final |= {row.code: changed.get(name, row.values[name]) for row, changed in self.changed}
        final |= {str(values[self.kind.code.name]): values[name] for values, _ in self.added}
        first: dict[Json, str] = {}
        for code, value in final.items():
            if first.setdefault(value, code) != code:
                line = lines.get(code) or lines.get(first[value], 0)
                self.faults.add(line, FieldProblem(f"/{name}", "taken", MasterCodeTaken.says, {"value": value}))


async def require_import(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID | None
) -> MasterPlace:
    """
    :raises NotFound: for a place that the caller may not know of
    :raises Forbidden: for who may not add or not change such rows there
    :raises MasterPlaceClosed: in a project or contract that is closed
    """
    place = await master_data.place_of(ctx, session, kind.owner, owner)
    for permission in dict.fromkeys((kind.create, kind.change)):
        ctx.caller.require(permission, place.scope)
    place.require_open()
    return place


async def import_rows(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    *,
    owner: UUID | None = None,
    rows: Sequence[SheetRow],
    dry_run: bool = False,
    confirm_series: bool = False,
) -> MasterImport:
    """
    Add and change what a sheet says. A row that was closed is open again once a sheet has it.

    :param dry_run: say what it would do, and do nothing
    :raises Invalid: with every fault, at `/row/field`; nothing is written then
    :raises PrintedCodeChanges: naming the series that begin anew, unless that is confirmed
    """
    place = await require_import(ctx, session, kind, owner)
    left_out, rows = ImportedRow.of_left_out(rows), [row for row in rows if not row.is_left_out]
    there = {(row.code, row.within): row for row in await repository.rows(session, kind, owner=place.key)}
    codes = [row.cells[kind.code.name] for row in rows]
    alike = await repository.alike(session, kind, codes, owner=place.key, project=place.scope.project)
    keys = await master_data.reference_keys(session, kind, place.key)
    faults = master_workbook.check_repeated(kind, rows, {code for code, _ in there})
    plan = _Plan(kind, place.key, there, alike, keys, faults)
    for row in rows:
        plan.take(row)
    plan.require_unique({row.cells[kind.code.name]: row.number for row in rows})
    plan.faults.require_none(master_workbook.MOST_FAULTS)
    if not confirm_series:
        await master_data.require_no_series(session, kind, plan.changed)
    if not dry_run:
        await _apply(ctx, session, place, plan)
    return MasterImport([*left_out, *plan.rows], applied=not dry_run)


async def _apply(ctx: RequestContext, session: AsyncSession, place: MasterPlace, plan: _Plan) -> None:
    kind = plan.kind
    last = await repository.last_place(session, kind, owner=place.key) if kind.ordered else 0
    added = [
        (values, {**columns, **({"sort_order": last + PLACE * at} if kind.ordered else {})})
        for at, (values, columns) in enumerate(plan.added, 1)
    ]
    if added:
        await master_data.write_new(ctx, session, kind, place, added)
    # Every column of each, so that one statement serves all of them.
    open_ = {"is_active": True} | dict.fromkeys(repository.stamps(kind, "deleted_at"))
    open_ |= dict.fromkeys(repository.stamps(kind, "updated_at"), ctx.now)
    changed = [
        (row.key, {**master_data.as_columns(kind, {**row.values, **values}, plan.keys), **open_})
        for row, values in plan.changed
    ]
    await repository.update(session, kind, changed)
    await master_data.queue_renamed(session, kind, plan.changed)
    await master_data.save_pairs(session, kind, place.key, {row.code: values for row, values in plan.changed})
    if added or changed:
        details = {
            **place.named,
            "added": [dict(values) for values, _ in added],
            "changed": [_told(row, values) for row, values in plan.changed],
        }
        entry = audit.AuditEntry(f"{kind.name}.import", kind.name, kind.path[:50], details)
        await audit.record(ctx, session, entry)


def _told(row: MasterRow, changed: Mapping[str, Json]) -> dict[str, Json]:
    opened = {} if row.is_active else {"isActive": row.is_active}
    before = {**{name: row.values.get(name) for name in changed}, **opened}
    return {"code": row.code, "before": before, "after": {**changed, **dict.fromkeys(opened, True)}}


def read_sheet(kind: MasterKind, path: Path, sheet: str | None = None) -> list[SheetRow]:
    """
    Read a sheet of a kind; it takes its time, so call it in a thread.

    :param sheet: the only one to look at
    :raises Invalid: at `/file`, for what is no spreadsheet or has more than 5,000 rows
    """
    return list(read_table(path, master_workbook.sheet_columns(kind), most_rows=MOST, sheet=sheet))


def write_workbook(kind: MasterKind, rows: Sequence[MasterRow], path: Path) -> None:
    """Write a sheet that can be imported, or a template if there is no row. Call it in a thread."""
    columns = master_workbook.sheet_columns(kind)
    if not rows:
        write_template(path, columns, kind.plural.en)
        return
    write_table(path, columns, ([row.values[column.key] for column in columns] for row in rows), kind.plural.en)
