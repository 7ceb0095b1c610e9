"""The three registers of drawings: registering, revisions, what stands where on a day, and who is shown what."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.attachments.models import Attachment
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import SHOP
from saraban.documents.drawing.models import ShopDrawing, ShopDrawingRevision
from saraban.identity import service as identity
from saraban.identity.models import Organization
from saraban.kit.clock import local_date
from saraban.projects.models import ContractOrganization, ProjectOrganization, RfaApproveCode
from tests.conftest import SignIn, unwrapped, unwrapped_items
from tests.factories.contexts import context
from tests.features.documents.conftest import Desk, pointers
from tests.project_callers import add_callers, everybody, statuses

KINDS = ("contract", "shop", "asbuilt")


async def sent(desk: Desk, account: str, kind: str, number: str, **more: Any) -> httpx.Response:
    body = {"projectPublicId": desk.project, "drawingNumber": number, "title": "แปลนฐานราก", **more}
    return await (await desk.as_(account)).post(f"/api/v1/drawings/{kind}", json=body)


async def numbers(desk: Desk, account: str, kind: str, path: str = "", **query: Any) -> list[str]:
    client = await desk.as_(account)
    answer = await client.get(f"/api/v1/drawings/{path or kind}", params={"projectPublicId": desk.project, **query})
    assert answer.status_code == httpx.codes.OK, answer.text
    return [one["drawingNumber"] for one in unwrapped_items(answer)]


@pytest.mark.parametrize("kind", KINDS)
class TestRegister:
    async def test_takes_a_drawing_with_its_first_revision(self, desk: Desk, kind: str) -> None:
        file = await desk.upload("admin")
        made = await desk.register(
            "admin",
            kind,
            "LP3-HW-ST-001",
            titleEn="Foundation plan",
            scale="1:100",
            sheetSize="A1",
            revision={"date": "2026-02-28", "statusCode": "S2", "attachmentPublicIds": [file]},
        )

        client = await desk.as_("admin")
        read = await client.get(f"/api/v1/drawings/{kind}/{made['publicId']}")

        assert unwrapped(read) == made
        assert read.headers["ETag"] == '"1"'
        assert (made["kind"], made["drawingNumber"], made["scale"]) == (kind, "LP3-HW-ST-001", "1:100")
        (revision,) = made["revisions"]
        assert (revision["revisionLabel"], revision["isCurrent"], revision["currentUntil"]) == ("0", True, None)
        assert (revision["title"], revision["titleEn"]) == ("แปลนฐานราก", "Foundation plan")
        assert (revision["revisionDate"], revision["statusCode"]) == ("2026-02-28", "S2")
        (attached,) = revision["attachments"]
        assert (attached["fileType"], attached["isMain"]) == ("PDF", True)
        assert (await client.get(attached["downloadUrl"])).status_code == httpx.codes.OK

    async def test_takes_a_number_once(self, desk: Desk, kind: str) -> None:
        await desk.register("admin", kind, "LP3-HW-ST-001")

        for twin in ("LP3-HW-ST-001", "LP3\u2011HW–st-001", "ＬＰ３-HW-ST-001"):
            answer = await sent(desk, "admin", kind, twin)

            assert (answer.status_code, answer.json()["code"]) == (409, "DRAWING_NUMBER_TAKEN")
            assert pointers(answer) == ["/drawingNumber"]
            assert "LP3-HW-ST-001" in answer.text
        assert await numbers(desk, "admin", kind) == ["LP3-HW-ST-001"]

    async def test_stands_where_people_count_it(self, desk: Desk, kind: str) -> None:
        for number in ("N-10", "N-9", "n-1", "N-100", "N-2"):
            await desk.register("admin", kind, number)

        assert await numbers(desk, "admin", kind) == ["n-1", "N-2", "N-9", "N-10", "N-100"]

    async def test_does_the_same_request_once(self, desk: Desk, kind: str) -> None:
        client = await desk.as_("admin")
        body = {"projectPublicId": desk.project, "drawingNumber": "N-1", "title": "ก"}
        first, again = [
            await client.post(f"/api/v1/drawings/{kind}", json=body, headers={"Idempotency-Key": "once"}) for _ in "12"
        ]

        assert first.json() == again.json()
        assert again.headers["Idempotent-Replay"] == "true"

    async def test_refuses_by_the_field(self, desk: Desk, kind: str) -> None:
        found = {}
        for field, value in {
            "title": "ก" * 300,
            "drawingNumber": "=1+1",
            "categoryCode": "NOWHERE",
            "disciplineCode": "NOWHERE",
            "contractPublicId": desk.project,
            "originatorOrganizationPublicId": desk.project,
            "projectPublicId": desk.organizations["คคง."],
        }.items():
            answer = await sent(desk, "admin", kind, "X-1", **{field: value})
            found[field] = (answer.status_code, pointers(answer))
        label = await sent(desk, "admin", kind, "X-1", revision={"label": "A"})

        assert found == {field: (422, [f"/{field}"]) for field in found}
        assert (label.status_code, pointers(label)) == (422, ["/revision/label"])
        assert await numbers(desk, "admin", kind) == []

    async def test_goes_on_in_pages_by_number(self, desk: Desk, kind: str) -> None:
        for place in (3, 1, 2):
            await desk.register("admin", kind, f"N-{place}")
        client = await desk.as_("admin")
        query = {"projectPublicId": desk.project, "limit": 2}
        first = (await client.get(f"/api/v1/drawings/{kind}", params=query)).json()
        second = (await client.get(f"/api/v1/drawings/{kind}", params=query | {"cursor": first["nextCursor"]})).json()
        strange = await client.get(
            f"/api/v1/drawings/{kind}", params={**query, "q": "N", "cursor": first["nextCursor"]}
        )

        assert [[one["data"]["drawingNumber"] for one in page["items"]] for page in (first, second)] == [
            ["N-1", "N-2"],
            ["N-3"],
        ]
        assert second["nextCursor"] is None
        assert (strange.status_code, pointers(strange)) == (422, ["query:cursor"])


class TestRevisions:
    async def revise(self, desk: Desk, drawing: dict[str, Any], account: str = "admin", **body: Any) -> httpx.Response:
        path = f"/api/v1/drawings/{drawing['kind']}/{drawing['publicId']}/revisions"
        return await (await desk.as_(account)).post(path, json=body)

    @pytest.mark.parametrize("kind", ["shop", "asbuilt"])
    async def test_take_the_place_of_each_other(self, desk: Desk, kind: str) -> None:
        drawing = await desk.register("admin", kind, "N-1", titleEn="Plan")

        answer = await self.revise(desk, drawing, title="แปลนฐานราก แก้ไข", reason="เปลี่ยนเสาเข็ม")
        third = unwrapped(await self.revise(desk, drawing, label="5"))

        assert answer.status_code == httpx.codes.CREATED, answer.text
        assert [one["revisionLabel"] for one in third["revisions"]] == ["5", "1", "0"]
        assert [one["isCurrent"] for one in third["revisions"]] == [True, False, False]
        assert [one["title"] for one in third["revisions"]] == ["แปลนฐานราก แก้ไข"] * 2 + ["แปลนฐานราก"]
        newest, middle, oldest = third["revisions"]
        assert oldest["currentUntil"] == middle["currentFrom"]
        assert middle["currentUntil"] == newest["currentFrom"]
        assert third["nextLabels"] == ["6"]

    async def test_never_go_backwards(self, desk: Desk) -> None:
        drawing = await desk.register("admin", "shop", "N-1", revision={"label": "3"})

        backwards = await self.revise(desk, drawing, label="3")
        strange = await self.revise(desk, drawing, label="C")

        assert (backwards.status_code, backwards.json()["code"]) == (409, "DRAWING_REVISION_NOT_FORWARD")
        assert (strange.status_code, pointers(backwards), pointers(strange)) == (422, ["/label"], ["/label"])

    async def test_of_contract_drawings_are_not_taken_where_the_project_wants_none(self, desk: Desk) -> None:
        drawing = await desk.register("admin", "contract", "N-1")

        answer = await self.revise(desk, drawing)

        assert (answer.status_code, answer.json()["code"]) == (409, "DRAWING_TAKES_NO_ADDENDA")
        assert (drawing["canRevise"], drawing["nextLabels"]) == (False, [])

    async def test_are_current_as_of_a_day(self, desk: Desk, app: FastAPI) -> None:
        drawing = await desk.register("admin", "shop", "N-1")
        async with app.state.db.writing() as session:
            began = app.state.clock.now() - timedelta(days=40)
            await session.execute(sa.update(ShopDrawing).values(created_at=began))
            await session.execute(sa.update(ShopDrawingRevision).values(current_from=began))
        today = local_date(app.state.clock.now(), app.state.clock.zone)
        await self.revise(desk, drawing)
        await desk.register("admin", "shop", "N-2")

        async def set_of(**query: str) -> list[tuple[str, str]]:
            client = await desk.as_("admin")
            asked = {"projectPublicId": desk.project, "kind": "shop", **query}
            answer = await client.get("/api/v1/drawings/current-set", params=asked)
            return [(one["drawingNumber"], one["revision"]["revisionLabel"]) for one in unwrapped_items(answer)]

        assert await set_of() == [("N-1", "1"), ("N-2", "0")]
        assert await set_of(asOf=(today - timedelta(days=1)).isoformat()) == [("N-1", "0")]
        assert await set_of(asOf=(today - timedelta(days=42)).isoformat()) == []
        assert await set_of(asOf=today.isoformat()) == await set_of()
        assert await set_of(asOf="2200-01-01") == [("N-1", "1"), ("N-2", "0")]

    async def test_are_shown_as_of_a_day_without_an_answer_that_may_be_later(self, desk: Desk, app: FastAPI) -> None:
        await desk.register("admin", "shop", "N-1")
        clock, revision = app.state.clock, ShopDrawingRevision
        async with app.state.db.writing() as session:
            code = sa.select(RfaApproveCode.id).where(RfaApproveCode.approve_code == "1A").scalar_subquery()
            began = clock.now() - timedelta(days=40)
            await session.execute(sa.update(ShopDrawing).values(created_at=began))
            await session.execute(sa.update(revision).values(current_from=began, rfa_approve_code_id=code))
            await session.commit()
        client, today = await desk.as_("admin"), local_date(clock.now(), clock.zone)

        async def answer(day: date) -> tuple[str | None, bool]:
            asked = {"projectPublicId": desk.project, "asOf": day.isoformat()}
            (listed,) = unwrapped_items(await client.get("/api/v1/drawings/shop", params=asked))
            sheet = await client.get("/api/v1/drawings/shop/export", params={**asked, "format": "csv"})
            code = listed["revision"]["responseCode"]
            return code and code["code"], ",1A," in sheet.text

        assert await answer(today) == ("1A", True)
        assert await answer(today - timedelta(days=1)) == (None, False)

    async def test_show_what_they_derive_from_and_what_records_them(self, desk: Desk) -> None:
        signed = await desk.register("admin", "contract", "C-1")
        shop = await desk.register("admin", "shop", "S-1", revision={"derivedFromPublicIds": [signed["publicId"]]})
        revision = shop["revisions"][0]["publicId"]
        built = await desk.register("admin", "asbuilt", "S-1", revision={"derivedFromPublicIds": [revision]})
        strange = await sent(desk, "admin", "shop", "S-2", revision={"derivedFromPublicIds": [revision]})

        client = await desk.as_("admin")

        async def links(drawing: dict[str, Any], name: str) -> list[tuple[str, str]]:
            answer = await client.get(f"/api/v1/drawings/{drawing['kind']}/{drawing['publicId']}/revisions")
            return [(one["kind"], one["drawingNumber"]) for one in unwrapped_items(answer)[0][name]]

        assert await links(built, "derivedFrom") == [("shop", "S-1")]
        assert await links(shop, "derivedFrom") == [("contract", "C-1")]
        assert await links(shop, "recordedBy") == [("asbuilt", "S-1")]
        assert await links(signed, "recordedBy") == [("shop", "S-1")]
        assert (strange.status_code, pointers(strange)) == (422, ["/revision/derivedFromPublicIds/0"])

    async def test_say_by_which_revision_what_they_refer_to_is_superseded(self, desk: Desk) -> None:
        shop = await desk.register("admin", "shop", "S-1")
        recorded = {"derivedFromPublicIds": [shop["revision"]["publicId"]]}
        built = await desk.register("admin", "asbuilt", "S-1", revision=recorded)
        await self.revise(desk, shop)
        await self.revise(desk, shop)

        read = unwrapped(await desk.read("admin", "drawings/asbuilt", built["publicId"]))

        (reference,) = read["revisions"][0]["derivedFrom"]
        assert built["revisions"][0]["derivedFrom"][0]["supersededBy"] is None
        assert (reference["revisionLabel"], reference["isCurrent"], reference["supersededBy"]) == ("0", False, "2")


class TestRegisterSettings:
    def path(self, desk: Desk, kind: str) -> str:
        return f"/api/v1/projects/{desk.project}/drawing-registers/{kind}"

    async def test_decide_what_is_registered_from_then_on(self, desk: Desk) -> None:
        client = await desk.as_("padmin")
        wanted = {"revisionScheme": "P01, C01", "numberPattern": "LP3-*-###", "takesAddenda": True, "approval": "rfa"}
        before = (await client.get(self.path(desk, "contract"))).json()
        old = await desk.register("admin", "contract", "ANY")

        saved = await client.put(self.path(desk, "contract"), json=wanted)
        number = await sent(desk, "admin", "contract", "ANY-2")
        label = await sent(desk, "admin", "contract", "LP3-HW-001", revision={"label": "0"})
        new = await desk.register("admin", "contract", "LP3-HW-001")
        addendum = await client.post(f"/api/v1/drawings/contract/{new['publicId']}/revisions", json={"label": "C01"})
        onward = await client.post(f"/api/v1/drawings/contract/{old['publicId']}/revisions", json={})

        assert before == {"revisionScheme": "0", "numberPattern": None, "takesAddenda": False, "approval": "rfa"}
        assert saved.json() == (await client.get(self.path(desk, "contract"))).json() == wanted
        assert (number.status_code, pointers(number)) == (422, ["/drawingNumber"])
        assert (label.status_code, pointers(label)) == (422, ["/revision/label"])
        assert [one["revisionLabel"] for one in unwrapped(addendum)["revisions"]] == ["C01", "P01"]
        # A history that began in another scheme goes on in this one.
        assert [one["revisionLabel"] for one in unwrapped(onward)["revisions"]] == ["P01", "0"]
        assert (await client.get(self.path(desk, "shop"))).json() == before

    async def test_come_back_without_repeating_a_label(self, desk: Desk) -> None:
        client = await desk.as_("padmin")
        drawing = await desk.register("admin", "shop", "N-1", revision={"label": "1"})
        path = f"/api/v1/drawings/shop/{drawing['publicId']}/revisions"
        labels = []
        for scheme in ("A", "0"):
            await client.put(self.path(desk, "shop"), json={"revisionScheme": scheme})
            labels.append(unwrapped(await (await desk.as_("admin")).post(path, json={}))["revision"]["revisionLabel"])

        again = await (await desk.as_("admin")).post(path, json={"label": "1"})

        assert labels == ["A", "2"]
        assert (again.status_code, again.json()["code"]) == (409, "DRAWING_REVISION_NOT_FORWARD")

    @pytest.mark.parametrize(
        ("wanted", "pointer"),
        [
            ({"revisionScheme": "P" * 3}, "/revisionScheme"),
            ({"revisionScheme": "0, 1"}, "/revisionScheme"),
            ({"revisionScheme": "0", "numberPattern": "*"}, "/numberPattern"),
            ({"revisionScheme": "0", "takesAddenda": "yes"}, "/takesAddenda"),
            ({"revisionScheme": "0", "takesAddenda": True}, "/takesAddenda"),
        ],
    )
    async def test_refuse_what_says_nothing(self, desk: Desk, wanted: dict[str, Any], pointer: str) -> None:
        answer = await (await desk.as_("padmin")).put(self.path(desk, "shop"), json=wanted)

        assert (answer.status_code, pointers(answer)) == (422, [pointer])

    async def test_are_the_project_managers(
        self, desk: Desk, app: FastAPI, client: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        await add_callers(app.state.db)

        async def read(caller: httpx.AsyncClient) -> httpx.Response:
            return await caller.get(self.path(desk, "shop"))

        async def save(caller: httpx.AsyncClient) -> httpx.Response:
            return await caller.put(self.path(desk, "shop"), json={"revisionScheme": "A"})

        hidden = {"anonymous": 401, "outsider": 404, "other.manager": 404}
        assert await statuses(read, signed_in, client) == everybody(200, anonymous=401, outsider=404, other_manager=404)
        assert await statuses(save, signed_in, client) == everybody(403) | hidden | {
            "admin": 200,
            "padmin": 200,
            "outsider": 403,
        }


class TestChange:
    async def test_classifies_otherwise_once_for_each_version(self, desk: Desk) -> None:
        client = await desk.as_("admin")
        path = f"/api/v1/projects/{desk.project}/drawing-categories/shop-main-categories"
        await client.post(path, json={"code": "HW9", "nameTh": "อาคารของเสีย", "nameEn": "Hazardous waste"})
        drawing = await desk.register("admin", "shop", "N-1")
        address = f"/api/v1/drawings/shop/{drawing['publicId']}"

        changed = await client.patch(address, json={"categoryCode": "HW9", "zone": "2"}, headers={"If-Match": '"1"'})
        stale = await client.patch(address, json={"zone": "3"}, headers={"If-Match": '"1"'})

        assert changed.status_code == httpx.codes.OK, changed.text
        assert (unwrapped(changed)["category"]["name"], unwrapped(changed)["zone"]) == ("Hazardous waste", "2")
        assert changed.headers["ETag"] == '"2"'
        assert (stale.status_code, stale.json()["code"]) == (412, "DRAWING_CHANGED")
        assert await numbers(desk, "admin", "shop", category="HW9") == ["N-1"]
        assert await numbers(desk, "admin", "shop", category="NONE") == []

    async def test_takes_pairs_of_contract_drawings_only_as_the_project_allows_them(self, desk: Desk) -> None:
        client = await desk.as_("admin")
        lists = f"/api/v1/projects/{desk.project}/drawing-categories"
        for code in ("ST", "AR"):
            body = {"code": code, "nameTh": code, "nameEn": code}
            await client.post(f"{lists}/contract-categories", json=body)
        sub = {"code": "PILE", "nameTh": "เสาเข็ม", "nameEn": "Piles", "categories": "ST"}
        await client.post(f"{lists}/contract-sub-categories", json=sub)

        wrong = await sent(desk, "admin", "contract", "N-1", categoryCode="AR", subCategoryCode="PILE")
        half = await sent(desk, "admin", "contract", "N-1", subCategoryCode="PILE")
        right = await desk.register("admin", "contract", "N-1", categoryCode="ST", subCategoryCode="PILE")

        assert (wrong.status_code, pointers(wrong)) == (422, ["/subCategoryCode"])
        assert (half.status_code, pointers(half)) == (422, ["/categoryCode"])
        assert (right["category"]["code"], right["subCategory"]["code"]) == ("ST", "PILE")
        assert await numbers(desk, "admin", "contract", subCategory="PILE", category="ST") == ["N-1"]


class TestIsolation:
    """What one contractor drew, another one learns nothing of."""

    async def test_of_an_originators_drawings(self, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        hidden = await desk.register("dc.contractor", "shop", "S-1", **own)
        await desk.register("admin", "shop", "S-2")
        found = {}
        for account in ("dc.contractor", "dc.consultant", "admin"):
            client = await desk.as_(account)
            read = await client.get(f"/api/v1/drawings/shop/{hidden['publicId']}")
            found[account] = (await numbers(desk, account, "shop"), read.status_code)

        assert found == {
            "dc.contractor": (["S-1", "S-2"], 200),
            "dc.consultant": (["S-2"], 404),
            "admin": (["S-1", "S-2"], 200),
        }

    async def test_of_links_and_of_files(self, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        signed = await desk.register("admin", "contract", "C-1")
        file = await desk.upload("dc.contractor")
        revision = {"derivedFromPublicIds": [signed["publicId"]], "attachmentPublicIds": [file]}
        shop = await desk.register("dc.contractor", "shop", "S-1", revision=revision, **own)
        other = await desk.as_("dc.consultant")

        shown = unwrapped(await other.get(f"/api/v1/drawings/contract/{signed['publicId']}"))
        got = await other.get(f"/api/v1/attachments/{file}/content")
        taken = await sent(
            desk, "dc.consultant", "asbuilt", "A-1",
            originatorOrganizationPublicId=desk.organizations["คคง."],
            revision={"derivedFromPublicIds": [shop["revisions"][0]["publicId"]]},
        )  # fmt: skip

        assert shown["revisions"][0]["recordedBy"] == []
        assert got.status_code == httpx.codes.NOT_FOUND
        assert (taken.status_code, pointers(taken)) == (422, ["/revision/derivedFromPublicIds/0"])

    async def test_of_an_organization_that_has_left_the_project(self, desk: Desk, app: FastAPI) -> None:
        file = await desk.upload("dc.contractor")
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        made = await desk.register("dc.contractor", "shop", "S-1", revision={"attachmentPublicIds": [file]}, **own)
        revision = UUID(made["revision"]["publicId"])

        async def shown() -> tuple[bool, int]:
            async with app.state.db.reading() as session:
                caller = await identity.find_caller(session, username="dc.contractor")
                assert caller is not None
                ctx = context(caller=caller, now=app.state.clock.now())
                key = await session.scalar(sa.select(Attachment.id).where(Attachment.public_id == UUID(file)))
                found = await drawings.visible_revisions(ctx, session, SHOP, [revision])
                return await drawings.reads_file(ctx, session, key), len(found)

        before = await shown()
        async with app.state.db.writing() as session:
            ours = sa.select(Organization.id).where(Organization.organization_code.in_(("ผรม.1", "ผรม.2")))
            for table in (ContractOrganization, ProjectOrganization):
                await session.execute(sa.delete(table).where(table.organization_id.in_(ours)))
            await session.commit()

        assert (before, await shown()) == ((True, 1), (False, 0))

    async def test_writes_are_the_originators(self, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        for_others = await sent(desk, "dc.consultant", "shop", "S-1", **own)
        for_all = await sent(desk, "dc.contractor", "shop", "S-1")
        of_project = await desk.register("dc.consultant", "contract", "C-1")
        client = await desk.as_("dc.contractor")
        changed = await client.patch(f"/api/v1/drawings/contract/{of_project['publicId']}", json={"zone": "1"})

        assert (for_others.status_code, for_others.json()["code"]) == (403, "NOT_YOUR_ORGANIZATION")
        assert for_all.status_code == httpx.codes.FORBIDDEN
        assert changed.status_code == httpx.codes.FORBIDDEN
