"""Number formats in the browser: the list, the editor that shows what saving would do, history, deletion."""

import re

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from saraban.identity import service as identity
from saraban.identity.domain import catalogue
from tests.factories.contexts import context
from tests.features.web.conftest import Sit
from tests.features.web.forms import ATTRIBUTES, new_rfa
from tests.features.web.page_html import html_of

ADDRESS = re.compile(r'class="row-link" href="(/numbers/formats/[^"]+)"')
WHY = "ตามหนังสือของที่ปรึกษา"


def fields(page: str) -> dict[str, str]:
    """The form of the page as a browser would send it."""
    start = page.index('class="card form-card" data-once novalidate')
    form = page[start : page.index("</form>", start)]
    inputs = [dict(ATTRIBUTES.findall(one)) for one in re.findall(r"<input [^>]*>", form)]
    typed = {one["name"]: one.get("value", "") for one in inputs if one.get("type") != "checkbox"}
    checked = [one for one in re.findall(r"<input [^>]*>", form) if 'type="checkbox"' in one and " checked" in one]
    return typed | {dict(ATTRIBUTES.findall(one))["name"]: "1" for one in checked}


async def new_form(browser: httpx.AsyncClient, **typed: str) -> dict[str, str]:
    page = html_of(await browser.get("/numbers/formats/new"))
    form = page[page.index('class="card form-card"') :]
    project = re.search(r'name="project" value="([^"]+)"', form)
    assert project
    return {"project": project[1], "type": "MEMO", "template": "{ORIGINATOR}-M-{SEQ:3}"} | typed


class TestList:
    @pytest.mark.parametrize(("language", "words"), [("th", "รูปแบบเลขที่"), ("en", "Number formats")])
    async def test_shows_the_formats_of_the_project(self, sit: Sit, language: str, words: str) -> None:
        browser = await sit("padmin", language)

        page = html_of(await browser.get("/numbers/formats"))

        assert words in page
        assert "{PROJECT}-{CORR_TYPE}-{DISCIPLINE}-{RFA_TYPE}-{SEQ:4}-{REV}" in page

    async def test_is_closed_to_who_may_not_read_formats(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")

        assert (await browser.get("/numbers/formats")).status_code == 403

    @pytest.mark.parametrize("username", ["padmin", "dc.contractor"])
    async def test_is_in_the_menu_of_those_who_may_read_it(self, sit: Sit, username: str) -> None:
        browser = await sit(username)

        assert ('href="/numbers/formats"' in html_of(await browser.get("/inbox"))) == (username == "padmin")


@pytest_asyncio.fixture
async def reader(app: FastAPI, sit: Sit) -> httpx.AsyncClient:
    """An Org Admin, who may read formats and neither change them nor look at counters."""
    async with app.state.db.reading() as session:
        giver = await identity.system_caller(session)
    await app.state.db.transact(
        lambda session: identity.grant_role(
            context(giver, now=app.state.clock.now()),
            session,
            "viewer",
            identity.RoleGrant(catalogue.ORG_ADMIN, "กทท."),
        )
    )
    return await sit("viewer", "en")


class TestReader:
    async def test_sees_a_format_and_is_offered_nothing_else(self, reader: httpx.AsyncClient) -> None:
        listed = html_of(await reader.get("/numbers/formats"))
        page = html_of(await reader.get(ADDRESS.findall(listed)[0]))
        form = fields(page)

        checked = await reader.post("/numbers/formats/check", data=form, headers={"HX-Request": "true"})

        assert 'href="/numbers"' not in listed
        assert "data-new" not in listed
        assert "data-submit" not in page
        assert "/delete" not in page
        assert (checked.status_code, "is-token" in html_of(checked), 'class="fault"' in html_of(checked)) == (
            200,
            True,
            False,
        )

    async def test_cannot_save_all_the_same(self, reader: httpx.AsyncClient) -> None:
        address = ADDRESS.findall(html_of(await reader.get("/numbers/formats")))[0]
        form = fields(html_of(await reader.get(address)))

        answers = [
            await reader.get("/numbers/formats/new"),
            await reader.post(address, data=form | {"reason": WHY}),
            await reader.post(f"{address}/delete", data={"reason": WHY}),
        ]

        assert [answer.status_code for answer in answers] == [403, 403, 403]


class TestEditor:
    async def test_shows_pieces_and_the_next_numbers_while_one_types(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        form = await new_form(browser, template="{ORIGINATOR}-{COLOUR}-{SEQ:3}")

        wrong = html_of(await browser.post("/numbers/formats/check", data=form, headers={"HX-Request": "true"}))
        form["template"] = "{ORIGINATOR}-M-{SEQ:3}"
        right = html_of(await browser.post("/numbers/formats/check", data=form, headers={"HX-Request": "true"}))

        assert '<span class="piece is-fault">{COLOUR}</span>' in wrong
        assert "{COLOUR} at position 14 is not a known field" in wrong
        assert "-M-001, " in right
        assert re.search(r"Series \S+-M-\{SEQ\} starts", right)
        assert "is-fault" not in right

    async def test_names_the_type_whose_numbers_it_could_print(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        form = await new_form(browser, template="{ORIGINATOR}-CIR-{SEQ:5}-{YEAR:B.E.}")

        page = html_of(await browser.post("/numbers/formats/check", data=form, headers={"HX-Request": "true"}))

        assert "May produce the same number as the format of Circulation Sheet: {ORIGINATOR}-CIR-{SEQ:4}" in page

    async def test_narrows_a_format_beside_the_one_of_the_type(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        form = await new_form(browser, type="TRANSMITTAL", sub_type="MAT", template="{ORIGINATOR}-MAT-{SEQ:3}")

        effect = html_of(await browser.post("/numbers/formats/check", data=form, headers={"HX-Request": "true"}))
        made = await browser.post("/numbers/formats/new", data=form)
        again = await browser.post("/numbers/formats/new", data=form)
        nobodys = await browser.post("/numbers/formats/new", data=form | {"sub_type": "", "rfa_type": "SDW"})
        page = html_of(await browser.get(made.headers["location"]))
        changed = await browser.post(
            made.headers["location"].partition("?")[0],
            data=fields(page) | {"template": "{ORIGINATOR}-MAT-{SEQ:4}", "reason": WHY},
        )

        assert "-MAT-001, " in effect
        assert [one.status_code for one in (made, again, nobodys, changed)] == [303, 422, 422, 303]
        assert "<h1>Transmittal · sub type MAT</h1>" in page
        assert "Transmittal · sub type MAT</a>" in html_of(await browser.get("/numbers/formats"))

    async def test_finds_no_fault_with_nothing_typed_yet(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")

        answer = await browser.post(
            "/numbers/formats/check", data=await new_form(browser, template=""), headers={"HX-Request": "true"}
        )

        assert (answer.status_code, "fault" in html_of(answer)) == (200, False)

    async def test_saves_a_format_and_keeps_its_history(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        made = await browser.post("/numbers/formats/new", data=await new_form(browser))
        address = made.headers["location"].partition("?")[0]
        form = fields(html_of(await browser.get(address))) | {"template": "{ORIGINATOR}-M-{SEQ:4}", "reason": WHY}

        changed = await browser.post(address, data=form)
        page = html_of(await browser.get(changed.headers["location"]))

        assert (made.status_code, changed.status_code) == (303, 303)
        assert "Format saved." in page
        assert page.count("{ORIGINATOR}-M-{SEQ:3}</code>") == 1
        assert WHY in page

    async def test_keeps_what_was_typed_when_it_is_refused(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")

        refused = await browser.post("/numbers/formats/new", data=await new_form(browser, template="{COLOUR}"))
        again = await browser.post("/numbers/formats/new", data=await new_form(browser, type="RFA"))

        assert (refused.status_code, again.status_code) == (422, 422)
        assert 'value="{COLOUR}"' in html_of(refused)
        assert "already have a format" in html_of(again)

    async def test_of_a_change_asks_for_the_reason_and_for_a_fresh_page(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        address = ADDRESS.findall(html_of(await browser.get("/numbers/formats")))[0]
        form = fields(html_of(await browser.get(address)))

        silent = await browser.post(address, data=form)
        first = await browser.post(address, data=form | {"reason": WHY})
        second = await browser.post(address, data=form | {"reason": WHY})

        assert [silent.status_code, first.status_code, second.status_code] == [422, 303, 412]

    async def test_counts_on_when_that_is_ticked(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        form = await new_form(browser, template="{ORIGINATOR}-{SEQ:3}-{MM}")

        alone = await browser.post("/numbers/formats/new", data=form)
        ticked = await browser.post("/numbers/formats/new", data=form | {"counts_on": "1"})
        page = html_of(await browser.get(ticked.headers["location"]))

        assert (alone.status_code, ticked.status_code) == (422, 303)
        assert fields(page)["counts_on"] == "1"


class TestDelete:
    async def test_takes_an_unused_format_away(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        made = await browser.post("/numbers/formats/new", data=await new_form(browser))
        address = made.headers["location"].partition("?")[0]

        gone = await browser.post(f"{address}/delete", data={"reason": WHY})

        assert gone.status_code == 303
        assert (await browser.get(address)).status_code == 404

    async def test_keeps_a_format_with_numbers_and_says_which(self, sit: Sit) -> None:
        browser, contractor = await sit("padmin", "en"), await sit("dc.contractor")
        await new_rfa(contractor)
        page = html_of(await browser.get("/numbers/formats"))
        row = page[page.index(">Request for Approval (RFA)<") - 100 :]
        (address,) = ADDRESS.findall(page[: page.index(">Request for Approval (RFA)<")])[-1:]

        answer = await browser.post(f"{address}/delete", data={"reason": WHY})

        assert row
        assert answer.status_code == 409
        assert "LCBP3-C2-RFA-TER-RPT-0001-A" in html_of(answer)
