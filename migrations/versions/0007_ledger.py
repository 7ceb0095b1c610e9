"""
One counter for what prints alike, and a ledger of every number ever issued (REQ-NUM-01, REQ-NUM-03, REQ-NUM-09).

Reservations become rows of the ledger with their tokens; numbers that documents already have get rows as well, so that
none can be issued again. No foreign key of these tables cascades any more.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import on_sqlite
from saraban_history.first import numbering as first
from saraban_history.ledger import backward, forward, tables
from saraban_history.ledger.facts import Codes, Document, documents, rows, write

revision = "0007"
down_revision = "0006"

TABLES = ("formats", "counters", "reservations", "audit", "errors")


def upgrade() -> None:
    old = _set_aside("before")
    codes = Codes()
    forward.formats(tables.formats(), old["formats"], codes)
    forward.counters(tables.counters(), old["counters"], codes)
    everything = documents(codes)
    letters = {document.row.id: document for document in everything if document.kind != "circulation"}
    ledger = forward.Ledger(codes)
    ledger.reservations(
        old["reservations"],
        {revision_id: letters[row] for revision_id, row in _revisions()},
        {(document.project_id, document.number): document for document in everything},
    )
    ledger.documents(everything)
    write(tables.entries(), ledger.entries)
    write(tables.renderings(), ledger.renderings())
    forward.audit(tables.audit(), old["audit"], ledger, letters)
    forward.errors(tables.errors(), old["errors"])
    _bind(everything, ledger)
    for name in reversed(old.values()):
        op.drop_table(name)
    tables.indexes()


def downgrade() -> None:
    new = _set_aside("after")
    first.create()
    everything = documents(Codes())
    letters = {document.row.id: document for document in everything if document.kind != "circulation"}
    current = {letters[row].public_id: revision_id for revision_id, row in _revisions(current=True)}
    backward.formats(new["formats"])
    backward.counters(new["counters"])
    backward.reservations(new["reservations"], current)
    backward.audit(new["audit"], {document.public_id: document for document in everything})
    backward.errors(new["errors"])
    op.drop_table("document_number_renderings")
    for name in reversed(new.values()):
        op.drop_table(name)


def _set_aside(word: str) -> dict[str, str]:
    """Rename the tables; SQLite's indexes go, because their names are unique in the whole database."""
    names = {}
    for table in TABLES:
        name = f"document_number_{table}"
        names[table] = f"{name}_{word}"
        if on_sqlite():
            for index in sa.inspect(op.get_bind()).get_indexes(name):
                op.drop_index(index["name"], name)
        op.rename_table(name, names[table])
    return names


def _revisions(*, current: bool = False) -> list[tuple[int, int]]:
    found = rows("correspondence_revisions", id=sa.Integer, correspondence_id=sa.Integer, is_current=sa.Boolean)
    return [(row.id, row.correspondence_id) for row in found if row.is_current or not current]


def _bind(everything: list[Document], ledger: forward.Ledger) -> None:
    """Write into each document which row of the ledger is its own."""
    for table, circulations in (("correspondences", False), ("circulations", True)):
        target = sa.table(table, sa.column("id", sa.Integer), sa.column("number_uuid", sa.Uuid))
        values = [
            {"row": document.row.id, "number": entry["uuid"]}
            for document in everything
            if (document.kind == "circulation") is circulations
            and (entry := ledger.by_number[document.project_id, document.number])["holder_public_id"]
            == document.public_id
        ]
        if values:
            op.get_bind().execute(
                sa.update(target).where(target.c.id == sa.bindparam("row")).values(number_uuid=sa.bindparam("number")),
                values,
            )
