"""Three hundred queries, each of which must find what it was written for and everything that LIKE finds."""

from pathlib import Path
from typing import Final

import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.core.models import DocumentRevision
from saraban.identity import service as identity
from saraban.search.service.indexing import index_next
from saraban.search.service.search import SearchQuestion, search
from tests.conftest import SignIn
from tests.factories.contexts import context
from tests.features.documents.conftest import desk_of

GOLDEN: Final = Path(__file__).with_name("golden_queries.txt")
MORE_THAN_HAVE_ONE: Final = 200


def golden() -> list[tuple[str, str, list[str]]]:
    """Return subject, number of the sender, and the queries that must find both."""
    lines = [line.split(" | ") for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    return [(subject, number, queries) for subject, number, *queries in lines]


async def test_every_query_finds_what_it_must(app: FastAPI, signed_in: SignIn) -> None:
    desk, numbers = await desk_of(signed_in), {}
    for subject, number, _ in golden():
        letter = await desk.write("dc.consultant", "correspondences", desk.letter(subject=subject, senderNumber=number))
        numbers[subject] = letter["documentNumber"]
    while await index_next(app.state.db):
        pass

    asked, lost = 0, []
    async with app.state.db.reading() as session:
        caller = await identity.find_caller(session, username="admin")
        assert caller is not None
        for subject, _, queries in golden():
            for query in queries:
                question = SearchQuestion(query, limit=MORE_THAN_HAVE_ONE)
                found = {one.number for one in (await search(context(caller), session, question)).items}
                said = sa.and_(*(DocumentRevision.subject.contains(word) for word in query.split()))
                like = set(await session.scalars(sa.select(DocumentRevision.correspondence_number).where(said)))
                asked += 1
                lost += [(query, one) for one in {numbers[subject], *like} - found]
    assert lost == []
    assert asked == 300
