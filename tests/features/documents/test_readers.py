"""Who sees what: drafts stay at home, what is issued reaches its recipients and the contract's parties."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import sqlalchemy as sa

from saraban.documents.core.domain.registers import FEW
from saraban.kit.clock import FixedClock, local_date
from saraban.kit.db import table_of
from saraban.kit.ids import new_id
from saraban.workflow.runtime.models import WorkflowInstance, WorkflowWorkItem
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers

_INSTANCES, _ITEMS = table_of(WorkflowInstance), table_of(WorkflowWorkItem)
FILTERS = [
    ("status", "draft", 1),
    ("status", "in_review", 1),
    ("status", "cancelled", 0),
    ("type", "RFI", 1),
    ("discipline", "STR", 0),
    ("discipline", "NONE", 0),  # answers as one of a contract that the caller may not see
    ("mine", "true", 2),
    ("pendingWithMe", "true", 0),
    ("until", "2020-01-01", 0),
    ("from", "2020-01-01", 2),
    ("dueFrom", "2020-01-01", 1),
    ("dueUntil", "2099-12-30", 0),
    ("dueUntil", "2099-12-31", 1),
    ("overdue", "true", 0),
    ("overdue", "false", 2),
]
UNUSABLE = [
    ("status", "dreaming"),
    ("cursor", "7"),
    ("limit", "0"),
    ("q", "\x00"),
    ("type", "RFA"),
    ("dueUntil", "soon"),
    ("from", "0000-01-01"),
    ("until", "9999-12-31"),
    ("sort", "subject"),
    ("party", "me"),
    ("person", "me"),
    ("overdue", "perhaps"),
    ("correspondenceTypeCode", "LETTER"),
]


def day_in(app: Any, days: int) -> str:
    """A day from today on the server's calendar."""
    clock = app.state.clock
    return local_date(clock.now() + timedelta(days=days), clock.zone).isoformat()


async def pages(client: httpx.AsyncClient, sort: str) -> tuple[list[str], set[int]]:
    """Read all pages of letters, one row each: their ids, and what each page said of how many there are."""
    seen: list[str] = []
    counts = set()
    query: dict[str, Any] = {"limit": 1, "sort": sort}
    while True:
        answer = await client.get("/api/v1/correspondences", params=query)
        assert answer.is_success, (sort, answer.text)
        page = answer.json()
        seen += [row["data"]["publicId"] for row in page["items"]]
        counts.add(page["approximateCount"])
        if page["nextCursor"] is None:
            return seen, counts
        query["cursor"] = page["nextCursor"]


class TestDraft:
    async def test_is_open_to_its_originator_and_the_project_and_not_known_to_anybody_else(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())

        for account in ("dc.contractor", "padmin", "admin"):
            assert (await desk.read(account, "rfas", rfa["publicId"])).status_code == 200, account
            assert [row["publicId"] for row in await desk.listed(account, "rfas")] == [rfa["publicId"]], account
        for account in ("dc.consultant", "reviewer.consultant", "approver.owner", "viewer"):
            assert (await desk.read(account, "rfas", rfa["publicId"])).status_code == 404, account
            assert await desk.listed(account, "rfas") == [], account


class TestIssued:
    async def test_is_open_to_the_parties_of_its_contract(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")

        for account in ("dc.consultant", "reviewer.consultant", "approver.owner", "padmin"):
            answer = await desk.read(account, "rfas", rfa["publicId"])
            assert answer.status_code == 200, account
            assert answer.json()["data"]["status"]["code"] == "FRE"

    async def test_letter_stays_between_its_parties(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        await desk.act("dc.consultant", letter, "submit")

        assert (await desk.read("approver.owner", "correspondences", letter["publicId"])).status_code == 200
        assert (await desk.read("dc.contractor", "correspondences", letter["publicId"])).status_code == 404
        assert await desk.listed("dc.contractor", "correspondences") == []

    async def test_letter_to_the_owner_itself_is_decided_without_a_contract(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter("กทท."))
        assert letter["contract"] is None
        await desk.act("dc.consultant", letter, "submit")

        decided = await desk.act("approver.owner", letter, "approve")

        assert decided["workflow"]["currentState"] == "approved"

    async def test_draft_of_the_next_revision_hides_behind_the_issued_one(self, desk: Desk) -> None:
        rfa = await desk.approved_rfa()
        client = await desk.as_("dc.contractor")
        revised = await client.post(f"/api/v1/rfas/{rfa['publicId']}/revisions", json={"subject": "ฉบับที่ (Rev.)"})
        assert revised.status_code == 201, revised.text

        seen = unwrapped(await desk.read("dc.consultant", "rfas", rfa["publicId"]))
        revisions = (await desk.read("dc.consultant", "rfas", f"{rfa['publicId']}/revisions")).json()["items"]

        assert revised.json()["data"]["documentNumber"] == "LCBP3-C2-RFA-TER-RPT-0001-B"
        assert (seen["documentNumber"], seen["subject"]) == ("LCBP3-C2-RFA-TER-RPT-0001-A", rfa["subject"])
        assert [one["data"]["revisionLabel"] for one in revisions] == ["A"]


class TestRegister:
    async def test_finds_by_part_of_the_number_and_of_the_subject(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter(subject="แบบเสาเข็ม 100% OK_x"))
        await desk.write("dc.consultant", "correspondences", desk.letter(subject="เรื่องอื่น"))

        for text in ("เสาเข็ม", "100%", "ok_x", letter["documentNumber"][3:15]):
            found = await desk.listed("dc.consultant", "correspondences", q=text)
            assert [row["publicId"] for row in found if row["publicId"] == letter["publicId"]], text
        assert await desk.listed("dc.consultant", "correspondences", q="OKax") == []
        assert len(await desk.listed("dc.consultant", "correspondences", q="%")) == 1

    async def test_pages_without_gaps_or_repetitions(self, desk: Desk) -> None:
        written = [(await desk.write("dc.consultant", "correspondences", desk.letter()))["publicId"] for _ in range(5)]
        client = await desk.as_("dc.consultant")
        seen: list[str] = []
        query: dict[str, Any] = {"limit": 2}
        while True:
            page = (await client.get("/api/v1/correspondences", params=query)).json()
            seen += [row["data"]["publicId"] for row in page["items"]]
            if page["nextCursor"] is None:
                break
            query["cursor"] = page["nextCursor"]

        assert seen == written[::-1]

    async def test_filters(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter(dueDate="2099-12-31"))
        await desk.act("dc.consultant", letter, "submit")
        await desk.write("dc.consultant", "correspondences", desk.letter(correspondenceTypeCode="RFI"))

        for name, value, expected in FILTERS:
            assert len(await desk.listed("dc.consultant", "correspondences", **{name: value})) == expected, name

    async def test_finds_what_waits_for_the_reader_and_who_wrote_it(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        await desk.act("dc.consultant", letter, "submit")
        await desk.write("dc.consultant", "correspondences", desk.letter())
        author = letter["createdBy"]["publicId"]

        waiting = await desk.listed("approver.owner", "correspondences", pendingWithMe="true", person=author)
        assert [row["publicId"] for row in waiting] == [letter["publicId"]]
        assert await desk.listed("approver.owner", "correspondences", person=str(new_id())) == []
        assert len(await desk.listed("dc.consultant", "correspondences", person=author)) == 2

    async def test_finds_what_waits_however_much_else_waits_in_other_registers(self, app: Any, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        await desk.act("dc.consultant", letter, "submit")
        async with app.state.db.writing() as session:
            instance = dict((await session.execute(sa.select(_INSTANCES))).mappings().one())
            item = dict((await session.execute(sa.select(_ITEMS))).mappings().first() or {})
            earlier = item["created_at"] - timedelta(days=1)
            others = [new_id() for _ in range(FEW + 1)]
            await session.execute(
                sa.insert(_INSTANCES),
                [{**instance, "id": one, "entity_type": "sheet", "entity_id": str(one)} for one in others],
            )
            await session.execute(
                sa.insert(_ITEMS),
                [{**item, "id": new_id(), "instance_id": one, "created_at": earlier} for one in others],
            )

        waiting = await desk.listed("approver.owner", "correspondences", pendingWithMe="true")

        assert [row["publicId"] for row in waiting] == [letter["publicId"]]

    async def test_is_sorted_and_counted(self, desk: Desk) -> None:
        days = ("2099-05-01", None, "2099-03-01", "2099-04-01")
        letters = [await desk.write("dc.consultant", "correspondences", desk.letter(dueDate=day)) for day in days]
        await desk.act("dc.consultant", letters[2], "submit")
        written = [letter["publicId"] for letter in letters]
        client = await desk.as_("dc.consultant")

        for sort, places in (
            ("created", (0, 1, 2, 3)),
            ("number", (0, 1, 2, 3)),
            ("date", (0, 1, 2, 3)),
            ("due", (2, 3, 0, 1)),
            ("status", (0, 1, 3, 2)),
        ):
            expected = [written[place] for place in places]
            assert await pages(client, sort) == (expected, {4}), sort
            assert await pages(client, f"-{sort}") == (expected[::-1], {4}), sort

    async def test_refuses_the_cursor_of_another_list_order_or_filter(self, desk: Desk) -> None:
        for _ in range(2):
            await desk.write("dc.consultant", "correspondences", desk.letter())
        client = await desk.as_("dc.consultant")
        first = (await client.get("/api/v1/correspondences", params={"limit": 1})).json()
        cursor = first["nextCursor"]

        for path, query in (
            ("rfas", {}),
            ("correspondences", {"sort": "created"}),
            ("correspondences", {"mine": "true"}),
            ("correspondences", {"q": "x"}),
        ):
            answer = await client.get(f"/api/v1/{path}", params={"cursor": cursor, **query})
            assert (answer.status_code, pointers(answer)) == (422, ["query:cursor"]), (path, query)
            assert answer.json()["errors"][0]["code"] == "malformed"
        assert (await client.get("/api/v1/correspondences", params={"cursor": cursor})).status_code == 200

    async def test_refuses_days_in_the_wrong_order(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")

        for first, last in (("from", "until"), ("dueFrom", "dueUntil")):
            answer = await client.get("/api/v1/rfas", params={first: "2026-02-02", last: "2026-02-01"})
            assert (answer.status_code, pointers(answer)) == (422, [f"query:{last}"])

    async def test_of_overdue_ones_leaves_out_what_is_finished(self, desk: Desk, app: Any) -> None:
        soon = desk.letter(dueDate=day_in(app, 1))
        late, decided, dropped, later = [
            await desk.write("dc.consultant", "correspondences", body)
            for body in (soon, soon, soon, desk.letter(dueDate=day_in(app, 90)))
        ]
        for letter in (late, decided, dropped):
            await desk.act("dc.consultant", letter, "submit")
        await desk.act("approver.owner", decided, "approve")
        client = await desk.as_("dc.consultant")
        await client.post(f"/api/v1/correspondences/{dropped['publicId']}/cancel", json={"reason": "ส่งผิดเรื่อง"})
        limit = day_in(app, 5)
        app.state = replace(
            app.state, clock=FixedClock(app.state.clock.now() + timedelta(days=30), app.state.clock.zone)
        )

        overdue = await desk.listed("dc.consultant", "correspondences", overdue="true")
        due = await desk.listed("dc.consultant", "correspondences", dueUntil=limit)
        every = await desk.listed("dc.consultant", "correspondences")

        assert [row["publicId"] for row in overdue] == [late["publicId"]]
        assert {row["publicId"] for row in due} == {late["publicId"], decided["publicId"], dropped["publicId"]}
        assert [row["publicId"] for row in every if row["isOverdue"]] == [late["publicId"]]
        assert later["publicId"] in {row["publicId"] for row in every}

    async def test_filters_by_party(self, desk: Desk) -> None:
        await desk.write("dc.consultant", "correspondences", desk.letter("สคฉ.3"))

        for party, found in (("ผรม.1", 0), ("สคฉ.3", 1), ("คคง.", 1)):
            query = {"party": desk.organizations[party], "projectPublicId": desk.project}
            assert len(await desk.listed("dc.consultant", "correspondences", **query)) == found, party
        assert await desk.listed("dc.consultant", "correspondences", party=str(new_id())) == []

    async def test_names_the_query_it_cannot_use(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")

        for name, value in UNUSABLE:
            answer = await client.get("/api/v1/correspondences", params={name: value})
            assert (answer.status_code, pointers(answer)) == (422, [f"query:{name}"]), value

    async def test_keeps_each_kind_in_its_own_register(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())

        assert (await desk.read("dc.contractor", "correspondences", rfa["publicId"])).status_code == 404
        assert (await desk.read("dc.contractor", "rfas", str(new_id()))).status_code == 404
        assert await desk.listed("dc.contractor", "correspondences") == []
