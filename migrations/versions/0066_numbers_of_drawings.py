"""
A number is unique in its register: documents together, and each register of drawings for itself; drawings stand in the ledger.

A drawing that is there already is taken over as a number from outside, which no format printed. Going back takes the numbers of
drawings out again: with the old keys two registers could not have the same.
"""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID, uuid4

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code, on_sqlite

revision = "0066"
down_revision = "0065"

LEDGER, RENDERINGS = "document_number_reservations", "document_number_renderings"
INDEXES = {LEDGER: ("idx_docnum_ledger_base", "base_number"), RENDERINGS: ("idx_docnum_rendering_number", "document_number")}
REGISTERS = {
    "contract": ("contract_drawings", "condwg_no", "contract_drawing_revisions", "contract_drawing_id"),
    "shop": ("shop_drawings", "drawing_number", "shop_drawing_revisions", "shop_drawing_id"),
    "asbuilt": ("asbuilt_drawings", "drawing_number", "asbuilt_drawing_revisions", "asbuilt_drawing_id"),
}
BATCH = 1000
REASON = "Registered before drawings had numbers of the ledger."


def upgrade() -> None:
    for table, (index, column) in INDEXES.items():
        op.add_column(table, sa.Column("register", code(10), nullable=False, server_default="document"))
        _replace_index(table, index, ("project_id", column, "register"))
    for register, (heads, number, revisions, of) in REGISTERS.items():
        op.add_column(heads, sa.Column("number_uuid", sa.Uuid(), nullable=True))
        op.add_column(revisions, sa.Column("drawing_number", code(255), nullable=True))
        _take_over(register, heads, number, f"SELECT MIN(r.created_by) FROM {revisions} r WHERE r.{of} = h.id")


def downgrade() -> None:
    for heads, _, revisions, _ in REGISTERS.values():
        op.drop_column(revisions, "drawing_number")
        op.drop_column(heads, "number_uuid")
    op.execute(f"DELETE FROM {RENDERINGS} WHERE register <> 'document'")
    op.execute(f"DELETE FROM {LEDGER} WHERE register <> 'document'")
    for table, (index, column) in INDEXES.items():
        _replace_index(table, index, ("project_id", column))
        op.drop_column(table, "register")


def _replace_index(table: str, name: str, columns: tuple[str, ...]) -> None:
    """In one statement on MariaDB, which never lets the foreign key of the project be without an index."""
    if on_sqlite():
        op.drop_index(name, table)
        op.create_index(name, table, list(columns), unique=True)
    else:
        op.execute(f"ALTER TABLE {table} DROP INDEX {name}, ADD UNIQUE INDEX {name} ({', '.join(columns)})")


def _take_over(register: str, heads: str, number: str, drawn_by: str) -> None:
    connection = op.get_bind()
    typed = {"number_of": sa.String(), "holder": sa.Uuid(), "at": sa.DateTime()}
    found = connection.execute(
        sa.text(
            f"SELECT h.id, h.uuid AS holder, h.project_id, h.originator_id, h.{number} AS number_of, h.created_at AS at,"
            f" COALESCE(({drawn_by}), 0) FROM {heads} h ORDER BY h.id"
        ).columns(**typed)
    ).all()
    if not found:
        return
    kind, user = _drawing_type(), connection.scalar(sa.text("SELECT MIN(user_id) FROM users"))
    head = sa.table(heads, sa.column("id"), sa.column("number_uuid", sa.Uuid()))
    named = sa.update(head).where(head.c.id == sa.bindparam("of")).values(number_uuid=sa.bindparam("number"))
    for start in range(0, len(found), BATCH):
        rows = found[start : start + BATCH]
        numbers = {row[0]: uuid4() for row in rows}
        entries = [_entry(register, row, numbers[row[0]], kind, user) for row in rows]
        connection.execute(sa.insert(_ledger()), entries)
        connection.execute(named, [{"of": key, "number": public_id} for key, public_id in numbers.items()])
    op.execute(
        f"INSERT INTO {RENDERINGS} (project_id, register, reservation_id, document_number, revision_label, kind, created_at)"
        f" SELECT project_id, register, id, document_number, revision_label, 'ISSUE', created_at FROM {LEDGER}"
        f" WHERE register = '{register}'"
    )


def _entry(register: str, row: sa.Row[tuple[object, ...]], public_id: UUID, kind: int, user: int) -> dict[str, object]:
    _, holder, project, originator, number, at, by = row
    assert isinstance(at, datetime)
    return {
        "uuid": public_id,
        "token": uuid4(),
        "project_id": project,
        "register": register,
        "correspondence_type_id": kind,
        "originator_organization_id": originator or 0,
        "recipient_organization_id": -1,
        "series": f"{register}:",
        "range": 0,
        "sequence_number": 0,
        "base_number": number,
        "document_number": number,
        "revision_label": "",
        "document_number_status": "CONFIRMED",
        "source": "MIGRATED",
        "holder_kind": f"{register}_drawing",
        "holder_public_id": holder,
        "format_template": "",
        "format_values": {},
        "issue_year": at.year,
        "user_id": by or user,
        "reason": REASON,
        "confirmed_at": at,
        "created_at": at,
    }


def _ledger() -> sa.TableClause:
    uuids, moments = {"uuid", "token", "holder_public_id"}, {"confirmed_at", "created_at"}

    def typed() -> Iterator[sa.ColumnClause[object]]:
        for name in _entry("", (0, None, 0, 0, "", datetime.min, 0), uuid4(), 0, 0):  # type: ignore[arg-type]
            kind = sa.Uuid() if name in uuids else sa.DateTime() if name in moments else sa.JSON() if name == "format_values" else None
            yield sa.column(name, kind)

    return sa.table(LEDGER, *typed())


def _drawing_type() -> int:
    """The ledger wants a type for every number; an installation of before may lack that of drawings."""
    connection = op.get_bind()
    ask = sa.text("SELECT id FROM correspondence_types WHERE type_code = 'DRAWING'")
    if connection.scalar(ask) is None:
        op.execute(
            "INSERT INTO correspondence_types (type_code, type_name, type_name_en, sort_order) VALUES ('DRAWING', 'แบบ', 'Drawing', 10)"
        )
    return int(connection.scalar(ask))
