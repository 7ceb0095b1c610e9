"""Numbers of drawings in the ledger: each register for itself, from outside or from the format, printed again for each revision."""

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.bootstrap import carriers
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import SHOP
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.numbering import service as numbering
from saraban.numbering.series.models import LedgerEntry, NumberAudit, NumberFormat, NumberRendering
from saraban.projects.models import CorrespondenceType
from tests.conftest import unwrapped, unwrapped_items
from tests.drawing_imports import DrawingImports
from tests.factories.contexts import context
from tests.features.documents.conftest import Desk, pointers
from tests.numbering_requests import let_run_out

KINDS = ("contract", "shop", "asbuilt")
NUMBER = "LP3-HW-ST-001"


@pytest.fixture
async def db(app: FastAPI) -> Database:
    return app.state.db  # type: ignore[no-any-return]


async def register(desk: Desk, account: str = "admin", kind: str = "shop", **body: Any) -> httpx.Response:
    sent = {"projectPublicId": desk.project, "title": "แปลนฐานราก", **body}
    return await (await desk.as_(account)).post(f"/api/v1/drawings/{kind}", json=sent)


async def issued(desk: Desk, **body: Any) -> dict[str, Any]:
    """Register a shop drawing with a number of the format."""
    answer = await register(desk, categoryCode="FND", **body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return unwrapped(answer)


async def revise(desk: Desk, drawing: dict[str, Any], **body: Any) -> dict[str, Any]:
    path = f"/api/v1/drawings/{drawing['kind']}/{drawing['publicId']}/revisions"
    answer = await (await desk.as_("admin")).post(path, json=body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return unwrapped(answer)


@pytest.fixture(autouse=True)
async def category(desk: Desk) -> None:
    client = await desk.as_("admin")
    path = f"/api/v1/projects/{desk.project}/drawing-categories/shop-main-categories"
    made = await client.post(path, json={"code": "FND", "nameTh": "ฐานราก"})
    assert made.status_code == httpx.codes.CREATED, made.text


async def ledger(db: Database, kind: str) -> list[tuple[Any, ...]]:
    entry = LedgerEntry
    statement = (
        sa.select(entry.document_number, entry.source, entry.document_number_status, entry.holder_kind)
        .where(entry.register == kind)
        .order_by(entry.id)
    )
    async with db.reading() as session:
        return [tuple(row) for row in await session.execute(statement)]


async def consistent(db: Database) -> bool:
    return [found async for found in numbering.check_consistency(db, carriers=carriers())] == []


class TestFromOutside:
    @pytest.mark.parametrize("kind", KINDS)
    async def test_stands_in_the_ledger_as_stated_by_hand(self, desk: Desk, db: Database, kind: str) -> None:
        drawing = await desk.register("admin", kind, NUMBER)

        assert await ledger(db, kind) == [(NUMBER, "OVERRIDE", "CONFIRMED", f"{kind}_drawing")]
        async with db.reading() as session:
            audit = (await session.scalars(sa.select(NumberAudit).where(NumberAudit.generated_number == NUMBER))).one()
        assert (audit.operation, str(audit.holder_public_id)) == ("OVERRIDE", drawing["publicId"])
        assert await consistent(db)

    async def test_is_the_same_in_three_registers(self, desk: Desk, db: Database) -> None:
        for kind in KINDS:
            await desk.register("admin", kind, NUMBER)

        assert [len(await ledger(db, kind)) for kind in KINDS] == [1, 1, 1]
        client = await desk.as_("admin")
        asked = {"projectPublicId": desk.project, "number": NUMBER}
        path = "/api/v1/document-numbering/resolve"
        found = [(await client.get(path, params={**asked, "register": kind})).json()["documentKind"] for kind in KINDS]
        assert found == [f"{kind}_drawing" for kind in KINDS]
        assert (await client.get(path, params=asked)).status_code == httpx.codes.NOT_FOUND

    async def test_stays_the_same_on_each_revision(self, desk: Desk, db: Database) -> None:
        drawing = await desk.register("admin", "shop", NUMBER)

        revised = await revise(desk, drawing)

        assert revised["drawingNumber"] == NUMBER
        assert len(await ledger(db, "shop")) == 1
        assert await consistent(db)


class TestFromTheFormat:
    async def test_is_the_next_of_its_register(self, desk: Desk, db: Database) -> None:
        found = [(await issued(desk, disciplineCode="TER"))["drawingNumber"] for _ in "12"]
        asbuilt = unwrapped(await register(desk, kind="asbuilt", categoryCode="FND", disciplineCode="TER"))

        assert found == ["LCBP3-C2-TER-FND-0001-0", "LCBP3-C2-TER-FND-0002-0"]
        assert asbuilt["drawingNumber"] == "LCBP3-C2-TER-FND-0001-0"
        assert await ledger(db, "shop") == [(one, "DRAW", "CONFIRMED", "shop_drawing") for one in found]
        assert await consistent(db)

    async def test_is_printed_again_for_each_revision(self, desk: Desk, db: Database) -> None:
        drawing = await issued(desk)

        revised = await revise(desk, drawing)

        assert (drawing["drawingNumber"], revised["drawingNumber"]) == (
            "LCBP3-C2-GEN-FND-0001-0",
            "LCBP3-C2-GEN-FND-0001-1",
        )
        async with db.reading() as session:
            printed = await session.scalars(sa.select(NumberRendering.document_number).order_by(NumberRendering.id))
            assert list(printed)[-2:] == [drawing["drawingNumber"], revised["drawingNumber"]]
        assert await consistent(db)

    async def test_of_an_earlier_revision_still_names_the_drawing(self, desk: Desk, db: Database) -> None:
        drawing = await issued(desk)
        await desk.register("admin", "shop", NUMBER)
        revised = await revise(desk, drawing)
        before, now = drawing["drawingNumber"], revised["drawingNumber"]
        client = await desk.as_("admin")
        listed = unwrapped_items(
            await client.get("/api/v1/drawings/shop", params={"projectPublicId": desk.project, "q": before})
        )
        wanted = [drawings.NumberedRevision(before), drawings.NumberedRevision(before, "0")]

        async with db.reading() as session:
            caller = await identity.find_caller(session, username="admin")
            assert caller is not None
            ctx, place = context(caller=caller), {"project": UUID(desk.project)}
            current = await drawings.current_by_number(ctx, session, SHOP, numbers=[before, now, "no"], **place)
            found = await drawings.revisions_by_number(ctx, session, SHOP, wanted=wanted, **place)

        assert [one["drawingNumber"] for one in listed] == [now]
        assert current == dict.fromkeys((before, now), UUID(revised["revision"]["publicId"]))
        assert [found[one].revision.revision_label for one in wanted] == ["1", "0"]

    async def test_steps_over_what_came_from_outside(self, desk: Desk, db: Database) -> None:
        await desk.register("admin", "shop", "LCBP3-C2-GEN-FND-0001-0")
        await desk.register("admin", "asbuilt", "LCBP3-C2-GEN-FND-0002-0")

        assert (await issued(desk))["drawingNumber"] == "LCBP3-C2-GEN-FND-0002-0"
        async with db.reading() as session:
            skipped = (await session.scalars(sa.select(NumberAudit).where(NumberAudit.operation == "SKIP"))).all()
        assert [(one.sequence_number, one.skipped_to) for one in skipped] == [(1, 1)]
        assert await consistent(db)

    async def test_is_not_taken_again_from_outside(self, desk: Desk) -> None:
        drawing = await issued(desk)
        await revise(desk, drawing)

        for number in (drawing["drawingNumber"], "LCBP3-C2-GEN-FND-0001-1"):
            answer = await register(desk, drawingNumber=number)
            assert (answer.status_code, answer.json()["code"]) == (409, "DRAWING_NUMBER_TAKEN")
            assert pointers(answer) == ["/drawingNumber"]

    async def test_is_issued_once_for_a_key(self, desk: Desk) -> None:
        client = await desk.as_("admin")
        body = {"projectPublicId": desk.project, "title": "ก", "categoryCode": "FND"}
        answers = [
            await client.post("/api/v1/drawings/shop", json=body, headers={"Idempotency-Key": "one"}) for _ in "12"
        ]

        assert [unwrapped(one)["publicId"] for one in answers] == [unwrapped(answers[0])["publicId"]] * 2
        assert answers[1].headers["Idempotent-Replay"] == "true"

    async def test_names_what_the_format_prints_and_is_missing(self, desk: Desk, db: Database) -> None:
        answer = await register(desk)

        assert (answer.status_code, pointers(answer)) == (422, ["/categoryCode"])
        assert await ledger(db, "shop") == []

    async def test_needs_a_format(self, desk: Desk, db: Database) -> None:
        of_drawings = sa.select(CorrespondenceType.id).where(CorrespondenceType.type_code == "DRAWING")
        formats = sa.delete(NumberFormat).where(NumberFormat.correspondence_type_id.in_(of_drawings))
        await db.transact(lambda session: session.execute(formats))

        answer = await register(desk, categoryCode="FND")

        assert (answer.status_code, pointers(answer)) == (422, ["/drawingNumber"])

    async def test_is_issued_for_ones_own_organization_alone(self, desk: Desk) -> None:
        own = await register(
            desk, "dc.contractor", categoryCode="FND", originatorOrganizationPublicId=desk.organizations["ผรม.2"]
        )
        other = await register(
            desk, "dc.contractor", categoryCode="FND", originatorOrganizationPublicId=desk.organizations["คคง."]
        )
        nobodys = await register(desk, "dc.contractor", categoryCode="FND")

        assert [one.status_code for one in (own, other, nobodys)] == [201, 403, 403]


class TestRequest:
    """Numbers of the type DRAWING that are asked for without a drawing (N23)."""

    async def ask(self, desk: Desk, verb: str, **more: Any) -> httpx.Response:
        body = {
            "projectPublicId": desk.project,
            "correspondenceTypeCode": "DRAWING",
            "originatorOrganizationPublicId": desk.organizations["กทท."],
            "categoryCode": "FND",
        }
        return await (await desk.as_("admin")).post(f"/api/v1/document-numbering/{verb}", json=body | more)

    async def reserve(self, desk: Desk, **more: Any) -> dict[str, Any]:
        answer = await self.ask(desk, "reserve", **more)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return answer.json()  # type: ignore[no-any-return]

    async def label_from(self, desk: Desk, scheme: str, kind: str = "shop") -> None:
        path = f"/api/v1/projects/{desk.project}/drawing-registers/{kind}"
        body = {"revisionScheme": scheme, "numberPattern": None, "takesAddenda": False}
        saved = await (await desk.as_("admin")).put(path, json=body)
        assert saved.status_code == httpx.codes.OK, saved.text

    @pytest.mark.parametrize("stated", [{}, {"register": "shop"}, {"register": "asbuilt"}])
    async def test_counts_with_the_drawings_of_its_register(
        self, desk: Desk, db: Database, stated: dict[str, str]
    ) -> None:
        kind = stated.get("register", "shop")
        await self.label_from(desk, "P01, C01", kind)
        drawing = unwrapped(await register(desk, kind=kind, categoryCode="FND"))["drawingNumber"]
        preview = (await self.ask(desk, "preview", **stated)).json()["documentNumber"]
        by_hand = await self.ask(desk, "manual-override", sequence=3, reason="From the paper list", **stated)
        generated = (await self.ask(desk, "generate", **stated)).json()["documentNumber"]
        following = unwrapped(await register(desk, kind=kind, categoryCode="FND"))["drawingNumber"]

        numbers = [drawing, preview, generated, by_hand.json()["documentNumber"], following]
        assert numbers == [f"LCBP3-C2-GEN-FND-000{place}-P01" for place in (1, 2, 2, 3, 4)]
        assert {one for one, *_ in await ledger(db, kind)} == set(numbers)
        assert await ledger(db, "document") == []
        assert await consistent(db)

    async def test_names_a_register_of_drawings_only(self, desk: Desk) -> None:
        recipient = {"recipientOrganizationPublicId": desk.organizations["คคง."], "categoryCode": None}
        letter = await self.ask(desk, "generate", correspondenceTypeCode="LETTER", register="shop", **recipient)
        strange = await self.ask(desk, "reserve", register="other")
        category = await self.ask(desk, "generate", categoryCode="NONE")

        found = [(one.status_code, pointers(one)) for one in (letter, strange, category)]
        assert found == [(422, ["/register"]), (422, ["/register"]), (422, ["/categoryCode"])]

    async def test_is_taken_up_by_the_drawing(self, desk: Desk, db: Database) -> None:
        await self.label_from(desk, "P01, C01")
        reserved = await self.reserve(desk)
        token = reserved["reservationToken"]

        drawing = await issued(desk, reservationToken=token)
        again = await register(desk, categoryCode="FND", reservationToken=token)
        revised = await revise(desk, drawing)

        assert (drawing["drawingNumber"], drawing["revision"]["revisionLabel"]) == (reserved["documentNumber"], "P01")
        assert (again.status_code, again.json()["code"]) == (409, "NUMBER_STATE_CONFLICT")
        assert revised["drawingNumber"] == "LCBP3-C2-GEN-FND-0001-P02"
        assert await consistent(db)

    async def test_without_a_scheme_begins_with_a_and_goes_on_with_b(self, desk: Desk, db: Database) -> None:
        reserved = await self.reserve(desk)

        drawing = await issued(desk, reservationToken=reserved["reservationToken"])
        revised = await revise(desk, drawing)

        printed = [drawing["drawingNumber"], revised["drawingNumber"]]
        assert printed == ["LCBP3-C2-GEN-FND-0001-A", "LCBP3-C2-GEN-FND-0001-B"]
        assert (drawing["nextLabels"], revised["nextLabels"]) == (["B"], ["C"])
        assert await consistent(db)

    @pytest.mark.parametrize(
        ("change", "status", "pointer"),
        [
            ({"drawingNumber": NUMBER}, 422, "/reservationToken"),
            ({"kind": "asbuilt"}, 422, "/reservationToken"),
            ({"categoryCode": "ROOF"}, 422, "/categoryCode"),
            ({"revision": {"label": "0"}}, 422, "/revision/label"),
            ({"account": "padmin"}, 404, None),
        ],
    )
    async def test_is_refused_by_the_field_for_another_drawing(
        self, desk: Desk, change: dict[str, Any], status: int, pointer: str | None
    ) -> None:
        path = f"/api/v1/projects/{desk.project}/drawing-categories/shop-main-categories"
        await (await desk.as_("admin")).post(path, json={"code": "ROOF", "nameTh": "หลังคา"})
        token = (await self.reserve(desk))["reservationToken"]

        answer = await register(desk, **({"categoryCode": "FND", "reservationToken": token} | change))

        assert answer.status_code == status, answer.text
        assert pointer is None or pointers(answer) == [pointer]

    async def test_is_gone_after_the_expiry(self, desk: Desk, db: Database) -> None:
        token = (await self.reserve(desk))["reservationToken"]
        await let_run_out(db, token)

        answer = await register(desk, categoryCode="FND", reservationToken=token)

        assert (answer.status_code, answer.json()["code"]) == (410, "RESERVATION_EXPIRED")


class TestImport:
    @pytest.fixture
    async def imports(self, desk: Desk, app: FastAPI, tmp_path: Path) -> DrawingImports:
        return DrawingImports(await desk.as_("admin"), app, desk.project, tmp_path)

    async def test_brings_the_numbers_of_new_drawings_into_the_ledger(
        self, imports: DrawingImports, db: Database
    ) -> None:
        await imports.imported([NUMBER, "", "", "0", "", "แปลน"], [NUMBER, "", "", "1", "", "แปลน"])
        await imports.imported([NUMBER, "", "", "2", "", "แปลน"])

        assert await ledger(db, "shop") == [(NUMBER, "OVERRIDE", "CONFIRMED", "shop_drawing")]
        assert await consistent(db)

    async def test_prints_the_number_of_the_format_for_each_revision(
        self, imports: DrawingImports, desk: Desk, db: Database
    ) -> None:
        drawing = await issued(desk)
        number = drawing["drawingNumber"]

        await imports.imported([number, "", "", "1", "", "แปลน"], [number, "", "", "2", "", "แปลน"])
        again = await imports.checked([number, "", "", "3", "", "แปลน"])

        read = unwrapped(await (await desk.as_("admin")).get(f"/api/v1/drawings/shop/{drawing['publicId']}"))
        assert read["drawingNumber"] == "LCBP3-C2-GEN-FND-0001-2"
        assert [(one["column"], one["code"]) for one in again["report"]["faults"]] == [("drawing_number", "taken")]
        assert await consistent(db)
