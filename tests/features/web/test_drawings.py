"""The registers of drawings in the browser: what is current, what was on a day, one drawing with its history and its links."""

import re
from html import unescape

import httpx
import pytest

from tests.conftest import SignIn, unwrapped, unwrapped_items
from tests.features.documents.conftest import Desk, desk_of
from tests.features.web.conftest import Sit
from tests.features.web.forms import selected
from tests.features.web.page_html import html_of

FRAGMENT = {"HX-Request": "true"}


async def registered(desk: Desk, kind: str, number: str, account: str = "admin", **more: object) -> str:
    body = {
        "projectPublicId": desk.project,
        "drawingNumber": number,
        "title": "แปลนฐานราก",
        "titleEn": "Foundation plan",
    }
    answer = await (await desk.as_(account)).post(f"/api/v1/drawings/{kind}", json=body | more)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(unwrapped(answer)["publicId"])


class TestRegister:
    @pytest.mark.parametrize(("language", "title"), [("th", "แปลนฐานราก"), ("en", "Foundation plan")])
    @pytest.mark.sampled("[th")
    async def test_shows_each_drawing_in_the_readers_language(
        self, sit: Sit, signed_in: SignIn, language: str, title: str
    ) -> None:
        desk = await desk_of(signed_in)
        drawing = await registered(desk, "shop", "S-1")
        page = html_of(await (await sit("viewer", language)).get("/drawings/shop"))

        assert f'href="/drawings/shop/{drawing}">S-1</a>' in page
        assert title in page

    async def test_goes_back_to_a_day_and_says_what_it_cannot_use(self, sit: Sit, signed_in: SignIn) -> None:
        await registered(await desk_of(signed_in), "shop", "S-1")
        browser = await sit("viewer", "en")
        past = html_of(await browser.get("/drawings/shop", params={"asOf": "1 Jan 2020"}))
        wrong = html_of(await browser.get("/drawings/shop", params={"asOf": "some day"}))
        rows = html_of(await browser.get("/drawings/shop", params={"q": "s-"}, headers=FRAGMENT))

        assert "No results" in past
        assert "is-invalid" in wrong
        assert "S-1" in wrong
        assert "<html" not in rows

    async def test_has_three_tabs_and_no_fourth(self, sit: Sit) -> None:
        browser = await sit("viewer", "en")
        pages = [await browser.get(f"/drawings/{name}") for name in ("contract", "shop", "asbuilt", "other")]

        assert [one.status_code for one in pages] == [200, 200, 200, 404]
        assert "This register is still empty" in html_of(pages[0])


class TestDrawing:
    async def test_shows_its_history_and_its_links(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        signed = await registered(desk, "contract", "C-1")
        shop = await registered(desk, "shop", "S-1", scale="1:100", revision={"derivedFromPublicIds": [signed]})
        await (await desk.as_("admin")).post(f"/api/v1/drawings/shop/{shop}/revisions", json={"reason": "Piles moved"})
        browser = await sit("viewer", "en")
        page = html_of(await browser.get(f"/drawings/shop/{shop}"))

        assert "Piles moved" in page
        assert (page.count("Superseded"), page.count(">Current<")) == (1, 1)
        assert f'href="/drawings/contract/{signed}">C-1</a>' in page
        assert "1:100" in page

    async def test_leads_from_what_it_refers_to_to_what_is_current_by_now(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        shop = await desk.register("admin", "shop", "S-1")
        recorded = {"derivedFromPublicIds": [shop["revision"]["publicId"]]}
        built = await registered(desk, "asbuilt", "A-1", revision=recorded)
        address = f"/drawings/shop/{shop['publicId']}"
        await (await desk.as_("admin")).post(f"/api/v1{address}/revisions", json={})
        browser = await sit("viewer", "en")
        page = html_of(await browser.get(f"/drawings/asbuilt/{built}"))

        assert f'class="badge-state tone-orange" href="{address}">Superseded by Rev. 1</a>' in page

    async def test_of_another_contractor_is_not_there(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        drawing = await registered(desk, "shop", "S-1", "dc.contractor", **own)
        browser = await sit("dc.consultant", "en")

        assert (await browser.get(f"/drawings/shop/{drawing}")).status_code == httpx.codes.NOT_FOUND
        assert "S-1" not in html_of(await browser.get("/drawings/shop"))


class TestForms:
    async def test_registers_lines_with_the_files_that_have_their_numbers(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        files = [await desk.upload("dc.contractor") for _ in "123"]
        browser = await sit("dc.contractor", "en")
        form = {
            **_chosen(html_of(await browser.get("/drawings/shop/new"))),
            "lines": "S-1\tแปลน\tPlan\t3\n\nS-10 แปลนคาน\n",
            "date": "28 Feb 2569",
            "statusCode": "S2",
            "attachment": files,
            "attachmentName": ["S-1.pdf", "s-10_rev0.dwg.pdf", "S-10.pdf"],
        }

        answer = await browser.post("/drawings/shop/new", data=form)

        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        page = html_of(await browser.get(answer.headers["location"]))
        assert "2 drawings registered." in page
        assert "shopNumbers=S-1%0AS-10" in page
        query = {"projectPublicId": desk.project}
        listed = unwrapped_items(await (await desk.as_("dc.contractor")).get("/api/v1/drawings/shop", params=query))
        full = [unwrapped(await desk.read("dc.contractor", "drawings/shop", one["publicId"])) for one in listed]
        assert [(one["drawingNumber"], one["revision"]["revisionLabel"], one["revision"]["title"]) for one in full] == [
            ("S-1", "3", "แปลน"),
            ("S-10", "0", "แปลนคาน"),
        ]
        assert {one["originator"]["organizationCode"] for one in full} == {"ผรม.2"}
        assert {(one["revision"]["revisionDate"], one["revision"]["statusCode"]) for one in full} == {
            ("2026-02-28", "S2")
        }
        assert [len(one["revisions"][0]["attachments"]) for one in full] == [1, 2]

    async def test_issues_the_number_by_the_format_for_one_drawing(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        client = await desk.as_("admin")
        path = f"/api/v1/projects/{desk.project}/drawing-categories/shop-main-categories"
        await client.post(path, json={"code": "FND", "nameTh": "ฐานราก"})
        browser = await sit("dc.contractor", "en")
        form = {
            **_chosen(html_of(await browser.get("/drawings/shop/new"))),
            "issuesNumber": "1",
            "categoryCode": "FND",
        }

        several = html_of(await browser.post("/drawings/shop/new", data={**form, "lines": "แปลน\nรูปตัด"}))
        answer = await browser.post("/drawings/shop/new", data={**form, "lines": "แปลนฐานราก อาคาร HW\tPlan"})

        assert "one drawing at a time" in several
        page = html_of(await browser.get(answer.headers["location"]))
        assert "<h1>LCBP3-C2-GEN-FND-0001-0</h1>" in page
        number = unwrapped(
            await desk.read("dc.contractor", "drawings/shop", answer.headers["location"].rpartition("/")[2])
        )
        assert number["revision"]["title"] == "แปลนฐานราก อาคาร HW"
        series = html_of(await (await sit("admin", "th")).get("/numbers", params={"project": desk.project}))
        assert "แบบขยาย: LCBP3-C2-GEN-FND-…-" in series

    async def test_numbers_from_outside_lead_from_the_number_register_to_theirs(
        self, sit: Sit, signed_in: SignIn
    ) -> None:
        desk = await desk_of(signed_in)
        drawing = await registered(desk, "shop", "S-1")
        admin = await sit("admin", "en")
        series = html_of(await admin.get("/numbers", params={"project": desk.project}))
        account = await admin.get("/numbers/account", params={"project": desk.project, "series": "shop:"})
        holder = await admin.get(f"/documents/shop_drawing/{drawing}")

        assert "Shop drawings: numbers from outside" in series
        assert account.headers["location"] == f"/drawings/shop?project={desk.project}"
        assert holder.headers["location"] == f"/drawings/shop/{drawing}"

    async def test_says_the_line_and_registers_none(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        await desk.register("admin", "shop", "S-2")
        browser = await sit("dc.contractor", "en")
        chosen = _chosen(html_of(await browser.get("/drawings/shop/new")))
        said = {}
        for lines in ("S-1 ก\n\nS-2 ข", "S-1\tก\t\tA", "=1+1 ก", "", "\n".join(f"S-{one}" for one in range(3, 104))):
            answer = await browser.post("/drawings/shop/new", data={**chosen, "lines": lines})
            said[lines[:8]] = (answer.status_code, html_of(answer))
        stray = await browser.post(
            "/drawings/shop/new",
            data={**chosen, "lines": "S-1 ก", "attachment": desk.project, "attachmentName": "x.pdf"},
        )

        assert [status for status, _ in said.values()] == [409, 422, 422, 422, 422]
        pages = [page for _, page in said.values()]
        assert "Line 3: The register has the drawing number “S-2” already." in pages[0]
        assert "Line 1: “A” is not a label of this register&#39;s revision scheme" in pages[1]
        assert "Line 1: " in pages[2]
        assert "At most 100 drawings can be registered at once." in pages[4]
        assert "The name of “x.pdf” begins with no drawing number of the list." in html_of(stray)
        assert "S-1 ก\n\nS-2 ข</textarea>" in pages[0]
        assert "S-1" not in html_of(await browser.get("/drawings/shop"))

    async def test_issues_the_next_revision_or_says_why_not(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        drawing = (await desk.register("admin", "shop", "S-1", titleEn="Piles"))["publicId"]
        browser, viewer = await sit("admin", "en"), await sit("viewer", "en")
        path, file = f"/drawings/shop/{drawing}", await desk.upload("admin")
        sent = {
            "project": desk.project,
            "label": "0",
            "reason": "Piles moved",
            "attachment": file,
            "attachmentName": "S-1.pdf",
        }

        wrong = await browser.post(f"{path}/revisions", data=sent)
        right = await browser.post(f"{path}/revisions", data=sent | {"label": "1", "titleEn": ""})
        newest = unwrapped(await (await desk.as_("admin")).get(f"/api/v1{path}"))["revision"]

        page = html_of(wrong)
        assert wrong.status_code == httpx.codes.CONFLICT
        assert "Revision 0 does not come after 0, which is the newest." in page
        assert "Piles moved</textarea>" in page
        assert re.search(r'name="titleEn"[^>]*value="Piles"', page)
        assert f'name="attachment" value="{file}"' in page
        assert (right.status_code, right.headers["location"]) == (303, path)
        assert (newest["title"], newest["titleEn"]) == ("แปลนฐานราก", None)
        assert "Piles moved" in html_of(await browser.get(path))
        assert "data-dialog" not in html_of(await viewer.get(path)).partition("<main")[2]
        assert (await viewer.post(f"{path}/revisions", data=sent | {"label": "2"})).status_code == httpx.codes.FORBIDDEN
        assert (await viewer.get("/drawings/shop/new")).status_code == httpx.codes.FORBIDDEN


class TestCorrection:
    @pytest.mark.parametrize(("language", "words"), [("th", "แก้ไขข้อมูลฉบับ"), ("en", "Correct revision")])
    @pytest.mark.sampled("[th")
    async def test_of_a_revision_with_a_file_that_it_lacks(
        self, sit: Sit, signed_in: SignIn, language: str, words: str
    ) -> None:
        desk = await desk_of(signed_in)
        revision = {"date": "2026-02-28", "legacyNumber": "OLD-7"}
        path = f"/drawings/shop/{await registered(desk, 'shop', 'S-1', revision=revision)}"
        one = unwrapped(await (await desk.as_("admin")).get(f"/api/v1{path}"))["revision"]["publicId"]
        browser, viewer = await sit("admin", language), await sit("viewer", language)
        page = html_of(await browser.get(path))
        dialog = page.partition(f'<dialog class="sheet" id="correct-{one}"')[2].partition("</dialog>")[0]
        given = dict(re.findall(r'name="(\w+)"[^>]*? value="([^"]*)"', dialog))
        file = {"attachment": await desk.upload("admin"), "attachmentName": "S-1.pdf"}
        sent = {**given, "version": '"1"', "date": "1 Mar 2026", "titleEn": "", "reason": "Typing error", **file}

        wrong = html_of(await browser.post(f"{path}/revisions/{one}", data=sent | {"title": ""}))
        right = await browser.post(f"{path}/revisions/{one}", data=sent)
        assert words in dialog
        assert given.keys() == {
            "version",
            "revision",
            "date",
            "title",
            "titleEn",
            "statusCode",
            "statusWas",
            "legacyNumber",
        }
        assert f'data-reopen="correct-{one}"' in wrong
        assert f'name="attachment" value="{file["attachment"]}"' in wrong
        assert (right.status_code, right.headers["location"]) == (303, path)
        (read,) = unwrapped(await (await desk.as_("admin")).get(f"/api/v1{path}"))["revisions"]
        assert (read["title"], read["titleEn"], read["revisionDate"]) == ("แปลนฐานราก", None, "2026-03-01")
        assert (read["reason"], len(read["attachments"])) == ("Typing error", 1)
        assert "OLD-7" in page
        assert f"correct-{one}" not in html_of(await viewer.get(path))

    async def test_of_what_somebody_has_changed_meanwhile_is_decided_anew(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        drawing = await desk.register("admin", "shop", "S-1")
        one, path = drawing["revision"]["publicId"], f"/drawings/shop/{drawing['publicId']}"
        browser = await sit("admin", "en")
        sent = {"revision": one, "version": '"1"', "title": "Piles", "legacyNumber": "OLD-8"}
        await browser.post(f"{path}/revisions/{one}", data=sent)

        stale = html_of(await browser.post(f"{path}/revisions/{one}", data=sent | {"title": "Pile caps"}))
        dialog = stale.partition(f'<dialog class="sheet" id="correct-{one}"')[2].partition("</dialog>")[0]
        offered = {name: unescape(value) for name, value in re.findall(r'name="(\w+)"[^>]*? value="([^"]*)"', dialog)}
        again = await browser.post(f"{path}/revisions/{one}", data=offered)

        assert f'data-reopen="correct-{one}"' in stale
        assert "Somebody has changed this drawing" in dialog
        assert (offered["title"], again.status_code) == ("Pile caps", httpx.codes.SEE_OTHER)
        (read,) = unwrapped(await (await desk.as_("admin")).get(f"/api/v1{path}"))["revisions"]
        assert (read["title"], read["legacyNumber"]) == ("Pile caps", "OLD-8")

    async def test_adds_only_the_first_files_once_approval_has_been_asked_for(
        self, sit: Sit, signed_in: SignIn
    ) -> None:
        desk = await desk_of(signed_in)
        drawing = await desk.register("admin", "shop", "S-1")
        one = drawing["revision"]["publicId"]
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(items=[{"drawingRevisionPublicId": one}]))
        await desk.act("dc.contractor", rfa, "submit")
        browser, path = await sit("admin", "en"), f"/drawings/shop/{drawing['publicId']}"
        before = html_of(await browser.get(path)).partition(f'id="correct-{one}"')[2]
        file = {"revision": one, "attachment": await desk.upload("admin"), "attachmentName": "S-1.pdf"}
        answer = await browser.post(f"{path}/revisions/{one}", data=file)

        assert "so that only its files can be added" in before
        assert 'name="title"' not in before
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        assert f"correct-{one}" not in html_of(await browser.get(path))


class TestLinks:
    async def test_of_all_lines_are_named_by_number(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        for number in ("C-1", "C-2"):
            await desk.register("admin", "contract", number)
        browser = await sit("dc.contractor", "en")
        form = _chosen(html_of(await browser.get("/drawings/shop/new"))) | {"lines": "S-1 ก\nS-2 ข"}
        wrong = html_of(
            await browser.post("/drawings/shop/new", data=form | {"contractNumbers": "C-1\n\nC-3\nC-1 Rev. 0"})
        )
        many = "\n".join(f"C-{one}" for one in range(101))
        more = html_of(await browser.post("/drawings/shop/new", data=form | {"contractNumbers": many}))
        right = await browser.post("/drawings/shop/new", data=form | {"contractNumbers": "C-1\nC-2\nC-1"})

        assert "Line 3: There is no contract drawing “C-3”." in wrong
        assert "Line 4: There is no contract drawing “C-1 Rev. 0”." in wrong
        assert "C-1\n\nC-3\nC-1 Rev. 0</textarea>" in wrong
        assert '<div class="fault">At most 100 drawings can be named here.</div>' in more
        assert right.status_code == httpx.codes.SEE_OTHER, right.text
        assert await self.links(desk, "shop", "S-2") == [[("C-1", "0"), ("C-2", "0")]]

    async def test_of_the_next_revision_begin_with_those_of_the_current_one(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        shop = [await desk.register("admin", "shop", number) for number in ("S-1", "S-2")]
        built = await desk.register(
            "admin", "asbuilt", "S-1", revision={"derivedFromPublicIds": [shop[0]["revision"]["publicId"]]}
        )
        for one in shop:
            await (await desk.as_("admin")).post(f"/api/v1/drawings/shop/{one['publicId']}/revisions", json={})
        browser, address = await sit("admin", "en"), f"/drawings/asbuilt/{built['publicId']}"
        page = html_of(await browser.get(address))
        sent = {"project": desk.project, "label": "1"}

        wrong = await browser.post(f"{address}/revisions", data=sent | {"shopNumbers": "S-2 Rev. 7"})
        right = await browser.post(f"{address}/revisions", data=sent | {"shopNumbers": "S-1\nS-2 Rev. 0"})

        assert ">S-1</textarea>" in page
        assert '<div class="fault">Line 1: There is no shop drawing “S-2 Rev. 7”.</div>' in html_of(wrong)
        assert html_of(wrong).count("S-2 Rev. 7”") == 1
        assert right.status_code == httpx.codes.SEE_OTHER, right.text
        assert await self.links(desk, "asbuilt", "S-1") == [[("S-1", "1"), ("S-2", "0")], [("S-1", "0")]]

    @staticmethod
    async def links(desk: Desk, kind: str, number: str) -> list[list[tuple[str, str]]]:
        """Return what each revision of a drawing derives from, newest first."""
        (found,) = await desk.listed("admin", f"drawings/{kind}", projectPublicId=desk.project, q=number)
        read = unwrapped(await desk.read("admin", f"drawings/{kind}", found["publicId"]))["revisions"]
        return [sorted((one["drawingNumber"], one["revisionLabel"]) for one in each["derivedFrom"]) for each in read]


def _chosen(page: str) -> dict[str, str]:
    """Return what the empty form has chosen already."""
    found = {name: selected(page, name) for name in ("project", "originatorOrganizationPublicId", "contractPublicId")}
    return {name: value for name, value in found.items() if value}


class TestClassification:
    async def test_is_changed_on_its_form(self, sit: Sit, signed_in: SignIn) -> None:
        drawing = await registered(await desk_of(signed_in), "contract", "C-1", zone="1")
        browser = await sit("padmin", "en")
        address = f"/drawings/contract/{drawing}"
        form = html_of(await browser.get(f"{address}/edit"))
        sent = {"version": '"1"', "scale": "1:50", "volumePage": "12", "zone": ""}
        saved = await browser.post(f"{address}/edit", data=sent)
        page = html_of(await browser.get(address))
        stale = await browser.post(f"{address}/edit", data=sent | {"zone": "2"})
        wrong = await browser.post(f"{address}/edit", data=sent | {"version": "", "volumePage": "twelve"})

        assert re.search(r'name="zone"[^>]*value="1"', form)
        assert (saved.status_code, saved.headers["Location"]) == (303, address)
        assert f'href="{address}/edit"' in page
        assert "12" in page
        assert "Somebody has changed this drawing in the meantime." in html_of(stale)
        assert 'value="twelve"' in html_of(wrong)

    @pytest.mark.parametrize(("language", "name"), [("th", "หน้างาน"), ("en", "Site")])
    @pytest.mark.sampled("[th")
    async def test_gives_tags_and_the_register_is_filtered_by_them(
        self, sit: Sit, signed_in: SignIn, language: str, name: str
    ) -> None:
        desk = await desk_of(signed_in)
        body = {"code": "SITE", "nameTh": "หน้างาน", "nameEn": "Site", "color": "teal"}
        await (await desk.as_("admin")).post(f"/api/v1/projects/{desk.project}/tags", json=body)
        tagged, _ = [await registered(desk, "shop", number) for number in ("S-1", "S-2")]
        browser = await sit("padmin", language)
        address = f"/drawings/shop/{tagged}"
        await browser.post(f"{address}/edit", data={"version": '"1"', "tag": "SITE"})
        form, shown = [html_of(await browser.get(one)) for one in (f"{address}/edit", address)]
        listed = html_of(await browser.get("/drawings/shop?tag=SITE"))
        wrong = html_of(await browser.post(f"{address}/edit", data={"version": '"2"', "tag": "NONE"}))
        await browser.post(f"{address}/edit", data={"version": '"2"'})

        assert re.search(r'value="SITE" checked', form)
        assert f'title="SITE">{name}</span>' in shown
        assert ("S-1" in listed, "S-2" in listed) == (True, False)
        assert "NONE" in wrong
        assert 'title="SITE"' not in html_of(await browser.get(address))

    async def test_is_not_everybodys(self, sit: Sit, signed_in: SignIn) -> None:
        drawing = await registered(await desk_of(signed_in), "shop", "S-1")
        reader = await sit("viewer")

        assert (await reader.get(f"/drawings/shop/{drawing}/edit")).status_code == httpx.codes.FORBIDDEN
        assert f"/drawings/shop/{drawing}/edit" not in html_of(await reader.get(f"/drawings/shop/{drawing}"))


class TestSettings:
    @pytest.mark.parametrize(("language", "words"), [("th", "ลำดับฉบับแก้ไข"), ("en", "Revision scheme")])
    @pytest.mark.sampled("[th")
    async def test_of_a_register_are_its_projects_administrators(self, sit: Sit, language: str, words: str) -> None:
        browser, reader = await sit("padmin", language), await sit("viewer")
        form = html_of(await browser.get("/drawings/contract/settings"))
        project = selected_project(form)
        sent = {"project": project, "revisionScheme": "P01, C01", "numberPattern": "LP3-*-###", "takesAddenda": "1"}
        saved = await browser.post("/drawings/contract/settings", data=sent)
        after = html_of(await browser.get("/drawings/contract/settings"))
        wrong = await browser.post("/drawings/contract/settings", data=sent | {"revisionScheme": "P1, P2"})

        assert words in form
        assert saved.status_code == httpx.codes.SEE_OTHER
        assert ('value="P01, C01"' in after, 'value="LP3-*-###"' in after, 'value="1" checked' in after) == (True,) * 3
        assert 'value="P1, P2"' in html_of(wrong)
        assert (await reader.get("/drawings/contract/settings")).status_code == httpx.codes.FORBIDDEN


def selected_project(page: str) -> str:
    return page.split('name="project" value="')[1].partition('"')[0]


class TestApproval:
    async def test_is_taken_step_by_step_on_the_page(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        admin = await sit("admin", "en")
        chosen = {"project": desk.project, "revisionScheme": "0", "ownWorkflow": "1"}
        saved = await admin.post("/drawings/shop/settings", data=chosen)
        contracts = (await (await desk.as_("admin")).get(f"/api/v1/projects/{desk.project}/contracts")).json()["items"]
        place = {
            "originatorOrganizationPublicId": desk.organizations["ผรม.2"],
            "contractPublicId": next(one["publicId"] for one in contracts if one["contractCode"] == "LCBP3-C2"),
        }
        path = f"/drawings/shop/{await registered(desk, 'shop', 'S-1', 'dc.contractor', **place)}"
        contractor, consultant = await sit("dc.contractor", "en"), await sit("reviewer.consultant", "en")

        submitted = await contractor.post(f"{path}/actions", data=_step(html_of(await contractor.get(path)), "submit"))
        form = _step(html_of(await consultant.get(path)), "approve-as-noted")
        refused = html_of(await consultant.post(f"{path}/actions", data=form))
        done = await consultant.post(f"{path}/actions", data={**form, "comment": "Lower the beam"})
        page = html_of(await consultant.get(path))
        late = html_of(await consultant.post(f"{path}/actions", data={**form, "key": "another", "comment": "Again"}))

        assert saved.status_code == submitted.status_code == done.status_code == httpx.codes.SEE_OTHER
        assert 'data-reopen="act-approve-as-noted"' in refused
        assert "Approved as noted" in page
        assert "1N" in page
        assert "Lower the beam" in page
        assert 'data-dialog="act-' not in page
        assert "WORKFLOW_VERSION_CONFLICT" in late


def _step(page: str, action: str) -> dict[str, str]:
    """Return what the dialog of a step sends as it is opened."""
    dialog = page.partition(f'id="act-{action}"')[2].partition("</dialog>")[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', dialog)) | {"action": action}
