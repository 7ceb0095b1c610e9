"""The boxes of the registers find by the same index as the search of everything, along it and without it."""

import httpx
import pytest
from fastapi import FastAPI

from saraban.search_index.service import IndexQuery, SearchIndex
from tests.features.documents.conftest import Desk, pointers
from tests.features.search.conftest import indexed

LETTERS, SHOP = "/api/v1/correspondences", "/api/v1/drawings/shop"


@pytest.fixture(params=[2_000, 0], ids=["a few matches", "many matches"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each match count as one of many, so that pages of rows are compared with the index."""
    if request.param == 0:
        pairs = SearchIndex.pairs

        def too_many(index: SearchIndex, query: IndexQuery, *, most: int) -> set[tuple[int, int]] | None:
            return pairs(index, query, most=most) if query.reach is None else None

        monkeypatch.setattr(SearchIndex, "pairs", too_many)


async def listed(desk: Desk, path: str, q: str, account: str = "dc.consultant") -> tuple[list[str], int | None]:
    asked = {"q": q, "projectPublicId": desk.project}
    answer = await (await desk.as_(account)).get(path, params=asked)
    assert answer.status_code == httpx.codes.OK, answer.text
    rows = [item.get("data", item) for item in answer.json()["items"]]
    return [row.get("documentNumber") or row["drawingNumber"] for row in rows], answer.json().get("approximateCount")


@pytest.mark.usefixtures("few")
class TestBox:
    async def test_finds_words_in_any_order_wherever_they_stand(self, app: FastAPI, desk: Desk) -> None:
        one = desk.letter("สคฉ.3", subject="เสาเข็มงานฐานราก", body="ดูคานคอดิน")
        wanted = await desk.write("dc.consultant", "correspondences", one)
        await desk.write("dc.consultant", "correspondences", desk.letter("สคฉ.3", subject="เสาเขม หลังคา"))
        await indexed(app)
        for q in ["คานคอดิน", "งานฐาน เสาเข็ม", '"งานฐานราก"', "เสาเข็ม -หลังคา", "๐๐๐๑ ฐาน"]:
            assert await listed(desk, LETTERS, q) == ([wanted["documentNumber"]], 1), q

    async def test_finds_what_the_index_has_not_read_yet(self, app: FastAPI, desk: Desk) -> None:
        await desk.write("dc.consultant", "correspondences", desk.letter("สคฉ.3", subject="เสาเข็มต้นแรก"))
        await indexed(app)
        await desk.write("dc.consultant", "correspondences", desk.letter("สคฉ.3", subject="เสาเข็มต้นที่ ๒ (PILE)"))
        await desk.register("admin", "shop", "S-9", title="เสาเข็มต้นที่สาม")

        assert len((await listed(desk, LETTERS, "เสาเข็ม"))[0]) == 2
        for q in ("ต้นที่ ๒", "ต้นที่ 2", "pile ๒"):
            assert len((await listed(desk, LETTERS, q))[0]) == 1, q
        assert (await listed(desk, SHOP, "ต้นที่สาม"))[0] == ["S-9"]

    async def test_finds_drawings(self, app: FastAPI, desk: Desk) -> None:
        await desk.register("admin", "shop", "S-1", title="เสาเข็มงานฐานราก", revision={"legacyNumber": "OLD-9"})
        await desk.register("admin", "shop", "S-2", title="คานงานฐานราก")
        await indexed(app)

        found = [(await listed(desk, SHOP, q))[0] for q in ("ฐานราก", "ฐานราก -คาน", "old9", "ราก s1", "ไม่มีเลย")]
        assert found == [["S-1", "S-2"], ["S-1"], ["S-1"], ["S-1"], []]

    async def test_shows_no_more_than_the_register(self, app: FastAPI, desk: Desk) -> None:
        draft = await desk.write("dc.contractor", "rfas", desk.rfa(subject="ฐานรากแผ่พิเศษ"))
        await indexed(app)

        assert (await listed(desk, "/api/v1/rfas", "แผ่พิเศษ", "reviewer.consultant")) == ([], 0)
        assert (await listed(desk, "/api/v1/rfas", "แผ่พิเศษ", "dc.contractor"))[0] == [draft["documentNumber"]]


@pytest.mark.parametrize("path", [LETTERS, SHOP])
@pytest.mark.parametrize("q", ["่้", "ก ข ค ง จ ฉ ช ซ ฌ ญ ฎ ฏ ฐ"])
async def test_a_text_that_leads_to_nothing_is_refused_by_name(desk: Desk, path: str, q: str) -> None:
    answer = await (await desk.as_("admin")).get(path, params={"q": q, "projectPublicId": desk.project})

    assert (answer.status_code, pointers(answer)) == (422, ["query:q"])
