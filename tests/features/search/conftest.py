"""What tests of search share."""

import pytest
from fastapi import FastAPI

from saraban.search.service.indexing import index_next
from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk_of


@pytest.fixture
async def desk(signed_in: SignIn) -> Desk:
    return await desk_of(signed_in)


async def indexed(app: FastAPI) -> None:
    """Have the index read what waits."""
    while await index_next(app.state.db):
        pass
