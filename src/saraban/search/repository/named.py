"""Organizations, types and statuses by part of their code or name."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation.domain import STATUS_PLACES, STATUSES
from saraban.documents.core.domain import KindRules
from saraban.documents.correspondence import CORRESPONDENCE_RULES
from saraban.documents.rfa.domain import RFA_RULES
from saraban.documents.transmittal.service.kind import TRANSMITTAL_RULES
from saraban.identity.models import Organization
from saraban.projects.models import CorrespondenceStatus, CorrespondenceType, Project, RfaType
from saraban.search_index.domain.folding import fold
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.query import Term
from saraban.workflow.language.outcome import STATE_NAMES

T = TypeVar("T")
_DOCUMENT_KINDS: Final = (SearchKind.CORRESPONDENCE, SearchKind.RFA, SearchKind.TRANSMITTAL)


class Named(NamedTuple):
    code: str
    th: str
    en: str | None


async def organizations(session: AsyncSession, words: Collection[Term]) -> set[int]:
    """A quoted word matches an exact code or name, if there is one."""
    return _matching_keys(words, (await organization_names(session)).items())


_STATUSES: Final = sa.select(CorrespondenceStatus.id, CorrespondenceStatus.status_code)
_TYPES: Final = sa.select(
    CorrespondenceType.id, CorrespondenceType.type_code, CorrespondenceType.type_name, CorrespondenceType.type_name_en
)
_RFA_TYPES: Final = sa.select(RfaType.id, RfaType.type_code, RfaType.type_name_th, RfaType.type_name_en)
_RULES: Final = {SearchKind(one.register): one for one in (CORRESPONDENCE_RULES, RFA_RULES, TRANSMITTAL_RULES)}


async def statuses(session: AsyncSession, words: Collection[Term]) -> dict[SearchKind, set[int]]:
    """An exact code or name excludes other matches, and so does a prefix."""
    return _by_kind(words, await status_names(session), is_ranked=True)


async def types(session: AsyncSession, words: Collection[Term]) -> dict[SearchKind, set[int]]:
    """The type RFA matches RFAs of all types."""
    names = await type_names(session)
    keys_by_kind = _by_kind(words, names)
    if any(names[SearchKind.CORRESPONDENCE, key].code == "RFA" for key in keys_by_kind[SearchKind.CORRESPONDENCE]):
        keys_by_kind[SearchKind.RFA] = {key for kind, key in names if kind is SearchKind.RFA}
    return keys_by_kind


def _by_kind(
    words: Collection[Term], names: Mapping[tuple[SearchKind, int], tuple[str | None, ...]], *, is_ranked: bool = False
) -> dict[SearchKind, set[int]]:
    keys_by_kind: dict[SearchKind, set[int]] = defaultdict(set)
    for kind, key in _matching_keys(words, names.items(), is_ranked=is_ranked):
        keys_by_kind[kind].add(key)
    return keys_by_kind


async def status_names(session: AsyncSession) -> dict[tuple[SearchKind, int], tuple[str, ...]]:
    """State code and names, also of other states with this status, and the API's code."""
    rows = (await session.execute(_STATUSES)).all()
    found = {(kind, key): _names_of_status(rules, code) for kind, rules in _RULES.items() for key, code in rows}
    sheets = {
        (SearchKind.CIRCULATION, STATUS_PLACES[code]): (*_state_names(name), code) for name, code in STATUSES.items()
    }
    return {place: names for place, names in (found | sheets).items() if len(names) > 1}


def _names_of_status(rules: KindRules, code: str) -> tuple[str, ...]:
    """A custom workflow can use a status that only letters have a name for."""
    candidates = (
        [state for state in kind_rules.statuses if code in kind_rules.status_codes(state)]
        for kind_rules in (rules, CORRESPONDENCE_RULES)
    )
    states = next(filter(None, candidates), [code.lower()])
    return (*chain(*(_state_names(state) for state in states if state in STATE_NAMES)), code)


def _state_names(code: str) -> tuple[str, str, str]:
    return code, STATE_NAMES[code].th, STATE_NAMES[code].en


async def type_names(session: AsyncSession) -> dict[tuple[SearchKind, int], Named]:
    document_types = {key: Named(code, th, en) for key, code, th, en in await session.execute(_TYPES)}
    rfas = {(SearchKind.RFA, key): Named(code, th, en) for key, code, th, en in await session.execute(_RFA_TYPES)}
    others = (SearchKind.CORRESPONDENCE, SearchKind.TRANSMITTAL)
    return {(kind, key): type_name for kind in others for key, type_name in document_types.items()} | rfas


async def organization_names(session: AsyncSession, keys: Collection[int] | None = None) -> dict[int, Named]:
    """:param keys: None for all"""
    organization = Organization
    statement = sa.select(
        organization.id,
        organization.organization_code,
        organization.organization_name,
        organization.organization_name_en,
    )
    rows = await session.execute(statement if keys is None else statement.where(organization.id.in_(keys)))
    return {key: Named(code, th, en) for key, code, th, en in rows}


def _matching_keys(
    words: Collection[Term], names: Iterable[tuple[T, tuple[str | None, ...]]], *, is_ranked: bool = False
) -> set[T]:
    """:param is_ranked: exact names exclude prefixes, and prefixes other parts, also without quotes"""
    folded_names = {key: [fold(name) for name in spellings if name] for key, spellings in names}
    keys = set(folded_names)
    for text, is_quoted in words:
        ranks = {key: min(_rank(text, name) for name in forms) for key, forms in folded_names.items()}
        best = min(ranks.values(), default=_INSIDE)
        worst = min(best, _INSIDE) if is_ranked or (is_quoted and best == 0) else _INSIDE
        keys &= {key for key, rank in ranks.items() if rank <= worst}
    return keys


_INSIDE: Final = 2


def _rank(text: str, name: str) -> int:
    """0 for the exact name, 1 for a prefix, `_INSIDE` for a part, more for no match."""
    return (text != name) + (not name.startswith(text)) if text in name else _INSIDE + 1


async def projects(session: AsyncSession, keys: Collection[int]) -> dict[int, tuple[UUID, str]]:
    statement = sa.select(Project.id, Project.public_id, Project.project_code).where(Project.id.in_(keys))
    return {key: (public_id, code) for key, public_id, code in await session.execute(statement)}
