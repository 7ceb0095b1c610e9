"""Documents that take up a number reserved for them before."""

from typing import Any
from uuid import UUID

import httpx
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.core.models import Document
from saraban.numbering.series.models import LedgerEntry
from tests.circulations import order
from tests.features.documents.conftest import Desk, pointers

RESERVE = "/api/v1/document-numbering/reserve"


async def reserve(desk: Desk, account: str, originator: str, **more: Any) -> dict[str, Any]:
    body = {
        "projectPublicId": desk.project,
        "originatorOrganizationPublicId": desk.organizations[originator],
        **more,
    }
    answer = await (await desk.as_(account)).post(RESERVE, json=body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def letter(desk: Desk) -> dict[str, Any]:
    return await reserve(
        desk,
        "dc.contractor",
        "ผรม.2",
        correspondenceTypeCode="LETTER",
        recipientOrganizationPublicId=desk.organizations["คคง."],
    )


class TestReservedNumber:
    async def test_becomes_the_letters(self, desk: Desk, app: FastAPI) -> None:
        kept = await letter(desk)

        body = desk.letter("คคง.", reservationToken=kept["reservationToken"])
        written = await desk.write("dc.contractor", "correspondences", body)
        twice = await (await desk.as_("dc.contractor")).post("/api/v1/correspondences", json=body)

        assert written["documentNumber"] == kept["documentNumber"]
        assert twice.status_code == 409
        async with app.state.db.reading() as session:
            entries = (await session.scalars(sa.select(LedgerEntry))).all()
        assert [(one.document_number_status, one.holder_public_id) for one in entries] == [
            ("CONFIRMED", UUID(written["publicId"]))
        ]

    async def test_is_confirmed_again_as_a_number_also_when_a_document_carries_it(self, desk: Desk) -> None:
        kept = await letter(desk)
        await desk.write(
            "dc.contractor", "correspondences", desk.letter("คคง.", reservationToken=kept["reservationToken"])
        )
        client, body = await desk.as_("dc.contractor"), {"reservationToken": kept["reservationToken"]}
        confirm = RESERVE.replace("reserve", "confirm")

        answers = [await client.post(confirm, json=body, headers={"Idempotency-Key": "again"}) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert {answer.json()["publicId"] for answer in answers} == {kept["publicId"]}

    async def test_becomes_an_rfas_a_transmittals_and_a_sheets(self, desk: Desk) -> None:
        codes = {"disciplineCode": "TER", "rfaTypeCode": "RPT"}
        rfa = await reserve(desk, "dc.contractor", "ผรม.2", correspondenceTypeCode="RFA", **codes)
        item = await desk.write("dc.contractor", "rfas", desk.rfa(reservationToken=rfa["reservationToken"]))
        sheet = await reserve(desk, "dc.consultant", "คคง.", correspondenceTypeCode="CIRCULATION")
        round_ = await desk.write(
            "dc.consultant", "circulations", await order(desk, reservationToken=sheet["reservationToken"])
        )

        assert item["documentNumber"] == rfa["documentNumber"]
        assert round_["documentNumber"] == sheet["documentNumber"]

        await desk.act("dc.contractor", item, "submit")
        sent = await reserve(
            desk,
            "dc.contractor",
            "ผรม.2",
            correspondenceTypeCode="TRANSMITTAL",
            recipientOrganizationPublicId=desk.organizations["คคง."],
            subTypeCode="GEN",
        )
        body = desk.transmittal(item["publicId"], reservationToken=sent["reservationToken"])
        assert (await desk.write("dc.contractor", "transmittals", body))["documentNumber"] == sent["documentNumber"]

    async def test_of_other_parties_is_refused_at_their_field_and_stays_reserved(
        self, desk: Desk, app: FastAPI
    ) -> None:
        kept = await letter(desk)
        client = await desk.as_("dc.contractor")

        other = await client.post(
            "/api/v1/correspondences", json=desk.letter("สคฉ.3", reservationToken=kept["reservationToken"])
        )
        kind = await client.post("/api/v1/rfas", json=desk.rfa(reservationToken=kept["reservationToken"]))

        assert (other.status_code, pointers(other)) == (422, ["/recipients"])
        assert kind.status_code == 422
        assert "/correspondenceTypeCode" in pointers(kind)
        async with app.state.db.reading() as session:
            entry = (await session.scalars(sa.select(LedgerEntry))).one()
            documents = await session.scalar(sa.select(sa.func.count()).select_from(Document))
        assert (entry.document_number_status, entry.holder_public_id, documents) == ("RESERVED", None, 0)

    async def test_of_somebody_else_is_not_found(self, desk: Desk) -> None:
        kept = await letter(desk)
        body = desk.letter(
            "คคง.",
            reservationToken=kept["reservationToken"],
            originatorOrganizationPublicId=desk.organizations["ผรม.2"],
        )

        answer = await (await desk.as_("admin")).post("/api/v1/correspondences", json=body)

        assert answer.status_code == 404

    async def test_with_a_key_is_taken_up_once(self, desk: Desk) -> None:
        kept = await letter(desk)
        client = await desk.as_("dc.contractor")
        body = desk.letter("คคง.", reservationToken=kept["reservationToken"])

        answers = [
            await client.post("/api/v1/correspondences", json=body, headers={"Idempotency-Key": "a"}) for _ in range(2)
        ]

        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].json()["data"]["publicId"] == answers[1].json()["data"]["publicId"]
