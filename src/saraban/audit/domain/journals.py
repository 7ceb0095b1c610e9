"""
The two journals, the canonical form of their rows, and the blocks that seal rows.

`docs/audit.md` tells outsiders how to compute the digests: a change needs a new `FORM`.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, Literal

from saraban.kit.json import Json
from saraban.kit.signatures import Signer

FieldKind = Literal["plain", "uuid", "moment", "user", "project"]


@dataclass(frozen=True, slots=True)
class JournalField:
    """Keys of users and projects are exported as public ids."""

    name: str
    column: str
    kind: FieldKind = "plain"


@dataclass(frozen=True, slots=True)
class Journal:
    """:param key: orders the rows in the database and is never exported"""

    name: str
    table: str
    key: str
    fields: tuple[JournalField, ...]


@dataclass(frozen=True, slots=True)
class RowDigest:
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
    """Return the same bytes on every database."""
    row: dict[str, Json] = {"type": "row", "journal": journal.name}
    row |= {field.name: _export_value(field.kind, value) for field, value in zip(journal.fields, values, strict=True)}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def digest_of_row(line: bytes) -> RowDigest:
    """:raises ValueError:"""
    row = json.loads(line)
    if not isinstance(row, dict) or row.get("type") != "row" or not isinstance(row.get("publicId"), str):
        raise ValueError("not a row")
    return RowDigest(row["publicId"], sha256(line).hexdigest(), row.get("createdAt"))


def _export_value(kind: FieldKind, value: object) -> Json:
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
    """Return `2026-11-21T03:04:05.678901Z`; text that is not a time stays unchanged."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    aware = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return aware.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


FORM = "saraban-audit-1"
START = "0" * 64  # the head before the first block
MINIMUM_YEARS = 7


class BlockKind(StrEnum):
    SEAL = "SEAL"  # closes rows
    PURGE = "PURGE"  # names blocks whose rows were deleted


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """:param row_count: rows of the block, or deleted rows; likewise `first_at` and `last_at`"""

    journal: str
    number: int
    kind: BlockKind
    row_count: int
    rows_digest: str
    previous_head: str
    first_at: datetime
    last_at: datetime
    sealed_at: datetime
    purged_first: int | None = None
    purged_last: int | None = None
    head: str = ""
    signature: str | None = None
    public_key: str | None = None


def with_digest(header: BlockHeader, signer: Signer | None = None) -> BlockHeader:
    head = head_digest(header)
    signature, key = (signer.sign(head), signer.public_key) if signer else (None, None)
    return replace(header, head=head, signature=signature, public_key=key)


def head_digest(header: BlockHeader) -> str:
    facts = (
        FORM,
        header.journal,
        header.number,
        header.kind,
        header.row_count,
        header.rows_digest,
        header.previous_head,
        utc_text(header.first_at),
        utc_text(header.last_at),
        utc_text(header.sealed_at),
        "-" if header.purged_first is None else header.purged_first,
        "-" if header.purged_last is None else header.purged_last,
    )
    return sha256("\n".join(str(fact) for fact in facts).encode()).hexdigest()


def to_export(header: BlockHeader, listed: Sequence[RowDigest] | None) -> dict[str, Json]:
    return {
        "type": "block",
        "journal": header.journal,
        "number": header.number,
        "kind": header.kind,
        "rowCount": header.row_count,
        "rowsDigest": header.rows_digest,
        "previousHead": header.previous_head,
        "firstAt": utc_text(header.first_at),
        "lastAt": utc_text(header.last_at),
        "sealedAt": utc_text(header.sealed_at),
        "purgedFirst": header.purged_first,
        "purgedLast": header.purged_last,
        "head": header.head,
        "signature": header.signature,
        "publicKey": header.public_key,
        "rows": None if listed is None else [[mark.public_id, mark.digest] for mark in listed],
    }


def from_export(line: dict[str, Any]) -> tuple[BlockHeader, list[RowDigest] | None]:
    """:raises ValueError, KeyError, TypeError:"""
    header = BlockHeader(
        journal=str(line["journal"]),
        number=int(line["number"]),
        kind=BlockKind.PURGE if line["kind"] == BlockKind.PURGE else BlockKind.SEAL,
        row_count=int(line["rowCount"]),
        rows_digest=str(line["rowsDigest"]),
        previous_head=str(line["previousHead"]),
        first_at=datetime.fromisoformat(line["firstAt"]),
        last_at=datetime.fromisoformat(line["lastAt"]),
        sealed_at=datetime.fromisoformat(line["sealedAt"]),
        purged_first=line["purgedFirst"],
        purged_last=line["purgedLast"],
        head=str(line["head"]),
        signature=line.get("signature"),
        public_key=line.get("publicKey"),
    )
    listed = line["rows"]
    return header, None if listed is None else [RowDigest(str(pair[0]), str(pair[1])) for pair in listed]


def rows_digest(marks: Iterable[RowDigest]) -> str:
    """Return the SHA-256 over the lines `publicId digest`."""
    digest = sha256()
    for mark in marks:
        digest.update(f"{mark.public_id} {mark.digest}\n".encode())
    return digest.hexdigest()


def pack(marks: Sequence[RowDigest]) -> bytes:
    """Return 48 bytes for each row."""
    return b"".join(bytes.fromhex(mark.public_id.replace("-", "")) + bytes.fromhex(mark.digest) for mark in marks)


def unpack(content: bytes) -> list[RowDigest]:
    marks = []
    for at in range(0, len(content), 48):
        digits, digest = content[at : at + 16].hex(), content[at + 16 : at + 48].hex()
        public_id = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        marks.append(RowDigest(public_id, digest))
    return marks


def years_before(at: datetime, years: int) -> datetime:
    """Return the same day `years` earlier; 29 February becomes 28."""
    try:
        return at.replace(year=at.year - years)
    except ValueError:
        return at.replace(year=at.year - years, day=28)
