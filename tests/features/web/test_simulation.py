"""A version tried out in the browser: a story played through it, and what has ended held against it."""

import copy
import json
import re
from typing import Any

import httpx
import pytest

from saraban.web.workflows.editor import STARTER
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

REVIEWED: dict[str, Any] = {
    **STARTER,
    "workflow": "SITE_REVIEW",
    "states": [
        STARTER["states"][0],
        {
            "name": "sent",
            "label": {"th": "พิจารณา", "en": "In review"},
            "review": {
                "branches": [
                    {"name": "structure", "label": {"th": "โครงสร้าง", "en": "Structure"}, "assignee": {"team": "STR"}},
                ],
                "then": {"for": {"to": "acknowledged"}, "against": {"to": "draft"}},
            },
        },
        STARTER["states"][2],
    ],
}

JUDGED: dict[str, Any] = copy.deepcopy(STARTER) | {
    "workflow": "SITE_JUDGED",
    "context_schema": {
        "type": "object",
        "properties": {
            "payload": {
                "type": "object",
                "properties": {"amount": {"type": "number", "minimum": 1}},
                "required": ["amount"],
            }
        },
    },
}
JUDGED["states"][0]["on"]["submit"]["condition"] = {
    "type": "json-logic",
    "rule": {
        "and": [
            {"==": [{"var": "document.discipline"}, "STR"]},
            {">": [{"var": "document.openRoutings"}, 5]},
            {"or": [{">": [{"var": f"{name}.amount"}, 400]} for name in ("context.payload", "payload")]},
        ]
    },
}
# Nobody's document has both a discipline and parts of a circulation: another action leads to an end.
JUDGED["states"][0]["on"]["drop"] = {"to": STARTER["states"][2]["name"], "label": {"th": "เลิก", "en": "Drop"}}

UNFIT = (
    ({"document": '{"openRoutings": 7,\n}'}, "Not valid JSON: line 2, character 1."),
    ({"document": "[1]"}, "This must be an object, such as {&#34;discipline&#34;: &#34;STR&#34;}."),
    ({"document": '{"dueDate": "soon"}'}, "This must be a date such as 31/12/2026 or 2026-12-31."),
    ({"dueDate": "soon"}, "This must be a date such as 31/12/2026 or 2026-12-31."),
    ({"context": '{"payload":\n  {"amount": -1}}'}, "Line 2 (payload/amount): This must be at least 1."),
    ({"context": '{"payload": {}}'}, "Line 1 (payload/amount): Required"),
    ({"payload-0": "[]"}, "Step 1: this must be an object, such as {&#34;amount&#34;: 5}."),
)


async def published(browser: httpx.AsyncClient, raw: dict[str, Any], *, activate: bool = False) -> str:
    form = {"text": json.dumps(raw)} | ({"activate": "1"} if activate else {})
    made = await browser.post("/workflows/new", data=form)
    assert made.status_code == 303, made.text
    return str(made.headers["location"]).partition("?")[0]


def results(page: str) -> list[str]:
    """What stands in the column that says what happened, without its marks."""
    cells = re.findall(r'<td data-label="(?:Step result|ผลของขั้นตอน)">(.*?)</td>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", "", cell).split()) for cell in cells]


def step(index: int, what: str, **more: str) -> dict[str, str]:
    return {f"{name}-{index}": value for name, value in ({"what": what} | more).items()}


class TestRehearsal:
    @pytest.mark.parametrize(
        ("language", "expected"), [("th", ["รอตรวจสอบ", "กรุณาระบุเหตุผล"]), ("en", ["Pending review", "comment"])]
    )
    async def test_says_what_became_of_each_step(self, sit: Sit, language: str, expected: list[str]) -> None:
        browser = await sit("admin", language)
        form = step(0, "submit||", party="originator", organization="CONTRACTOR", writer="1")
        form |= step(1, "reject||", organization="CONSULTANT")

        page = html_of(await browser.post("/workflows/RFA_APPROVAL/v1/rehearsal", data=form))
        found = results(page)

        assert len(found) == 2
        assert found[0].startswith(expected[0])
        assert 'class="fault"' in page

    async def test_begins_with_a_step_that_can_be_played(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        page = html_of(await browser.get("/workflows/RFA_APPROVAL/v1/rehearsal"))

        assert '<option value="submit||" selected>Submit</option>' in page
        assert '<optgroup label="Pending approval">' in page

    async def test_leaves_room_for_one_step_more(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        form = step(0, "submit||", party="originator", organization="CONTRACTOR")

        page = html_of(await browser.post("/workflows/RFA_APPROVAL/v1/rehearsal", data=form))

        assert 'name="what-1"' in page
        assert 'name="what-2"' not in page

    async def test_plays_the_answers_of_a_review(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        address = await published(browser, REVIEWED)
        form = step(0, "submit||", party="originator", writer="1")
        form |= step(1, "reject||structure", comment="cracks") | step(2, "submit||", party="originator")
        form |= step(3, "approve||structure")

        page = html_of(await browser.post(f"{address}/rehearsal", data=form))

        assert results(page) == ["In review", "Draft", "In review", "Acknowledged Final"]

    async def test_names_a_step_whose_values_are_no_json(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        form = step(0, "submit||", payload="{oops")

        refused = await browser.post("/workflows/RFA_APPROVAL/v1/rehearsal", data=form)

        assert refused.status_code == 422
        assert "Step 1: not valid JSON." in html_of(refused)
        assert 'value="{oops"' in html_of(refused)

    async def test_asks_for_the_facts_that_conditions_read(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        address = await published(browser, JUDGED)
        form = step(0, "submit||", party="originator", writer="1")
        remembered = '{"payload": {"amount": 420}}'

        page = html_of(await browser.get(f"{address}/rehearsal"))
        alone = html_of(await browser.post(f"{address}/rehearsal", data=form))
        whole = {"discipline": "STR", "dueDate": "2026-11-30", "document": '{"openRoutings": 7}', "context": remembered}
        played = html_of(await browser.post(f"{address}/rehearsal", data=form | whole))

        assert 'name="discipline"' in page
        assert 'name="projectCode"' not in page
        assert results(alone) == ["The condition for this action is not met."]
        assert results(played) == ["Sent"]
        assert 'value="30/11/2026"' in played
        assert "420}}</textarea>" in played

    async def test_names_what_it_cannot_suppose_and_keeps_it(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        address = await published(browser, JUDGED)

        for typed, said in UNFIT:
            refused = await browser.post(f"{address}/rehearsal", data=step(0, "submit||") | typed)

            assert refused.status_code == 422, typed
            assert re.search(rf'<div class="fault"[^>]*>{re.escape(said)}</div>', html_of(refused)), typed
            assert all(text.replace('"', "&#34;") in html_of(refused) for text in typed.values()), typed

    async def test_is_for_those_who_manage_definitions(self, sit: Sit) -> None:
        browser = await sit("padmin")

        answers = [await browser.get(f"/workflows/RFA_APPROVAL/v1/{page}") for page in ("rehearsal", "replay")]

        assert [answer.status_code for answer in answers] == [403, 403]


class TestReplay:
    async def test_says_when_nothing_has_ended(self, sit: Sit) -> None:
        browser = await sit("admin", "en")

        page = html_of(await browser.post("/workflows/RFA_APPROVAL/v1/replay", data={"limit": "10"}))

        assert "No closed documents yet" in page

    @pytest.mark.parametrize("limit", ["", "0", "many", "99999"])
    async def test_asks_for_a_number_that_it_can_play(self, sit: Sit, limit: str) -> None:
        browser = await sit("admin", "en")

        refused = await browser.post("/workflows/RFA_APPROVAL/v1/replay", data={"limit": limit})

        assert refused.status_code == 422
        assert 'class="fault"' in html_of(refused)
