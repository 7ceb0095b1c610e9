"""An RFA on its way, as its people hear of it."""

from fastapi import FastAPI

from saraban.kit.clock import local_date
from saraban.worker.loop import Worker
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk
from tests.notices import titles


class TestRfa:
    async def test_reaches_whoever_has_to_act_and_ends_with_its_author(self, desk: Desk, worker: Worker) -> None:
        rfa = await desk.write(
            "dc.contractor", "rfas", desk.rfa(attachmentPublicIds=[await desk.upload("dc.contractor")])
        )
        number = rfa["documentNumber"]
        await desk.act("dc.contractor", rfa, "submit")
        await worker.drain()
        assert f"{number} awaits your action" in await titles(desk, "reviewer.consultant")
        assert await titles(desk, "dc.contractor") == []

        await desk.act("reviewer.consultant", rfa, "approve")
        await worker.drain()
        assert f"{number} awaits your action" in await titles(desk, "approver.owner")
        assert await titles(desk, "reviewer.consultant") == []

        await desk.act("approver.owner", rfa, "approve")
        await worker.drain()
        (told,) = await titles(desk, "dc.contractor")
        assert told.startswith(f"{number}: ")

    async def test_that_is_sent_back_waits_for_its_author(self, desk: Desk, worker: Worker) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await desk.act("reviewer.consultant", rfa, "request-revision", comment="ขาดแบบ")
        await worker.drain()

        assert await titles(desk, "dc.contractor") != []

    async def test_of_a_letter_that_is_sent_back_reaches_its_originator(self, desk: Desk, worker: Worker) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")
        await desk.act("dc.consultant", letter, "request-revision", comment="ขาดแบบ")
        await worker.drain()

        assert await titles(desk, "dc.contractor") == [f"{letter['documentNumber']} was returned for revision"]

    async def test_that_is_cancelled_is_told_to_its_readers(self, desk: Desk, worker: Worker) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter("ผรม.1"))
        await desk.act("dc.consultant", letter, "submit")
        await worker.drain()
        await titles(desk, "dc.contractor")
        admin = await desk.as_("admin")
        cancelled = await admin.post(
            f"/api/v1/correspondences/{letter['publicId']}/cancel", json={"reason": "ออกซ้ำกับฉบับก่อน"}
        )
        assert cancelled.status_code == 200, cancelled.text
        await worker.drain()

        assert await titles(desk, "dc.contractor") == [f"{letter['documentNumber']} was cancelled"]


class TestFiles:
    async def test_of_a_document_are_read_by_whoever_reads_it(self, desk: Desk) -> None:
        file = await desk.upload("dc.contractor")
        step_file = await desk.upload("dc.contractor")
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=[file]))
        consultant = await desk.as_("reviewer.consultant")
        address = f"/api/v1/attachments/{file}/content"
        assert (await consultant.get(address)).status_code == 404

        await desk.act("dc.contractor", rfa, "submit", attachmentPublicIds=[step_file])

        assert (await consultant.get(address)).status_code == 200
        assert (await consultant.get(f"/api/v1/attachments/{step_file}/content")).status_code == 200
        seen = unwrapped(await desk.read("reviewer.consultant", "rfas", rfa["publicId"]))
        assert [one["publicId"] for one in seen["stepAttachments"]] == [step_file]


class TestDelegate:
    async def test_is_told_what_whoever_is_away_is_told_of_the_delegated_matter(
        self, desk: Desk, worker: Worker, app: FastAPI
    ) -> None:
        client = await desk.as_("approver.owner")
        colleagues = (await client.get("/api/v1/delegations/colleagues", params={"q": "วิไล"})).json()["items"]
        today = local_date(app.state.clock.now(), app.state.clock.zone).isoformat()
        order = {"delegatePublicId": colleagues[0]["publicId"], "startsOn": today, "endsOn": today}
        made = await client.post("/api/v1/delegations", json=order | {"workflowCodes": ["RFA_APPROVAL"]})
        assert made.status_code == 201, made.text
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await desk.act("reviewer.consultant", rfa, "approve")
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("กทท."))
        await desk.act("dc.contractor", letter, "submit")
        await worker.drain()

        told, both = await titles(desk, "viewer"), await titles(desk, "approver.owner")

        assert told == [f"{rfa['documentNumber']} awaits your action"]
        assert f"{letter['documentNumber']} awaits your action" in both
        await desk.act("viewer", rfa, "approve")
        await worker.drain()
        assert await titles(desk, "viewer") == []  # nobody is told of what he did himself
