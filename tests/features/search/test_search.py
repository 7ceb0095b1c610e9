"""Everything is found by whoever may see it, inside Thai words, and by nobody else."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.attachments.adapters.text_reader import TextReader
from saraban.attachments.service.extraction import TextWorker
from saraban.identity.models import UserAssignment
from saraban.search.service.indexing import compare, queue_files
from tests.circulations import order
from tests.features.documents.conftest import Desk, pointers
from tests.features.search.conftest import indexed
from tests.project_callers import SIGNED_IN, add_callers
from tests.readable_files import docx, paragraph

SEARCH = "/api/v1/search"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


async def found(desk: Desk, account: str, q: str, **more: Any) -> list[str]:
    answer = await (await desk.as_(account)).get(SEARCH, params={"q": q, **more})
    assert answer.status_code == httpx.codes.OK, answer.text
    return [one["documentNumber"] for one in answer.json()["items"]]


SAID = "งานท่าเรือกลาง"
REGISTERS = ("correspondences", "rfas", "transmittals", "circulations", "drawings/contract", "drawings/shop")


async def everything_written(desk: Desk) -> None:
    """Documents of each kind, issued and drafts, of several organizations, and drawings for each audience; all say the same."""
    letter = await desk.write("dc.consultant", "correspondences", desk.letter("สคฉ.3", subject=SAID))
    await desk.act("dc.consultant", letter, "submit")
    await desk.write("dc.consultant", "correspondences", desk.letter("ผรม.2", subject=SAID))
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa(subject=SAID))
    await desk.act("dc.contractor", rfa, "submit")
    await desk.write("dc.contractor", "rfas", desk.rfa(subject=SAID))
    await desk.write("dc.contractor", "transmittals", desk.transmittal(rfa["publicId"], subject=SAID))
    sheet = await order(desk, correspondencePublicId=letter["publicId"])
    await desk.write("dc.consultant", "circulations", sheet | {"subject": SAID})
    for place, code in enumerate(("ผรม.1", "ผรม.2", None)):
        originator = {"originatorOrganizationPublicId": desk.organizations[code]} if code else {}
        await desk.register("admin", "shop", f"S-{place}", title=SAID, **originator)
    await desk.register("admin", "contract", "C-1", title=SAID)


async def listed(desk: Desk, account: str) -> set[str]:
    """Return the numbers that registers show somebody."""
    client, found = await desk.as_(account), set()
    for path in REGISTERS:
        asked = {"projectPublicId": desk.project} if "/" in path else {}
        answer = await client.get(f"/api/v1/{path}", params={"limit": 100, **asked})
        for item in answer.json().get("items", []):
            row = item.get("data", item)
            found.add(row.get("documentNumber") or row["drawingNumber"])
    return found


class TestReach:
    async def test_is_that_of_the_lists(self, app: FastAPI, desk: Desk) -> None:
        await add_callers(app.state.db)
        await everything_written(desk)
        await indexed(app)

        sizes = []
        for account in (*SIGNED_IN, "dc.consultant", "approver.owner"):
            client, wanted = await desk.as_(account), await listed(desk, account)
            for query in (SAID, "เรือกล", "-อื่นใด งาน"):
                answer = (await client.get(SEARCH, params={"q": query})).json()
                assert {one["documentNumber"] for one in answer["items"]} == wanted, (account, query)
                assert answer["approximateCount"] == len(wanted)
                assert sum(one["count"] for one in answer["facets"]["kind"]) == len(wanted)
            sizes.append(len(wanted))
        assert len(set(sizes)) > 3  # they do not all see the same

    async def test_is_lost_at_once_with_a_right(self, app: FastAPI, desk: Desk) -> None:
        await everything_written(desk)
        await indexed(app)
        before = await found(desk, "dc.contractor", SAID)
        async with app.state.db.writing() as session:
            await session.execute(sa.delete(UserAssignment))
            await session.commit()

        assert len(before) > 2
        answer = await (await desk.as_("dc.contractor")).get(SEARCH, params={"q": SAID})
        assert answer.json()["approximateCount"] == 0


class TestFacets:
    async def test_count_what_the_reader_may_see(self, app: FastAPI, desk: Desk) -> None:
        await everything_written(desk)
        await indexed(app)

        counted = {}
        for account in ("dc.consultant", "dc.contractor"):
            facets = (await (await desk.as_(account)).get(SEARCH, params={"q": SAID})).json()["facets"]
            counted[account] = {name: {one["value"]: one["count"] for one in values} for name, values in facets.items()}
        consultant, contractor = counted["dc.consultant"], counted["dc.contractor"]
        assert consultant["kind"] == {"correspondences": 2, "drawings/shop": 1} | {
            "rfas": 1,
            "circulations": 1,
            "drawings/contract": 1,
        }
        assert consultant["status"]["draft"] == 2  # a letter and the sheet
        assert consultant["type"]["LETTER"] == 2
        assert list(consultant["year"].values()) == [6]
        assert contractor["kind"]["rfas"] == 2
        assert contractor["party"] == {"ผรม.2": 4, "คคง.": 3, "ผรม.1": 1}

    async def test_lead_to_what_they_count(self, app: FastAPI, desk: Desk) -> None:
        await everything_written(desk)
        await indexed(app)

        facets = (await (await desk.as_("admin")).get(SEARCH, params={"q": SAID})).json()["facets"]
        for name in ("status", "type", "party", "year"):
            for one in facets[name]:
                narrowed = f"{SAID} {name}:{one['value']}" if name == "year" else f'{SAID} {name}:"{one["value"]}"'
                assert len(await found(desk, "admin", narrowed)) == one["count"], (name, one)
        for one in facets["status"]:
            for said in (one["name"], one["nameTh"]):
                assert len(await found(desk, "admin", f'{SAID} สถานะ:"{said}"')) == one["count"], (said, one)


class TestSearch:
    async def test_finds_inside_words_numbers_and_parties(self, app: FastAPI, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(body="หน้า 3"))
        await indexed(app)
        for query in [
            "ทดสอบเสา",
            "สอบเสา",
            "เสาเข็ม รายงาน",
            '"ผลการทดสอบ"',
            "RPT-๐๐๐๑",
            "lcbp3c2rfa",
            "ผรม.2",
            "from:ผรม.2",
            "type:rfa",
            "สอ",
        ]:
            assert rfa["documentNumber"] in await found(desk, "dc.contractor", query), query

    async def test_finds_only_what_the_reader_may_see(self, app: FastAPI, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(subject="ฐานรากแผ่พิเศษ"))
        await indexed(app)
        before = [await found(desk, one, "แผ่พิเศษ") for one in ("dc.contractor", "reviewer.consultant", "admin")]
        await desk.act("dc.contractor", rfa, "submit")
        await indexed(app)
        after = await found(desk, "reviewer.consultant", "แผ่พิเศษ")

        number = rfa["documentNumber"]
        assert before == [[number], [], [number]]
        assert after == [number]

    async def test_finds_drawings_by_what_an_earlier_revision_was_called(self, app: FastAPI, desk: Desk) -> None:
        drawing = await desk.register("admin", "shop", "S-77", revision={"legacyNumber": "OLD-9"})
        await (await desk.as_("admin")).post(
            f"/api/v1/drawings/shop/{drawing['publicId']}/revisions", json={"title": "คานคอดิน"}
        )
        await indexed(app)

        assert await found(desk, "viewer", "คอดิน") == ["S-77"]
        assert await found(desk, "viewer", "old9") == ["S-77"]
        assert await found(desk, "viewer", "ฐานราก s-77", kind="drawings/shop") == ["S-77"]
        assert await found(desk, "viewer", "คอดิน", kind="drawings/contract") == []

    async def test_finds_what_is_written_in_files(self, app: FastAPI, desk: Desk) -> None:
        said = "ผลตรวจแรงอัดของคอนกรีตอยู่ในเกณฑ์"
        client = await desk.as_("dc.contractor")
        sent = await client.post("/api/v1/attachments", files={"file": ("report.docx", docx(paragraph(said)), DOCX)})
        files = {"attachmentPublicIds": [sent.json()["publicId"]]}
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(**files))
        drawn = await desk.register("admin", "shop", "S-8")
        await indexed(app)
        before = await found(desk, "dc.contractor", "แรงอัด")
        worker = TextWorker(
            app.state.db,
            app.state.storage,
            TextReader(seconds=30, memory=512).read,
            clock=app.state.clock,
            lease=timedelta(minutes=3),
            on_text=queue_files,
        )
        while await worker.round():
            pass
        await indexed(app)

        assert before == []
        assert drawn["drawingNumber"] not in await found(desk, "dc.contractor", "แรงอัด")
        assert await found(desk, "dc.contractor", "แรงอัด รายงาน") == [rfa["documentNumber"]]
        assert await found(desk, "dc.contractor", "รายงาน -แรงอัด") == []
        assert await found(desk, "reviewer.consultant", "แรงอัด") == []
        answer = await client.get(SEARCH, params={"q": "แรงอัด"})
        assert answer.json()["items"][0]["snippet"] == "ผลตรวจ«แรงอัด»ของคอนกรีตอยู่ในเกณฑ์"
        assert [one async for one in compare(app.state.db)] == []

    async def test_follows_what_is_changed(self, app: FastAPI, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter(subject="เรื่องเดิม"))
        await indexed(app)
        client = await desk.as_("dc.consultant")
        await client.patch(f"/api/v1/correspondences/{letter['publicId']}", json={"subject": "เรื่องแก้ไขแล้ว"})
        differing = [one async for one in compare(app.state.db)]
        await indexed(app)

        assert differing == []  # what waits is no difference
        assert await found(desk, "dc.consultant", "เรื่องเดิม") == []
        assert await found(desk, "dc.consultant", "แก้ไขแล้ว -เดิม") == [letter["documentNumber"]]
        assert [one async for one in compare(app.state.db)] == []

    async def test_knows_no_revision_that_nobody_is_shown_any_more(self, app: FastAPI, desk: Desk) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")
        await desk.act("dc.consultant", letter, "request-revision", comment="หน้า 2 ไม่ครบ")
        path = f"/api/v1/correspondences/{letter['publicId']}"
        contractor = await desk.as_("dc.contractor")
        assert (await contractor.post(f"{path}/revisions", json={"subject": "ฉบับที่สองคำใหม่"})).is_success
        await indexed(app)
        instance = (await contractor.get(path)).json()["workflow"]["instancePublicId"]
        submit = f"/api/v1/workflow/instances/{instance}/transitions"
        assert (await contractor.post(submit, json={"action": "submit"})).is_success
        await indexed(app)

        assert [one async for one in compare(app.state.db)] == []
        assert len(await found(desk, "dc.consultant", "คำใหม่")) == 1

    @pytest.mark.parametrize(
        "days",
        [{"from": "1900-01-01"}, {"until": "2200-12-31"}, {"q": "due:>1900-01-01"}, {"q": "due:<2200-12-31"}],
        ids=lambda days: next(iter(days.values())),
    )
    async def test_takes_any_day(self, desk: Desk, days: dict[str, str]) -> None:
        answer = await (await desk.as_("viewer")).get(SEARCH, params={"q": "ขออนุมัติ"} | days)

        assert answer.status_code == httpx.codes.OK, answer.text

    @pytest.mark.parametrize("query", ["ก", "่้", '""', "-", "due:soon", "a\u0007b", "ก" * 3_400])
    async def test_refuses_what_nothing_can_be_found_by(self, desk: Desk, query: str) -> None:
        answer = await (await desk.as_("viewer")).get(SEARCH, params={"q": query})

        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, answer.text
        assert pointers(answer) == ["query:q"]

    async def test_takes_everything_else_literally(self, app: FastAPI, desk: Desk) -> None:
        said = "ราคา 100% (a+)+$ [x_y]* ก"
        letter = await desk.write("dc.consultant", "correspondences", desk.letter(subject=said))
        await indexed(app)

        for query in ("100%", "(a+)+$", "x_y]*", "ราคา ก", "ราคา -ข", '"ราคา 100', "number:0", "number:1 ราคา"):
            assert await found(desk, "admin", query) == [letter["documentNumber"]], query
        for query in ("%", "__", "r.*า", "'; --", "a\ud7ff", "a\U0010ffff", "🏗🏗", "from:่้", "number:่้", "from:% ราคา"):
            answer = await (await desk.as_("admin")).get(SEARCH, params={"q": query})
            assert (answer.status_code, query) == (httpx.codes.OK, query) or pointers(answer) == ["query:q"]
            assert not answer.json().get("items")
