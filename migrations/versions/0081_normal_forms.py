"""
Keys of codes, user names and numbers: their normal forms, unique as they are, and what sorts numbers as people count.

Of rows that look alike the first has the key. The later twins keep NULL, and `saraban number verify` lists them.
Columns and indexes come first, then the rows in batches: each statement may run again. The keys are those of the release that
runs this, as in its new rows: a release that changes `normal_form` or `sort_key` has a migration that writes them again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code

from saraban.kit.text import key_text, sort_key

revision = "0081"
down_revision = "0080"

BATCH = 1000
# Table, its key, the columns within which a code is unique, and the code.
KEYED = (
    ("organizations", "id", (), "organization_code"),
    ("users", "user_id", (), "username"),
    ("projects", "id", (), "project_code"),
    ("contracts", "id", (), "contract_code"),
    ("disciplines", "id", ("contract_id",), "discipline_code"),
    ("correspondence_types", "id", (), "type_code"),
    ("correspondence_sub_types", "id", ("contract_id", "correspondence_type_id"), "sub_type_code"),
    ("correspondence_status", "id", (), "status_code"),
    ("rfa_types", "id", ("contract_id",), "type_code"),
    ("rfa_status_codes", "id", (), "status_code"),
    ("rfa_approve_codes", "id", (), "approve_code"),
    ("circulation_status_codes", "id", (), "code"),
    ("tags", "id", ("project_id",), "tag_code"),
    ("contract_drawing_volumes", "id", ("project_id",), "volume_code"),
    ("contract_drawing_cats", "id", ("project_id",), "cat_code"),
    ("contract_drawing_sub_cats", "id", ("project_id",), "sub_cat_code"),
    ("shop_drawing_main_categories", "id", ("project_id",), "main_category_code"),
    ("shop_drawing_sub_categories", "id", ("project_id",), "sub_category_code"),
    ("review_teams", "id", ("project_id",), "team_code"),
    ("document_number_reservations", "id", ("project_id", "register"), "base_number"),
    ("document_number_renderings", "id", ("project_id", "register"), "document_number"),
)
# Of these the key comes between the others.
NUMBERS = {
    "document_number_reservations": ("idx_docnum_ledger_key", ["project_id", "base_number_key", "register"]),
    "document_number_renderings": ("idx_docnum_rendering_key", ["project_id", "document_number_key", "register"]),
}
LEDGER = "document_number_reservations"
DRAWINGS = {"contract_drawings": "condwg_no", "shop_drawings": "drawing_number", "asbuilt_drawings": "drawing_number"}
SORTED = {"correspondence_revisions": "correspondence_number", "circulations": "circulation_no", **DRAWINGS}
# Heads, the rows of `document_reach` about them, and what these rows show.
REGISTERS = (
    ("correspondences", (1, 2, 3), "correspondence_revisions", "revision_id"),
    ("circulations", (4,), "circulations", "document_id"),
)
REACH, REACH_INDEX = "document_reach", "ix_reach_number"
_REACH_KEY = ("project_id", "reader_kind", "reader_id", "kind")


def upgrade() -> None:
    for table, _, within, column in KEYED:
        _add(table, sa.Column(f"{column}_key", code(255)))
        name, columns = NUMBERS.get(table, (f"uq_{table}_key", [*within, f"{column}_key"]))
        if name not in _indexes(table):
            op.create_index(name, table, columns, unique=True)
    _add(LEDGER, sa.Column("document_number_key", code(255)))
    for table in (*SORTED, REACH):
        _add(table, sa.Column("number_sort", code(255), nullable=False, server_default=""))
    for table, key, within, column in KEYED:
        _fill_keys(table, key, within, column)
    _fill(LEDGER, "id", "document_number", "document_number_key", key_text)
    for table, column in SORTED.items():
        _fill(table, "id", column, "number_sort", sort_key)
    for register in REGISTERS:
        _fill_reach(*register)
    _order_by("number_sort")


def downgrade() -> None:
    _order_by(None)
    for table in (REACH, *SORTED):
        _drop(table, "number_sort")
    _drop(LEDGER, "document_number_key")
    for table, _, within, column in KEYED:
        name, _ = NUMBERS.get(table, (f"uq_{table}_key", [*within]))
        if name in _indexes(table):
            op.drop_index(name, table)
        _drop(table, f"{column}_key")


def _order_by(sort: str | None) -> None:
    """Let the indexes of registers have the sort key, or what is printed."""
    _replace(REACH, REACH_INDEX, [*_REACH_KEY, sort or "document_number", "created_at", "document_id"])
    for table, number in DRAWINGS.items():
        order = [*([sort] if sort else []), number, "created_at"]
        audience = ["project_id", "audience_kind", "audience_id"]
        _replace(table, f"ix_{table}_number", ["project_id", *order])
        _replace(table, f"ix_{table}_discipline", ["project_id", "discipline_id", *order])
        _replace(table, f"ix_{table}_audience", [*audience, *order])
        _replace(table, f"ix_{table}_audience_discipline", [*audience, "discipline_id", *order])


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}


def _indexes(table: str) -> dict[str | None, list[str | None]]:
    return {index["name"]: index["column_names"] for index in sa.inspect(op.get_bind()).get_indexes(table)}


def _add(table: str, column: sa.Column[Any]) -> None:
    if column.name not in _columns(table):
        op.add_column(table, column)


def _drop(table: str, column: str) -> None:
    if column in _columns(table):
        op.drop_column(table, column)


def _replace(table: str, name: str, columns: list[str]) -> None:
    there = _indexes(table)
    if there.get(name) == columns:
        return
    if name in there:
        op.drop_index(name, table)
    op.create_index(name, table, columns)


def _pages(table: sa.TableClause, key: str, *more: str, empty: sa.ColumnElement[bool]) -> Iterator[Sequence[sa.Row[Any]]]:
    """Return the rows that have no value yet, in the order of their keys, a page at a time."""
    last = 0
    while True:
        statement = sa.select(table.c[key], *(table.c[name] for name in more)).where(table.c[key] > last, empty)
        rows = op.get_bind().execute(statement.order_by(table.c[key]).limit(BATCH)).all()
        if not rows:
            return
        yield rows
        last = rows[-1][0]


def _write(table: sa.TableClause, key: str, column: str, values: dict[int, str]) -> None:
    if values:
        value = sa.case(values, value=table.c[key])
        op.get_bind().execute(sa.update(table).where(table.c[key].in_(values)).values({column: value}))


def _fill(name: str, key: str, source: str, target: str, form: Callable[[str], str]) -> None:
    table = sa.table(name, *map(sa.column, (key, source, target)))
    empty = sa.func.coalesce(table.c[target], "") == ""
    for rows in _pages(table, key, source, empty=empty):
        _write(table, key, target, {row[0]: form(row[1]) for row in rows})


def _fill_keys(name: str, key: str, within: Sequence[str], column: str) -> None:
    target = f"{column}_key"
    table = sa.table(name, *map(sa.column, (key, *within, column, target)))
    for rows in _pages(table, key, column, *within, empty=table.c[target].is_(None)):
        forms = [(row[0], (*row[2:], key_text(row[1]))) for row in rows]
        there = sa.select(*(table.c[one] for one in (*within, target)))
        there = there.where(table.c[target].in_({form[-1] for _, form in forms}))
        for position, one in enumerate(within):
            there = there.where(table.c[one].in_({form[position] for _, form in forms}))
        taken = {tuple(row) for row in op.get_bind().execute(there)}
        first: dict[tuple[Any, ...], int] = {}
        for row_key, form in forms:
            if form not in taken:
                first.setdefault(form, row_key)
        _write(table, key, target, {row_key: str(form[-1]) for form, row_key in first.items()})


def _fill_reach(name: str, registers: Sequence[int], numbered: str, key: str) -> None:
    heads, shown = sa.table(name, sa.column("id")), sa.table(numbered, *map(sa.column, ("id", "number_sort")))
    reach = sa.table(REACH, *map(sa.column, ("document_id", "revision_id", "kind", "number_sort")))
    sort = sa.select(shown.c.number_sort).where(shown.c.id == reach.c[key]).scalar_subquery()
    for rows in _pages(heads, "id", empty=sa.true()):
        of_page = reach.c.document_id.between(rows[0][0], rows[-1][0])
        statement = sa.update(reach).where(of_page, reach.c.kind.in_(registers), reach.c.number_sort == "")
        op.get_bind().execute(statement.values(number_sort=sa.func.coalesce(sort, "")))
