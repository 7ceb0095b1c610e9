"""`/search`: search over all kinds of documents."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query

from saraban.identity.dependencies import Context
from saraban.kit.http import ReadSession
from saraban.projects.schemas import ProjectCode
from saraban.search.domain import Piece
from saraban.search.schemas import (
    SearchAnswer,
    SearchAsked,
    SearchItem,
    SuggestedDocument,
    SuggestedPerson,
    SuggestionsAnswer,
)
from saraban.search.service.search import FoundItem, SearchQuestion, search
from saraban.search.service.suggestions import suggest
from saraban.search_index.domain.kinds import SearchKind

router = APIRouter(tags=["Search"])

PAGE: Final = 20
_KINDS: Final = {kind.path: kind for kind in SearchKind}


@router.get("/search", summary="Find documents, circulations and drawings")
async def find(ctx: Context, session: ReadSession, asked: Annotated[SearchAsked, Query()]) -> SearchAnswer:
    """
    Words match in any order, also inside Thai words; only entries that the caller may see are found and counted. A page
    has 20, and paging ends at 10,000 matches: add words to reach older ones.
    """
    question = question_of(asked)
    result = await search(ctx, session, question)
    return SearchAnswer(
        items=[_item_out(item) for item in result.items],
        facets=result.facets,
        approximate_count=result.count,
        is_complete=result.is_whole,
        next_cursor=str(result.following) if result.following else None,
    )


@router.get("/search/suggestions", summary="Suggest documents and people while somebody types")
async def suggestions(
    ctx: Context, session: ReadSession, q: Annotated[str, Query(max_length=500, examples=["RFA-TER"])]
) -> SuggestionsAnswer:
    """
    Up to six documents as the search finds them, and up to four people whose name contains every word, of those that
    the caller can filter registers by. A query that the search refuses, such as a single letter, has no suggestions.
    """
    result = await suggest(ctx, session, q)
    return SuggestionsAnswer(
        documents=[
            SuggestedDocument(
                kind=one.kind.path, public_id=one.public_id, document_number=one.number, subject=_text_of(one.subject)
            )
            for one in result.documents
        ],
        people=[SuggestedPerson(public_id=one.public_id, name=one.display_name) for one in result.people],
    )


def question_of(asked: SearchAsked) -> SearchQuestion:
    return SearchQuestion(
        text=asked.q,
        kinds=[_KINDS[asked.kind]] if asked.kind is not None else tuple(SearchKind),
        project=asked.project_public_id,
        since=asked.since,
        until=asked.until,
        status=asked.status,
        party=asked.party,
        best_first=asked.sort == "best",
        skipped=int(asked.cursor or 0),
        limit=PAGE,
        with_facets=asked.facets and not asked.cursor,
    )


def _item_out(item: FoundItem) -> SearchItem:
    return SearchItem(
        kind=item.kind.path,
        public_id=item.public_id,
        document_number=item.number,
        subject=_text_of(item.subject),
        snippet=_marked_text(item.snippet or item.subject),
        project=ProjectCode(public_id=item.project_public_id, project_code=item.project_code),
        date=item.day,
    )


def _text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _marked_text(pieces: Sequence[Piece]) -> str:
    return "".join(f"«{piece.text}»" if piece.is_marked else piece.text for piece in pieces)
