"""The rows of a database at 0004 in the tables of 0072."""

import sqlalchemy as sa
from alembic import op

from saraban_history import reach
from saraban_history.columns import MOMENT
from saraban_history.ledger import drawings, forward
from saraban_history.ledger.facts import Codes, documents, rows, write
from saraban_history.move import aside, columns, copy, new_id
from saraban_history.shipped_names import NAMED, THAI

LETTERS = ("correspondence", "rfa", "transmittal")
OFFICE = "application/vnd.openxmlformats-officedocument"
# The list of a transmittal is that of its newest issue, or of the draft where nothing was issued yet.
OWNER = (
    "(SELECT own.id FROM {revisions} AS own WHERE own.correspondence_id = b.transmittal_id ORDER BY CASE WHEN "
    "own.issued_date IS NULL THEN 1 ELSE 0 END, own.is_current DESC, own.revision_number DESC LIMIT 1)"
)
_REVISIONS = aside("correspondence_revisions")
_ITEM = (
    "(SELECT r.{} FROM "
    + _REVISIONS
    + " AS r WHERE r.correspondence_id = b.item_correspondence_id ORDER BY r.revision_number DESC LIMIT 1)"
)
_AS_ISSUED = (
    f"CASE WHEN EXISTS (SELECT 1 FROM {_REVISIONS} AS own WHERE own.correspondence_id = b.transmittal_id "
    "AND own.issued_date IS NOT NULL) THEN {} END"
)
_CURRENT = {
    "current_from": "b.created_at",
    "current_until": "CASE WHEN b.is_current = 1 THEN NULL ELSE b.created_at END",
}
# SQL of the columns that 0004 does not have, or has otherwise.
VALUES: dict[str, dict[str, str]] = {
    # The contract of a document is that of its discipline or RFA type.
    "correspondences": {
        "contract_id": f"COALESCE((SELECT d.contract_id FROM {aside('disciplines')} AS d WHERE d.id = b.discipline_id), "
        f"(SELECT t.contract_id FROM {aside('rfas')} AS r JOIN {aside('rfa_types')} AS t ON t.id = r.rfa_type_id WHERE r.id = b.id))"
    },
    # The number of a revision is that of its document, the only one known.
    "correspondence_revisions": {
        "correspondence_number": f"(SELECT h.correspondence_number FROM {aside('correspondences')} AS h WHERE h.id = b.correspondence_id)"
    },
    "correspondence_recipients": {
        "position": "ROW_NUMBER() OVER (PARTITION BY b.correspondence_id ORDER BY b.recipient_type DESC, b.recipient_organization_id) - 1"
    },
    # Without a document, a circulation belongs to the first project of its organization.
    "circulations": {
        "project_id": f"COALESCE((SELECT h.project_id FROM {aside('correspondences')} AS h WHERE h.id = b.correspondence_id), "
        f"(SELECT MIN(p.project_id) FROM {aside('project_organizations')} AS p WHERE p.organization_id = b.organization_id), "
        f"(SELECT MIN(id) FROM {aside('projects')}))"
    },
    "project_organizations": {
        "role_in_project": f"COALESCE((SELECT r.role_name FROM {aside('organizations')} AS o JOIN {aside('organization_roles')} AS r "
        "ON r.id = o.role_id WHERE o.id = b.organization_id AND r.role_name IN ('OWNER', 'DESIGNER', 'CONSULTANT', 'CONTRACTOR')), 'OTHER')"
    },
    "audit_logs": {"actor_uuid": f"(SELECT u.uuid FROM {aside('users')} AS u WHERE u.user_id = b.user_id)"},
    "workflow_instances": {
        "last_transition_at": f"COALESCE((SELECT MAX(h.created_at) FROM {aside('workflow_histories')} AS h WHERE h.instance_id = b.id), b.created_at)"
    },
    "transmittal_items": {
        "item_revision_id": _ITEM.format("id"),
        "transmittal_revision_id": OWNER.format(revisions=_REVISIONS),
        "document_number": _AS_ISSUED.format(
            f"(SELECT h.correspondence_number FROM {aside('correspondences')} AS h WHERE h.id = b.item_correspondence_id)"
        ),
        "revision_label": _AS_ISSUED.format(_ITEM.format("revision_label")),
        "subject": _AS_ISSUED.format(_ITEM.format("subject")),
    },
    "attachments": {
        "text_due_at": f"CASE WHEN b.mime_type IN ('application/pdf', '{OFFICE}.wordprocessingml.document', "
        f"'{OFFICE}.spreadsheetml.sheet') THEN b.created_at END"
    },
    "shop_drawing_revisions": _CURRENT,
    "asbuilt_drawing_revisions": _CURRENT,
}
# No drawing is there later than its first revision.
for _kind in ("shop", "asbuilt"):
    _first = (
        f"(SELECT MIN(r.created_at) FROM {aside(f'{_kind}_drawing_revisions')} AS r WHERE r.{_kind}_drawing_id = b.id)"
    )
    VALUES[f"{_kind}_drawings"] = {
        "created_at": f"CASE WHEN b.created_at > {_first} THEN {_first} ELSE b.created_at END"
    }

# What is written below, not copied.
BY_HAND = {
    "notifications",
    *(f"document_number_{name}" for name in ("formats", "counters", "reservations", "audit", "errors")),
}
ORDERED = {"disciplines": "discipline_code", "rfa_types": "type_code", "correspondence_sub_types": "sub_type_number"}
UNASKED = (
    *("system.impersonate", "system.maintenance_mode", "system.manage_cache", "organization.manage_members"),
    *("master_data.view", "master_data.manage", "master_data.number_format.manage"),
    *("document.create", "document.delete", "document.submit", "document.manage_references"),
    *("correspondence.view", "correspondence.delete", "rfa.view", "rfa.delete", "rfa.manage_items"),
    *("drawing.view", "drawing.delete", "drawing.link_contract"),
    *("transmittal.view", "transmittal.delete", "transmittal.print", "workflow.revert"),
    *("search.basic", "search.advanced", "search.export", "report.view", "report.generate", "report.schedule"),
    *("notification.view", "notification.manage_all", "dashboard.view_own", "dashboard.view_all"),
    *("dashboard.view_analytics", "json_schema.view", "json_schema.manage", "json_schema.migrate_data"),
    *("project.view", "contract.view"),
    *("monitoring.view_health", "monitoring.view_metrics", "monitoring.manage_maintenance"),
)
# A current RFA without an answer claims the revisions of drawings that it carries.
CLAIMS = (
    "INSERT INTO rfa_item_claims (rfa_revision_id, {column}) SELECT MAX(i.rfa_revision_id), i.{column} FROM rfa_items AS i "
    "JOIN rfa_revisions AS r ON r.id = i.rfa_revision_id JOIN correspondence_revisions AS c ON c.id = r.id "
    "WHERE r.rfa_approve_code_id IS NULL AND c.is_current = 1 AND i.{column} IS NOT NULL GROUP BY i.{column}"
)
# The oldest first: what is entered last is found first.
PENDING = """
    INSERT INTO search_pending (kind, head_uuid)
    SELECT kind, uuid FROM (
        SELECT CASE t.type_code WHEN 'RFA' THEN 2 WHEN 'TRANSMITTAL' THEN 3 ELSE 1 END AS kind, d.uuid AS uuid,
            d.created_at AS created_at
        FROM correspondences AS d JOIN correspondence_types AS t ON t.id = d.correspondence_type_id
        UNION ALL SELECT 4, uuid, created_at FROM circulations
        UNION ALL SELECT 11, uuid, created_at FROM contract_drawings
        UNION ALL SELECT 12, uuid, created_at FROM shop_drawings
        UNION ALL SELECT 13, uuid, created_at FROM asbuilt_drawings
    ) AS everything ORDER BY created_at
"""


def fill() -> None:
    there = columns()
    for table in there:
        if aside(table) in there and table not in BY_HAND:
            copy(table, there, VALUES.get(table, {}) if table != "refresh_tokens" else {"family": new_id()})
    _begin_drafts()
    _notifications()
    _contract_drawings(there)
    _ledger()
    _remove_unasked()
    for table in NAMED:
        _fill_names(table)
    for table, column in ORDERED.items():
        _fill_order(table, column)
    drawings.take_over()
    for column in ("shop_drawing_revision_id", "asbuilt_drawing_revision_id"):
        op.execute(CLAIMS.format(column=column))
    reach.fill()
    op.execute("INSERT INTO search_index (id) VALUES (1)")
    op.execute(PENDING)


def _begin_drafts() -> None:
    """Give a draft that follows an issue the list that both had together."""
    names = "transmittal_id, item_correspondence_id, item_revision_id, quantity, remarks"
    op.execute(
        f"INSERT INTO transmittal_items ({names}, transmittal_revision_id) "
        f"SELECT {', '.join(f'i.{name}' for name in names.split(', '))}, own.id FROM transmittal_items AS i "
        "JOIN correspondence_revisions AS own ON own.correspondence_id = i.transmittal_id AND own.is_current "
        "WHERE own.id <> i.transmittal_revision_id ORDER BY i.id"
    )


def _notifications() -> None:
    """A notification names its document by public id; what it says becomes the values of the template `plain`."""
    documents_by_key = {
        (kind, row.id): str(row.uuid)
        for table, kinds in (("correspondences", LETTERS), ("circulations", ("circulation",)))
        for row in rows(table, id=sa.Integer, uuid=sa.Uuid)
        for kind in kinds
    }
    typed = {"is_read": sa.Boolean, "created_at": MOMENT, "uuid": sa.Uuid}
    names = ("id", "user_id", "title", "message", "notification_type", "entity_type", "entity_id")
    found = rows(aside("notifications"), **dict.fromkeys(names), **typed)
    write(
        "notifications",
        [
            row._asdict()
            | {
                "entity_id": documents_by_key.get((row.entity_type, row.entity_id)),
                "template_values": {"title": row.title, "message": row.message},
            }
            for row in found
        ],
        is_read=sa.Boolean(),
        template_values=sa.JSON(),
    )


def _contract_drawings(there: dict[str, list[str]]) -> None:
    """A contract drawing becomes its own first revision, with its files."""
    values = {
        "contract_drawing_id": "b.id",
        "revision_number": "0",
        "revision_label": "'0'",
        "is_current": "1",
        "title": "b.title",
    }
    moments = {"created_at": "b.created_at", "current_from": "b.created_at"}
    copy("contract_drawing_revisions", there, {**values, **moments}, source="contract_drawings", only="ORDER BY b.id")
    op.execute(
        "INSERT INTO contract_drawing_revision_attachments SELECT r.id, f.attachment_id, f.file_type, f.is_main_document "
        f"FROM {aside('contract_drawing_attachments')} AS f JOIN contract_drawing_revisions AS r "
        "ON r.contract_drawing_id = f.contract_drawing_id"
    )


def _ledger() -> None:
    """Reservations, and every number that a document has, become rows of the ledger, so that none is issued again."""
    old = {
        name: aside(f"document_number_{name}") for name in ("formats", "counters", "reservations", "audit", "errors")
    }
    codes = Codes()
    forward.formats(old["formats"], codes)
    forward.counters(old["counters"], codes)
    numbered = documents(codes)
    letters = {document.row.id: document for document in numbered if document.kind != "circulation"}
    revisions = rows("correspondence_revisions", id=sa.Integer, correspondence_id=sa.Integer)
    ledger = forward.Ledger(codes)
    ledger.reservations(
        old["reservations"],
        {row.id: letters[row.correspondence_id] for row in revisions},
        {(document.project_id, document.number): document for document in numbered},
    )
    ledger.documents(numbered)
    write("document_number_reservations", ledger.entries)
    write("document_number_renderings", ledger.renderings())
    forward.audit(old["audit"], ledger, letters)
    forward.errors(old["errors"])
    forward.mark_drawn()
    for table in ("correspondences", "circulations"):
        kind = "= 'circulation'" if table == "circulations" else "<> 'circulation'"
        op.execute(
            f"UPDATE {table} SET number_uuid = (SELECT r.uuid FROM document_number_reservations AS r "
            f"WHERE r.holder_public_id = {table}.uuid AND r.holder_kind {kind})"
        )


def _remove_unasked() -> None:
    """Permissions that no part of the program asks for go; what a workflow definition asks for stays."""
    connection = op.get_bind()
    definition = sa.table("workflow_definitions", sa.column("dsl", sa.Text()))
    asked = "\n".join(map(str, connection.scalars(sa.select(definition.c.dsl))))
    gone = [name for name in UNASKED if f'"{name}"' not in asked]
    permission = sa.table("permissions", sa.column("permission_id"), sa.column("permission_name"))
    keys = list(connection.scalars(sa.select(permission.c.permission_id).where(permission.c.permission_name.in_(gone))))
    for table in (sa.table("role_permissions", sa.column("permission_id")), permission):
        op.execute(sa.delete(table).where(table.c.permission_id.in_(keys)))


def _fill_names(table: str) -> None:
    """A row that was renamed keeps its name, in both languages."""
    column, name, english = NAMED[table]
    target = sa.table(table, sa.column(column), sa.column(name), sa.column(english))
    connection = op.get_bind()
    connection.execute(sa.update(target).values({english: target.c[name]}))
    for value, thai in THAI[table].items():
        connection.execute(sa.update(target).where(target.c[column] == value).values({name: thai}))


def _fill_order(table: str, column: str) -> None:
    """Rows keep the order that forms list them in: that of their codes."""
    place = f"10 * ROW_NUMBER() OVER (PARTITION BY contract_id ORDER BY {column}, id)"
    op.execute(
        f"UPDATE {table} SET sort_order = (SELECT place FROM (SELECT id AS row_id, {place} AS place FROM {table}) AS counted "
        f"WHERE row_id = {table}.id)"
    )
