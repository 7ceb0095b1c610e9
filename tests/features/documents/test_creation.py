"""Writing documents: the number, the rows and the proof together, or nothing."""

from typing import Any
from unittest.mock import AsyncMock

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from saraban.audit.models import AuditLog
from saraban.documents.core import dependencies
from saraban.documents.core.models import Document
from saraban.events.models import OutboxEvent
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.numbering.series.models import LedgerEntry
from tests.features.documents.conftest import Desk, pointers

FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"subject": ""}, "/subject"),
    ({"subject": "ก" * 501}, "/subject"),
    ({"subject": "เรื่อง\x00"}, "/subject"),
    ({"subject": 5}, "/subject"),
    ({"body": "\u0007กลับ"}, "/body"),
    ({"priority": "SOON"}, "/priority"),
    ({"dueDate": "2020-01-01"}, "/dueDate"),
    ({"dueDate": 0}, "/dueDate"),
    ({"documentDate": "01/01/69"}, "/documentDate"),
    ({"recipients": []}, "/recipients"),
    ({"correspondenceTypeCode": "RFA"}, "/correspondenceTypeCode"),
    ({"disciplineCode": "ZZZ", "contractPublicId": None}, "/disciplineCode"),
    ({"contractPublicId": str(new_id())}, "/contractPublicId"),
    ({"projectPublicId": str(new_id())}, "/projectPublicId"),
    ({"projectPublicId": "7"}, "/projectPublicId"),
    ({"originatorOrganizationPublicId": str(new_id())}, "/originatorOrganizationPublicId"),
    ({"referencePublicIds": [str(new_id())]}, "/referencePublicIds/0"),
    ({"attachmentPublicIds": [str(new_id())]}, "/attachmentPublicIds/0"),
    ({"surprise": 1}, "/surprise"),
]


async def count_of(db: Database, model: Any) -> int:
    async with db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(model)) or 0)


class TestCreate:
    async def test_gives_an_rfa_its_number_and_two_files(self, desk: Desk) -> None:
        files = [await desk.upload("dc.contractor"), await desk.upload("dc.contractor")]

        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=files))

        assert rfa["documentNumber"] == "LCBP3-C2-RFA-TER-RPT-0001-A"
        assert [file["publicId"] for file in rfa["attachments"] if file["isMain"]] == files[:1]
        assert {file["publicId"] for file in rfa["attachments"]} == set(files)
        assert rfa["status"]["code"] == "DFT"
        assert rfa["workflow"]["currentState"] == "draft"
        assert rfa["contract"]["contractCode"] == "LCBP3-C2"

    async def test_prints_the_parties_and_the_year_of_a_letter(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())

        assert letter["documentNumber"].startswith("คคง.-สคฉ.3-0001-25")
        assert letter["revision"]["revisionLabel"] == "A"

    async def test_prints_the_sub_type_of_a_transmittal(self, desk: Desk) -> None:
        rfa = await desk.approved_rfa()

        transmittal = await desk.write("dc.contractor", "transmittals", desk.transmittal(rfa["publicId"]))

        assert "-21-0001-" in transmittal["documentNumber"]
        assert transmittal["items"][0]["documentNumber"] == "LCBP3-C2-RFA-TER-RPT-0001-A"

    async def test_answers_with_the_address_and_version_of_the_document(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")

        created = await client.post("/api/v1/correspondences", json=desk.letter())
        read = await client.get(created.headers["location"])

        assert read.json() == created.json()
        assert read.headers["etag"] == created.headers["etag"]

    async def test_counts_letters_and_rfis_between_the_same_parties_in_one_series(self, desk: Desk) -> None:
        first = await desk.write("dc.consultant", "correspondences", desk.letter())
        rfi = desk.letter(correspondenceTypeCode="RFI")

        second = await desk.write("dc.consultant", "correspondences", rfi)

        assert first["documentNumber"] != second["documentNumber"]

    async def test_makes_one_document_for_one_idempotency_key(self, desk: Desk, app: Any) -> None:
        client = await desk.as_("dc.consultant")
        headers = {"Idempotency-Key": "หนังสือฉบับนี้".encode().hex()}

        first = await client.post("/api/v1/correspondences", json=desk.letter(), headers=headers)
        again = await client.post("/api/v1/correspondences", json=desk.letter(), headers=headers)
        other = await client.post("/api/v1/correspondences", json=desk.letter(subject="เรื่องอื่น"), headers=headers)

        assert first.json() == again.json()
        assert other.status_code == 422
        assert await count_of(app.state.db, Document) == 1
        assert await count_of(app.state.db, LedgerEntry) == 1

    async def test_shows_a_repetition_the_document_as_it_stands_now(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")
        headers = {"Idempotency-Key": "shown-as-it-stands-now"}

        first = await client.post("/api/v1/correspondences", json=desk.letter(), headers=headers)
        address = first.headers["location"]
        await client.patch(address, json={"subject": "แก้แล้ว"})
        again = await client.post("/api/v1/correspondences", json=desk.letter(), headers=headers)
        read = await client.get(address)

        assert (again.status_code, again.headers["location"]) == (201, address)
        assert again.headers["idempotent-replay"] == "true"
        assert again.json() == read.json()
        assert again.headers["etag"] == read.headers["etag"] != first.headers["etag"]
        assert again.json()["data"]["documentNumber"] == first.json()["data"]["documentNumber"]

    async def test_records_the_event_and_the_audit_row_with_the_document(self, desk: Desk, app: Any) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())

        async with app.state.db.reading() as session:
            event = (await session.scalars(sa.select(OutboxEvent))).one()
            trail = (await session.scalars(sa.select(AuditLog).where(AuditLog.action == "correspondence.create"))).one()
        assert (event.name, event.aggregate_id) == ("document.created", letter["publicId"])
        assert trail.entity_id == letter["publicId"]

    async def test_folds_the_text_it_keeps(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter(subject="ส\u0e4d\u0e32เนาเอกสาร"))

        assert letter["subject"] == "สำเนาเอกสาร"


class TestRefuse:
    async def test_names_the_field_and_writes_nothing(self, desk: Desk, app: Any) -> None:
        client = await desk.as_("dc.consultant")

        for changes, pointer in FAULTS:
            answer = await client.post("/api/v1/correspondences", json=desk.letter(**changes))

            assert answer.status_code == 422, (changes, answer.text)
            assert pointers(answer) == [pointer], changes
            assert answer.json()["errors"][0]["message"]
        assert await count_of(app.state.db, Document) == 0
        assert await count_of(app.state.db, LedgerEntry) == 0

    async def test_refuses_a_letter_to_oneself_in_the_words_of_the_specification(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")

        answer = await client.post(
            "/api/v1/correspondences", json=desk.letter("สคฉ.3", "คคง."), headers={"Accept-Language": "th"}
        )

        assert answer.status_code == 422
        assert answer.json()["code"] == "CORRESPONDENCE_TO_SELF"
        assert answer.json()["userMessage"] == "ไม่สามารถส่งเอกสารถึงองค์กรของตัวเองได้ ใช้ Circulation Sheet แทน"
        assert pointers(answer) == ["/recipients/1/organizationPublicId"]

    async def test_refuses_a_letter_with_copies_only(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")

        answer = await client.post("/api/v1/correspondences", json=desk.letter(recipients=desk.to(cc=("สคฉ.3",))))

        assert (answer.status_code, pointers(answer)) == (422, ["/recipients"])

    async def test_refuses_a_recipient_that_is_named_twice(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")

        answer = await client.post(
            "/api/v1/correspondences", json=desk.letter(recipients=desk.to("สคฉ.3", cc=("สคฉ.3",)))
        )

        assert (answer.status_code, pointers(answer)) == (422, ["/recipients/1/organizationPublicId"])

    async def test_refuses_to_write_for_an_organization_of_somebody_else(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")
        body = desk.letter(originatorOrganizationPublicId=desk.organizations["ผรม.2"])

        answer = await client.post("/api/v1/correspondences", json=body)

        assert (answer.status_code, answer.json()["code"]) == (403, "NOT_YOUR_ORGANIZATION")

    @pytest.mark.parametrize(
        ("account", "changes"),
        [("dc.consultant", {"recipients": "สคฉ.3"}), ("dc.contractor", {"originatorOrganizationPublicId": "ผรม.1"})],
    )
    async def test_refuses_an_rfa_of_an_organization_that_is_no_contractor_there(
        self, desk: Desk, app: Any, account: str, changes: dict[str, str]
    ) -> None:
        client = await desk.as_(account)
        before = await count_of(app.state.db, LedgerEntry)
        named = {
            name: desk.to(code) if name == "recipients" else desk.organizations[code] for name, code in changes.items()
        }

        answer = await client.post("/api/v1/rfas", json=desk.rfa(**named))

        assert (answer.status_code, pointers(answer)) == (422, ["/originatorOrganizationPublicId"])
        assert answer.json()["errors"][0]["code"] == "not_a_contractor"
        assert await count_of(app.state.db, LedgerEntry) == before

    async def test_takes_an_rfa_of_the_contractor_of_the_other_contract(self, desk: Desk) -> None:
        body = desk.rfa(
            rfaTypeCode="BM", disciplineCode="NAV", originatorOrganizationPublicId=desk.organizations["ผรม.1"]
        )

        assert (await desk.write("dc.contractor", "rfas", body))["contract"]["contractCode"] == "LCBP3-C2-M"

    async def test_refuses_those_who_may_only_look(self, desk: Desk) -> None:
        client = await desk.as_("viewer")

        answer = await client.post("/api/v1/correspondences", json=desk.letter("คคง."))

        assert answer.status_code == 403

    async def test_names_the_draft_that_a_transmittal_would_carry(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        client = await desk.as_("dc.contractor")

        answer = await client.post(
            "/api/v1/transmittals", json=desk.transmittal(rfa["publicId"]), headers={"Accept-Language": "th"}
        )

        assert (answer.status_code, pointers(answer)) == (422, ["/items/0"])
        assert answer.json()["userMessage"] == f"{rfa['documentNumber']} ยังอยู่ใน Draft กรุณา Submit ก่อน"


class TestContract:
    @pytest.mark.parametrize("named", [{"disciplineCode": "TER"}, {"contractPublicId": "LCBP3-C2"}], ids=["code", "id"])
    async def test_is_one_of_the_originators(self, desk: Desk, app: Any, named: dict[str, str]) -> None:
        client = await desk.as_("dc.contractor")
        contracts = (await client.get(f"/api/v1/projects/{desk.project}/contracts")).json()["items"]
        known = {one["contractCode"]: one["publicId"] for one in contracts}
        fields = {name: known.get(value, value) for name, value in named.items()}
        before = await count_of(app.state.db, LedgerEntry)
        stranger = {"originatorOrganizationPublicId": desk.organizations["ผรม.1"]}

        letter = await client.post("/api/v1/correspondences", json=desk.letter("คคง.", **fields, **stranger))
        mine = await client.post("/api/v1/correspondences", json=desk.letter("คคง.", **fields))
        theirs = await (await desk.as_("dc.consultant")).post(
            "/api/v1/correspondences", json=desk.letter("ผรม.2", **fields)
        )

        assert (letter.status_code, pointers(letter)) == (422, [f"/{next(iter(named))}"])
        assert letter.json()["errors"][0]["code"] == "not_a_party"
        assert (mine.status_code, theirs.status_code) == (201, 201)
        assert await count_of(app.state.db, LedgerEntry) == before + 2


class TestAnswer:
    async def test_of_what_is_done_but_cannot_be_shown_says_so_and_is_told_again_by_its_key(
        self, desk: Desk, app: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever is told to try again, as for a fault before the commit, writes the document twice."""
        client = await desk.as_("dc.contractor")
        before = await count_of(app.state.db, Document)
        lost = OperationalError("SELECT", None, Exception("the connection is gone"))
        with monkeypatch.context() as patched:  # no database of the test fails between a commit and the next read
            patched.setattr(dependencies, "show", AsyncMock(side_effect=lost))
            answer = await client.post("/api/v1/rfas", json=(body := desk.rfa()), headers={"Idempotency-Key": "k"})

        assert (answer.status_code, answer.json()["code"]) == (503, "DONE_BUT_NOT_SHOWN")
        assert "Retry-After" in answer.headers
        again = await client.post("/api/v1/rfas", json=body, headers={"Idempotency-Key": "k"})
        assert (again.status_code, again.headers["Idempotent-Replay"]) == (201, "true")
        assert await count_of(app.state.db, Document) == before + 1
