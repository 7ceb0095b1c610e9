"""`saraban demo generate --drawings`: registers as they are after years, there once, and current at some time of the past."""

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from saraban.documents.demo.service import PROJECT
from saraban.documents.drawing.domain import KINDS
from saraban.documents.drawing.models import (
    AsbuiltRevisionShopRevisionRef,
    ShopDrawingRevision,
    ShopDrawingRevisionContractRef,
)
from saraban.documents.drawing.repository import registers
from saraban.documents.drawing.repository.registers import DrawingSearch
from saraban.documents.drawing.repository.tables import tables_of
from saraban_tools import drawings as generation
from saraban_tools.drawing_mix import DrawingLists, generated_drawing
from saraban_tools.mix import GeneratedContract

if TYPE_CHECKING:
    import pytest

    from saraban.bootstrap import System

CONTRACTS = [
    GeneratedContract(code, contractor, "คคง.", "กทท.", ("STR", "ARC"))
    for code, contractor in (("C1", "ผรม.2"), ("C2", "ผรม.1"))
]
LISTS = {path: DrawingLists() for path in KINDS}


async def generated(system: "System", many: int) -> list[tuple[int, int]]:
    return [
        (one.found, one.written)
        async for one in generation.generate_drawings(
            system.demo.services, now=system.clock.now(), code=PROJECT, many=many
        )
    ]


class TestRegisters:
    async def test_have_as_many_as_asked_and_go_on_there(
        self, system: "System", monkeypatch: "pytest.MonkeyPatch"
    ) -> None:
        monkeypatch.setattr(generation, "BATCH", 40)

        assert await generated(system, 90) == [(0, 0), (0, 40), (0, 80), (0, 90)]
        assert await generated(system, 110) == [(90, 0), (90, 20)]
        assert await generated(system, 50) == [(110, 0)]
        async with system.db.reading() as session:
            for kind, expected in zip(KINDS.values(), (33, 55, 22), strict=True):
                head = tables_of(kind).head
                rows = list(await session.scalars(sa.select(head)))
                assert len(rows) == expected
                assert {row.audience_kind for row in rows} <= {1, 2, 3}
                # A project without lists gets some.
                codes = [await registers.open_lists(session, kind, project_id=rows[0].project_id)]
                assert all(one["category"] and one["sub_category"] for one in codes)

    async def test_each_revision_was_current_until_the_next(self, system: "System") -> None:
        await generated(system, 200)
        now = system.clock.now()

        async with system.db.reading() as session:
            statement = sa.select(ShopDrawingRevision).order_by(
                ShopDrawingRevision.shop_drawing_id, ShopDrawingRevision.revision_number
            )
            rows = list(await session.scalars(statement))
            for one, following in zip(rows, [*rows[1:], None], strict=True):
                last = following is None or following.shop_drawing_id != one.shop_drawing_id
                assert one.current_until == (None if last or following is None else following.current_from)
                assert bool(one.is_current) == last
                assert one.current_from < now
            project = await session.scalar(sa.select(tables_of(KINDS["shop"]).head.project_id).limit(1))
            assert project is not None
            search = DrawingSearch(project, None, moment=now - timedelta(days=3 * 365))
            then = await registers.find_places(session, KINDS["shop"], search, limit=200)
            assert 0 < len(then) < 100

    async def test_are_drawn_from_one_another(self, system: "System") -> None:
        await generated(system, 100)

        async with system.db.reading() as session:
            counts = [
                await session.scalar(sa.select(sa.func.count()).select_from(link))
                for link in (ShopDrawingRevisionContractRef, AsbuiltRevisionShopRevisionRef)
            ]
            assert counts == [50, 20]


class TestMix:
    def test_revisions_are_as_often_as_in_a_real_project(self) -> None:
        made = [generated_drawing(place, CONTRACTS, LISTS, addenda=False) for place in range(20_000)]
        shop = [one for one in made if one.register == "shop"]
        labels = Counter(one.begins + step for one in shop for step in range(len(one.moments)))

        shares = [labels[label] / len(shop) for label in range(4)]
        for share, real in zip(shares, (590 / 641, 204 / 641, 151 / 641, 48 / 641), strict=True):
            assert abs(share - real) < 0.02
        assert {len(one.moments) for one in made if one.register == "contract"} == {1}

    def test_numbers_are_of_one_drawing_and_of_what_was_built_of_it(self) -> None:
        made = [generated_drawing(place, CONTRACTS, LISTS, addenda=True) for place in range(2000)]

        for path in KINDS:
            numbers = [one.number for one in made if one.register == path]
            assert len(set(numbers)) == len(numbers)
        built = {one.number for one in made if one.register == "asbuilt"}
        assert built < {one.number for one in made if one.register == "shop"}

    def test_contracts_have_the_shares_that_documents_have(self) -> None:
        made = [generated_drawing(place * 10, CONTRACTS, LISTS, addenda=True) for place in range(20_000)]
        shares = Counter(one.contract for one in made)

        assert abs(shares["C1"] / len(made) - 0.6) < 0.02
        assert 0 < shares["C2"] / len(made) < 0.005
        assert {one.originator for one in made if one.contract is None} == {None, "คคง."}
