"""A database as it was before public ids: rows in every table of the first schema that other rows hang on."""

import json
from typing import Any
from uuid import UUID

import sqlalchemy as sa

THEN = "2025-03-01 09:30:00.000000"
DEFINITION = "019505a1-0000-7000-8000-000000000001"
INSTANCE = "019505a1-0000-7000-8000-000000000002"
HISTORY = "019505a1-0000-7000-8000-000000000003"
TOKENS = ("019505a1-0000-7000-8000-00000000000a", "019505a1-0000-7000-8000-00000000000b")
LETTER = "คคง.-สคฉ.3-0003-2568"
RFI = "คคง.-สคฉ.3-0005-2568"
RFA = "LCBP3-C2-RFA-STR-RPT-0001-A"
TRANSMITTAL = "เลขที่เก่า/117"
SHEET = "คคง.-CIR-0001-2568"
STATED = {"created_at": THEN}


def numbered(key: int, kind: int, number: str, **more: Any) -> dict[str, Any]:
    return {
        "id": key,
        "correspondence_type_id": kind,
        "correspondence_number": number,
        "project_id": 1,
        "originator_id": 1,
        "created_by": 1,
        **STATED,
        **more,
    }


def revision(key: int, document: int, label: str, *, current: bool, **more: Any) -> dict[str, Any]:
    return {
        "id": key,
        "correspondence_id": document,
        "revision_number": ord(label) - ord("A"),
        "revision_label": label,
        "is_current": current,
        "correspondence_status_id": 1,
        "subject": "ขออนุมัติแบบก่อสร้าง",
        "created_by": 1,
        **STATED,
        **more,
    }


def counter(kind: int, last: int, **more: Any) -> dict[str, Any]:
    return {
        "project_id": 1,
        "originator_organization_id": 1,
        "recipient_organization_id": 2,
        "correspondence_type_id": kind,
        "current_year": 2568,
        "last_number": last,
        "version": last,
        **more,
    }


def reservation(key: int, number: str, status: str, **more: Any) -> dict[str, Any]:
    return {
        "id": key,
        "token": TOKENS[key - 1],
        "document_number": number,
        "document_number_status": status,
        "project_id": 1,
        "correspondence_type_id": 1,
        "originator_organization_id": 1,
        "recipient_organization_id": 2,
        "user_id": 1,
        "reserved_at": THEN,
        "expires_at": THEN,
        **more,
    }


ROWS: dict[str, list[dict[str, Any]]] = {
    "organization_roles": [{"id": 1, "role_name": "CONSULTANT"}, {"id": 2, "role_name": "OWNER"}],
    "organizations": [
        {"id": 1, "organization_code": "คคง.", "organization_name": "ที่ปรึกษา", "role_id": 1},
        {"id": 2, "organization_code": "สคฉ.3", "organization_name": "สำนักงาน", "role_id": 2},
    ],
    "users": [
        {"user_id": 1, "username": "dc", "password_hash": "x", "email": "dc@example.com", "primary_organization_id": 1},
        {"user_id": 2, "username": "reviewer", "password_hash": "x", "email": "r@example.com"},
    ],
    "user_preferences": [{"user_id": 1}],
    "refresh_tokens": [
        {"token_id": 1, "user_id": 1, "token_hash": "a" * 64, "expires_at": THEN},
        {"token_id": 2, "user_id": 1, "token_hash": "b" * 64, "expires_at": THEN},
    ],
    "roles": [{"role_id": 1, "role_name": "Document Control", "scope": "Organization"}],
    "permissions": [{"permission_id": 1, "permission_name": "rfa.create"}],
    "role_permissions": [{"role_id": 1, "permission_id": 1}],
    "projects": [{"id": 1, "project_code": "LCBP3-C2", "project_name": "ท่าเรือแหลมฉบัง"}],
    "project_organizations": [{"project_id": 1, "organization_id": 1}, {"project_id": 1, "organization_id": 2}],
    "contracts": [{"id": 1, "project_id": 1, "contract_code": "C2", "contract_name": "งานก่อสร้าง"}],
    "contract_organizations": [{"contract_id": 1, "organization_id": 1, "role_in_contract": "CONSULTANT"}],
    "disciplines": [{"id": 1, "contract_id": 1, "discipline_code": "STR"}],
    "correspondence_types": [
        {"id": 1, "type_code": "LETTER", "type_name": "Letter"},
        {"id": 2, "type_code": "RFI", "type_name": "Request for Information"},
        {"id": 3, "type_code": "RFA", "type_name": "Request for Approval"},
        {"id": 4, "type_code": "TRANSMITTAL", "type_name": "Transmittal"},
    ],
    "correspondence_sub_types": [
        {
            "id": 1,
            "contract_id": 1,
            "correspondence_type_id": 4,
            "sub_type_code": "GEN",
            "sub_type_number": "21",
        }
    ],
    "correspondence_status": [{"id": 1, "status_code": "DRAFT", "status_name": "Draft"}],
    "rfa_types": [{"id": 1, "contract_id": 1, "type_code": "RPT", "type_name_th": "รายงาน", "type_name_en": "Report"}],
    "rfa_status_codes": [{"id": 1, "status_code": "DFT", "status_name": "Draft"}],
    "rfa_approve_codes": [{"id": 1, "approve_code": "1A", "approve_name": "Approved"}],
    "circulation_status_codes": [{"id": 1, "code": "OPEN", "description": "Open"}],
    "user_assignments": [{"id": 1, "user_id": 1, "role_id": 1, "organization_id": 1}],
    "workflow_definitions": [{"id": DEFINITION, "workflow_code": "rfa", "dsl": "{}", "compiled": "{}"}],
    "workflow_instances": [
        {
            "id": INSTANCE,
            "definition_id": DEFINITION,
            "contract_id": 1,
            "entity_type": "rfa",
            "entity_id": "3",
            "current_state": "DRAFT",
        }
    ],
    "workflow_histories": [
        {
            "id": HISTORY,
            "instance_id": INSTANCE,
            "from_state": "DRAFT",
            "to_state": "REVIEW",
            "action": "SUBMIT",
            "action_by_user_id": 1,
            **STATED,
        }
    ],
    "attachments": [
        {
            "id": key,
            "original_filename": "แบบ.pdf",
            "stored_filename": f"{key}.pdf",
            "file_path": f"2025/{key}.pdf",
            "mime_type": "application/pdf",
            "file_size": 10,
            "uploaded_by_user_id": 1,
            "workflow_history_id": HISTORY if key == 2 else None,
        }
        for key in (1, 2)
    ],
    "contract_drawing_volumes": [{"id": 1, "project_id": 1, "volume_code": "V1", "volume_name": "Volume 1"}],
    "contract_drawing_cats": [{"id": 1, "project_id": 1, "cat_code": "A", "cat_name": "A"}],
    "contract_drawing_sub_cats": [{"id": 1, "project_id": 1, "sub_cat_code": "A1", "sub_cat_name": "A1"}],
    "contract_drawing_subcat_cat_maps": [{"id": 1, "project_id": 1, "sub_cat_id": 1, "cat_id": 1}],
    "contract_drawings": [
        {"id": 1, "project_id": 1, "condwg_no": "CD-1", "title": "แปลน", "map_cat_id": 1, "volume_id": 1}
    ],
    "contract_drawing_attachments": [{"contract_drawing_id": 1, "attachment_id": 1, "file_type": "PDF"}],
    "shop_drawing_main_categories": [
        {"id": 1, "project_id": 1, "main_category_code": "M", "main_category_name": "Main"}
    ],
    "shop_drawing_sub_categories": [{"id": 1, "project_id": 1, "sub_category_code": "S", "sub_category_name": "Sub"}],
    "shop_drawings": [
        {"id": 1, "project_id": 1, "drawing_number": "SD-1", "main_category_id": 1, "sub_category_id": 1}
    ],
    "shop_drawing_revisions": [
        {"id": 1, "shop_drawing_id": 1, "revision_number": 0, "revision_label": "A", "is_current": None, "title": "ก"},
        {"id": 2, "shop_drawing_id": 1, "revision_number": 1, "revision_label": "B", "is_current": True, "title": "ข"},
    ],
    "shop_drawing_revision_attachments": [{"shop_drawing_revision_id": 1, "attachment_id": 1}],
    "shop_drawing_revision_contract_refs": [{"shop_drawing_revision_id": 1, "contract_drawing_id": 1}],
    "asbuilt_drawings": [
        {"id": 1, "project_id": 1, "drawing_number": "AB-1", "main_category_id": 1, "sub_category_id": 1}
    ],
    "asbuilt_drawing_revisions": [{"id": 1, "asbuilt_drawing_id": 1, "revision_number": 0, "title": "ก"}],
    "asbuilt_drawing_revision_attachments": [{"asbuilt_drawing_revision_id": 1, "attachment_id": 1}],
    "asbuilt_revision_shop_revisions_refs": [{"asbuilt_drawing_revision_id": 1, "shop_drawing_revision_id": 1}],
    "correspondences": [
        numbered(1, 1, LETTER),
        numbered(2, 2, RFI),
        numbered(3, 3, RFA, discipline_id=1),
        numbered(4, 4, TRANSMITTAL),
    ],
    "correspondence_revisions": [
        revision(1, 1, "A", current=True),
        revision(2, 2, "A", current=True, details=json.dumps({"projectId": 1})),
        revision(3, 3, "A", current=False),
        revision(4, 3, "B", current=True),
        revision(5, 4, "A", current=True),
    ],
    "correspondence_recipients": [
        {"correspondence_id": key, "recipient_organization_id": 2, "recipient_type": "TO"} for key in (1, 2, 3, 4)
    ],
    "correspondence_references": [{"src_correspondence_id": 2, "tgt_correspondence_id": 1}],
    "correspondence_revision_attachments": [{"correspondence_revision_id": 4, "attachment_id": 1}],
    "rfas": [{"id": 3, "rfa_type_id": 1, "created_by": 1}],
    "rfa_revisions": [{"id": 3, "rfa_status_code_id": 1, "rfa_approve_code_id": 1}, {"id": 4, "rfa_status_code_id": 1}],
    "rfa_items": [{"id": 1, "rfa_revision_id": 3, "item_type": "SHOP", "shop_drawing_revision_id": 1}],
    "transmittals": [{"correspondence_id": 4, "purpose": "FOR_REVIEW"}],
    "transmittal_items": [{"id": 1, "transmittal_id": 4, "item_correspondence_id": 3}],
    "circulations": [
        {
            "id": 1,
            "correspondence_id": 1,
            "organization_id": 1,
            "circulation_no": SHEET,
            "circulation_subject": "เพื่อทราบ",
            "circulation_status_code": "OPEN",
            "created_by_user_id": 1,
        }
    ],
    "circulation_routings": [
        {"id": 1, "circulation_id": 1, "step_number": 1, "organization_id": 1, "assigned_to": 1},
        {"id": 2, "circulation_id": 1, "step_number": 2, "organization_id": 1, "assigned_to": 2},
    ],
    "circulation_attachments": [{"circulation_id": 1, "attachment_id": 2}],
    "document_number_formats": [
        {"id": 1, "project_id": 1, "format_template": "{ORG}-{RECIPIENT}-{SEQ:4}-{YEAR:BE}"},
        {
            "id": 2,
            "project_id": 1,
            "correspondence_type_id": 3,
            "format_template": "{PROJECT}-{CORR_TYPE}-{DISCIPLINE}-{RFA_TYPE}-{SEQ:4}-{REV}",
            "reset_sequence_yearly": False,
        },
    ],
    "document_number_counters": [
        counter(1, 3),
        counter(2, 5),
        counter(3, 1, recipient_organization_id=-1, rfa_type_id=1, discipline_id=1),
        counter(3, 7, recipient_organization_id=-1, rfa_type_id=1, discipline_id=1, current_year=2567),
    ],
    "document_number_reservations": [
        reservation(1, LETTER, "CONFIRMED", document_id=1, confirmed_at=THEN),
        reservation(2, "คคง.-สคฉ.3-0002-2568", "CANCELLED", cancelled_at=THEN),
    ],
    "document_number_audit": [
        {
            "id": 1,
            "document_id": 1,
            "generated_number": LETTER,
            "counter_key": "1:1:2:1:0:0:0:2568",
            "template_used": "{ORG}-{RECIPIENT}-{SEQ:4}-{YEAR:BE}",
            "sequence_number": 3,
            "user_id": 1,
            **STATED,
        }
    ],
    "document_number_errors": [
        {"id": 1, "error_type": "LOCK_TIMEOUT", "stack_trace": "at line 1", "context_data": '{"a":1}', **STATED}
    ],
    "notifications": [
        {
            "id": key,
            "user_id": 1,
            "title": "เอกสารใหม่",
            "message": "มีเอกสารรอการดำเนินการ",
            "notification_type": "SYSTEM",
            "entity_type": "rfa",
            "entity_id": 3,
            "created_at": f"20{24 + key}-01-01 00:00:00.000000",
        }
        for key in (1, 2)
    ],
    "audit_logs": [{"audit_id": 1, "user_id": 1, "action": "rfa.create", "details_json": "{}", **STATED}],
}


def insert(connection: sa.Connection) -> None:
    for table, rows in ROWS.items():
        for row in rows:
            target = sa.table(table, *map(sa.column, row))
            connection.execute(sa.insert(target).values(row))


def revise_transmittal(connection: sa.Connection) -> None:
    """Issue the transmittal with what it carries, and begin its revision B."""
    copied = "correspondence_id, correspondence_status_id, subject, created_by"
    for statement in (
        "UPDATE correspondence_revisions SET issued_date = created_at, is_current = 0 WHERE id = 5",
        (
            f"INSERT INTO correspondence_revisions (id, uuid, revision_number, revision_label, is_current, {copied}) "
            f"SELECT 50, '{UUID(int=50).hex}', revision_number + 1, 'B', 1, {copied} FROM correspondence_revisions WHERE id = 5"
        ),
        "UPDATE transmittal_items SET quantity = 2",
    ):
        connection.execute(sa.text(statement))


def contents(connection: sa.Connection) -> dict[str, list[dict[str, Any]]]:
    """
    Return everything there is.

    Which row of the ledger a document holds is left out: it outlives a step back, so that the row comes again.
    """
    found = {}
    for table in sorted(sa.inspect(connection).get_table_names()):
        if table not in {"alembic_version", "migration_lock"}:
            rows = connection.execute(sa.text(f"SELECT * FROM {table}")).mappings()
            found[table] = sorted(({**row, "number_uuid": None} for row in rows), key=str)
    return found
