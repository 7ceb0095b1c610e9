"""Master data on each database: of two who want the same at once, one has it, and the other is told at which field."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.identity import service as identity
from saraban.kit.clock import SystemClock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.projects.models import Contract, Project
from saraban.setup.domain import master_kinds as kinds
from saraban.setup.domain.master_kinds import KINDS, MasterKind, Owner
from saraban.setup.domain.master_rows import MasterAddress, MasterRow
from saraban.setup.schemas.master_data import new_row, row_change
from saraban.setup.service import master_data
from tests.factories.contexts import context

pytestmark = pytest.mark.sampled("mariadb")

CLOCK = SystemClock(ZoneInfo("Asia/Bangkok"))
AT_ONCE = 4
Work = Callable[..., Awaitable[MasterRow]]


def alike(code: str) -> list[str]:
    """As many spellings of a code as add it at once."""
    return [
        code,
        code.lower(),
        f"\u00ad{code}",
        "".join(chr(ord(one) + 0xFEE0) if one.isalnum() and one.isascii() else one for one in code),
    ]


class Race:
    """Several who do one thing at once, with the same rights."""

    def __init__(self, db: Database, ctx: Any, places: dict[Owner, Any]) -> None:
        self.db, self.ctx, self.places = db, ctx, places

    async def add(self, kind: MasterKind, **values: str) -> MasterRow:
        new = new_row(kind).model_validate({one.name: one.example for one in kind.fields if one.example} | values)
        return await self.do(master_data.create, kind, owner=self.places[kind.owner], new=new)

    async def change(self, row: MasterRow, **values: str) -> MasterRow:
        address = MasterAddress(row.code, self.places[row.kind.owner], row.within or None, row.public_id)
        wanted = row_change(row.kind).model_validate(values)
        return await self.do(master_data.change, row.kind, address, wanted=wanted, if_match=row.etag)

    async def do(self, work: Work, *args: Any, **more: Any) -> MasterRow:
        return await self.db.transact(lambda session: work(self.ctx, session, *args, **more))

    async def told(self, *those: Awaitable[MasterRow]) -> list[str]:
        """What each is told: the fault and its field, or nothing."""
        found = await asyncio.gather(*those, return_exceptions=True)
        return sorted(_told(one) for one in found)

    async def audited(self, action: str) -> int:
        async with self.db.reading() as session:
            statement = sa.select(sa.func.count()).select_from(AuditLog).where(AuditLog.action == action)
            return await session.scalar(statement) or 0


def _told(one: MasterRow | BaseException) -> str:
    if isinstance(one, MasterRow):
        return ""
    if not isinstance(one, DomainError):
        raise one
    return " ".join([one.code, *(field.pointer for field in one.fields)])


@pytest_asyncio.fixture
async def race(any_people_db: Database) -> AsyncIterator[Race]:
    async with any_people_db.reading() as session:
        caller = await identity.find_caller(session, username="admin")
        project = await session.scalar(sa.select(Project.public_id).where(Project.project_code == "LCBP3-C2"))
        contract = await session.scalar(sa.select(Contract.public_id).where(Contract.contract_code == "LCBP3-C2"))
    assert caller is not None
    places = {Owner.INSTALLATION: None, Owner.PROJECT: project, Owner.CONTRACT: contract}
    yield Race(any_people_db, context(caller, CLOCK.now()), places)


class TestAtOnce:
    @pytest.mark.sampled("mariadb")
    async def test_a_code_is_added_by_one_and_the_others_are_told_so(self, race: Race) -> None:
        for kind in [one for one in KINDS if one is not kinds.PROJECT]:
            unique = [kind.code.name, *([kind.unique] if kind.unique else [])]
            spellings = alike(kind.code.example)
            told = await race.told(*(race.add(kind, **dict.fromkeys(unique, one)) for one in spellings))

            late = f"MASTER_CODE_TAKEN /{kind.code.name}"
            assert (kind.name, told) == (kind.name, ["", *[late] * (AT_ONCE - 1)])
            assert (kind.name, await race.audited(f"{kind.name}.create")) == (kind.name, 1)

    async def test_a_name_that_is_unique_is_taken_by_one(self, race: Race) -> None:
        told = await race.told(*(race.add(kinds.TAG, code=f"T{number}") for number in range(AT_ONCE)))

        assert told == ["", *["MASTER_CODE_TAKEN /nameTh"] * (AT_ONCE - 1)]

    async def test_a_version_is_changed_by_one_and_the_others_are_told_that_it_is_gone(self, race: Race) -> None:
        for kind in [one for one in KINDS if one is not kinds.PROJECT]:
            row = await race.add(kind)
            name = kind.fields[1].name

            told = await race.told(*(race.change(row, **{name: f"Name {number}"}) for number in range(AT_ONCE)))

            assert (kind.name, told) == (kind.name, ["", *["MASTER_ROW_CHANGED"] * (AT_ONCE - 1)])
            assert (kind.name, await race.audited(f"{kind.name}.change")) == (kind.name, 1)

    async def test_a_code_is_given_to_one_of_the_rows_that_are_to_have_it(self, race: Race) -> None:
        rows = [await race.add(kinds.DISCIPLINE, code=f"D{number}") for number in range(AT_ONCE)]

        told = await race.told(*(race.change(row, code="SAME") for row in rows))

        assert told == ["", *["MASTER_CODE_TAKEN /code"] * (AT_ONCE - 1)]
        assert await race.audited("discipline.change") == 1
