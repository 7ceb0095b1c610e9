"""
Master data of every kind: listed, read, added, changed, put in order, closed and opened again. One service; what differs stands
in the kind.

Nothing is deleted. What is closed stays on the documents that have it and leaves the forms.
"""

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

EVERY: Final = 100_000  # rows of a list that is read whole


@dataclass(frozen=True, slots=True)
class MasterPlace:
    """
    Whose rows they are, and where rights to them count.

    :param key: of the project or contract; None for the installation's
    :param named: the owner's code, for the audit trail
    :param closed: codes of the project and the contract, as far as they are closed
    """

    key: int | None
    scope: Scope
    named: Mapping[str, str]
    closed: Mapping[Owner, str]

    def require_open(self) -> None:
        """:raises MasterPlaceClosed: naming the project or contract that takes no changes"""
        for code in self.closed.values():
            raise MasterPlaceClosed(values={"value": code})


async def place_of(ctx: RequestContext, session: AsyncSession, of: Owner, public_id: UUID | None) -> MasterPlace:
    """:raises NotFound: for a project or contract that the caller may not see"""
    if of is Owner.INSTALLATION or public_id is None:
        return MasterPlace(None, Scope(), {}, {})
    if of is Owner.PROJECT:
        project = await projects.visible_project(ctx, session, public_id, closed=True)
        closed: dict[Owner, str] = {} if project.is_active else {of: project.project_code}
        return MasterPlace(project.id, Scope(project=project.id), {"project": project.project_code}, closed)
    contract = await repository.contract_of(session, public_id)
    if contract is None:
        raise NotFound(f"There is no contract {public_id}.")
    project = await projects.visible_project(ctx, session, contract.project_public_id, closed=True)
    closed = {} if project.is_active else {Owner.PROJECT: project.project_code}
    if not contract.is_active:
        closed[of] = contract.contract_code
    scope = Scope(project=contract.project_id, contract=contract.id)
    return MasterPlace(contract.id, scope, {"contract": contract.contract_code}, closed)


async def public_id_of(session: AsyncSession, kind: MasterKind, code: str, *, pointer: str) -> UUID:
    """:raises Invalid: at `pointer`, when there is none of this code"""
    found = await repository.public_id_of(session, kind, code=fold(code))
    if found is None:
        raise unknown(pointer, code)
    return found


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
    """:raises NotFound: for a project or contract that the caller may not see"""
    place = await place_of(ctx, session, kind.owner, owner)
    found = await repository.rows(
        session,
        kind,
        owner=place.key,
        only=await seen(ctx, session, kind),
        search=fold(search) if search else None,
        include_closed=include_closed,
        after=position_after(cursor, kind),
        limit=limit + 1,
    )
    return row_page(found, kind, limit=limit)


def position_after(cursor: str | None, kind: MasterKind) -> Position | None:
    if not cursor:
        return None
    order, code, within = decode_cursor(cursor, list_mark("master", kind.name), int, str, str)
    if abs(order) >= 1 << 31:  # the column holds no such number
        raise malformed_cursor()
    return order, code, within


def row_page(rows: Sequence[MasterRow], kind: MasterKind, *, limit: int) -> Page[MasterRow]:
    """Return a page of `limit` rows, given one row more where there is another page."""
    more = len(rows) > limit
    mark = list_mark("master", kind.name)
    return Page(list(rows[:limit]), encode_cursor(mark, *rows[limit - 1].position) if more else None)


async def seen(ctx: RequestContext, session: AsyncSession, kind: MasterKind) -> frozenset[int] | None:
    """Return the keys of the rows that the caller may know of; None for all of them."""
    return await projects.visible_keys(ctx, session) if kind is PROJECT else None


async def read(ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress) -> MasterRow:
    """
    :raises NotFound: when there is none that the caller may know of
    :raises Invalid: when several rows have the code, and what tells them apart is left out
    """
    return (await _addressed(ctx, session, kind, address))[0]


async def _addressed(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress, *, lock: bool = False
) -> tuple[MasterRow, MasterPlace]:
    if address.public_id is not None:
        return await _entity(ctx, session, kind, address.public_id, lock=lock)
    place = await place_of(ctx, session, kind.owner, address.owner)
    code = fold(address.code)
    found = await repository.coded(session, kind, owner=place.key, code=code, lock=lock)
    if address.within is not None:
        found = [row for row in found if row.within == address.within]
    if not found:
        raise NotFound(f"There is no {kind.singular.en} {code}.")
    if len(found) > 1:
        th, en = "รหัสนี้มีในหลายประเภทเอกสาร ต้องระบุ", "Several document types have this code: name one."
        raise invalid(f"query:{kind.within}", "required", th, en)
    return found[0], place


async def _entity(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, public_id: UUID, *, lock: bool
) -> tuple[MasterRow, MasterPlace]:
    """An organization, a project or a contract: rights to it count in itself."""
    place = None if kind is ORGANIZATION else await place_of(ctx, session, Owner(kind.name), public_id)
    row = await repository.by_public_id(session, kind, public_id, lock=lock)
    sees_closed = any(map(ctx.caller.may_anywhere, ("organization.view", ORGANIZATION.close)))
    if row is None or (kind is ORGANIZATION and not (row.is_active or sees_closed)):
        raise NotFound(f"There is no {kind.singular.en} {public_id}.")
    above = {of: code for of, code in place.closed.items() if of != kind.name} if place else {}
    return row, MasterPlace(row.owner, place.scope if place else Scope(frozenset({row.key})), {}, above)


async def create(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, *, owner: UUID | None = None, new: MasterRowNew
) -> MasterRow:
    """
    Add a row at the end of its list.

    :raises Forbidden: without the kind's permission where the row would stand
    :raises MasterPlaceClosed: in a project or contract that is closed, as everything else that changes its rows
    :raises MasterCodeTaken: also when a closed row has the code
    :raises Invalid: for a reference that leads nowhere, and days that end before they begin
    """
    place = await place_of(ctx, session, kind.owner, owner)
    ctx.caller.require(kind.create, place.scope)
    place.require_open()
    values = with_defaults(kind, new.model_dump(mode="json", by_alias=True))
    master_rows.require_sensible(kind, values)
    code = str(values[kind.code.name])
    alike = await repository.alike(session, kind, [code], owner=place.key, project=place.scope.project)
    master_rows.require_own_code(kind, values, alike, owner=place.key)
    columns = as_columns(kind, values, await reference_keys(session, kind, place.key))
    if kind.ordered:
        columns["sort_order"] = await repository.last_place(session, kind, owner=place.key) + PLACE
    await write_new(ctx, session, kind, place, [(values, columns)])
    within = str(values[kind.within]) if kind.within else None
    rows = await repository.coded(session, kind, owner=place.key, code=code)
    row = next(one for one in rows if within in {None, one.within})
    await record(ctx, session, f"{kind.name}.create", row, place, {"after": dict(row.values)})
    return row


def with_defaults(kind: MasterKind, values: Mapping[str, Json]) -> dict[str, Json]:
    """Return every value of a row: an empty text is none, and what has a default is never without."""
    return {field.name: master_rows.held(field, values.get(field.name)) for field in kind.fields}


async def reference_keys(session: AsyncSession, kind: MasterKind, owner: int | None) -> dict[str, Mapping[str, int]]:
    """Return what the fields of a kind can refer to: its keys by code, by the name of the field."""
    found = {one.name: await repository.keys(session, one.reference) for one in kind.fields if one.reference}
    paired = {
        one.name: await repository.codes_of(session, one.pairs, project=owner) for one in kind.fields if one.pairs
    }
    return found | paired


def as_columns(kind: MasterKind, values: Values, keys: Mapping[str, Mapping[str, int]]) -> dict[str, object]:
    """:raises Invalid: for a reference that leads nowhere"""
    columns: dict[str, object] = {}
    for name, value in values.items():
        field = kind.field(name)
        if field.pairs is not None:  # they stand in a table of their own
            for code in master_rows.codes_in(str(value or "")):
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
    """:raises MasterCodeTaken: naming the first row's field; of several rows the caller has looked before"""
    if kind is PROJECT:
        raise NotFound("A project is made with its number formats, by `new_project`.")
    own: dict[str, object] = dict.fromkeys(repository.stamps(kind, "created_at", "updated_at"), ctx.now)
    own |= {kind.owner_column: place.key} if kind.owner_column else {}
    added = [
        {**columns, **own, "is_active": True, **({"uuid": new_id()} if kind.has_public_id else {})}
        for _, columns in rows
    ]
    try:
        await repository.insert(session, kind, added)
    except IntegrityError as fault:
        raise _taken(kind, rows[0][0], fault) from fault
    await save_pairs(session, kind, place.key, {str(values[kind.code.name]): values for values, _ in rows})


async def save_pairs(session: AsyncSession, kind: MasterKind, owner: int | None, rows: Mapping[str, Values]) -> None:
    """
    Pair rows with those that their values name.

    :param rows: values by code, as `as_columns` has checked them
    :raises Invalid: when a drawing stands under a pair that goes
    """
    for field in kind.fields:
        stated = {code: values[field.name] for code, values in rows.items() if field.name in values}
        if field.pairs is None or not stated:
            continue
        keys = await repository.codes_of(session, field.pairs, project=owner)
        for row in await repository.rows(session, kind, owner=owner):
            others = [keys[code] for code in master_rows.codes_in(str(stated.get(row.code) or ""))]
            if row.code not in stated or row.values[field.name] == stated[row.code]:
                continue
            try:
                await repository.save_pairs(session, field.pairs, row.key, others, project=owner)
            except IntegrityError as fault:
                said = ("มีแบบอยู่ในหมวดที่นำออก", "Drawings stand under a category that would go.")
                raise invalid(f"/{field.name}", "in_use", *said) from fault


def _taken(kind: MasterKind, values: Values, fault: IntegrityError) -> MasterCodeTaken:
    """The field is the code, unless the database names the other unique one."""
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
    """
    Change what is stated of a row; what numbers print only once that is confirmed.

    :raises MasterRowChanged: when `if_match` names another version
    :raises PrintedCodeChanges: naming the series that begin anew
    :raises CodeOfTheProduct: for the code of a row that the product knows by it
    :raises MasterCodeTaken: when another row has the code
    """
    row, place = await _to_change(ctx, session, kind, address, kind.change, if_match)
    given = {name: master_rows.held(kind.field(name), value) for name, value in wanted.values.items()}
    changed = master_rows.changes(row, given)
    if not changed:
        return row
    master_rows.require_sensible(kind, {**row.values, **changed})
    renamed = changed.get(kind.code.name)
    if renamed and row.code in kind.known:
        raise CodeOfTheProduct(values={"value": row.code})
    if renamed:
        alike = await repository.alike(session, kind, [str(renamed)], owner=place.key, project=place.scope.project)
        master_rows.require_own_code(kind, {**row.values, **changed}, alike, owner=row.owner, key=row.key)
    if not wanted.confirm_series:
        await require_no_series(session, kind, [(row, changed)])
    columns = as_columns(kind, changed, await reference_keys(session, kind, place.key))
    await _save(ctx, session, row, columns, {**row.values, **changed})
    await queue_renamed(session, kind, [(row, changed)])
    await save_pairs(session, kind, row.owner, {str(renamed or row.code): changed})
    if renamed and kind.owner is Owner.CONTRACT and not await repository.other_contract_has(session, kind, row):
        await repository.rename_in_settings(session, row, new=str(renamed))
    after = replace(row, values={**row.values, **changed})
    told = {"before": {name: row.values.get(name) for name in changed}, "after": changed}
    await record(ctx, session, f"{kind.name}.change", after, place, told)
    return after


async def _to_change(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    permission: str,
    if_match: str | None,
) -> tuple[MasterRow, MasterPlace]:
    """The row, held until the end of the transaction: of two who saw the same version, the second is told."""
    row, place = await _addressed(ctx, session, kind, address, lock=True)
    ctx.caller.require(permission, place.scope)
    place.require_open()
    require_match(if_match, row.etag, MasterRowChanged)
    return row, place


async def require_no_series(
    session: AsyncSession, kind: MasterKind, changes: Sequence[tuple[MasterRow, Values]]
) -> None:
    """
    :param changes: rows, each with the values that change
    :raises PrintedCodeChanges: when numbers print what changes
    """
    for field in kind.printed:
        texts = {
            row.key: str(row.values[field.name])
            for row, values in changes
            if field.name in values and row.values.get(field.name)
        }
        found = await numbering.series_printing(session, columns=kind.counter, texts=texts) if texts else []
        if found:
            raise PrintedCodeChanges.of(field.name, [EndingSeries(*one) for one in found])


async def queue_renamed(session: AsyncSession, kind: MasterKind, changes: Sequence[tuple[MasterRow, Values]]) -> None:
    """
    Have documents be found by the other codes and names of their organizations.

    :param changes: rows, each with the values that change
    """
    if kind is not ORGANIZATION:
        return
    names = {"organizationCode", "organizationName", "organizationNameEn"}
    found = [row.public_id for row, values in changes if row.public_id and not names.isdisjoint(values)]
    await search_index.queue_renamed(session, organizations=found)


async def _save(
    ctx: RequestContext, session: AsyncSession, row: MasterRow, columns: Mapping[str, object], values: Values
) -> None:
    stamped = dict.fromkeys(repository.stamps(row.kind, "updated_at"), ctx.now)
    try:
        await repository.update(session, row.kind, [(row.key, {**columns, **stamped})])
    except IntegrityError as fault:
        raise _taken(row.kind, values, fault) from fault


async def reorder(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, *, owner: UUID | None = None, codes: Sequence[str]
) -> list[MasterRow]:
    """
    Put the rows that are named first, in that order; the others follow as they stand.

    :raises Invalid: for a code that is not there
    """
    place = await place_of(ctx, session, kind.owner, owner)
    ctx.caller.require(kind.change, place.scope)
    place.require_open()
    rows = await repository.rows(session, kind, owner=place.key)
    places = master_rows.new_order(rows, [fold(code) for code in codes])
    moved = [row for row in rows if row.sort_order != places[row.key]]
    await repository.update(session, kind, [(row.key, {"sort_order": places[row.key]}) for row in moved])
    after = sorted((replace(row, sort_order=places[row.key]) for row in rows), key=lambda row: row.position)
    if [row.key for row in rows] != [row.key for row in after]:
        told = {"before": [row.code for row in rows], "after": [row.code for row in after]}
        entry = audit.AuditEntry(f"{kind.name}.reorder", kind.name, str(owner or kind.path), {**place.named, **told})
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
    """
    Take a row out of the forms, or offer it there again. A second time it changes nothing.

    :raises CodeOfTheProduct: for what the product itself writes: it is never closed
    :raises MasterRowChanged: when `if_match` names another version
    """
    row, place = await _to_change(ctx, session, kind, address, kind.close, if_match)
    if row.is_active == active:
        return row
    if not active and row.code in kind.written:
        raise CodeOfTheProduct(values={"value": row.code})
    undeleted = dict.fromkeys(repository.stamps(kind, "deleted_at")) if active else {}
    await _save(ctx, session, row, {"is_active": active, **undeleted}, row.values)
    after = replace(row, is_active=active)
    told = {"before": {"isActive": row.is_active}, "after": {"isActive": active}}
    await record(ctx, session, f"{kind.name}.{'reopen' if active else 'close'}", after, place, told)
    return after


async def record(
    ctx: RequestContext,
    session: AsyncSession,
    action: str,
    row: MasterRow,
    place: MasterPlace,
    details: Mapping[str, object],
) -> None:
    """Write into the audit trail what was done to a row: by its public id, or by its code and whose it is."""
    named = {"code": row.code, **({"within": row.within} if row.within else {}), **place.named}
    thing = str(row.public_id) if row.public_id else row.code
    await audit.record(ctx, session, audit.AuditEntry(action, row.kind.name, thing, {**named, **details}))


async def open_counts(
    ctx: RequestContext, session: AsyncSession, kinds: Collection[MasterKind], *, project_public_id: UUID | None = None
) -> dict[tuple[str, int], int]:
    """
    Return how many open rows lists have, by the name of the kind and the key of the owner; 0 for the installation.

    :raises NotFound: for a project that the caller may not see
    """
    place = await place_of(ctx, session, Owner.PROJECT, project_public_id)
    return await repository.open_counts(session, kinds, project=place.key)
