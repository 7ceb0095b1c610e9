"""The index of reach: a row for each kind of reader that finds a document in a register, made of the documents that are there."""

from alembic import op

from saraban_history.columns import on_sqlite

REACH = "document_reach"
_ENDED = (
    "'CANCELLED','TERMINATED','REJECTED','CLOSED','CLBCON','CLBCSC','CLBDSN','CLBOTH','CLBOWN',"
    "'REPCON','REPCSC','REPDSN','REPOTH','REPOWN'"
)
_TYPE = "h.correspondence_type_id"
# Of each register: its number, its types, what tells its documents apart, and the statuses that wait for nobody.
REGISTERS = (
    (1, "'LETTER','MEMO','RFI','EMAIL','INSTRUCTION','MOM','NOTICE','OTHER'", _TYPE, f"{_ENDED},'RESPONDED'"),
    (2, "'RFA'", "(SELECT rfa_type_id FROM rfas WHERE rfas.id = h.id)", _ENDED),
    (3, "'TRANSMITTAL'", _TYPE, _ENDED),
)
_STANDING = "o.correspondence_id = h.id AND o.withdrawn_at IS NULL"
_NEWEST = (
    "JOIN correspondence_revisions AS n ON n.correspondence_id = h.id AND n.revision_number = "
    f"(SELECT MAX(o.revision_number) FROM correspondence_revisions AS o WHERE {_STANDING})"
)
_ISSUED = (
    "JOIN correspondence_revisions AS i ON i.correspondence_id = h.id AND i.revision_number = "
    f"(SELECT MAX(o.revision_number) FROM correspondence_revisions AS o WHERE {_STANDING} AND o.issued_date IS NOT NULL)"
)
_RECIPIENT = "JOIN correspondence_recipients AS l ON l.correspondence_id = h.id AND l.recipient_organization_id <> h.originator_id"
# Whose rows, where their keys come from, and which revision they show.
READERS = (
    ("1", "0", _NEWEST, "n"),
    ("3", "h.originator_id", _NEWEST, "n"),
    ("2", "h.contract_id", f"{_NEWEST} {_ISSUED}", "i"),
    ("3", "l.recipient_organization_id", f"{_NEWEST} {_ISSUED} {_RECIPIENT}", "i"),
)


def fill() -> None:
    for kind, types, type_id, ended in REGISTERS:
        for reader in READERS:
            _run(_rows(kind, types, type_id, ended, reader))
    for reader, reader_id in (("1", "0"), ("3", "h.organization_id")):
        _run(_sheets(reader, reader_id))


def _run(rows: str) -> None:
    op.get_bind().exec_driver_sql(f"INSERT INTO {REACH} {rows}")


def _rows(kind: int, types: str, type_id: str, ended: str, reader: tuple[str, str, str, str]) -> str:
    reader_kind, reader_id, joined, shown = reader
    return (
        # From the heads: MariaDB would otherwise begin with a type or a status, and read all that ever had it.
        f"SELECT {'' if on_sqlite() else 'STRAIGHT_JOIN'} DISTINCT h.project_id, {reader_kind}, {reader_id}, {kind}, "
        f"h.created_at, h.id, {shown}.id, {shown}.issued_date IS NULL, {shown}.id <> n.id, s.status_code NOT IN ({ended}), "
        f"s.id, {type_id}, COALESCE(h.discipline_id, 0), COALESCE(h.contract_id, 0), h.originator_id, h.created_by, "
        f"COALESCE({shown}.document_date, '9999-12-31'), COALESCE({shown}.due_date, '9999-12-31 23:59:59.000000'), "
        f"{shown}.correspondence_number FROM correspondences AS h {joined} "
        f"JOIN correspondence_types AS t ON t.id = h.correspondence_type_id AND t.type_code IN ({types}) "
        f"JOIN correspondence_status AS s ON s.id = {shown}.correspondence_status_id "
        f"WHERE h.deleted_at IS NULL AND {reader_id} IS NOT NULL"
    )


def _sheets(reader_kind: str, reader_id: str) -> str:
    day = "h.deadline_date || ' 00:00:00.000000'" if on_sqlite() else "h.deadline_date"
    return (
        f"SELECT h.project_id, {reader_kind}, {reader_id}, 4, h.created_at, h.id, 0, 0, 0, h.closed_at IS NULL, "
        "CASE h.circulation_status_code WHEN 'OPEN' THEN 1 WHEN 'IN_REVIEW' THEN 2 WHEN 'COMPLETED' THEN 3 "
        "WHEN 'CANCELLED' THEN 4 WHEN 'TERMINATED' THEN 5 ELSE 0 END, 0, 0, 0, h.organization_id, h.created_by_user_id, "
        f"'9999-12-31', COALESCE({day}, '9999-12-31 23:59:59.000000'), h.circulation_no FROM circulations AS h"
    )
