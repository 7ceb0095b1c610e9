"""Suggestions of the search box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.domain import VIEW
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import OrganizationMember
from saraban.kit.clock import local_date
from saraban.kit.errors import Invalid
from saraban.projects import service as projects
from saraban.search.service.search import FoundItem, SearchQuestion, search
from saraban.search_index.domain.folding import fold_cached
from saraban.search_index.domain.query import SearchQuery, parse

DOCUMENTS: Final = 6
PEOPLE: Final = 4


@dataclass(frozen=True, slots=True)
class Suggestions:
    """:param documents: those whose number contains the text come first"""

    documents: Sequence[FoundItem] = ()
    people: Sequence[OrganizationMember] = ()


async def suggest(ctx: RequestContext, session: AsyncSession, text: str) -> Suggestions:
    """Return none for a query that the search refuses."""
    try:
        query = parse(text, today=local_date(ctx.now, ctx.zone))
    except Invalid:
        return Suggestions()
    result = await search(ctx, session, SearchQuestion(text, best_first=True, limit=DOCUMENTS))
    return Suggestions(result.items, await _people(ctx, session, query))


async def _people(ctx: RequestContext, session: AsyncSession, query: SearchQuery) -> list[OrganizationMember]:
    """None for a query with conditions or exclusions."""
    if query != SearchQuery(query.words) or not ctx.caller.may_anywhere(VIEW):
        return []
    people = await core.people_offered(ctx, session, await projects.projects_of(ctx, session))
    names = ((person, fold_cached(person.display_name)) for person in people)
    return [person for person, name in names if all(word in name for word in query.words)][:PEOPLE]
