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
from saraban.kit.statements import PreparedStatement
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
_RULES: Final[Mapping[SearchKind, KindRules]] = {
    SearchKind.CORRESPONDENCE: CORRESPONDENCE_RULES,
    SearchKind.RFA: RFA_RULES,
    SearchKind.TRANSMITTAL: TRANSMITTAL_RULES,
}


async def statuses(session: AsyncSession, words: Collection[Term]) -> dict[SearchKind, set[int]]:
    """
    Return the keys of statuses that registers show by one of the words: a state's code or name, or a code of the API.

    A word that is such a code or name means no other, and one that begins some means these.
    """
    names = {
        (kind, key): (*chain(*(_state(state) for state in states)), code)
        for (kind, key), (code, states) in (await _shown_states(session)).items()
    }
    return _by_kind(words, names, is_ranked=True)


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


async def status_names(session: AsyncSession) -> dict[tuple[SearchKind, int], Named]:
    """Return what registers call each status."""
    return {place: _state(states[0]) for place, (_, states) in (await _shown_states(session)).items()}


async def _shown_states(session: AsyncSession) -> dict[tuple[SearchKind, int], tuple[str, list[str]]]:
    """Return by kind and key the code of a status with the states that show it, as far as there are any."""
    rows = (await session.execute(_STATUSES)).all()
    found = {(kind, key): (code, _states_of(rules, code)) for kind, rules in _RULES.items() for key, code in rows}
    sheets = {(SearchKind.CIRCULATION, STATUS_PLACES[code]): (code, [state]) for state, code in STATUSES.items()}
    return {place: shown for place, shown in (found | sheets).items() if shown[1]}


def _states_of(rules: KindRules, code: str) -> list[str]:
    """Workflows of a project's own may lead to a status that only another register has by a name."""
    for each in (rules, CORRESPONDENCE_RULES):
        if states := [state for state in each.statuses if code in each.status_codes(state)]:
            return states
    return [code.lower()] if code.lower() in STATE_NAMES else []


def _state(code: str) -> Named:
    return Named(code, STATE_NAMES[code].th, STATE_NAMES[code].en)


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
        worst = best if is_ranked or (is_quoted and best == _WHOLE) else _INSIDE
        found &= {key for key, rank in ranks.items() if rank <= min(worst, _INSIDE)}
    return found


_WHOLE, _BEGINNING, _INSIDE, _NOWHERE = range(4)


def _rank(text: str, name: str) -> int:
    if text not in name:
        return _NOWHERE
    return _WHOLE if text == name else _BEGINNING if name.startswith(text) else _INSIDE


_PROJECTS: Final = PreparedStatement(
    sa.select(Project.id, Project.public_id, Project.project_code).where(
        Project.id.in_(sa.bindparam("keys", expanding=True))
    )
)


async def projects(session: AsyncSession, keys: Collection[int]) -> dict[int, tuple[UUID, str]]:
    return {key: (public_id, code) for key, public_id, code in await _PROJECTS.rows(session, keys=list(keys))}
