"""The keys of what conditions of a query name: organizations, types and statuses by a part of their code or name."""

from collections.abc import Collection, Iterable
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.projects.models import CorrespondenceStatus, CorrespondenceType, Project, RfaType
from saraban.search_index.domain.folding import fold
from saraban.search_index.domain.kinds import SearchKind


async def organizations(session: AsyncSession, words: Collection[str]) -> set[int]:
    """Return those that every word is in the code or a name of."""
    one = Organization
    columns = (one.organization_code, one.organization_name, one.organization_name_en)
    return _with(words, await session.execute(sa.select(one.id, *columns)))


async def statuses(session: AsyncSession, words: Collection[str]) -> set[int]:
    one = CorrespondenceStatus
    columns = (one.status_code, one.status_name, one.status_name_en)
    return _with(words, await session.execute(sa.select(one.id, *columns)))


async def types(session: AsyncSession, words: Collection[str]) -> dict[SearchKind, set[int]]:
    """Return types of documents by the kind whose register tells them apart so."""
    of, asked = CorrespondenceType, RfaType
    documents = sa.select(of.id, of.type_code, of.type_name, of.type_name_en)
    rfas = sa.select(asked.id, asked.type_code, asked.type_name_th, asked.type_name_en)
    found = _with(words, await session.execute(documents))
    return {
        **dict.fromkeys((SearchKind.CORRESPONDENCE, SearchKind.TRANSMITTAL), found),
        SearchKind.RFA: _with(words, await session.execute(rfas)),
    }


def _with(words: Collection[str], rows: Iterable[sa.Row[int, str, str, str | None]]) -> set[int]:
    found = set()
    for key, *names in rows:
        said = [fold(name) for name in names if name]
        if all(any(word in name for name in said) for word in words):
            found.add(key)
    return found


async def projects(session: AsyncSession, keys: Collection[int]) -> dict[int, tuple[UUID, str]]:
    """Return public id and code by key."""
    statement = sa.select(Project.id, Project.public_id, Project.project_code).where(Project.id.in_(keys))
    return {key: (public_id, code) for key, public_id, code in await session.execute(statement)}
