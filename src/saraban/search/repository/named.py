"""The keys of what conditions of a query name: organizations, types and statuses by a part of their code or name."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation.domain import STATUS_NAMES, STATUS_PLACES
from saraban.identity.models import Organization
from saraban.kit.statements import PreparedStatement
from saraban.projects.models import CorrespondenceStatus, CorrespondenceType, Project, RfaType
from saraban.search_index.domain.folding import fold
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.query import Term

T = TypeVar("T")
_WRITTEN: Final = (SearchKind.CORRESPONDENCE, SearchKind.RFA, SearchKind.TRANSMITTAL)


class Named(NamedTuple):
    code: str
    th: str
    en: str | None


async def organizations(session: AsyncSession, words: Collection[Term]) -> set[int]:
    """Return those that every word is in the code or a name of; in quotes it is the code itself, where there is such a code."""
    return _with(words, (await organization_names(session)).items())


_STATUS: Final = (CorrespondenceStatus.id, CorrespondenceStatus.status_code, CorrespondenceStatus.status_name)
_STATUSES: Final = sa.select(*_STATUS, CorrespondenceStatus.status_name_en)
_TYPES: Final = sa.select(
    CorrespondenceType.id, CorrespondenceType.type_code, CorrespondenceType.type_name, CorrespondenceType.type_name_en
)
_RFA_TYPES: Final = sa.select(RfaType.id, RfaType.type_code, RfaType.type_name_th, RfaType.type_name_en)
_SHEETS: Final = [(place, code, STATUS_NAMES[code].th, STATUS_NAMES[code].en) for code, place in STATUS_PLACES.items()]


async def statuses(session: AsyncSession, words: Collection[Term]) -> dict[SearchKind, set[int]]:
    return _by_kind(words, await status_names(session))


async def types(session: AsyncSession, words: Collection[Term]) -> dict[SearchKind, set[int]]:
    """Return types of documents by the kind whose register tells them apart so; to ask for the type RFA asks for RFAs of all types."""
    names = await type_names(session)
    found = _by_kind(words, names)
    if any(names[SearchKind.CORRESPONDENCE, key].code == "RFA" for key in found[SearchKind.CORRESPONDENCE]):
        found[SearchKind.RFA] = {key for kind, key in names if kind is SearchKind.RFA}
    return found


def _by_kind(words: Collection[Term], names: Mapping[tuple[SearchKind, int], Named]) -> dict[SearchKind, set[int]]:
    found: dict[SearchKind, set[int]] = defaultdict(set)
    for kind, key in _with(words, names.items()):
        found[kind].add(key)
    return found


async def status_names(session: AsyncSession) -> dict[tuple[SearchKind, int], Named]:
    found = {key: Named(code, th, en) for key, code, th, en in await session.execute(_STATUSES)}
    sheets = {(SearchKind.CIRCULATION, key): Named(*names) for key, *names in _SHEETS}
    return {(kind, key): one for kind in _WRITTEN for key, one in found.items()} | sheets


async def type_names(session: AsyncSession) -> dict[tuple[SearchKind, int], Named]:
    found = {key: Named(code, th, en) for key, code, th, en in await session.execute(_TYPES)}
    rfas = {(SearchKind.RFA, key): Named(code, th, en) for key, code, th, en in await session.execute(_RFA_TYPES)}
    others = (SearchKind.CORRESPONDENCE, SearchKind.TRANSMITTAL)
    return {(kind, key): one for kind in others for key, one in found.items()} | rfas


async def organization_names(session: AsyncSession, keys: Collection[int] | None = None) -> dict[int, Named]:
    """:param keys: None for all"""
    one = Organization
    statement = sa.select(one.id, one.organization_code, one.organization_name, one.organization_name_en)
    rows = await session.execute(statement if keys is None else statement.where(one.id.in_(keys)))
    return {key: Named(code, th, en) for key, code, th, en in rows}


def _with(words: Collection[Term], names: Iterable[tuple[T, Named]]) -> set[T]:
    said = {key: [fold(name) for name in one if name] for key, one in names}
    found = set(said)
    for word in words:
        those = {key for key, (code, *_) in said.items() if word.is_quoted and code == word.text}
        found &= those or {key for key, written in said.items() if any(word.text in name for name in written)}
    return found


_PROJECTS: Final = PreparedStatement(
    sa.select(Project.id, Project.public_id, Project.project_code).where(
        Project.id.in_(sa.bindparam("keys", expanding=True))
    )
)


async def projects(session: AsyncSession, keys: Collection[int]) -> dict[int, tuple[UUID, str]]:
    return {key: (public_id, code) for key, public_id, code in await _PROJECTS.rows(session, keys=list(keys))}
