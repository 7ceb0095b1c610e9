"""The workflows there are, each with its versions: what an administrator chooses from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.errors import NotFound
from saraban.workflow.repository import catalogue as repository


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One version; `published_by` is None for what ships with the product."""

    public_id: UUID
    code: str
    version: int
    description: str | None
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
    def description(self) -> str | None:
        return (self.active or self.versions[0]).description


async def workflows(session: AsyncSession) -> list[Workflow]:
    """This will give every workflow, by its code."""
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
    """This will say how many documents run on a version."""
    return await repository.under_way(session, public_id)


def _line(row: tuple[UUID, str, int, str | None, bool, datetime, str | None, str | None, str | None]) -> VersionLine:
    *known, first_name, last_name, username = row
    name = " ".join(filter(None, (first_name, last_name))) or username
    return VersionLine(*known, published_by=name)  # type: ignore[misc]
