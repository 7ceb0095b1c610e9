"""What the box suggests while somebody types: documents that they find, and people whose documents they can look for."""

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
    """:param documents: those whose number has what was typed first"""

    documents: Sequence[FoundItem] = ()
    people: Sequence[OrganizationMember] = ()


async def suggest(ctx: RequestContext, session: AsyncSession, text: str) -> Suggestions:
    """Return what the caller may see of what was typed; nothing for what nothing can be found by."""
    try:
        query = parse(text, today=local_date(ctx.now, ctx.zone))
    except Invalid:
        return Suggestions()
    found = await search(ctx, session, SearchQuestion(text, best_first=True, limit=DOCUMENTS))
    return Suggestions(found.items, await _people(ctx, session, query))


async def _people(ctx: RequestContext, session: AsyncSession, query: SearchQuery) -> list[OrganizationMember]:
    """Return people whose name has every word; a query with more than words asks for documents alone."""
    if query != SearchQuery(query.words) or not ctx.caller.may_anywhere(VIEW):
        return []
    people = await core.people_offered(ctx, session, await projects.projects_of(ctx, session))
    names = ((one, fold_cached(one.display_name)) for one in people)
    return [one for one, name in names if all(word in name for word in query.words)][:PEOPLE]
