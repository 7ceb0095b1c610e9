"""The demo people for tests that need no more than identity and projects, with passwords that are cheap to check."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from argon2 import PasswordHasher

from saraban.identity.service import first_run as people
from saraban.identity.service import passwords
from saraban.kit.db import Database
from saraban.projects.service import seed as places
from tests.factories.projects import load_demo


@contextmanager
def cheap_passwords() -> Iterator[None]:
    """The real parameters take 100 ms by intention, and these tests log in hundreds of times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
        passwords._dummy_hash.cache_clear()
        yield
    passwords._dummy_hash.cache_clear()


async def fill(db: Database) -> None:
    """Ship the catalogue and the master data, and open the demo project with its accounts."""
    async with db.writing() as session:
        await people.seed_catalogue(session)
        await places.seed_master_data(session)
        await load_demo(session)
        await people.seed_demo_accounts(session)
