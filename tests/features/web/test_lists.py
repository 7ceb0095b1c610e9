"""Inbox, registers and notifications as people see them."""

import re
from dataclasses import fields

import pytest
from fastapi import FastAPI

from saraban.identity import service as identity
from tests.factories.contexts import context
from tests.features.web.conftest import Sit
from tests.features.web.forms import new_rfa
from tests.features.web.page_html import html_of
from tests.page_actions import act

FRAGMENT = {"HX-Request": "true"}


def offered(page: str, name: str) -> dict[str, str]:
    """Return what a select offers by its code, with what each sends."""
    options = page.split(f'name="{name}"')[1].split("</select>", maxsplit=1)[0]
    found = re.findall(r'value="([^"]+)"[^>]*>([^<–]*)', options)
    return {" ".join(code.split()): value for value, code in found}


class TestInbox:
    @pytest.mark.parametrize(
        ("language", "words"), [("th", "ไม่มีเอกสารรอคุณดำเนินการ"), ("en", "Nothing awaits your action")]
    )
    async def test_is_friendly_when_it_is_empty(self, sit: Sit, language: str, words: str) -> None:
        browser = await sit("reviewer.consultant", language)

        assert words in html_of(await browser.get("/inbox"))

    async def test_shows_what_waits_and_lets_it_go(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        assert f'href="{address}"' in html_of(await reviewer.get("/inbox"))
        await act(reviewer, address, "approve")

        fragment = await reviewer.get("/inbox", headers=FRAGMENT)
        assert address not in html_of(fragment)
        assert "<html" not in html_of(fragment)


class TestRegister:
    async def test_is_searched_by_number_and_subject(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        await new_rfa(browser, subject="รายงานเสาเข็ม")
        await new_rfa(browser, subject="แบบขยายหลังคา", rfaTypeCode="SDW")
        for text, found in (("เสาเข็ม", 1), ("SDW-0001", 1), ("RFA", 2), ("ไม่มีคำนี้", 0)):
            answer = await browser.get("/rfas", params={"q": text}, headers=FRAGMENT)
            assert html_of(answer).count('class="number row-link"') == found
            assert answer.headers["hx-push-url"].startswith("/rfas?q=")

    async def test_is_filtered_by_what_the_address_says(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        await act(browser, address, "submit")
        assert "row-link" in html_of(await browser.get("/rfas?state=pending_review&mine=1"))
        assert "row-link" not in html_of(await browser.get("/rfas?state=draft"))

        assert (await browser.get("/rfas?state=nonsense&due=nonsense&project=nonsense")).status_code == 200

    async def test_is_sorted_by_the_heads_of_its_columns_and_keeps_its_filters(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        for kind in ("SDW", "RPT"):
            await new_rfa(browser, rfaTypeCode=kind)
        rising = html_of(await browser.get("/rfas?sort=number&mine=1", headers=FRAGMENT))
        falling = await browser.get("/rfas?mine=1&sort=-number", headers=FRAGMENT)

        assert rising.index("RPT-0001") < rising.index("SDW-0001")
        assert html_of(falling).index("SDW-0001") < html_of(falling).index("RPT-0001")
        assert falling.headers["hx-push-url"] == "/rfas?mine=1&sort=-number"
        assert 'aria-sort="ascending"' in rising
        assert 'href="/rfas?mine=1&amp;sort=-number"' in rising
        assert 'name="sort" value="number"' in rising
        assert 'aria-sort="descending"' in html_of(await browser.get("/rfas?sort=nonsense"))

    async def test_is_narrowed_to_days_of_either_era_and_to_what_waits_for_the_reader(self, sit: Sit) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        for query, found in (
            ("from=1/1/2569&until=31/12/2668", True),
            ("from=31/12/2668&until=1/1/2569", True),
            ("until=1/1/2569", False),
            ("from=nonsense&until=99/99/9999", True),
        ):
            assert (address in html_of(await contractor.get(f"/rfas?{query}"))) is found, query

        assert address in html_of(await reviewer.get("/rfas?pending=1"))
        assert address not in html_of(await contractor.get("/rfas?pending=1"))

    async def test_is_narrowed_by_filters_that_are_read_when_somebody_opens_them(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        await new_rfa(browser, rfaTypeCode="SDW")
        await new_rfa(browser, rfaTypeCode="RPT", disciplineCode="STR")
        more = html_of(await browser.get("/rfas/filters", headers=FRAGMENT))
        party, person = offered(more, "party"), offered(more, "person")
        assert 'id="f-party"' not in html_of(await browser.get("/rfas?state=draft"))
        for query, found in (
            ("type=SDW", 1),
            ("discipline=STR", 1),
            (f"party={party['ผรม.2']}", 2),
            (f"party={party['ผรม.1']}", 0),
            (f"person={person['ดวงใจ เอกสารครบ']}", 2),
            ("dueFrom=1/1/2569&dueUntil=31/12/2569", 0),
            ("more=1", 2),
        ):
            page = html_of(await browser.get(f"/rfas?{query}"))
            assert page.count('class="number row-link"') == found, query
            assert "filter-more" in page.split("<details", 1)[1].split(" open", 1)[0], query

        circulations = html_of(await browser.get("/circulations/filters", headers=FRAGMENT))
        assert "f-discipline" not in circulations
        assert "f-type" not in circulations

    async def test_offers_people_of_the_readers_organizations_and_all_to_who_sees_the_whole_project(
        self, sit: Sit
    ) -> None:
        for username, found in (("dc.contractor", {"ดวงใจ เอกสารครบ"}), ("padmin", {"ดวงใจ เอกสารครบ", "เดชา รับส่งดี"})):
            more = html_of(await (await sit(username)).get("/rfas/filters", headers=FRAGMENT))
            assert found <= offered(more, "person").keys()
            assert ("เดชา รับส่งดี" in more) is ("เดชา รับส่งดี" in found)

    async def test_offers_who_has_left_after_all_others(self, app: FastAPI, sit: Sit) -> None:
        async with app.state.db.writing() as session:
            ctx = context(await identity.system_caller(session))
            await identity.set_active(ctx, session, username="dc.consultant", active=False)
        more = html_of(await (await sit("padmin", "en")).get("/rfas/filters", headers=FRAGMENT))
        assert list(offered(more, "person"))[-1] == "เดชา รับส่งดี"
        assert "Account closed" in more

    @pytest.mark.parametrize(("language", "said"), [("th", "สาขางาน: STR"), ("en", "Discipline: STR")])
    async def test_names_each_filter_that_is_set_and_takes_it_away(self, sit: Sit, language: str, said: str) -> None:
        browser = await sit("dc.contractor", language)
        page = html_of(await browser.get("/rfas?mine=1&discipline=STR&dueUntil=31/12/2569", headers=FRAGMENT))

        chips = re.findall(r'filter-chip" href="([^"]*)">(.*?)</a>', page, re.DOTALL)
        assert [address.replace("&amp;", "&") for address, _ in chips] == [
            "/rfas?mine=1&dueUntil=31%2F12%2F2569",
            "/rfas?discipline=STR&dueUntil=31%2F12%2F2569",
            "/rfas?discipline=STR&mine=1",
        ]
        assert said in " ".join(chips[0][1].split())
        assert ("31 ธ.ค. 2569" if language == "th" else "31 Dec 2026") in chips[2][1]

    @pytest.mark.parametrize(
        ("name", "typed", "said"),
        [
            ("from", "1/1/0000", "The year must be 1900 to 2200"),
            ("until", "31/12/9999", "The year must be 1900 to 2200"),
            ("dueFrom", "nonsense", "This must be a date such as"),
            ("q", "\x00", "There is a character that cannot be used."),
            ("state", "nonsense", "There is no such choice."),
            ("type", "nonsense", "There is no such choice."),
            ("discipline", "nonsense", "There is no such choice."),
            ("party", "01930b5e-0000-7000-8000-0000000000ff", "There is no such choice."),
            ("person", "nonsense", "There is no such choice"),
        ],
    )
    async def test_says_at_its_field_what_cannot_be_used(self, sit: Sit, name: str, typed: str, said: str) -> None:
        browser = await sit("dc.contractor", "en")
        whole = html_of(await browser.get("/rfas", params={name: typed}))
        part = html_of(await browser.get("/rfas", params={name: typed}, headers=FRAGMENT))

        assert said in whole.split(f'id="e-{name}" role="alert"')[1].split("</span>")[0]
        assert said in part.split(f'id="e-{name}" role="alert" hx-swap-oob="true"')[1].split("</span>")[0]

    async def test_opens_for_every_kind_of_person(self, sit: Sit) -> None:
        for username in ["admin", "padmin", "viewer", "dc.consultant"]:
            browser = await sit(username)
            for path in ["/correspondences", "/rfas", "/transmittals", "/circulations"]:
                assert (await browser.get(path)).status_code == 200, (username, path)

    async def test_goes_on_page_by_page(self, sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("saraban.web.documents.register_filters.ROWS", 2)
        browser = await sit("dc.contractor")
        for _ in range(3):
            await new_rfa(browser)
        first = html_of(await browser.get("/rfas"))
        more = first.split('hx-get="/rfas?cursor=')[1].split('"')[0]
        rest = await browser.get(f"/rfas?cursor={more}", headers=FRAGMENT)

        assert html_of(rest).count('class="number row-link"') == 1
        assert "<table" not in html_of(rest)


class TestNotifications:
    async def test_lead_to_their_document_and_are_read_then(self, sit: Sit, app: FastAPI) -> None:
        contractor, reviewer = await sit("dc.contractor"), await sit("reviewer.consultant")
        address = await new_rfa(contractor)
        await act(contractor, address, "submit")
        await deliver(app)
        page = html_of(await reviewer.get("/notifications"))
        assert f'value="{address}"' in page
        assert "data-unread" in page
        note = page.split('action="/notifications/')[2].split("/open")[0]
        answer = await reviewer.post(f"/notifications/{note}/open", data={"to": address})

        assert answer.headers["location"] == address
        assert "data-unread" not in html_of(await reviewer.get("/notifications"))

    async def test_ring_in_the_bell(self, sit: Sit) -> None:
        browser = await sit("viewer", "en")
        answer = await browser.get("/notifications/bell", headers=FRAGMENT)

        assert "No notifications" in html_of(answer)

    async def test_open_nothing_outside(self, sit: Sit) -> None:
        browser = await sit("viewer")
        answer = await browser.post(
            "/notifications/01930b5e-0000-7000-8000-0000000000ff/open", data={"to": "//evil.example"}
        )

        assert answer.status_code == 404


async def deliver(app: FastAPI) -> None:
    """Let the worker do what is due."""
    from saraban.app import new_worker
    from saraban.bootstrap import System

    state = app.state
    system = System(**{one.name: getattr(state, one.name) for one in fields(System)})
    await new_worker(system).drain()


class TestFailures:
    async def test_reach_htmx_at_the_place_for_notices(self, sit: Sit) -> None:
        browser = await sit("viewer")
        answer = await browser.post("/rfas/new/choices", headers=FRAGMENT)

        assert answer.status_code == 403
        assert answer.headers["hx-retarget"] == "#notices"
        assert "<html" not in html_of(answer)

    async def test_are_a_page_for_a_person(self, sit: Sit) -> None:
        browser = await sit("viewer")
        answer = await browser.get("/nowhere")

        assert answer.status_code == 404
        assert '<html lang="th">' in html_of(answer)
        assert "ไม่พบข้อมูลที่ค้นหา" in html_of(answer)

    async def test_stay_problems_for_the_api(self, sit: Sit) -> None:
        browser = await sit("viewer")
        answer = await browser.get("/api/v1/rfas/01930b5e-0000-7000-8000-0000000000ff")

        assert answer.headers["content-type"].startswith("application/problem+json")


class TestPages:
    async def test_hold_no_script_and_no_style_of_their_own(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")
        address = await new_rfa(browser)
        for path in ("/login", "/inbox", "/rfas", "/rfas/new", "/notifications", address, f"{address}/edit"):
            text = html_of(await browser.get(path, follow_redirects=True))
            assert " style=" not in text
            assert "<style" not in text
            assert " onclick=" not in text
            assert all("src=" in tag for tag in text.split("<script")[1:])
