"""Master data of every kind. No row is deleted: closed rows stay on documents."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.errors import NotFound, invalid, unknown
from saraban.kit.etags import require_match
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.kit.pagination import Page, decode_cursor, encode_cursor, list_mark, malformed_cursor
from saraban.kit.text import fold
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.search_index import service as search_index
from saraban.setup.domain import master_rows
from saraban.setup.domain.master_kinds import ORGANIZATION, PROJECT, FieldForm, MasterKind, Owner
from saraban.setup.domain.master_rows import (
    PLACE,
    CodeOfTheProduct,
    EndingSeries,
    MasterAddress,
    MasterCodeTaken,
    MasterPlaceClosed,
    MasterRow,
    MasterRowChanged,
    Position,
    PrintedCodeChanges,
    Values,
)
from saraban.setup.repository import master_rows as repository
from saraban.setup.schemas.master_data import MasterRowChange, MasterRowNew

EVERY: Final = 100_000  # limit for reading a complete list


@dataclass(frozen=True, slots=True)
class MasterPlace:
    """
    :param key: of the project or contract; None for the installation
    :param named: the owner's code, for the audit trail
    """

    key: int | None
    scope: Scope
    named: Mapping[str, str]
    closed: Mapping[Owner, str]

    def require_open(self) -> None:
        """:raises MasterPlaceClosed:"""
        for code in self.closed.values():
            raise MasterPlaceClosed(values={"value": code})


async def find_place(ctx: RequestContext, session: AsyncSession, of: Owner, public_id: UUID | None) -> MasterPlace:
    """:raises NotFound:"""
    if of is Owner.INSTALLATION or public_id is None:
        return MasterPlace(None, Scope(), {}, {})
    if of is Owner.PROJECT:
        project = await projects.visible_project(ctx, session, public_id, closed=True)
        closed: dict[Owner, str] = {} if project.is_active else {of: project.project_code}
        return MasterPlace(project.id, Scope(project=project.id), {"project": project.project_code}, closed)
    contract = await repository.find_contract(session, public_id)
    if contract is None:
        raise NotFound(f"There is no contract {public_id}.")
    project = await projects.visible_project(ctx, session, contract.project_public_id, closed=True)
    closed = {} if project.is_active else {Owner.PROJECT: project.project_code}
    if not contract.is_active:
        closed[of] = contract.contract_code
    scope = Scope(project=contract.project_id, contract=contract.id)
    return MasterPlace(contract.id, scope, {"contract": contract.contract_code}, closed)


async def public_id_of(session: AsyncSession, kind: MasterKind, code: str, *, pointer: str) -> UUID:
    """:raises Invalid: at `pointer`"""
    public_id = await repository.public_id_of(session, kind, code=fold(code))
    if public_id is None:
        raise unknown(pointer, code)
    return public_id


async def list_rows(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    *,
    owner: UUID | None = None,
    search: str | None = None,
    include_closed: bool = False,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[MasterRow]:
    """:raises NotFound:"""
    place = await find_place(ctx, session, kind.owner, owner)
    rows = await repository.rows(
        session,
        kind,
        owner=place.key,
        only=await visible_row_keys(ctx, session, kind),
        search=fold(search) if search else None,
        include_closed=include_closed,
        after=position_after(cursor, kind),
        limit=limit + 1,
    )
    return row_page(rows, kind, limit=limit)


def position_after(cursor: str | None, kind: MasterKind) -> Position | None:
    if not cursor:
        return None
    order, code, within = decode_cursor(cursor, list_mark("master", kind.name), int, str, str)
    if abs(order) >= 1 << 31:  # outside the range of the column
        raise malformed_cursor()
    return order, code, within


def row_page(rows: Sequence[MasterRow], kind: MasterKind, *, limit: int) -> Page[MasterRow]:
    """Return a page of `limit` rows; one row more means that there is a next page."""
    has_more = len(rows) > limit
    mark = list_mark("master", kind.name)
    return Page(list(rows[:limit]), encode_cursor(mark, *rows[limit - 1].position) if has_more else None)


async def visible_row_keys(ctx: RequestContext, session: AsyncSession, kind: MasterKind) -> frozenset[int] | None:
    """Return None for all rows."""
    return await projects.visible_keys(ctx, session) if kind is PROJECT else None


async def read(ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress) -> MasterRow:
    """:raises NotFound, Invalid: Invalid if several rows have the code and `within` is missing"""
    return (await _find_row(ctx, session, kind, address))[0]


async def _find_row(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress, *, lock: bool = False
) -> tuple[MasterRow, MasterPlace]:
    if address.public_id is not None:
        return await _find_entity(ctx, session, kind, address.public_id, lock=lock)
    place = await find_place(ctx, session, kind.owner, address.owner)
    code = fold(address.code)
    rows = await repository.rows_by_code(session, kind, owner=place.key, code=code, lock=lock)
    if address.within is not None:
        rows = [row for row in rows if row.within == address.within]
    if not rows:
        raise NotFound(f"There is no {kind.singular.en} {code}.")
    if len(rows) > 1:
        th, en = "รหัสนี้มีในหลายประเภทเอกสาร ต้องระบุ", "Several document types have this code: name one."
        raise invalid(f"query:{kind.within}", "required", th, en)
    return rows[0], place


async def _find_entity(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, public_id: UUID, *, lock: bool
) -> tuple[MasterRow, MasterPlace]:
    place = None if kind is ORGANIZATION else await find_place(ctx, session, Owner(kind.name), public_id)
    row = await repository.by_public_id(session, kind, public_id, lock=lock)
    can_see_closed = any(map(ctx.caller.may_anywhere, ("organization.view", ORGANIZATION.close)))
    if row is None or (kind is ORGANIZATION and not (row.is_active or can_see_closed)):
        raise NotFound(f"There is no {kind.singular.en} {public_id}.")
    closed_owners = {owner: code for owner, code in place.closed.items() if owner != kind.name} if place else {}
    return row, MasterPlace(row.owner, place.scope if place else Scope(frozenset({row.key})), {}, closed_owners)


async def create(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, *, owner: UUID | None = None, new: MasterRowNew
) -> MasterRow:
    """:raises Forbidden, MasterPlaceClosed, MasterCodeTaken, Invalid:"""
    place = await find_place(ctx, session, kind.owner, owner)
    ctx.caller.require(kind.create, place.scope)
    place.require_open()
    values = complete_values(kind, new.model_dump(mode="json", by_alias=True))
    master_rows.require_date_order(kind, values)
    code = str(values[kind.code.name])
    similar = await repository.similar_rows(session, kind, [code], owner=place.key, project=place.scope.project)
    master_rows.require_own_code(kind, values, similar, owner=place.key)
    columns = column_values(kind, values, await reference_keys(session, kind, place.key))
    if kind.ordered:
        columns["sort_order"] = await repository.last_place(session, kind, owner=place.key) + PLACE
    await write_new(ctx, session, kind, place, [(values, columns)])
    within = str(values[kind.within]) if kind.within else None
    rows = await repository.rows_by_code(session, kind, owner=place.key, code=code)
    row = next(candidate for candidate in rows if within in {None, candidate.within})
    await record(ctx, session, f"{kind.name}.create", row, place, {"after": dict(row.values)})
    return row


def complete_values(kind: MasterKind, values: Mapping[str, Json]) -> dict[str, Json]:
    return {field.name: master_rows.stored_value(field, values.get(field.name)) for field in kind.fields}


async def reference_keys(session: AsyncSession, kind: MasterKind, owner: int | None) -> dict[str, Mapping[str, int]]:
    """Return the keys by code that each reference or pair field can refer to."""
    keys = {field.name: await repository.keys(session, field.reference) for field in kind.fields if field.reference}
    paired = {
        field.name: await repository.pair_keys(session, field.pairs, project=owner)
        for field in kind.fields
        if field.pairs
    }
    return keys | paired


def column_values(kind: MasterKind, values: Values, keys: Mapping[str, Mapping[str, int]]) -> dict[str, object]:
    """:raises Invalid: for an unknown reference"""
    columns: dict[str, object] = {}
    for name, value in values.items():
        field = kind.field(name)
        if field.pairs is not None:  # saved by `save_pairs`
            for code in master_rows.split_codes(str(value or "")):
                if code not in keys[name]:
                    raise unknown(f"/{name}", code)
        elif field.reference is not None:
            if value not in keys[name] and field.reference.absent is None:
                raise unknown(f"/{name}", str(value))
            columns[field.column] = keys[name].get(str(value))
        elif field.form is FieldForm.DAY:
            columns[field.column] = date.fromisoformat(str(value)) if value else None
        else:
            columns[field.column] = value or None
    return columns


async def write_new(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    place: MasterPlace,
    rows: Sequence[tuple[Values, Mapping[str, object]]],
) -> None:
    """:raises MasterCodeTaken: naming the first row, so check several rows before"""
    if kind is PROJECT:
        raise NotFound("A project is made with its number formats, by `new_project`.")
    shared_columns: dict[str, object] = dict.fromkeys(
        repository.timestamp_columns(kind, "created_at", "updated_at"), ctx.now
    )
    shared_columns |= {kind.owner_column: place.key} if kind.owner_column else {}
    added = [
        {**columns, **shared_columns, "is_active": True, **({"uuid": new_id()} if kind.has_public_id else {})}
        for _, columns in rows
    ]
    try:
        await repository.insert(session, kind, added)
    except IntegrityError as fault:
        raise _code_taken(kind, rows[0][0], fault) from fault
    await save_pairs(session, kind, place.key, {str(values[kind.code.name]): values for values, _ in rows})


async def save_pairs(session: AsyncSession, kind: MasterKind, owner: int | None, rows: Mapping[str, Values]) -> None:
    """
    :param rows: values by code, checked by `column_values`
    :raises Invalid: when a drawing uses a pair that is removed
    """
    for field in kind.fields:
        new_values = {code: values[field.name] for code, values in rows.items() if field.name in values}
        if field.pairs is None or not new_values:
            continue
        keys = await repository.pair_keys(session, field.pairs, project=owner)
        for row in await repository.rows(session, kind, owner=owner):
            others = [keys[code] for code in master_rows.split_codes(str(new_values.get(row.code) or ""))]
            if row.code not in new_values or row.values[field.name] == new_values[row.code]:
                continue
            try:
                await repository.save_pairs(session, field.pairs, row.key, others, project=owner)
            except IntegrityError as fault:
                message = ("มีแบบอยู่ในหมวดที่นำออก", "Drawings stand under a category that would go.")
                raise invalid(f"/{field.name}", "in_use", *message) from fault


def _code_taken(kind: MasterKind, values: Values, fault: IntegrityError) -> MasterCodeTaken:
    name = kind.unique
    column = kind.field(name).column if name else None
    if name and column and (f".{column}" in str(fault.orig) or "uq_tag_project'" in str(fault.orig)):
        return MasterCodeTaken.at(name, values[name])
    return MasterCodeTaken.at(kind.code.name, values.get(kind.code.name))


async def change(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    *,
    wanted: MasterRowChange,
    if_match: str | None = None,
) -> MasterRow:
    """:raises MasterRowChanged, PrintedCodeChanges, CodeOfTheProduct, MasterCodeTaken:"""
    row, place = await _lock_row(ctx, session, kind, address, kind.change, if_match)
    new_values = {name: master_rows.stored_value(kind.field(name), value) for name, value in wanted.values.items()}
    changed = master_rows.changes(row, new_values)
    if not changed:
        return row
    master_rows.require_date_order(kind, {**row.values, **changed})
    new_code = changed.get(kind.code.name)
    if new_code and row.code in kind.known:
        raise CodeOfTheProduct(values={"value": row.code})
    if new_code:
        similar = await repository.similar_rows(
            session, kind, [str(new_code)], owner=place.key, project=place.scope.project
        )
        master_rows.require_own_code(kind, {**row.values, **changed}, similar, owner=row.owner, key=row.key)
    if not wanted.confirm_series:
        await require_no_series(session, kind, [(row, changed)])
    columns = column_values(kind, changed, await reference_keys(session, kind, place.key))
    await _save(ctx, session, row, columns, {**row.values, **changed})
    await queue_renamed(session, kind, [(row, changed)])
    await save_pairs(session, kind, row.owner, {str(new_code or row.code): changed})
    if new_code and kind.owner is Owner.CONTRACT and not await repository.is_code_in_other_contract(session, kind, row):
        await repository.rename_in_settings(session, row, new=str(new_code))
    after = replace(row, values={**row.values, **changed})
    details = {"before": {name: row.values.get(name) for name in changed}, "after": changed}
    await record(ctx, session, f"{kind.name}.change", after, place, details)
    return after


async def _lock_row(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    permission: str,
    if_match: str | None,
) -> tuple[MasterRow, MasterPlace]:
    """Lock the row, so that `if_match` stays true until the transaction ends."""
    row, place = await _find_row(ctx, session, kind, address, lock=True)
    ctx.caller.require(permission, place.scope)
    place.require_open()
    require_match(if_match, row.etag, MasterRowChanged)
    return row, place


async def require_no_series(
    session: AsyncSession, kind: MasterKind, changes: Sequence[tuple[MasterRow, Values]]
) -> None:
    """:raises PrintedCodeChanges: when numbers print a changed value"""
    for field in kind.printed:
        texts = {
            row.key: str(row.values[field.name])
            for row, values in changes
            if field.name in values and row.values.get(field.name)
        }
        series = await numbering.series_printing(session, columns=kind.counter, texts=texts) if texts else []
        if series:
            raise PrintedCodeChanges.of(field.name, [EndingSeries(*row) for row in series])


async def queue_renamed(session: AsyncSession, kind: MasterKind, changes: Sequence[tuple[MasterRow, Values]]) -> None:
    """Queue the documents of renamed organizations for indexing."""
    if kind is not ORGANIZATION:
        return
    names = {"organizationCode", "organizationName", "organizationNameEn"}
    organizations = [row.public_id for row, values in changes if row.public_id and not names.isdisjoint(values)]
    await search_index.queue_renamed(session, organizations=organizations)


async def _save(
    ctx: RequestContext, session: AsyncSession, row: MasterRow, columns: Mapping[str, object], values: Values
) -> None:
    timestamps = dict.fromkeys(repository.timestamp_columns(row.kind, "updated_at"), ctx.now)
    try:
        await repository.update(session, row.kind, [(row.key, {**columns, **timestamps})])
    except IntegrityError as fault:
        raise _code_taken(row.kind, values, fault) from fault


async def reorder(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, *, owner: UUID | None = None, codes: Sequence[str]
) -> list[MasterRow]:
    """
    Put the named rows first; the others keep their order.

    :raises Invalid: for an unknown or repeated code
    """
    place = await find_place(ctx, session, kind.owner, owner)
    ctx.caller.require(kind.change, place.scope)
    place.require_open()
    rows = await repository.rows(session, kind, owner=place.key)
    places = master_rows.new_order(rows, [fold(code) for code in codes])
    moved = [row for row in rows if row.sort_order != places[row.key]]
    await repository.update(session, kind, [(row.key, {"sort_order": places[row.key]}) for row in moved])
    after = sorted((replace(row, sort_order=places[row.key]) for row in rows), key=lambda row: row.position)
    if [row.key for row in rows] != [row.key for row in after]:
        details = {"before": [row.code for row in rows], "after": [row.code for row in after]}
        entry = audit.AuditEntry(f"{kind.name}.reorder", kind.name, str(owner or kind.path), {**place.named, **details})
        await audit.record(ctx, session, entry)
    return after


async def set_active(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    *,
    active: bool,
    if_match: str | None = None,
) -> MasterRow:
    """:raises CodeOfTheProduct, MasterRowChanged:"""
    row, place = await _lock_row(ctx, session, kind, address, kind.close, if_match)
    if row.is_active == active:
        return row
    if not active and row.code in kind.written:
        raise CodeOfTheProduct(values={"value": row.code})
    cleared = dict.fromkeys(repository.timestamp_columns(kind, "deleted_at")) if active else {}
    await _save(ctx, session, row, {"is_active": active, **cleared}, row.values)
    after = replace(row, is_active=active)
    details = {"before": {"isActive": row.is_active}, "after": {"isActive": active}}
    await record(ctx, session, f"{kind.name}.{'reopen' if active else 'close'}", after, place, details)
    return after


async def record(
    ctx: RequestContext,
    session: AsyncSession,
    action: str,
    row: MasterRow,
    place: MasterPlace,
    details: Mapping[str, object],
) -> None:
    identity = {"code": row.code, **({"within": row.within} if row.within else {}), **place.named}
    target = str(row.public_id) if row.public_id else row.code
    await audit.record(ctx, session, audit.AuditEntry(action, row.kind.name, target, {**identity, **details}))


async def open_counts(
    ctx: RequestContext, session: AsyncSession, kinds: Collection[MasterKind], *, project_public_id: UUID | None = None
) -> dict[tuple[str, int], int]:
    """
    Return counts by kind name and owner key, which is 0 for the installation.

    :raises NotFound:
    """
    place = await find_place(ctx, session, Owner.PROJECT, project_public_id)
    return await repository.open_counts(session, kinds, project=place.key)
