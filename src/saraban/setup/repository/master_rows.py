"""
Rows of master data of any kind; each function is one statement.

No row is deleted. Rows that an older version marked as deleted count as closed.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any, Final, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.kit.db import AnyRow, AnySelect, Base
from saraban.kit.json import Json
from saraban.kit.keys import is_spelled, spelled
from saraban.kit.text import Spellings
from saraban.numbering.series.models import NumberFormat
from saraban.projects.models import (
    Contract,
    CorrespondenceSubType,
    Project,
    ReviewTeam,
    ReviewTeamMember,
)
from saraban.setup.domain.master_kinds import MasterField, MasterKind, Owner, Pairs, Reference
from saraban.setup.domain.master_rows import MasterRow, Position, sorted_codes
from saraban.workflow.runtime.models import WorkflowAssignment


def _table(name: str) -> sa.Table:
    return Base.metadata.tables[name]


_SUBQUERY_ROWS: Final = 1_000_000  # a subquery with a limit is not merged into the outer query


def _columns(kind: MasterKind) -> list[sa.ColumnElement[Any]]:
    table = _table(kind.table)
    null: sa.ColumnElement[Any] = sa.null()
    return [
        table.c.id.label("key"),
        (table.c[kind.owner_column] if kind.owner_column else null).label("owner"),
        _is_open(table).label("open"),
        (table.c.sort_order if kind.ordered else sa.literal(0)).label("place"),
        (table.c.uuid if kind.has_public_id else null).label("public_id"),
        *(_field_column(table, field).label(field.name) for field in kind.fields),
    ]


def _is_open(table: sa.Table) -> sa.ColumnElement[bool]:
    open_ = table.c.is_active == sa.true()
    return sa.and_(open_, table.c.deleted_at.is_(None)) if "deleted_at" in table.c else open_


def _field_column(table: sa.Table, field: MasterField) -> sa.ColumnElement[Any]:
    if field.pairs is not None:
        pairs, other = _table(field.pairs.table), _table(field.pairs.list)
        codes = sa.select(sa.func.aggregate_strings(other.c[field.pairs.code], ", "))
        codes = codes.join(pairs, pairs.c[field.pairs.other] == other.c.id)
        return codes.where(pairs.c[field.pairs.own] == table.c.id).scalar_subquery()
    column = table.c[field.column]
    if field.reference is None:
        return column
    referred_table = _table(field.reference.table)
    return sa.select(referred_table.c[field.reference.code]).where(referred_table.c.id == column).scalar_subquery()


def _to_row(kind: MasterKind, row: sa.RowMapping) -> MasterRow:
    values: dict[str, Json] = {field.name: _to_value(field, row[field.name]) for field in kind.fields}
    return MasterRow(kind, row["key"], row["owner"], values, bool(row["open"]), row["place"] or 0, row["public_id"])


def _to_value(field: MasterField, value: Any) -> Json:
    if field.reference is not None and field.reference.absent is not None and value not in field.choices:
        return field.reference.absent
    if field.pairs is not None:
        return sorted_codes(value or "")
    return value.isoformat() if isinstance(value, date) else value


def _select_rows(kind: MasterKind, owner: int | None) -> AnySelect:
    statement = sa.select(*_columns(kind))
    return statement.where(_table(kind.table).c[kind.owner_column] == owner) if kind.owner_column else statement


async def rows(
    session: AsyncSession,
    kind: MasterKind,
    *,
    owner: int | None,
    only: Collection[int] | sa.Select[tuple[int]] | None = None,
    search: str | None = None,
    include_closed: bool = True,
    after: Position | None = None,
    limit: int | None = None,
) -> list[MasterRow]:
    table = _table(kind.table)
    statement = _select_rows(kind, owner)
    if only is not None:
        # MariaDB would otherwise begin with the subquery and use a temporary table.
        statement = statement.where(table.c.id.in_(only)).prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    if not include_closed:
        statement = statement.where(_is_open(table))
    order: list[Any] = [table.c.sort_order] if kind.ordered else []
    order.append(table.c[kind.code.column])
    if kind.within:
        order.append(_field_column(table, kind.field(kind.within)))
    if search:
        texts = [field for field in kind.fields[:3] if field.reference is None]
        matches = (table.c[field.column].contains(search, autoescape=True) for field in texts)
        statement = statement.where(sa.or_(*matches))
        # Sort outside: MariaDB would otherwise follow the index of the order and fetch each candidate row.
        matched = statement.limit(_SUBQUERY_ROWS).subquery()
        statement = sa.select(matched)
        order = [matched.c[name] for name in ("place", kind.code.name, kind.within) if name]
    if after is not None:
        place = [value for value, used in zip(after, (kind.ordered or search, True, kind.within), strict=True) if used]
        statement = statement.where(_is_after(order, place))
    statement = statement.order_by(*order)
    result = await session.execute(statement if limit is None else statement.limit(limit))
    return [_to_row(kind, row) for row in result.mappings()]


def _is_after(columns: Sequence[Any], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Compare column by column, so that both databases use the index."""
    first, value = columns[0], values[0]
    if len(columns) == 1:
        return cast("sa.ColumnElement[bool]", first > value)
    return sa.or_(first > value, sa.and_(first == value, _is_after(columns[1:], values[1:])))


async def rows_by_code(
    session: AsyncSession, kind: MasterKind, *, owner: int | None, code: str, lock: bool = False
) -> list[MasterRow]:
    statement = _select_rows(kind, owner).where(is_spelled(_table(kind.table).c[kind.code.column], [code]))
    rows = await _fetch_rows(session, kind, statement, lock=lock)
    return [row for row in rows if row.code == code] or rows


async def by_public_id(
    session: AsyncSession, kind: MasterKind, public_id: UUID, *, lock: bool = False
) -> MasterRow | None:
    statement = sa.select(*_columns(kind)).where(_table(kind.table).c.uuid == public_id)
    return next(iter(await _fetch_rows(session, kind, statement, lock=lock)), None)


async def similar_rows(
    session: AsyncSession, kind: MasterKind, codes: Collection[str], *, owner: int | None, project: int | None
) -> list[MasterRow]:
    """Search the list itself, all contracts of the project, or the whole installation."""
    table = _table(kind.table)
    column = table.c[kind.code.column]
    statement = sa.select(*_columns(kind)).where(is_spelled(column, codes))
    if kind.owner is Owner.CONTRACT:
        contracts = sa.select(Contract.id).where(Contract.project_id == project)
        statement = statement.where(table.c.contract_id.in_(contracts))
    elif kind.owner is Owner.PROJECT and not kind.has_public_id:
        statement = statement.where(table.c.project_id == owner)
    return await _fetch_rows(session, kind, statement.order_by(column), lock=False)


async def _fetch_rows(session: AsyncSession, kind: MasterKind, statement: AnySelect, *, lock: bool) -> list[MasterRow]:
    # The lock covers only the row: referenced codes are read by subqueries.
    statement = statement.with_for_update() if lock else statement
    return [_to_row(kind, row) for row in (await session.execute(statement)).mappings()]


async def keys(session: AsyncSession, reference: Reference) -> Mapping[str, int]:
    referred_table = _table(reference.table)
    rows = await session.execute(sa.select(referred_table.c[reference.code], referred_table.c.id))
    return Spellings(dict(rows.all()))


async def pair_keys(session: AsyncSession, pairs: Pairs, *, project: int | None) -> Mapping[str, int]:
    other = _table(pairs.list)
    rows = await session.execute(sa.select(other.c[pairs.code], other.c.id).where(other.c.project_id == project))
    return Spellings(dict(rows.all()))


async def save_pairs(
    session: AsyncSession, pairs: Pairs, key: int, others: Collection[int], *, project: int | None
) -> None:
    """:raises IntegrityError: when a drawing uses a removed pair"""
    table = _table(pairs.table)
    of_row = table.c[pairs.own] == key
    current = set((await session.scalars(sa.select(table.c[pairs.other]).where(of_row))).all())
    await session.execute(sa.delete(table).where(of_row, table.c[pairs.other].not_in(others)))
    new = [{"project_id": project, pairs.own: key, pairs.other: other} for other in others if other not in current]
    if new:
        await session.execute(sa.insert(table), new)


async def last_place(session: AsyncSession, kind: MasterKind, *, owner: int | None) -> int:
    table = _table(kind.table)
    statement = sa.select(sa.func.max(table.c.sort_order))
    if kind.owner_column:
        statement = statement.where(table.c[kind.owner_column] == owner)
    return await session.scalar(statement) or 0


async def insert(session: AsyncSession, kind: MasterKind, new: Sequence[Mapping[str, object]]) -> None:
    """:raises IntegrityError: for a code that exists"""
    if new:
        await session.execute(sa.insert(_table(kind.table)), list(new))


async def update(session: AsyncSession, kind: MasterKind, changed: Sequence[tuple[int, Mapping[str, object]]]) -> None:
    """
    :param changed: keys with their changed columns, which must be the same for all
    :raises IntegrityError: for a code that exists
    """
    if not changed:
        return
    table, code = _table(kind.table), kind.code.column
    changed = [(key, {**values, f"{code}_key": values[code]} if code in values else values) for key, values in changed]
    names = list(changed[0][1])
    statement = (
        sa.update(table)
        .where(table.c.id == sa.bindparam("row_key"))
        .values({n: sa.bindparam(f"new_{n}") for n in names})
    )
    rows = [{"row_key": key, **{f"new_{name}": values[name] for name in names}} for key, values in changed]
    connection = await session.connection()
    await connection.execute(statement, rows)


def timestamp_columns(kind: MasterKind, *names: str) -> list[str]:
    return [name for name in names if name in _table(kind.table).c]


async def find_contract(session: AsyncSession, public_id: UUID) -> AnyRow | None:
    statement = (
        sa.select(
            Contract.id,
            Contract.project_id,
            Contract.contract_code,
            Contract.is_active,
            Project.public_id.label("project_public_id"),
        )
        .join(Project, Project.id == Contract.project_id)
        .where(Contract.public_id == public_id)
    )
    return (await session.execute(statement)).one_or_none()


async def is_code_in_other_contract(session: AsyncSession, kind: MasterKind, row: MasterRow) -> bool:
    table = _table(kind.table)
    project = sa.select(Contract.project_id).where(Contract.id == row.owner).scalar_subquery()
    statement = sa.select(table.c.id).join(Contract, Contract.id == table.c.contract_id)
    statement = statement.where(
        Contract.project_id == project, table.c[kind.code.column] == row.code, table.c.contract_id != row.owner
    )
    return await session.scalar(statement.limit(1)) is not None


async def rename_in_settings(session: AsyncSession, row: MasterRow, *, new: str) -> None:
    """Rename the code in number formats, team seats and workflow assignments."""
    project = sa.select(Contract.project_id).where(Contract.id == row.owner).scalar_subquery()
    teams = sa.select(ReviewTeam.id).where(ReviewTeam.project_id == project)
    of_type = sa.select(CorrespondenceSubType.correspondence_type_id).where(CorrespondenceSubType.id == row.key)
    formats, choices = NumberFormat.project_id == project, WorkflowAssignment.project_id == project
    columns: dict[str, list[tuple[InstrumentedAttribute[Any], Sequence[sa.ColumnElement[bool]]]]] = {
        "discipline": [
            (NumberFormat.discipline_code, [formats]),
            (ReviewTeamMember.discipline_code, [ReviewTeamMember.team_id.in_(teams)]),
        ],
        "rfa_type": [
            (NumberFormat.rfa_type_code, [formats]),
            (WorkflowAssignment.type_code, [choices, WorkflowAssignment.kind == "rfa"]),
        ],
        "sub_type": [
            (
                NumberFormat.sub_type_code,
                [formats, NumberFormat.correspondence_type_id == of_type.scalar_subquery()],
            )
        ],
    }
    for column, where in columns[row.kind.name]:
        statement = sa.update(column.class_).where(column == row.code, *where).values({column.key: new})
        await session.execute(statement, execution_options={"synchronize_session": False})


async def open_counts(
    session: AsyncSession, kinds: Collection[MasterKind], *, project: int | None
) -> dict[tuple[str, int], int]:
    """
    Count by kind name and owner key, which is 0 for the installation.

    Organizations of a project are counted as `member`, those of a contract as `party`.
    """
    of_project = sa.select(Contract.id).where(Contract.project_id == project).scalar_subquery()
    statements = []
    for name, table, column in [
        *((kind.name, _table(kind.table), kind.owner_column) for kind in kinds),
        ("member", _table("project_organizations"), "project_id"),
        ("party", _table("contract_organizations"), "contract_id"),
    ]:
        owner: sa.ColumnElement[int] = table.c[column] if column else sa.literal(0)
        statement = sa.select(sa.literal(name), owner.label("owner"), sa.func.count())
        if column:
            statement = statement.where(owner.in_(of_project) if column == "contract_id" else owner == project)
        if "is_active" in table.c:
            statement = statement.where(_is_open(table))
        statements.append(statement.group_by(sa.text("owner")))
    result = await session.execute(sa.union_all(*statements))
    return {(name, owner): count for name, owner, count in result}


def participant_keys(of: Owner, owner: int | None) -> sa.Select[tuple[int]]:
    link = _table(f"{of}_organizations")
    return sa.select(link.c.organization_id).where(link.c[f"{of}_id"] == owner)


async def participant_roles(
    session: AsyncSession, of: Owner, owner: int | None, organizations: Collection[int]
) -> dict[int, str | None]:
    link = _table(f"{of}_organizations")
    statement = sa.select(link.c.organization_id, link.c[f"role_in_{of}"]).where(
        link.c[f"{of}_id"] == owner, link.c.organization_id.in_(organizations)
    )
    return dict((await session.execute(statement)).all())


async def public_id_of(session: AsyncSession, kind: MasterKind, *, code: str) -> UUID | None:
    table = _table(kind.table)
    return await session.scalar(spelled(sa.select(table.c.uuid), table.c[kind.code.column], code))
