"""
Blocks: what a header says, and the two digests that bind it to its rows and to the block before.

`docs/audit.md` tells outsiders how to compute both; change nothing here without a new first line of the head's text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from saraban.audit.domain.journals import RowDigest, utc_text
from saraban.kit.json import Json

FORM = "saraban-audit-1"
START = "0" * 64  # the head before the first block
MINIMUM_YEARS = 7


class BlockKind(StrEnum):
    SEAL = "SEAL"  # closes rows
    PURGE = "PURGE"  # says that the rows of other blocks were deleted, and which


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """
    A block without its rows.

    :param row_count: rows of the block, or rows that were deleted
    :param first_at: of those rows, as `last_at`
    """

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


def with_digest(header: BlockHeader) -> BlockHeader:
    """Return the header with its head."""
    return replace(header, head=head_digest(header))


def head_digest(header: BlockHeader) -> str:
    """Return the SHA-256 of the header's facts, one a line."""
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
    """Return the header as the export tells it."""
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
        "rows": None if listed is None else [[mark.public_id, mark.digest] for mark in listed],
    }


def from_export(line: dict[str, Any]) -> tuple[BlockHeader, list[RowDigest] | None]:
    """
    Read what `told` gave.

    :raises ValueError, KeyError, TypeError: when it is nothing of the kind
    """
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
    )
    listed = line["rows"]
    return header, None if listed is None else [RowDigest(str(one[0]), str(one[1])) for one in listed]


def rows_digest(marks: Iterable[RowDigest]) -> str:
    """Return the SHA-256 over `publicId digest` of each row, one a line, in their order."""
    digest = sha256()
    for mark in marks:
        digest.update(f"{mark.public_id} {mark.digest}\n".encode())
    return digest.hexdigest()


def pack(marks: Sequence[RowDigest]) -> bytes:
    """Return the list of a block's rows as the database keeps it: 48 bytes a row."""
    return b"".join(bytes.fromhex(mark.public_id.replace("-", "")) + bytes.fromhex(mark.digest) for mark in marks)


def unpack(content: bytes) -> list[RowDigest]:
    """Return the list back, or one that fits no digest when somebody has cut it."""
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
