"""The keys of what conditions of a query name: organizations, types and statuses by a part of their code or name."""

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
_WRITTEN: Final = (SearchKind.CORRESPONDENCE, SearchKind.RFA, SearchKind.TRANSMITTAL)


class Named(NamedTuple):
    code: str
    th: str
    en: str | None


async def organizations(session: AsyncSession, words: Collection[Term]) -> set[int]:
    """Return those that every word is in the code or a name of; in quotes it is a code or a name itself, where there is such a one."""
    return _with(words, (await organization_names(session)).items())


_STATUSES: Final = sa.select(CorrespondenceStatus.id, CorrespondenceStatus.status_code)
_TYPES: Final = sa.select(
    CorrespondenceType.id, CorrespondenceType.type_code, CorrespondenceType.type_name, CorrespondenceType.type_name_en
)
_RFA_TYPES: Final = sa.select(RfaType.id, RfaType.type_code, RfaType.type_name_th, RfaType.type_name_en)
_RULES: Final = {SearchKind(one.register): one for one in (CORRESPONDENCE_RULES, RFA_RULES, TRANSMITTAL_RULES)}


async def statuses(session: AsyncSession, words: Collection[Term]) -> dict[SearchKind, set[int]]:
    """A word that is a code or a name means no other status, and one that begins some means these."""
    return _by_kind(words, await status_names(session), is_ranked=True)


async def types(session: AsyncSession, words: Collection[Term]) -> dict[SearchKind, set[int]]:
    """Return types of documents by the kind whose register tells them apart so; to ask for the type RFA asks for RFAs of all types."""
    names = await type_names(session)
    found = _by_kind(words, names)
    if any(names[SearchKind.CORRESPONDENCE, key].code == "RFA" for key in found[SearchKind.CORRESPONDENCE]):
        found[SearchKind.RFA] = {key for kind, key in names if kind is SearchKind.RFA}
    return found


def _by_kind(
    words: Collection[Term], names: Mapping[tuple[SearchKind, int], tuple[str | None, ...]], *, is_ranked: bool = False
) -> dict[SearchKind, set[int]]:
    found: dict[SearchKind, set[int]] = defaultdict(set)
    for kind, key in _with(words, names.items(), is_ranked=is_ranked):
        found[kind].add(key)
    return found


async def status_names(session: AsyncSession) -> dict[tuple[SearchKind, int], tuple[str, ...]]:
    """Return how registers show each status: code and names of a state, of others that show it too, and its code in the API."""
    rows = (await session.execute(_STATUSES)).all()
    found = {(kind, key): _shown_as(rules, code) for kind, rules in _RULES.items() for key, code in rows}
    sheets = {(SearchKind.CIRCULATION, STATUS_PLACES[code]): (*_state(name), code) for name, code in STATUSES.items()}
    return {place: names for place, names in (found | sheets).items() if len(names) > 1}


def _shown_as(rules: KindRules, code: str) -> tuple[str, ...]:
    """Workflows of a project's own may lead to a status that only another register has by a name."""
    both = (
        [state for state in each.statuses if code in each.status_codes(state)] for each in (rules, CORRESPONDENCE_RULES)
    )
    states = next(filter(None, both), [code.lower()])
    return (*chain(*(_state(state) for state in states if state in STATE_NAMES)), code)


def _state(code: str) -> tuple[str, str, str]:
    return code, STATE_NAMES[code].th, STATE_NAMES[code].en


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


def _with(
    words: Collection[Term], names: Iterable[tuple[T, tuple[str | None, ...]]], *, is_ranked: bool = False
) -> set[T]:
    """:param is_ranked: a word that is a name means no other, also without quotes, and one that begins some means these"""
    said = {key: [fold(name) for name in one if name] for key, one in names}
    found = set(said)
    for text, is_quoted in words:
        ranks = {key: min(_rank(text, name) for name in written) for key, written in said.items()}
        best = min(ranks.values(), default=_INSIDE)
        worst = min(best, _INSIDE) if is_ranked or (is_quoted and best == 0) else _INSIDE
        found &= {key for key, rank in ranks.items() if rank <= worst}
    return found


_INSIDE: Final = 2


def _rank(text: str, name: str) -> int:
    """Return 0 for the whole name, 1 for its beginning, `_INSIDE` for a part of it, more for none."""
    return (text != name) + (not name.startswith(text)) if text in name else _INSIDE + 1


async def projects(session: AsyncSession, keys: Collection[int]) -> dict[int, tuple[UUID, str]]:
    statement = sa.select(Project.id, Project.public_id, Project.project_code).where(Project.id.in_(keys))
    return {key: (public_id, code) for key, public_id, code in await session.execute(statement)}
