"""
Carries the ledger back into counters and reservations, as far as those can hold it.

What they cannot hold stays behind: texts longer than their columns, narrowed formats, numbers of drawings, a number that two
projects share, audit rows of operations that the old table does not know.
"""

from typing import Any

import sqlalchemy as sa

from saraban_history.columns import BIG, MOMENT
from saraban_history.ledger.facts import rows, write

STATUSES = {"RESERVED", "CONFIRMED", "CANCELLED", "VOID"}
KEY = (
    "project_id",
    "originator_organization_id",
    "recipient_organization_id",
    "correspondence_type_id",
    "sub_type_id",
    "rfa_type_id",
    "discipline_id",
    "current_year",
)


def formats(source: str) -> None:
    columns = {
        "id": sa.Integer,
        "project_id": sa.Integer,
        "correspondence_type_id": sa.Integer,
        "format_template": sa.String,
        "description": sa.Text,
        "reset_sequence_yearly": sa.Boolean,
        "created_at": MOMENT,
        "updated_at": MOMENT,
    }
    narrowed = dict.fromkeys(("sub_type_code", "rfa_type_code", "discipline_code"), sa.String)
    found = [row._asdict() for row in rows(source, **columns, **narrowed)]
    whole = [row for row in found if not any(row.pop(name) for name in narrowed)]
    kept = [row for row in whole if len(row["format_template"]) <= 100]
    write("document_number_formats", kept)


def counters(source: str) -> None:
    columns = dict.fromkeys((*KEY, "last_number", "version"), sa.Integer) | {"updated_at": MOMENT}
    highest: dict[tuple[int, ...], dict[str, Any]] = {}
    for row in rows(source, **columns):
        key = tuple(getattr(row, name) for name in KEY)
        if key not in highest or highest[key]["last_number"] < row.last_number:
            highest[key] = row._asdict()
    write("document_number_counters", list(highest.values()))


def reservations(source: str, revisions: dict[Any, int]) -> None:
    """
    :param revisions: the current revision's key for each document's public id
    """
    same = {
        "id": sa.Integer,
        "document_number": sa.String,
        "document_number_status": sa.String,
        "project_id": sa.Integer,
        "correspondence_type_id": sa.Integer,
        "originator_organization_id": sa.Integer,
        "recipient_organization_id": sa.Integer,
        "user_id": sa.Integer,
        "reserved_at": MOMENT,
        "expires_at": MOMENT,
        "confirmed_at": MOMENT,
        "cancelled_at": MOMENT,
        "ip_address": sa.String,
    }
    kept: dict[str, dict[str, Any]] = {}
    for row in rows(source, **same, token=sa.Uuid, holder_public_id=sa.Uuid, created_at=MOMENT, register=sa.String):
        values = row._asdict()
        if values.pop("register") != "document":
            continue
        holder, created = values.pop("holder_public_id"), values.pop("created_at")
        values |= {
            "token": str(row.token),
            "document_id": revisions.get(holder),
            "expires_at": row.expires_at or created,
            "reserved_at": row.reserved_at or created,
        }
        if row.document_number_status not in STATUSES:
            values["document_number_status"] = "CANCELLED"
        if len(row.document_number) <= 100:
            kept.setdefault(row.document_number, values)
    write("document_number_reservations", list(kept.values()), token=sa.String)


def audit(source: str, letters: dict[Any, int]) -> None:
    """
    :param letters: the key of each letter, RFA and transmittal by its public id
    """
    same = {
        "id": BIG,
        "counter_key": sa.String,
        "template_used": sa.String,
        "sequence_number": sa.Integer,
        "user_id": sa.Integer,
        "ip_address": sa.String,
        "retry_count": sa.Integer,
        "lock_wait_ms": sa.Integer,
        "created_at": MOMENT,
    }
    kept = []
    more = {"operation": sa.String, "generated_number": sa.String, "holder_public_id": sa.Uuid}
    for row in rows(source, **same, **more):
        if row.operation != "GENERATE" or len(row.counter_key or "") > 500:
            continue
        values = row._asdict()
        values["document_id"] = letters.get(values.pop("holder_public_id"))
        del values["operation"]
        values["counter_key"] = row.counter_key or ""
        kept.append(values)
    write("document_number_audit", kept)


def errors(source: str) -> None:
    columns = {
        "id": BIG,
        "error_type": sa.String,
        "error_message": sa.Text,
        "context_data": sa.JSON(none_as_null=True),
        "user_id": sa.Integer,
        "ip_address": sa.String,
        "created_at": MOMENT,
        "resolved_at": MOMENT,
    }
    kept = []
    for row in rows(source, **columns):
        context = dict(row.context_data or {})
        trace = context.pop("stackTrace", None)
        kept.append(row._asdict() | {"context_data": context or None, "stack_trace": trace})
    write("document_number_errors", kept)
