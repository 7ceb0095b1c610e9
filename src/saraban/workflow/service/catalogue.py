"""The workflows there are, each with its versions: what an administrator chooses from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.service.callers import display_name
from saraban.kit.errors import NotFound, Text
from saraban.workflow.domain import dsl
from saraban.workflow.repository import catalogue as repository
from saraban.workflow.repository import known_names


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One version; `published_by` is None for what ships with the product."""

    public_id: UUID
    code: str
    version: int
    description: Text | None
    is_active: bool
    published_at: datetime
    published_by: str | None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A code with all its versions, the newest first."""

    code: str
    versions: Sequence[VersionLine]

    @property
    def active(self) -> VersionLine | None:
        return next((one for one in self.versions if one.is_active), None)

    @property
    def description(self) -> Text | None:
        return (self.active or self.versions[0]).description


async def workflows(session: AsyncSession) -> list[Workflow]:
    """Return every workflow, by its code."""
    rows = [_line(row) for row in await repository.lines(session, code=None)]
    return [Workflow(code, tuple(some)) for code, some in groupby(rows, key=lambda line: line.code)]


async def workflow(session: AsyncSession, *, code: str) -> Workflow:
    """
    :raises NotFound: when no version of it was ever published
    """
    rows = tuple(_line(row) for row in await repository.lines(session, code=code))
    if not rows:
        raise NotFound(f"There is no workflow {code}.")
    return Workflow(code, rows)


async def under_way(session: AsyncSession, *, public_id: UUID) -> int:
    """Return how many documents run on a version."""
    return await repository.under_way(session, public_id)


async def role_names(session: AsyncSession) -> list[str]:
    """Return the roles that a definition may name."""
    roles, _ = await known_names(session)
    return sorted(roles)


def _line(row: Any) -> VersionLine:
    return VersionLine(
        row.id,
        row.workflow_code,
        row.version,
        dsl.said_of(row.description),
        row.is_active,
        row.created_at,
        display_name(row) if row.username is not None else None,
    )
