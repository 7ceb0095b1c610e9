"""
What the two journals consist of, and the canonical form of a row: the bytes of its line in the export.

Columns are named here as text, because the numbers' table belongs to a feature above this one. Docs: `docs/audit.md`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal

from saraban.kit.json import Json

FieldKind = Literal["plain", "uuid", "moment", "user", "project"]


@dataclass(frozen=True, slots=True)
class JournalField:
    """`name` in the export, `column` in the table; keys of users and projects are told as those rows' public ids."""

    name: str
    column: str
    kind: FieldKind = "plain"


@dataclass(frozen=True, slots=True)
class Journal:
    """`key` orders the rows inside the database and never leaves it."""

    name: str
    table: str
    key: str
    fields: tuple[JournalField, ...]


@dataclass(frozen=True, slots=True)
class RowDigest:
    """What of a row goes into its block: public id, SHA-256 of its line; and its time, for people."""

    public_id: str
    digest: str
    at: str | None = None


NUMBERS = Journal(
    "numbers",
    "document_number_audit",
    "id",
    (
        JournalField("publicId", "uuid", "uuid"),
        JournalField("createdAt", "created_at", "moment"),
        JournalField("operation", "operation"),
        JournalField("projectPublicId", "project_id", "project"),
        JournalField("reservationPublicId", "reservation_uuid", "uuid"),
        JournalField("formatPublicId", "format_uuid", "uuid"),
        JournalField("documentNumber", "generated_number"),
        JournalField("documentType", "document_type"),
        JournalField("holderPublicId", "holder_public_id", "uuid"),
        JournalField("series", "series"),
        JournalField("counterKey", "counter_key"),
        JournalField("templateUsed", "template_used"),
        JournalField("sequenceNumber", "sequence_number"),
        JournalField("skippedTo", "skipped_to"),
        JournalField("oldValue", "old_value"),
        JournalField("newValue", "new_value"),
        JournalField("reason", "reason"),
        JournalField("userPublicId", "user_id", "user"),
        JournalField("ipAddress", "ip_address"),
        JournalField("idempotencyKey", "idempotency_key"),
        JournalField("retryCount", "retry_count"),
        JournalField("lockWaitMs", "lock_wait_ms"),
        JournalField("lockPath", "lock_path"),
    ),
)
ACTIONS = Journal(
    "deeds",
    "audit_logs",
    "audit_id",
    (
        JournalField("publicId", "uuid", "uuid"),
        JournalField("createdAt", "created_at", "moment"),
        JournalField("action", "action"),
        JournalField("severity", "severity"),
        JournalField("actorPublicId", "actor_uuid", "uuid"),
        JournalField("entityType", "entity_type"),
        JournalField("entityId", "entity_id"),
        JournalField("details", "details_json"),
        JournalField("ipAddress", "ip_address"),
        JournalField("userAgent", "user_agent"),
        JournalField("requestId", "request_id"),
    ),
)
JOURNALS = (NUMBERS, ACTIONS)


def canonical_line(journal: Journal, values: Sequence[object]) -> bytes:
    """Return the canonical form of a row, without the line feed; the same on every kind of database."""
    told: dict[str, Json] = {"type": "row", "journal": journal.name}
    told |= {field.name: _told(field.kind, value) for field, value in zip(journal.fields, values, strict=True)}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def digest_of_row(line: bytes) -> RowDigest:
    """
    Return the mark of a line as it stands; whatever is changed in it changes the digest.

    :raises ValueError: when it is not the line of a row
    """
    told = json.loads(line)
    if not isinstance(told, dict) or told.get("type") != "row" or not isinstance(told.get("publicId"), str):
        raise ValueError("not a row")
    return RowDigest(told["publicId"], sha256(line).hexdigest(), told.get("createdAt"))


def _told(kind: FieldKind, value: object) -> Json:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if value is None or kind == "plain":
        return value if value is None or isinstance(value, int | str) else str(value)
    if kind == "moment":
        return utc_text(value if isinstance(value, datetime) else str(value))
    digits = str(value).replace("-", "").lower()
    if len(digits) != 32:
        return str(value)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def utc_text(value: datetime | str) -> str:
    """Return `2026-11-21T03:04:05.678901Z`; text that is no time of a database stays as it is, for all to see."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    aware = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return aware.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
