"""The page of a document: what it shows, whom it lets do what, and how it says that somebody was quicker."""

import copy
import json
import re

import httpx
import pytest

from tests.circulations import order
from tests.conftest import SignIn, unwrapped
from tests.definitions import RFA
from tests.features.documents.conftest import Desk, desk
from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden, new_rfa
from tests.features.web.page_html import html_of
from tests.page_actions import act

__all__ = ["desk"]

UNKNOWN = "01930b5e-0000-7000-8000-0000000000ff"


class TestStep:
    async def test_shows_what_it_asks_for_and_takes_the_answer(self, sit: Sit, signed_in: SignIn) -> None:
        raw = copy.deepcopy(RFA)
        review = raw["states"][1]
        review |= {"help": {"th": "ดูข้อกำหนด", "en": "See the specification"}, "due": {"workingDays": 5}}
        del review["on"]["approve"]["to"]
        review["on"]["approve"] |= {
            "help": {"th": "เลือกรหัสผล", "en": "Choose a code"},
            "responses": {"1A": {"to": "pending_approval"}, "1C": {"to": "pending_approval", "comment": "required"}},
        }
        admin = await signed_in("admin")
        made = await admin.post("/api/v1/workflow/definitions", json={"dsl": raw, "activate": True})
        assert made.status_code == httpx.codes.CREATED, made.text
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")

        page = html_of(await reviewer.get(address))
        for part in (
            "ดูข้อกำหนด",
            "เลือกรหัสผล",
            'for="a-approve">ผลการพิจารณา</label>',
            '<option value="1A">',
            "กำหนดตอบ ",
        ):
            assert part in page
        form = hidden(page, "act-approve")
        unsure = await reviewer.post(f"{address}/actions", data=form | {"responseCode": "1C"})
        assert (unsure.status_code, '<option value="1C" selected>' in html_of(unsure)) == (422, True)
        await reviewer.post(f"{address}/actions", data=form | {"responseCode": "1A", "key": "another"})
        assert "1A</p>" in html_of(await contractor.get(address))


class TestOwnWorkflow:
    async def test_may_have_states_that_no_register_knows(self, sit: Sit, signed_in: SignIn) -> None:
        raw = json.loads(
            json.dumps(RFA).replace("pending_review", "with_consultant").replace('"approved"', '"accepted"')
        )
        next(state for state in raw["states"] if state["name"] == "accepted")["outcome"] = "approved_with_comments"
        admin = await signed_in("admin")
        made = await admin.post("/api/v1/workflow/definitions", json={"dsl": raw, "activate": True})
        assert made.status_code == httpx.codes.CREATED, made.text
        contractor, consultant, owner = [
            await sit(name) for name in ("dc.contractor", "reviewer.consultant", "approver.owner")
        ]
        address = await new_rfa(contractor)

        await act(contractor, address, "submit")
        under_way = html_of(await contractor.get(address))
        await act(consultant, address, "approve")
        await act(owner, address, "approve")
        ended = html_of(await contractor.get(address))
        api = (await admin.get(f"/api/v1{address}")).json()

        assert 'data-state="with_consultant"' in under_way
        assert 'data-state="accepted"' in ended
        assert 'class="badge-state tone-green"' in ended
        timeline = ended.split('<ol class="timeline">')[1].split("</ol>")[0]
        assert (timeline.count("is-done tone-green"), timeline.count("is-done")) == (3, 3)
        assert (api["data"]["status"]["code"], api["workflow"]["status"]) == ("FCO", "COMPLETED")
        assert "อนุมัติโดยมีความเห็น" in html_of(await (await sit("admin")).get("/workflows/RFA_APPROVAL/v2"))

    async def test_has_its_usual_code_chosen_already(self, sit: Sit) -> None:
        contractor, consultant = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        page = html_of(await consultant.get(address))
        dialog = page[page.index('id="act-approve"') :].partition("</dialog>")[0]

        assert '<option value="1C" selected>' in dialog
        assert '<option value=""' not in dialog
        assert "ความเห็น *</option>" in dialog  # of the code that needs one


class TestPage:
    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.sampled("[th")
    async def test_shows_the_document_to_its_writer(self, sit: Sit, language: str) -> None:
        browser = await sit("dc.contractor", language)
        page = await browser.get(await new_rfa(browser, body="ตามสัญญาข้อ 12"))

        assert page.status_code == 200
        for part in ("LCBP3-C2-RFA-TER-RPT-0001-A", "ตามสัญญาข้อ 12", "is-current", 'data-action="submit"', "TER"):
            assert part in html_of(page)

    async def test_offers_exactly_the_actions_of_the_reader(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        assert (await reviewer.get(address)).status_code == 404
        await act(contractor, address, "submit")

        offered = re.findall(r'data-action="([^"]+)"', html_of(await reviewer.get(address)))
        assert sorted(offered) == ["approve", "reject", "request-revision"]
        assert re.findall(r'data-action="([^"]+)"', html_of(await contractor.get(address))) == []

    async def test_leads_to_the_life_of_its_number_for_who_may_read_that(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")

        (own,) = re.findall(r'id="document-number" href="(/numbers/[^"]+)"', html_of(await contractor.get(address)))
        other = html_of(await reviewer.get(address))

        life = await contractor.get(own)
        assert (life.status_code, "LCBP3-C2-RFA-TER-RPT-0001-A" in html_of(life)) == (200, True)
        assert '<span class="number" id="document-number">' in other  # the number is another organization's

    async def test_says_that_a_document_is_not_there(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        answer = await browser.get(f"/rfas/{UNKNOWN}")

        assert answer.status_code == 404
        assert "The item was not found." in html_of(answer)
        assert answer.headers["x-trace-id"] in html_of(answer)

    async def test_tells_why_the_number_looks_so_and_folds_its_template(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        shown = html_of(await browser.get(await new_rfa(browser))).split("data-number-format")[1].split("</div>")[0]

        reason, folded = shown.split("<details")
        assert ("<code" in reason, "<code" in folded) == (False, True)
        assert "format" in reason.rpartition("<dd>")[2].lower()

    async def test_shows_no_integer_key(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        page = html_of(await browser.get(await new_rfa(browser)))

        assert re.findall(r'(?:href|action|value|hx-get|hx-post)="[^"]*/(\d+)(?:[/?"])', page) == []
        assert re.findall(r'name="\w*[iI]d" value="(\d+)"', page) == []

    @pytest.mark.parametrize(
        ("language", "names"),
        [
            ("th", ("TER – ท่าเทียบเรือ", "RPT – รายงาน", "ที่ปรึกษาควบคุมการก่อสร้าง")),
            ("en", ("TER – Terminal", "RPT – Report", "Supervision Consultant")),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_names_codes_and_organizations_in_the_readers_language(
        self, sit: Sit, language: str, names: tuple[str, ...]
    ) -> None:
        browser = await sit("dc.contractor", language)
        page = html_of(await browser.get(await new_rfa(browser)))

        for name in names:
            assert name in page

    async def test_is_found_by_the_address_of_a_notification(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        answer = await browser.get(address.replace("/rfas/", "/documents/rfa/"))

        assert answer.headers["location"] == address


class TestActions:
    async def test_with_a_version_that_is_none_say_that_the_page_is_old(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        for version in ["²", "9" * 5000, "-1", "x"]:
            form = hidden(html_of(await browser.get(address)), "act-submit") | {"version": version}

            answer = await browser.post(f"{address}/actions", data=form)

            assert answer.status_code in (409, 412, 422), version

    async def test_move_the_document_and_come_back_to_it(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        address = await new_rfa(browser)
        answer = await act(browser, address, "submit", "Please review by Friday")
        page = html_of(await browser.get(address))

        assert answer.headers["location"] == f"{address}?done=act"
        assert "Pending review" in page
        assert "Please review by Friday" in page

    async def test_tell_who_comes_second_and_how_to_go_on(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        page = html_of(await reviewer.get(address))
        first, second = hidden(page, "act-approve"), hidden(page, "act-reject")
        await reviewer.post(f"{address}/actions", data=first)
        answer = await reviewer.post(f"{address}/actions", data=second | {"comment": "ไม่ผ่าน"})

        assert answer.status_code == 409
        assert "มีผู้ดำเนินการก่อนแล้ว" in html_of(answer)
        assert "หน้านี้แสดงข้อมูลล่าสุดของเอกสารแล้ว" in html_of(answer)
        assert "รีเฟรช" not in html_of(answer)
        assert "รออนุมัติ" in html_of(answer)

    async def test_take_a_double_click_for_one(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        form = hidden(html_of(await browser.get(address)), "act-submit")
        answers = [await browser.post(f"{address}/actions", data=form) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]

    async def test_open_again_where_the_reason_is_missing(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        answer = await act(reviewer, address, "reject")

        assert answer.status_code == 422
        assert 'data-reopen="act-reject"' in html_of(answer)
        assert "จำเป็นต้องระบุเหตุผลหรือความเห็น" in html_of(answer)


class TestChanges:
    async def test_a_draft_can_be_edited(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        page = html_of(await browser.get(f"{address}/edit"))
        version = re.search(r'name="version" value="([^"]*)"', page)
        assert version
        form = {"version": version[1].replace("&#34;", '"'), "subject": "เรื่องใหม่", "priority": "URGENT", "body": ""}
        answer = await browser.post(f"{address}/edit", data=form)
        assert answer.status_code == 303
        assert "เรื่องใหม่" in html_of(await browser.get(address))

        assert version[1] not in page.partition("<main")[0]
        late = await browser.post(f"{address}/edit", data=form | {"subject": "เรื่องที่มาทีหลัง"})
        assert late.status_code == 412
        assert "มีผู้แก้ไขเอกสารนี้หลังจากที่คุณเปิดดู" in html_of(late)
        assert "เรื่องที่มาทีหลัง" in html_of(late)

    async def test_a_draft_is_edited_whole_with_the_fields_of_a_new_one(self, sit: Sit, desk: Desk) -> None:
        first, second = [await desk.write("dc.consultant", "correspondences", desk.letter("ผรม.2")) for _ in range(2)]
        for one in (first, second):
            await desk.act("dc.consultant", one, "submit")
        body = desk.transmittal(first["publicId"], recipients=desk.to("ผรม.2", cc=("สคฉ.3",)))
        sheet = await desk.write("dc.consultant", "transmittals", body)
        browser, address = await sit("dc.consultant"), f"/transmittals/{sheet['publicId']}"
        page = html_of(await browser.get(f"{address}/edit"))
        version = re.search(r'name="version" value="([^"]*)"', page)
        assert version
        form = {
            "version": version[1].replace("&#34;", '"'),
            "subject": "นำส่งฉบับแก้",
            "priority": "HIGH",
            "to": desk.organizations["ผรม.2"],
            "cc": desk.organizations["ผรม.1"],
            "purpose": "FOR_REVIEW",
            "picks": "item",
            "item": second["publicId"],
            f"copies-{second['publicId']}": "4",
        }

        wrong = await browser.post(f"{address}/edit", data=form | {f"copies-{second['publicId']}": "0"})
        saved = await browser.post(f"{address}/edit", data=form)

        assert f'name="cc" value="{desk.organizations["สคฉ.3"]}" checked' in page
        assert f'name="copies-{first["publicId"]}" value="1"' in page
        assert (wrong.status_code, 'class="fault"' in html_of(wrong)) == (422, True)
        assert saved.status_code == 303, saved.text
        read = unwrapped(await desk.read("dc.consultant", "transmittals", sheet["publicId"]))
        assert [(one["documentPublicId"], one["quantity"]) for one in read["items"]] == [(second["publicId"], 4)]
        assert [one["organizationCode"] for one in read["recipients"]] == ["ผรม.2", "ผรม.1"]
        assert (read["purpose"], read["subject"]) == ("FOR_REVIEW", "นำส่งฉบับแก้")

    async def test_the_revisions_of_a_transmittal_name_what_each_carried(self, sit: Sit, desk: Desk) -> None:
        first, second = [await desk.write("dc.consultant", "correspondences", desk.letter("ผรม.2")) for _ in range(2)]
        for one in (first, second):
            await desk.act("dc.consultant", one, "submit")
        body = desk.transmittal(first["publicId"], recipients=desk.to("ผรม.2"))
        sheet = await desk.write("dc.consultant", "transmittals", body)
        await desk.act("dc.consultant", sheet, "submit")
        await desk.act("dc.contractor", sheet, "return", comment="หน้า 2 ไม่ครบ")
        client, address = await desk.as_("dc.consultant"), f"/api/v1/transmittals/{sheet['publicId']}"
        assert (await client.post(f"{address}/revisions", json={})).is_success
        changes = {"items": [{"documentPublicId": second["publicId"]}]}
        assert (await client.patch(address, json=changes)).is_success

        page = html_of(await (await sit("dc.consultant")).get(f"/transmittals/{sheet['publicId']}"))

        revisions = page.split('aria-labelledby="s-revisions"')[1].split("</section>")[0].split("<tr")
        assert [[one["documentNumber"] in row for one in (first, second)] for row in revisions[2:]] == [
            [False, True],
            [True, False],
        ]

    async def test_the_people_of_a_draft_sheet_are_edited(self, sit: Sit, desk: Desk) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))
        first, second = [one["user"]["publicId"] for one in sheet["assignees"]]
        browser, address = await sit("dc.consultant"), f"/circulations/{sheet['publicId']}"
        page = html_of(await browser.get(f"{address}/edit"))
        form = {"subject": "เวียนใหม่", "priority": "LOW", f"part-{first}": "", f"part-{second}": "MAIN"}

        saved = await browser.post(f"{address}/edit", data=form)

        assert f'name="part-{first}"' in page
        assert saved.status_code == 303, saved.text
        read = unwrapped(await desk.read("dc.consultant", "circulations", sheet["publicId"]))
        assert [(one["user"]["publicId"], one["kind"]) for one in read["assignees"]] == [(second, "MAIN")]

    async def test_cancelling_needs_a_reason(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        form = hidden(html_of(await browser.get(address)), "cancel")
        refused = await browser.post(f"{address}/cancel", data=form | {"reason": ""})
        assert refused.status_code == 422
        await browser.post(f"{address}/cancel", data=form | {"reason": "ไม่ต้องการส่งเอกสารแล้ว"})
        page = html_of(await browser.get(address))

        assert "เอกสารนี้ยกเลิกแล้ว" in page
        assert "เหตุผล: ไม่ต้องการส่งเอกสารแล้ว" in page
        assert "data-action=" not in page

    async def test_a_cancelled_document_tells_it_once_in_each_place(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        address = await new_rfa(browser)
        form = hidden(html_of(await browser.get(address)), "cancel")
        await browser.post(f"{address}/cancel", data=form | {"reason": "Replaced by another request"})
        page = html_of(await browser.get(address))
        timeline, history = page.split('class="timeline"')[1], page.split('class="history"')[1].split("</ol>")[0]

        assert timeline.count("Replaced by another request") == 1
        assert history.count("Replaced by another request") == 1
        assert history.count("<li>") == 2
        assert "step is-done tone-grey" in timeline
        assert "is-current" not in timeline
        assert "Cancelled" in html_of(await browser.get("/rfas?state=cancelled")).split("<tbody>")[1]

    async def test_files_can_be_put_on_a_draft_and_taken_off(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        file = {"file": ("แบบ.pdf", b"%PDF-1.4\n%%EOF\n", "application/pdf")}
        uploaded = (await browser.post("/api/v1/attachments", files=file)).json()["publicId"]
        await browser.post(f"{address}/files", data={"attachment": uploaded})
        page = html_of(await browser.get(address))
        assert "แบบ.pdf" in page
        assert "SHA-256" in page
        content = await browser.get(f"/files/{uploaded}?inline=1", follow_redirects=True)
        assert content.headers["content-disposition"].startswith("inline")
        await browser.post(f"{address}/files", data={"remove": uploaded})

        assert "แบบ.pdf" not in html_of(await browser.get(address)).partition('id="s-history"')[0]

    async def test_the_next_revision_is_offered_after_the_answer(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        await act(reviewer, address, "request-revision", "แก้ตำแหน่งเสาเข็ม")
        form = hidden(html_of(await contractor.get(address)), "revise")
        await contractor.post(f"{address}/revisions", data=form)
        page = html_of(await contractor.get(address))

        assert "LCBP3-C2-RFA-TER-RPT-0001-B" in page
        assert "LCBP3-C2-RFA-TER-RPT-0001-A" in page
