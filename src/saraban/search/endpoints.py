"""`/search`: one question to everything."""

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
    Inside Thai words, whatever the order of the words; only what the caller may see is found and counted. A page has 20, and
    the first 10,000 can be paged through: look for more words to find what is further behind.
    """
    question = question_of(asked)
    found = await search(ctx, session, question)
    return SearchAnswer(
        items=[_item(one) for one in found.items],
        facets=found.facets,
        approximate_count=found.count,
        is_complete=found.is_whole,
        next_cursor=str(found.following) if found.following else None,
    )


@router.get("/search/suggestions", summary="Suggest documents and people while somebody types")
async def suggestions(
    ctx: Context, session: ReadSession, q: Annotated[str, Query(max_length=500, examples=["RFA-TER"])]
) -> SuggestionsAnswer:
    """
    Up to six documents as the search finds them, and up to four people whose name has each word, of those by whom the caller
    can filter registers. What the search refuses, such as a single letter, has no suggestions.
    """
    found = await suggest(ctx, session, q)
    return SuggestionsAnswer(
        documents=[
            SuggestedDocument(
                kind=one.kind.path, public_id=one.public_id, document_number=one.number, subject=_text_of(one.subject)
            )
            for one in found.documents
        ],
        people=[SuggestedPerson(public_id=one.public_id, name=one.display_name) for one in found.people],
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


def _item(one: FoundItem) -> SearchItem:
    return SearchItem(
        kind=one.kind.path,
        public_id=one.public_id,
        document_number=one.number,
        subject=_text_of(one.subject),
        snippet=_marked(one.snippet or one.subject),
        project=ProjectCode(public_id=one.project_public_id, project_code=one.project_code),
        date=one.day,
    )


def _text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _marked(pieces: Sequence[Piece]) -> str:
    return "".join(f"«{piece.text}»" if piece.is_marked else piece.text for piece in pieces)
