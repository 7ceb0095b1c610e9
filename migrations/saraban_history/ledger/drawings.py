"""Numbers of drawings in the ledger: each in its register, as a number from outside that no format printed."""

import sqlalchemy as sa
from alembic import op

from saraban.kit.ids import new_id
from saraban_history.columns import MOMENT
from saraban_history.ledger.facts import rows, write

REGISTERS = {
    "contract": ("contract_drawings", "condwg_no"),
    "shop": ("shop_drawings", "drawing_number"),
    "asbuilt": ("asbuilt_drawings", "drawing_number"),
}
REASON = "Registered before drawings had numbers of the ledger."
_LEDGER, _RENDERINGS = "document_number_reservations", "document_number_renderings"


def take_over() -> None:
    for register, (table, number) in REGISTERS.items():
        columns = {"id": sa.Integer, "uuid": sa.Uuid, "project_id": sa.Integer, "created_at": MOMENT}
        heads = list(rows(table, **columns, **{number: sa.String}))
        if heads:
            _take_over(register, table, heads)


def _take_over(register: str, table: str, heads: list[sa.Row[tuple[object, ...]]]) -> None:
    drawn_by = {
        row[0]: row[1]
        for row in op.get_bind().execute(
            sa.text(f"SELECT {register}_drawing_id, MIN(created_by) FROM {register}_drawing_revisions GROUP BY 1")
        )
    }
    kind, user = _drawing_type(), op.get_bind().scalar(sa.text("SELECT MIN(user_id) FROM users"))
    head = sa.table(table, sa.column("id"), sa.column("number_uuid", sa.Uuid()))
    bind = sa.update(head).where(head.c.id == sa.bindparam("row")).values(number_uuid=sa.bindparam("number"))
    entries, bound = [], []
    for key, holder, project, at, number in heads:
        public_id = new_id()
        entries.append(
            {
                "uuid": public_id,
                "token": new_id(),
                "project_id": project,
                "register": register,
                "correspondence_type_id": kind,
                "originator_organization_id": 0,
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
                "user_id": drawn_by.get(key) or user,
                "reason": REASON,
                "confirmed_at": at,
                "created_at": at,
            }
        )
        bound.append({"row": key, "number": public_id})
    write(_LEDGER, entries)
    op.get_bind().execute(bind, bound)
    op.execute(
        f"INSERT INTO {_RENDERINGS} (project_id, register, reservation_id, document_number, revision_label, kind, created_at)"
        f" SELECT project_id, register, id, document_number, revision_label, 'ISSUE', created_at FROM {_LEDGER}"
        f" WHERE register = '{register}' ORDER BY id"
    )


def _drawing_type() -> int:
    """The ledger wants a type for every number; an installation of before may lack that of drawings."""
    connection = op.get_bind()
    ask = sa.text("SELECT id FROM correspondence_types WHERE type_code = 'DRAWING'")
    if connection.scalar(ask) is None:
        op.execute(
            "INSERT INTO correspondence_types (type_code, type_name, type_name_en, sort_order) VALUES ('DRAWING', 'แบบ', 'Drawing', 10)"
        )
    return int(connection.scalar(ask))
