"""Imports and exports master data as spreadsheets."""

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
    kind: MasterKind
    owner: int | None
    current: Mapping[tuple[str, str], MasterRow]
    similar: Sequence[MasterRow]
    keys: Mapping[str, Mapping[str, int]]
    faults: RowFaults
    added: list[tuple[Values, Mapping[str, object]]] = field(default_factory=list)
    changed: list[tuple[MasterRow, dict[str, Json]]] = field(default_factory=list)
    rows: list[ImportedRow] = field(default_factory=list)

    def add_row(self, row: SheetRow) -> None:
        with self.faults.at(row.number):
            self._plan_row(row.number, master_workbook.checked(row, new_row(self.kind)))

    def _plan_row(self, line: int, values: Mapping[str, Json]) -> None:
        kind = self.kind
        code = str(values[kind.code.name])
        within = str(values.get(kind.within) or kind.field(kind.within).default) if kind.within else ""
        row = self.current.get((code, within))
        if row is None:
            complete = master_data.complete_values(kind, values)
            master_rows.require_date_order(kind, complete)
            master_rows.require_own_code(kind, complete, self.similar, owner=self.owner)
            self.added.append((complete, master_data.column_values(kind, complete, self.keys)))
            self.rows.append(ImportedRow(line, code, "add"))
            return
        given = {name: master_rows.stored_value(kind.field(name), value) for name, value in values.items()}
        changed = master_rows.changes(row, given)
        master_rows.require_date_order(kind, {**row.values, **changed})
        master_data.column_values(kind, changed, self.keys)
        if changed or not row.is_active:
            self.changed.append((row, changed))
        self.rows.append(ImportedRow(line, code, "change" if changed or not row.is_active else "same"))

    def require_unique(self, lines: Mapping[str, int]) -> None:
        """Check the values as they are after the import."""
        name = self.kind.unique
        if name is None:
            return
        final = {row.code: row.values[name] for row in self.current.values()}
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
    """:raises NotFound, Forbidden, MasterPlaceClosed:"""
    place = await master_data.find_place(ctx, session, kind.owner, owner)
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
    Add and change the rows of a sheet, all or nothing, and reopen its closed rows.

    :raises Invalid: with every fault, at `/row/field`
    :raises PrintedCodeChanges: unless `confirm_series`
    """
    place = await require_import(ctx, session, kind, owner)
    left_out, rows = ImportedRow.of_left_out(rows), [row for row in rows if not row.is_left_out]
    current = {(row.code, row.within): row for row in await repository.rows(session, kind, owner=place.key)}
    codes = [row.cells[kind.code.name] for row in rows]
    similar = await repository.similar_rows(session, kind, codes, owner=place.key, project=place.scope.project)
    keys = await master_data.reference_keys(session, kind, place.key)
    faults = master_workbook.check_repeated(kind, rows, {code for code, _ in current})
    plan = _Plan(kind, place.key, current, similar, keys, faults)
    for row in rows:
        plan.add_row(row)
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
        (values, {**columns, **({"sort_order": last + PLACE * index} if kind.ordered else {})})
        for index, (values, columns) in enumerate(plan.added, 1)
    ]
    if added:
        await master_data.write_new(ctx, session, kind, place, added)
    # All rows get the same columns, as `update` requires.
    open_ = {"is_active": True} | dict.fromkeys(repository.timestamp_columns(kind, "deleted_at"))
    open_ |= dict.fromkeys(repository.timestamp_columns(kind, "updated_at"), ctx.now)
    changed = [
        (row.key, {**master_data.column_values(kind, {**row.values, **values}, plan.keys), **open_})
        for row, values in plan.changed
    ]
    await repository.update(session, kind, changed)
    await master_data.queue_renamed(session, kind, plan.changed)
    await master_data.save_pairs(session, kind, place.key, {row.code: values for row, values in plan.changed})
    if added or changed:
        details = {
            **place.named,
            "added": [dict(values) for values, _ in added],
            "changed": [_change_details(row, values) for row, values in plan.changed],
        }
        entry = audit.AuditEntry(f"{kind.name}.import", kind.name, kind.path[:50], details)
        await audit.record(ctx, session, entry)


def _change_details(row: MasterRow, changed: Mapping[str, Json]) -> dict[str, Json]:
    closed = {} if row.is_active else {"isActive": row.is_active}
    before = {**{name: row.values.get(name) for name in changed}, **closed}
    return {"code": row.code, "before": before, "after": {**changed, **dict.fromkeys(closed, True)}}


def read_sheet(kind: MasterKind, path: Path, sheet: str | None = None) -> list[SheetRow]:
    """
    Read a sheet; it blocks, so call it in a thread.

    :raises Invalid: at `/file`
    """
    return list(read_table(path, master_workbook.sheet_columns(kind), most_rows=MOST, sheet=sheet))


def write_workbook(kind: MasterKind, rows: Sequence[MasterRow], path: Path) -> None:
    """Write a sheet, or a template without rows; it blocks, so call it in a thread."""
    columns = master_workbook.sheet_columns(kind)
    if not rows:
        write_template(path, columns, kind.plural.en)
        return
    write_table(path, columns, ([row.values[column.key] for column in columns] for row in rows), kind.plural.en)
