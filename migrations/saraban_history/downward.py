"""
The rows of a database at 0072 in the tables of 0004, as far as those can hold them.

It fails where they cannot: two codes that differ by case alone, a number or a category code that two rows have, a drawing
without a category. The rows are then in the tables `before_…`: correct them there, and migrate again.
"""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import on_sqlite
from saraban_history.ledger import backward
from saraban_history.ledger.facts import rows
from saraban_history.move import aside, columns, copy
from saraban_history.shipped_names import NAMED
from saraban_history.upward import BY_HAND, OWNER

VALUES = {
    # The older schema allows one sheet for a document; the sheets of other organizations stay, without their document.
    "circulations": {
        "correspondence_id": f"CASE WHEN b.id = (SELECT MIN(c.id) FROM {aside('circulations')} AS c "
        "WHERE c.correspondence_id = b.correspondence_id) THEN b.correspondence_id END"
    },
    **{table: {name: f"COALESCE(b.{english}, b.{name})"} for table, (_, name, english) in NAMED.items()},
}
ONLY = {
    "rfa_items": "WHERE b.item_type <> 'DOCUMENT'",
    "transmittal_items": f"WHERE b.transmittal_revision_id = {OWNER.format(revisions=aside('correspondence_revisions'))}",
    # A role that would have ended, or has not begun, would count for ever without its days.
    "user_assignments": "WHERE b.valid_until IS NULL AND (b.valid_from IS NULL OR b.valid_from <= {NOW})",
}


def fill() -> None:
    there, now = columns(), "CURRENT_TIMESTAMP" if on_sqlite() else "UTC_TIMESTAMP(6)"
    for table in there:
        if aside(table) in there and table not in BY_HAND:
            copy(table, there, VALUES.get(table, {}), only=ONLY.get(table, "").format(NOW=now))
    _notifications(there)
    # What several revisions of one contract drawing have is its file once.
    op.execute(
        "INSERT INTO contract_drawing_attachments SELECT r.contract_drawing_id, f.attachment_id, MIN(f.file_type), "
        f"MAX(f.is_main_document) FROM {aside('contract_drawing_revision_attachments')} AS f "
        f"JOIN {aside('contract_drawing_revisions')} AS r ON r.id = f.contract_drawing_revision_id "
        "GROUP BY r.contract_drawing_id, f.attachment_id"
    )
    _ledger()


def _notifications(there: dict[str, list[str]]) -> None:
    keys = {
        str(row.uuid): row.id
        for table in ("correspondences", "circulations")
        for row in rows(table, id=sa.Integer, uuid=sa.Uuid)
    }
    copy("notifications", there, {"entity_id": "NULL"})
    target = sa.table("notifications", sa.column("id"), sa.column("entity_id"))
    named = [
        {"row": row.id, "key": keys[row.entity_id]}
        for row in rows(aside("notifications"), id=sa.Integer, entity_id=sa.String)
        if row.entity_id in keys
    ]
    if named:
        statement = sa.update(target).where(target.c.id == sa.bindparam("row")).values(entity_id=sa.bindparam("key"))
        op.get_bind().execute(statement, named)


def _ledger() -> None:
    old = {
        name: aside(f"document_number_{name}") for name in ("formats", "counters", "reservations", "audit", "errors")
    }
    letters = {row.uuid: row.id for row in rows("correspondences", id=sa.Integer, uuid=sa.Uuid)}
    revisions = rows("correspondence_revisions", id=sa.Integer, correspondence_id=sa.Integer, is_current=sa.Boolean)
    current = {row.correspondence_id: row.id for row in revisions if row.is_current}
    backward.formats(old["formats"])
    backward.counters(old["counters"])
    backward.reservations(
        old["reservations"], {public_id: current[key] for public_id, key in letters.items() if key in current}
    )
    backward.audit(old["audit"], letters)
    backward.errors(old["errors"])
