"""A document that is renumbered: the old number stays its alias for ever."""

from uuid import UUID

import sqlalchemy as sa
from fastapi import FastAPI

from saraban.bootstrap import carriers
from saraban.numbering import service as numbering
from saraban.numbering.series.models import LedgerEntry
from tests.circulations import order
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk

REASON = {"reason": "The number was printed for the wrong volume."}
RESOLVE = "/api/v1/document-numbering/resolve"


class TestRenumbering:
    async def test_gives_the_next_number_and_the_old_one_still_finds_it(self, desk: Desk, app: FastAPI) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        old, admin = rfa["documentNumber"], await desk.as_("padmin")

        answer = await admin.post(f"/api/v1/rfas/{rfa['publicId']}/renumber", json=REASON)

        assert answer.status_code == 200, answer.text
        new = answer.json()["data"]["documentNumber"]
        assert new == old.replace("0001", "0002")
        assert [one["publicId"] for one in await desk.listed("dc.contractor", "rfas", q=old)] == [rfa["publicId"]]
        assert await desk.listed("dc.contractor", "rfas", q=old.replace("0001", "0009")) == []
        found = (await admin.get(RESOLVE, params={"projectPublicId": desk.project, "number": old})).json()
        assert (found["documentPublicId"], found["documentNumber"]) == (rfa["publicId"], new)
        async with app.state.db.reading() as session:
            first, second = (await session.scalars(sa.select(LedgerEntry).order_by(LedgerEntry.id))).all()
        assert [first.document_number_status, second.document_number_status] == ["VOID", "CONFIRMED"]
        assert (first.replaced_by_uuid, second.replaces_uuid) == (second.public_id, first.public_id)
        assert second.holder_public_id == UUID(rfa["publicId"])

    async def test_leaves_a_document_that_goes_on_with_its_new_number(self, desk: Desk) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        address = f"/api/v1/correspondences/{letter['publicId']}"
        admin, author = await desk.as_("padmin"), await desk.as_("dc.contractor")

        for _ in range(2):
            assert (await admin.post(f"{address}/renumber", json=REASON)).status_code == 200
        cancelled = await author.post(f"{address}/cancel", json={"reason": "Not needed."})
        late = await admin.post(f"{address}/renumber", json=REASON)

        assert cancelled.status_code == 200, cancelled.text
        assert cancelled.json()["data"]["documentNumber"].startswith("ผรม.2-คคง.-0003")
        assert (late.status_code, late.json()["code"]) == (409, "DOCUMENT_CANCELLED")

    async def test_is_for_administrators_and_changed_parties_stay_refused(self, desk: Desk) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        address = f"/api/v1/correspondences/{letter['publicId']}"
        author = await desk.as_("dc.contractor")

        refused = await author.post(f"{address}/renumber", json=REASON)
        changed = await author.patch(address, json={"recipients": desk.to("สคฉ.3")})

        assert (refused.status_code, refused.json()["code"]) == (403, "PERMISSION_DENIED")
        assert (changed.status_code, changed.json()["code"]) == (409, "NUMBER_ALREADY_DRAWN")

    async def test_with_a_key_happens_once(self, desk: Desk) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        admin = await desk.as_("padmin")
        address = f"/api/v1/correspondences/{letter['publicId']}/renumber"

        answers = [await admin.post(address, json=REASON, headers={"Idempotency-Key": "once"}) for _ in range(2)]

        assert [answer.json()["data"]["documentNumber"] for answer in answers] == [
            answers[0].json()["data"]["documentNumber"]
        ] * 2


class TestSheet:
    async def test_that_is_renumbered_is_found_by_its_old_number(self, desk: Desk, app: FastAPI) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))
        old, admin = sheet["documentNumber"], await desk.as_("admin")
        address = f"/api/v1/circulations/{sheet['publicId']}"

        answer = await admin.post(f"{address}/renumber", json=REASON)

        assert answer.status_code == 200, answer.text
        new = answer.json()["data"]["documentNumber"]
        assert new == old.replace("0001", "0002")
        assert answer.headers["etag"] == (await admin.get(address)).headers["etag"]
        assert [one["documentNumber"] for one in await desk.listed("dc.consultant", "circulations", q=old)] == [new]
        found = (await admin.get(RESOLVE, params={"projectPublicId": desk.project, "number": old})).json()
        assert (found["documentPublicId"], found["documentNumber"]) == (sheet["publicId"], new)
        history = (await admin.get(f"{address}/history")).json()["items"]
        assert history[0]["action"] == "circulation.renumber"
        assert [wrong async for wrong in numbering.check_consistency(app.state.db, carriers=carriers())] == []

    async def test_that_was_renumbered_goes_round_and_is_cancelled_with_its_new_number(
        self, desk: Desk, app: FastAPI
    ) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))
        address, admin = f"/api/v1/circulations/{sheet['publicId']}", await desk.as_("admin")
        client = await desk.as_("dc.consultant")

        again = {"headers": {"Idempotency-Key": "once"}, "json": REASON}
        answers = [await admin.post(f"{address}/renumber", **again) for _ in range(2)]
        await desk.act("dc.consultant", sheet, "start")
        waiting = (await client.get("/api/v1/inbox")).json()["items"]
        cancelled = await client.post(f"{address}/cancel", json={"reason": "Not needed."})
        late = await admin.post(f"{address}/renumber", json=REASON)

        numbers = {answer.json()["data"]["documentNumber"] for answer in answers}
        assert {item["data"]["subject"]["number"] for item in waiting} == numbers
        assert cancelled.status_code == 200, cancelled.text
        assert (late.status_code, late.json()["code"]) == (409, "DOCUMENT_CANCELLED")
        async with app.state.db.reading() as session:
            entries = (await session.scalars(sa.select(LedgerEntry).order_by(LedgerEntry.id))).all()
        assert [one.document_number_status for one in entries] == ["VOID", "CANCELLED"]
        assert {entries[1].document_number} == numbers

    async def test_is_renumbered_by_administrators_who_may_see_it(self, desk: Desk) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))

        answers = [
            await (await desk.as_(account)).post(f"/api/v1/circulations/{sheet['publicId']}/renumber", json=REASON)
            for account in ("dc.consultant", "padmin", "dc.contractor")
        ]

        assert [answer.status_code for answer in answers] == [403, 404, 403]
        read = unwrapped(await desk.read("dc.consultant", "circulations", sheet["publicId"]))
        assert read["documentNumber"] == sheet["documentNumber"]
