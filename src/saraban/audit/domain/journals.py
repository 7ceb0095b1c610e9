"""
What the two journals consist of, and the canonical form of a row: the bytes of its line in the export.

Columns are named here as text, because the numbers' table belongs to a feature above this one. Docs: `docs/audit.md`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal

Kind = Literal["plain", "uuid", "moment", "user", "project"]


@dataclass(frozen=True, slots=True)
class Field:
    """`name` in the export, `column` in the table; keys of users and projects are told as those rows' public ids."""

    name: str
    column: str
    kind: Kind = "plain"


@dataclass(frozen=True, slots=True)
class Journal:
    """`key` orders the rows inside the database and never leaves it."""

    name: str
    table: str
    key: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """What of a row goes into its block: public id, SHA-256 of its line; and its time, for people."""

    public_id: str
    digest: str
    at: str | None = None


NUMBERS = Journal(
    "numbers",
    "document_number_audit",
    "id",
    (
        Field("publicId", "uuid", "uuid"),
        Field("createdAt", "created_at", "moment"),
        Field("operation", "operation"),
        Field("projectPublicId", "project_id", "project"),
        Field("reservationPublicId", "reservation_uuid", "uuid"),
        Field("formatPublicId", "format_uuid", "uuid"),
        Field("documentNumber", "generated_number"),
        Field("documentType", "document_type"),
        Field("holderPublicId", "holder_public_id", "uuid"),
        Field("series", "series"),
        Field("counterKey", "counter_key"),
        Field("templateUsed", "template_used"),
        Field("sequenceNumber", "sequence_number"),
        Field("skippedTo", "skipped_to"),
        Field("oldValue", "old_value"),
        Field("newValue", "new_value"),
        Field("reason", "reason"),
        Field("userPublicId", "user_id", "user"),
        Field("ipAddress", "ip_address"),
        Field("idempotencyKey", "idempotency_key"),
        Field("retryCount", "retry_count"),
        Field("lockWaitMs", "lock_wait_ms"),
        Field("lockPath", "lock_path"),
    ),
)
DEEDS = Journal(
    "deeds",
    "audit_logs",
    "audit_id",
    (
        Field("publicId", "uuid", "uuid"),
        Field("createdAt", "created_at", "moment"),
        Field("action", "action"),
        Field("severity", "severity"),
        Field("actorPublicId", "actor_uuid", "uuid"),
        Field("entityType", "entity_type"),
        Field("entityId", "entity_id"),
        Field("details", "details_json"),
        Field("ipAddress", "ip_address"),
        Field("userAgent", "user_agent"),
        Field("requestId", "request_id"),
    ),
)
JOURNALS = (NUMBERS, DEEDS)


def line_of(journal: Journal, values: Sequence[Any]) -> bytes:
    """Return the canonical form of a row, without the line feed; the same on every kind of database."""
    told = {"type": "row", "journal": journal.name}
    told |= {field.name: _told(field.kind, value) for field, value in zip(journal.fields, values, strict=True)}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def mark_of(line: bytes) -> Mark:
    """
    Return the mark of a line as it stands; whatever is changed in it changes the digest.

    :raises ValueError: when it is not the line of a row
    """
    told = json.loads(line)
    if not isinstance(told, dict) or told.get("type") != "row" or not isinstance(told.get("publicId"), str):
        raise ValueError("not a row")
    return Mark(told["publicId"], sha256(line).hexdigest(), told.get("createdAt"))


def _told(kind: Kind, value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if value is None or kind == "plain":
        return value if value is None or isinstance(value, int | str) else str(value)
    if kind == "moment":
        return moment(value)
    digits = str(value).replace("-", "").lower()
    if len(digits) != 32:
        return str(value)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def moment(value: datetime | str) -> str:
    """Return `2026-11-21T03:04:05.678901Z`; text that is no time of a database stays as it is, for all to see."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    aware = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return aware.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
