"""Whom a step waits for, on the pages: the document's, the reader's inbox, and where nobody can go on."""

from typing import Any

import pytest
import sqlalchemy as sa

from saraban.bootstrap import System, seed
from saraban.workflow.runtime.models import WorkflowWorkItem
from tests.conftest import SignIn, unwrapped
from tests.features.documents.conftest import Desk, desk
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of
from tests.notices import SENDER, letters_go_by, state

__all__ = ["desk"]

WORDS = pytest.mark.parametrize(
    ("language", "waits", "nobody", "forced"),
    [
        ("th", "อยู่ที่", "ไม่มีผู้ที่เปิดดูเอกสารนี้ได้และมีสิทธิ์ดำเนินการขั้นต่อไป", "ไม่มีผู้ดำเนินการต่อได้"),
        ("en", "Pending with", "Nobody with access to this document can take the next step.", "nobody could act"),
    ],
)


WAYS_OUT = {
    "th": ("ให้ยกเลิกเอกสารแล้วออกใหม่", "คุณบังคับเปลี่ยนขั้นตอนจากหน้านี้ได้"),
    "en": ("cancel it and issue it again", "You can override the step on this page."),
}


class TestPages:
    async def test_say_how_many_more_there_are(self, desk: Desk, sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("saraban.workflow.runtime.service.assignees.MAX_NAMED_PEOPLE", 1)
        await letters_go_by(
            desk,
            state("draft", submit={"to": "asked", "require": SENDER}),
            state("asked", close={"to": "done", "require": {"roles": ["Document Control"]}}),
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")

        for language, words in (("th", "และอีก 1 คน"), ("en", "and one more")):
            page = html_of(await (await sit("dc.consultant", language)).get(f"/correspondences/{letter['publicId']}"))
            assert words in page.split("data-waits")[1].split("</p>")[0]

    @pytest.mark.sampled("[th")
    @WORDS
    async def test_say_whom_it_waits_for_and_when_that_is_nobody(
        self, desk: Desk, sit: Sit, language: str, waits: str, nobody: str, forced: str
    ) -> None:
        way_out, yourself = WAYS_OUT[language]
        await letters_go_by(
            desk,
            state("draft", submit={"to": "sent", "require": SENDER}),
            state("sent", pass_on={"to": "deciding", "require": {"party": ["recipient"]}}),
            state("deciding", ask={"to": "asked", "require": {"roles": ["Project Manager"]}}),
            state("asked", close={"to": "done", "require": {"organizationRoles": ["OWNER"], "roles": ["Org Admin"]}}),
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        address = f"/correspondences/{letter['publicId']}"
        await desk.act("dc.contractor", letter, "submit")
        consultant = await sit("dc.consultant", language)

        inbox, page = html_of(await consultant.get("/inbox")), html_of(await consultant.get(address))
        for text in (inbox, page):
            assert f'data-waits>{waits} <span class="nowrap">คคง.</span><' in text
        assert "data-nobody" not in page

        await desk.act("dc.consultant", letter, "pass_on")
        page = html_of(await consultant.get(address))
        assert f'data-waits>{waits} <span class="nowrap">ปกรณ์ คุมโครงการ</span><' in page

        await desk.act("padmin", letter, "ask")
        page = html_of(await consultant.get(address))
        banner = page.split("data-nobody")[1].split("</div></div>")[0]
        assert nobody in banner
        assert way_out in banner
        assert yourself not in banner
        assert forced in page.split('class="history"')[1]
        page = html_of(await (await sit("admin", language)).get(address))
        assert yourself in page.split("data-nobody")[1].split("</div></div>")[0]

    async def test_say_so_where_an_organization_sees_it_and_none_of_its_people_may_act(
        self, desk: Desk, sit: Sit
    ) -> None:
        await letters_go_by(
            desk,
            state("draft", submit={"to": "asked", "require": SENDER}),
            state("asked", close={"to": "done", "require": {"party": ["recipient"], "roles": ["Project Manager"]}}),
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")

        page = html_of(await (await sit("dc.consultant")).get(f"/correspondences/{letter['publicId']}"))
        told = unwrapped(await desk.read("dc.consultant", "correspondences", letter["publicId"]))["workflow"]
        client = await desk.as_("dc.consultant")
        instance = (await client.get(f"/api/v1/workflow/instances/{told['instancePublicId']}")).json()["workflow"]

        assert "data-nobody" in page
        assert told["waitingFor"]["nobody"]
        assert instance["waitingFor"]["nobody"]
        assert [one["code"] for one in told["waitingFor"]["organizations"]] == ["คคง."]

    async def test_list_after_an_upgrade_what_nobody_was_asked_for(self, desk: Desk, sit: Sit, system: System) -> None:
        await letters_go_by(
            desk,
            state("draft", submit={"to": "asked", "require": SENDER}),
            state("asked", close={"to": "done", "require": {"roles": ["Project Manager"]}}),
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")
        await system.db.transact(lambda session: session.execute(sa.delete(WorkflowWorkItem)))
        manager, address = await sit("padmin"), f"/correspondences/{letter['publicId']}"
        assert address not in html_of(await manager.get("/inbox"))

        await seed(system, demo=False)

        assert address in html_of(await manager.get("/inbox"))
        assert "data-nobody" not in html_of(await manager.get(address))


class TestBranches:
    async def test_of_which_a_person_is_asked_have_his_name(self, desk: Desk, sit: Sit, signed_in: SignIn) -> None:
        me = (await (await signed_in("dc.consultant")).get("/api/v1/auth/me")).json()
        words = {"th": "คำ", "en": "Word"}
        assignees: list[dict[str, Any]] = [
            {"user": me["publicId"]},
            {"role": "Document Control"},
            {"role": "Org Admin"},
        ]
        review = {
            "branches": [{"name": f"b{i}", "label": words, "assignee": one} for i, one in enumerate(assignees)],
            "completion": "all",
            "then": {"for": {"to": "done"}, "against": {"to": "done"}},
        }
        await letters_go_by(
            desk,
            state("draft", submit={"to": "review", "require": SENDER}),
            {"name": "review", "label": words, "review": review},
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")

        page = html_of(await (await sit("dc.contractor")).get(f"/correspondences/{letter['publicId']}"))

        part = page.split('id="review"')[1].split("</section>")[0]
        assert "เดชา รับส่งดี" in part
        assert "บทบาท เจ้าหน้าที่ควบคุมเอกสาร" in part
        assert part.count("ไม่มีผู้ที่เปิดดูเอกสารนี้ได้และมีสิทธิ์ตอบ") == 1
        assert me["publicId"] not in part


class TestRehearsal:
    async def test_says_on_what_it_depends_that_somebody_may_see_it(self, sit: Sit) -> None:
        form = {"what-0": "submit||", "party-0": "originator", "organization-0": "CONTRACTOR", "writer-0": "1"}

        said = [
            html_of(await (await sit("admin", language)).post("/workflows/RFA_APPROVAL/v1/rehearsal", data=form))
            for language in ("th", "en")
        ]

        for page, words in zip(said, ("มีส่วนในสัญญาที่เอกสารสังกัด", "parties to its contract"), strict=True):
            assert words in page.split("data-caution")[1]
