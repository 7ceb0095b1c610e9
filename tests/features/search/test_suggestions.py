"""What is suggested while somebody types is what they may see: documents, and people by whom they can filter registers."""

from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.identity.models import UserAssignment
from tests.features.documents.conftest import Desk, pointers
from tests.features.search.conftest import indexed
from tests.project_callers import add_callers

SUGGESTIONS = "/api/v1/search/suggestions"
CONTRACTOR, CONSULTANT = "ดวงใจ เอกสารครบ", "เดชา รับส่งดี"


async def suggested(desk: Desk, account: str, q: str) -> dict[str, Any]:
    answer = await (await desk.as_(account)).get(SUGGESTIONS, params={"q": q})
    assert answer.status_code == httpx.codes.OK, answer.text
    return dict(answer.json())


async def names(desk: Desk, account: str, q: str) -> list[str]:
    return [one["name"] for one in (await suggested(desk, account, q))["people"]]


class TestDocuments:
    async def test_begin_with_those_whose_number_has_the_text_and_are_six(self, app: FastAPI, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(subject="เสาเข็มต้นที่ 1"))
        number = rfa["documentNumber"]
        for place in range(7):
            await desk.register("admin", "shop", f"S-{place}", title=f"ตาม {number}")
        await indexed(app)

        found = (await suggested(desk, "dc.contractor", number.lower()))["documents"]

        assert found[0] == {
            "kind": "rfas",
            "publicId": rfa["publicId"],
            "documentNumber": number,
            "subject": "เสาเข็มต้นที่ 1",
        }
        assert [one["kind"] for one in found[1:]] == ["drawings/shop"] * 5

    async def test_are_those_that_the_reader_may_see(self, app: FastAPI, desk: Desk) -> None:
        await add_callers(app.state.db)
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(subject="ฐานรากแผ่พิเศษ"))
        await indexed(app)
        accounts = ("dc.contractor", "admin", "reviewer.consultant", "viewer", "outsider", "other.manager")

        drafts = {one for one in accounts if (await suggested(desk, one, "แผ่พิเศษ"))["documents"]}
        await desk.act("dc.contractor", rfa, "submit")
        await indexed(app)
        issued = {one for one in accounts if (await suggested(desk, one, "แผ่พิเศษ"))["documents"]}

        assert drafts == {"dc.contractor", "admin"}
        assert issued == {"dc.contractor", "admin", "reviewer.consultant", "viewer"}


class TestPeople:
    async def test_are_those_of_the_readers_organizations_and_all_to_who_sees_the_whole_project(
        self, app: FastAPI, desk: Desk
    ) -> None:
        await add_callers(app.state.db)

        seen = {
            account: {name for name in (CONTRACTOR, CONSULTANT) if name in await names(desk, account, name[:4])}
            for account in ("dc.contractor", "dc.consultant", "padmin", "admin", "outsider")
        }

        assert seen == {
            "dc.contractor": {CONTRACTOR},
            "dc.consultant": {CONSULTANT},
            "padmin": {CONTRACTOR, CONSULTANT},
            "admin": {CONTRACTOR, CONSULTANT},
            "outsider": set(),
        }

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("ครบ ดวง", True),
            ("ดวงใจ  เอก", True),
            ("ดวงใจ รับส่ง", False),
            ("ดวงใจ -ยกเลิก", False),
            ("ดวงใจ year:2569", False),
        ],
    )
    async def test_have_every_word_in_their_name(self, desk: Desk, query: str, found: bool) -> None:
        assert (CONTRACTOR in await names(desk, "dc.contractor", query)) is found

    async def test_are_lost_at_once_with_a_right(self, app: FastAPI, desk: Desk) -> None:
        before = await names(desk, "dc.contractor", CONTRACTOR)
        async with app.state.db.writing() as session:
            await session.execute(sa.delete(UserAssignment))
            await session.commit()

        assert (before, await names(desk, "dc.contractor", CONTRACTOR)) == ([CONTRACTOR], [])


@pytest.mark.parametrize("query", ["", " ", "ก", "่้", '""', "due:soon", "a\u0007b", "ก ข"])
async def test_nothing_is_suggested_for_what_the_search_refuses(desk: Desk, query: str) -> None:
    assert await suggested(desk, "admin", query) == {"documents": [], "people": []}


async def test_a_longer_text_than_the_search_takes_is_refused(desk: Desk) -> None:
    answer = await (await desk.as_("admin")).get(SUGGESTIONS, params={"q": "ก" * 501})

    assert (answer.status_code, pointers(answer)) == (httpx.codes.UNPROCESSABLE_ENTITY, ["query:q"])
