"""Workflows in the browser: the list, one version, the editor that finds faults by their lines."""

import copy
import html
import json
import re
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

import saraban
from saraban.web.workflows.editor import STARTER
from saraban.workflow.runtime.models import WorkflowDefinition
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

FRAGMENT = {"HX-Request": "true"}


def changed(**parts: Any) -> dict[str, Any]:
    return STARTER | {"workflow": "SITE_MEMO"} | parts


def text_of(page: str) -> str:
    found = re.search(r'<textarea[^>]*id="f-text"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    assert found
    return html.unescape(found[1]).removeprefix("\n")


class TestList:
    @pytest.mark.parametrize(
        ("language", "words"),
        [
            ("th", ("กระบวนงาน", "มาตรฐานของระบบ", "คำขออนุมัติ (RFA): ผู้รับเหมายื่น")),
            ("en", ("Workflows", "Standard workflow", "A request for approval: the contractor submits")),
        ],
    )
    async def test_shows_each_workflow_with_its_versions(self, sit: Sit, language: str, words: tuple[str, str]) -> None:
        page = html_of(await (await sit("admin", language)).get("/workflows"))

        assert all(word in page for word in words)
        assert 'href="/workflows/RFA_APPROVAL/v1"' in page
        assert "data-new" in page

    async def test_names_who_published_and_what_is_in_force(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        await browser.post("/workflows/new", data={"text": json.dumps(changed())})

        page = html_of(await browser.get("/workflows"))
        mine = page[page.index('id="w-SITE_MEMO"') :].split("</section>")[0]

        assert "No active version" in mine
        assert "Standard workflow" not in mine

    async def test_is_closed_to_who_may_not_see_definitions(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")

        answers = [await browser.get(path) for path in ("/workflows", "/workflows/new", "/workflows/RFA_APPROVAL/v1")]

        assert [answer.status_code for answer in answers] == [403, 403, 403]
        assert 'href="/workflows"' not in html_of(await browser.get("/inbox"))


class TestVersion:
    @pytest.mark.parametrize(("language", "state"), [("th", "รออนุมัติ"), ("en", "Pending approval")])
    async def test_shows_picture_actions_and_text(self, sit: Sit, language: str, state: str) -> None:
        page = html_of(await (await sit("admin", language)).get("/workflows/RFA_APPROVAL/v1"))

        drawing = json.loads(html.unescape(re.findall(r"data-diagram='([^']*)'", page)[0]))
        assert state in [one["label"] for one in drawing["states"]]
        assert re.findall(r'<script src="/static/[0-9a-f]{12}/diagram.js" type="module">', page)
        assert f"<strong>{state}</strong>" in page
        assert "stateDiagram-v2" in page
        assert "&#34;workflow&#34;: &#34;RFA_APPROVAL&#34;" in page

    async def test_tells_what_differs_from_the_version_before_or_another(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        for description in ("one", "two", {"th": "สาม", "en": "three"}):
            await browser.post("/workflows/new", data={"text": json.dumps(changed(description=description))})

        before = html_of(await browser.get("/workflows/SITE_MEMO/v3"))
        first = html_of(await browser.get("/workflows/SITE_MEMO/v3?against=1"))

        assert "Differences from version 2" in before
        assert '<code class="pointer">two</code>' in before
        assert ">three<br>" in before
        thai = html_of(await (await sit("admin", "th")).get("/workflows/SITE_MEMO/v3"))
        assert ">สาม<br>" in thai
        assert '<code class="pointer">one</code>' in first

    @pytest.mark.parametrize(
        ("language", "words"),
        [
            ("th", ("ที่ปรึกษา", "สิทธิ์ “ตัดสินใจในขั้นตอนปัจจุบัน”", "บทบาทผู้จัดการโครงการ", "ความเห็น เมื่อตอบ 1N, 1R")),
            (
                "en",
                (
                    *("Consultant", "Permission “Decide in the current step”"),
                    *("Role Project Manager", "Comment with 1N, 1R"),
                ),
            ),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_says_who_may_act_in_words(self, sit: Sit, language: str, words: tuple[str, ...]) -> None:
        browser = await sit("admin", language)
        raw = copy.deepcopy(changed())
        raw["states"][1]["on"]["acknowledge"]["require"] = {"roles": ["Project Manager"]}
        await browser.post("/workflows/new", data={"text": json.dumps(raw)})

        pages = [html_of(await browser.get(f"/workflows/{code}/v1")) for code in ("RFA_APPROVAL", "SITE_MEMO")]

        shown = "".join(re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL) for page in pages)
        assert all(word in shown for word in words)
        assert "workflow.action_review" not in shown

    async def test_is_put_in_force_and_taken_out(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        await browser.post("/workflows/new", data={"text": json.dumps(changed())})

        on = await browser.post("/workflows/SITE_MEMO/v1/activate")
        shown = html_of(await browser.get(on.headers["location"]))
        off = await browser.post("/workflows/SITE_MEMO/v1/deactivate")
        gone = html_of(await browser.get(off.headers["location"]))

        assert "Version activated" in shown
        assert "No active version" in gone

    @pytest.mark.parametrize(("language", "words"), [("th", "จะไม่ผ่านการตรวจสอบ"), ("en", "would not pass today")])
    @pytest.mark.sampled("[th")
    async def test_says_what_publishing_would_refuse_today(
        self, sit: Sit, app: FastAPI, language: str, words: str
    ) -> None:
        """It was accepted by the checks of an older release, and can be put in force as it is."""
        browser = await sit("admin", language)
        await browser.post("/workflows/new", data={"text": json.dumps(changed())})
        sound = html_of(await browser.get("/workflows/SITE_MEMO/v1"))
        older = changed()
        older["states"] = copy.deepcopy(older["states"])
        place, state = next((place, state) for place, state in enumerate(older["states"]) if state.get("on"))
        next(iter(state["on"].values()))["condition"] = {"type": "json-logic", "rule": {"var": "actor.isSubmiter"}}

        async def keep(session: AsyncSession) -> None:
            where = WorkflowDefinition.workflow_code == "SITE_MEMO"
            await session.execute(sa.update(WorkflowDefinition).where(where).values(dsl=older))

        await app.state.db.transact(keep)
        activated = await browser.post(
            "/api/v1/workflow/definitions/SITE_MEMO/versions/1/activate", headers={"Accept-Language": language}
        )
        page = html_of(await browser.get("/workflows/SITE_MEMO/v1"))

        assert activated.status_code == 200, activated.text
        warned = [one for one in activated.json()["warnings"] if one["code"] == "REFUSED_TODAY"]
        at = f"/states/{place}/on/{next(iter(state['on']))}/condition/rule"
        assert at in {one["field"] for one in warned}
        assert all(words in one["message"] for one in warned)
        assert "data-refused-today" not in sound
        told = page[page.index("data-refused-today") :].split("</div>")[0]
        assert at in told
        assert "actor.isSubmiter" in told

    async def test_that_does_not_exist_is_not_found(self, sit: Sit) -> None:
        browser = await sit("admin")

        answers = [await browser.get(path) for path in ("/workflows/RFA_APPROVAL/v99", "/workflows/NO_SUCH/v1")]

        assert [answer.status_code for answer in answers] == [404, 404]


class TestEditor:
    @pytest.mark.parametrize(
        ("language", "words"), [("th", "เวอร์ชัน 2 ของ RFA_APPROVAL"), ("en", "version 2 of RFA_APPROVAL")]
    )
    @pytest.mark.sampled("[th")
    async def test_begins_with_a_copy_of_a_version(self, sit: Sit, language: str, words: str) -> None:
        browser = await sit("admin", language)
        page = html_of(await browser.get("/workflows/new?code=RFA_APPROVAL&version=1"))

        verdict = await browser.post("/workflows/new/check", data={"text": text_of(page)}, headers=FRAGMENT)

        assert words in html_of(verdict)
        assert 'data-verdict="good"' in html_of(verdict)

    async def test_begins_with_something_that_can_be_published(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        text = text_of(html_of(await browser.get("/workflows/new")))

        made = await browser.post("/workflows/new", data={"text": text, "activate": "1"})
        page = html_of(await browser.get(made.headers["location"]))

        assert made.status_code == 303
        assert "Version published." in page
        assert "Active" in page

    @pytest.mark.parametrize(
        ("language", "words"), [("th", ("บรรทัด 2", "ไม่ใช่ JSON")), ("en", ("Line 2", "Not valid JSON"))]
    )
    async def test_names_the_line_where_it_is_no_json(self, sit: Sit, language: str, words: tuple[str, str]) -> None:
        browser = await sit("admin", language)

        verdict = await browser.post("/workflows/new/check", data={"text": '{"workflow":\n oops}'}, headers=FRAGMENT)

        assert all(word in html_of(verdict) for word in words)
        assert 'data-line="2"' in html_of(verdict)

    async def test_names_the_line_of_each_fault(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        text = json.dumps(changed(), indent=1).replace('"to": "sent"', '"to": "nowhere"')
        line = next(at for at, one in enumerate(text.splitlines(), start=1) if "nowhere" in one)

        verdict = await browser.post("/workflows/new/check", data={"text": text}, headers=FRAGMENT)

        assert f'data-line="{line}"' in html_of(verdict)
        assert "/states/0/on/submit/to" in html_of(verdict)

    async def test_keeps_what_was_typed_when_it_is_refused(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        torn = '{"workflow": "SITE_MEMO",\n  "states": ['

        refused = await browser.post("/workflows/new", data={"text": torn, "activate": "1"})

        assert refused.status_code == 422
        assert text_of(html_of(refused)) == torn
        assert 'data-line="2"' in html_of(refused)
        assert 'name="activate" value="1" checked' in html_of(refused)

    async def test_has_nothing_against_an_empty_page(self, sit: Sit) -> None:
        browser = await sit("admin", "en")

        verdict = await browser.post("/workflows/new/check", data={"text": "  "}, headers=FRAGMENT)

        assert (verdict.status_code, "The definition is empty" in html_of(verdict)) == (200, True)

    async def test_publishes_once_when_it_is_sent_twice(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        form = {"text": json.dumps(changed()), "key": "one-form"}

        answers = [await browser.post("/workflows/new", data=form) for _ in range(2)]

        assert [answer.headers["location"] for answer in answers] == ["/workflows/SITE_MEMO/v1?done=published"] * 2


@pytest.mark.parametrize(
    "path", ["", "/new", "/RFA_APPROVAL/v1", "/RFA_APPROVAL/v1/rehearsal", "/RFA_APPROVAL/v1/replay"]
)
async def test_the_frame_shows_the_version_of_the_product(sit: Sit, path: str) -> None:
    page = html_of(await (await sit("admin", "en")).get(f"/workflows{path}"))

    assert f'<p class="version">Saraban {saraban.__version__}</p>' in page
