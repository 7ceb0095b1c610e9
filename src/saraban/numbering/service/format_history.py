"""What a format was from one change to the next, read back from the audit."""

from dataclasses import dataclass
from datetime import datetime

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering import repository
from saraban.numbering.models import NumberFormat

_CODES = ("subTypeCode", "rfaTypeCode", "disciplineCode")


@dataclass(frozen=True, slots=True)
class FormatVersion:
    """:param username: who made it; None for what stood there before changes were recorded"""

    version: int
    template: str
    resets: bool
    overflow: str
    reason: str | None
    username: str | None
    at: datetime


async def versions_of(session: AsyncSession, saved: NumberFormat) -> list[FormatVersion]:
    """Return every version of a format, newest first; there is always one."""
    rows = await repository.format_audits(session, saved)
    found = [
        _version(audit.new_value, reason=audit.reason, username=username, at=audit.created_at)
        for audit, username in rows
    ]
    if not rows:
        return [_version(facts_of(saved), reason=None, username=None, at=saved.updated_at)]
    oldest = rows[-1][0]
    if oldest.old_value is not None:
        found.append(_version(oldest.old_value, reason=None, username=None, at=saved.created_at))
    return found


def facts_of(saved: NumberFormat) -> str:
    """Return a format as the audit keeps it."""
    return orjson.dumps(
        {
            **{name: code for name, code in zip(_CODES, saved.narrowing, strict=True) if code},
            "template": saved.format_template,
            "resetSequenceYearly": saved.reset_sequence_yearly,
            "overflow": saved.overflow,
            "version": saved.version,
        }
    ).decode()


def _version(facts: str | None, *, reason: str | None, username: str | None, at: datetime) -> FormatVersion:
    told = orjson.loads(facts or "{}")
    return FormatVersion(
        version=told.get("version", 0),
        template=told.get("template", ""),
        resets=told.get("resetSequenceYearly", False),
        overflow=told.get("overflow", "widen"),
        reason=reason,
        username=username,
        at=at,
    )
