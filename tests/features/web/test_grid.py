"""Lists of the set-up that are edited in place: rows, faults at their cells, two people at one row, printed codes, rights."""

import re
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.conftest import SignIn
from tests.features.documents.conftest import desk_of
from tests.features.web.conftest import Sit
from tests.features.web.forms import new_rfa
from tests.features.web.grid_pages import FRAGMENT, contract_of, faults, home_of, open_row, opened
from tests.features.web.page_html import html_of
from tests.other_project import add_other_project

ELECTRICAL = {"code": "ELX", "nameTh": "ไฟฟ้า", "nameEn": "Electrical"}


class TestRows:
    async def test_are_added_one_after_the_other_with_the_cursor_in_the_next(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await contract_of(browser)}/disciplines"

        answer = html_of(await browser.post(f"{url}/save", data=ELECTRICAL, headers=FRAGMENT))

        saved, new = answer.split('<tbody class="line is-open is-new"')
        assert "<html" not in saved
        assert 'data-said="ELX: Added"' in saved
        assert "autofocus" not in saved
        assert re.search(r'name="code"[^>]*autofocus[^>]*value=""', new)
        assert 'href="' + url + '?row=ELX"' in html_of(await browser.get(url))

    async def test_are_changed_and_say_so(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await contract_of(browser)}/rfa-types"
        row = await open_row(browser, url, "SDW")

        typed = row | {"code": "SDW", "nameTh": "แบบขยายงาน", "nameEn": "Shop drawing"}
        answer = html_of(await browser.post(f"{url}/save", data=typed, headers=FRAGMENT))

        assert 'data-said="SDW: Saved"' in answer
        assert "แบบขยายงาน" in answer
        assert re.search(r'class="line-open"[^>]*autofocus', answer)

    async def test_work_without_script(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/tags"

        added = await browser.post(f"{url}/save", data={"code": "RUSH", "nameTh": "ด่วน", "color": "red"})
        listed = html_of(await browser.get(added.headers["location"]))
        row = html_of(await browser.get(url, params={"row": "RUSH"}))
        sent = {name: opened(row, name) for name in ("ref", "etag", "was")}
        wrong = await browser.post(f"{url}/save", data=sent | {"code": "RUSH", "nameTh": "", "color": "blue"})
        closed = await browser.post(f"{url}/close", data=sent)
        gone = html_of(await browser.get(url))
        there = html_of(await browser.get(f"{url}?closed=1"))

        assert added.status_code == closed.status_code == httpx.codes.SEE_OTHER
        assert "<strong>RUSH</strong>: Added" in listed
        assert 'class="swatch" data-color="red"' in listed
        assert faults(wrong) == {"nameTh": "Required"}
        assert '<option value="blue" selected' in html_of(wrong)
        assert "RUSH" not in gone
        assert "Out of use" in there

    async def test_name_the_faults_at_their_cells_and_keep_what_was_typed(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await contract_of(browser)}/disciplines"
        await browser.post(f"{url}/save", data=ELECTRICAL)

        empty = await browser.post(f"{url}/save", data={"nameTh": "ก"}, headers=FRAGMENT)
        long = await browser.post(f"{url}/save", data=ELECTRICAL | {"code": "E" * 11}, headers=FRAGMENT)
        twice = await browser.post(f"{url}/save", data=ELECTRICAL | {"nameTh": "ซ้ำ"}, headers=FRAGMENT)

        assert [one.status_code for one in (empty, long, twice)] == [422, 422, 409]
        assert faults(empty) == {"code": "Required", "nameEn": "Required"}
        assert list(faults(long)) == ["code"]
        assert faults(twice) == {"code": "“ELX” is there already."}
        assert 'value="ซ้ำ"' in html_of(twice)
        assert 'aria-invalid="true"' in html_of(twice)

    async def test_take_days_as_people_type_them(self, sit: Sit) -> None:
        browser = await sit("admin")
        url = f"{await home_of(browser)}/contracts"
        new = {"contractCode": "C9", "contractName": "งานไฟฟ้า", "startDate": "5/1/2569", "endDate": "4/1/2569"}

        early = await browser.post(f"{url}/save", data=new, headers=FRAGMENT)
        saved = html_of(await browser.post(f"{url}/save", data=new | {"endDate": "29/12/2571"}, headers=FRAGMENT))

        assert faults(early) == {"endDate": "วันสิ้นสุดต้องไม่อยู่ก่อนวันเริ่ม"}
        assert 'value="5/1/2569"' in html_of(early) or 'value="05/01/2569"' in html_of(early)
        assert "05/01/2569" in saved
        assert "29/12/2571" in saved

    async def test_are_found_by_code_and_name(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await contract_of(browser)}/disciplines"

        found = await browser.get(url, params={"q": "ไฟฟ้า"}, headers=FRAGMENT)
        none = html_of(await browser.get(url, params={"q": "ไม่มีคำนี้"}))

        assert "EPW" in html_of(found)
        assert "STR" not in html_of(found)
        assert found.headers["hx-push-url"].startswith(f"{url}?q=")
        assert "No results" in none

    async def test_come_fifty_at_a_time(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/contract-volumes"
        for number in range(52):
            await browser.post(f"{url}/save", data={"code": f"V{number:02}", "nameTh": "เล่ม"}, headers=FRAGMENT)

        first = html_of(await browser.get(url))
        more = re.search(r'class="more-row">.*?href="([^"]+)"', first)
        assert more
        second = html_of(await browser.get(more[1].replace("&amp;", "&"), headers=FRAGMENT))

        assert first.count('class="line-open"') == 50
        assert re.findall(r'class="line-open"[^>]*>(\w+)<', second) == ["V50", "V51"]
        assert "<html" not in second

    async def test_are_put_in_order_with_and_without_script(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/tags"
        for code in "ABC":
            await browser.post(f"{url}/save", data={"code": code, "nameTh": code})

        async def order() -> str:
            return "".join(re.findall(r'class="line-open"[^>]*>(\w)<', html_of(await browser.get(url))))

        dragged = await browser.post(f"{url}/move", data={"ref": "C", "before": "A"}, headers=FRAGMENT)
        first = await order()
        await browser.post(f"{url}/move", data={"ref": "C", "step": "down"})
        second = await order()
        await browser.post(f"{url}/move", data={"ref": "B", "step": "up"})
        third = await order()
        await browser.post(f"{url}/move", data={"ref": "A", "before": ""}, headers=FRAGMENT)
        fourth = await order()
        await browser.post(f"{url}/move", data={"ref": "A", "after": "B"}, headers=FRAGMENT)
        unordered = await browser.post("/organizations/move", data={"ref": "x", "step": "up"})

        assert dragged.status_code == httpx.codes.NO_CONTENT
        assert [first, second, third, fourth, await order()] == ["CAB", "ACB", "ABC", "BCA", "BAC"]
        assert unordered.status_code == httpx.codes.NOT_FOUND


class TestTwoPeopleAtOneRow:
    async def test_see_both_values_where_they_differ_and_choose(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await contract_of(browser)}/disciplines"
        await browser.post(f"{url}/save", data=ELECTRICAL)
        mine, theirs = [await open_row(browser, url, "ELX") for _ in range(2)]
        await browser.post(f"{url}/save", data=theirs | ELECTRICAL | {"nameTh": "งานไฟฟ้า", "nameEn": "Theirs"})

        answer = await browser.post(f"{url}/save", data=mine | ELECTRICAL | {"nameEn": "Mine"}, headers=FRAGMENT)

        page = html_of(answer)
        assert answer.status_code == httpx.codes.PRECONDITION_FAILED
        assert opened(page, "nameEn") == "Mine"
        assert re.findall(r"<strong>(\w+)</strong><button[^>]*data-take=\"(\w+)\"", page) == [("Theirs", "Theirs")]
        # What this reader has not touched is what the other one has written.
        assert opened(page, "nameTh") == "งานไฟฟ้า"
        again = {name: opened(page, name) for name in ("ref", "etag", "was", "code", "nameTh", "nameEn")}
        assert "Mine" in html_of(await browser.post(f"{url}/save", data=again, headers=FRAGMENT))

    async def test_are_not_told_of_days_that_are_the_same_in_another_era(self, sit: Sit) -> None:
        browser = await sit("admin", "th")
        url = f"{await home_of(browser)}/contracts"
        new = {"contractCode": "C9", "contractName": "งานไฟฟ้า", "startDate": "5/1/2569"}
        await browser.post(f"{url}/save", data=new)
        ref = re.findall(r'data-ref="([^"]+)"', html_of(await browser.get(url, params={"q": "C9"})))[0]
        mine, theirs = [await open_row(browser, url, ref) for _ in range(2)]
        await browser.post(f"{url}/save", data=theirs | new | {"contractName": "ของเขา"})

        answer = html_of(
            await browser.post(f"{url}/save", data=mine | new | {"contractName": "ของฉัน"}, headers=FRAGMENT)
        )

        assert re.findall(r"<strong>([^<]+)</strong><button[^>]*data-take", answer) == ["ของเขา"]
        assert opened(answer, "startDate") == "05/01/2569"


class TestPrintedCodes:
    async def test_are_changed_once_the_series_that_begin_anew_have_been_seen(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        await new_rfa(await sit("dc.contractor"))
        url = f"{await contract_of(browser)}/rfa-types"
        typed = await open_row(browser, url, "RPT") | {"code": "RPX", "nameTh": "รายงาน", "nameEn": "Report"}

        asked = await browser.post(f"{url}/save", data=typed, headers=FRAGMENT)
        page = html_of(asked)
        assert asked.status_code == httpx.codes.CONFLICT
        assert re.search(r'class="number">[^<]*RPT[^<]*…', page)
        assert "last issued 1" in page
        assert 'name="confirm" value="1"' in page
        assert opened(page, "code") == "RPX"

        done = await browser.post(f"{url}/save", data=typed | {"confirm": "1"}, headers=FRAGMENT)
        assert 'data-said="RPX: Saved"' in html_of(done)


class TestRights:
    async def test_readers_see_lists_without_fields(self, sit: Sit) -> None:
        reader = await sit("viewer", "en")
        url = f"{await contract_of(reader)}/disciplines"

        page = html_of(await reader.get(url))
        asked = html_of(await reader.get(url, params={"row": "STR"}))
        refused = await reader.post(f"{url}/save", data=ELECTRICAL)

        assert "STR" in page
        assert 'name="code"' not in page
        assert "line-open" not in page
        assert 'name="code"' not in asked
        assert refused.status_code == httpx.codes.FORBIDDEN

    @pytest.mark.parametrize(
        ("username", "organizations", "disciplines", "types", "tags"),
        [
            ("admin", 303, 303, 303, 303),
            ("padmin", 403, 303, 403, 303),
            ("dc.contractor", 403, 403, 403, 403),
            ("reviewer.consultant", 403, 403, 403, 403),
            ("viewer", 403, 403, 403, 403),
        ],
    )
    async def test_rows_are_added_by_those_who_may(
        self, sit: Sit, username: str, organizations: int, disciplines: int, types: int, tags: int
    ) -> None:
        browser = await sit(username)
        contract, project = await contract_of(browser), await home_of(browser)
        new_organization = {"organizationCode": "ผรม.99", "organizationName": "ใหม่", "role": "CONTRACTOR"}
        sent: list[tuple[str, dict[str, Any], int]] = [
            ("/organizations", new_organization, organizations),
            (f"{contract}/disciplines", ELECTRICAL, disciplines),
            ("/master/correspondence-types", {"code": "NCR", "nameTh": "ไม่เป็นไปตามข้อกำหนด"}, types),
            (f"{project}/tags", {"code": "NEW", "nameTh": "ใหม่"}, tags),
        ]

        answers = [(await browser.post(f"{url}/save", data=data)).status_code for url, data, _ in sent]

        assert answers == [expected for _, _, expected in sent]

    async def test_what_is_not_theirs_is_not_there(self, sit: Sit, app: FastAPI, visitor: httpx.AsyncClient) -> None:
        other = await add_other_project(app.state.db)
        stranger = await sit("dc.contractor")
        place = f"/projects/{other['project']}/setup"
        mine = await contract_of(stranger)
        addresses = [
            place,
            f"{place}/tags",
            f"{place}/contracts",
            f"{place}/contracts/{other['contract']}/disciplines",
            f"{mine.rpartition('/')[0]}/{other['contract']}/disciplines",
            f"{mine}/nothing",
            f"{mine}/tags",
            "/projects/nonsense/setup",
            "/master/organizations",
        ]

        answers = [await stranger.get(address) for address in addresses]
        writes = [await stranger.post(f"{address}/save", data=ELECTRICAL) for address in addresses[1:6]]
        anonymous = await visitor.get(f"{place}/tags")

        assert [one.status_code for one in answers] == [404] * len(addresses)
        assert [one.status_code for one in writes] == [404] * len(writes)
        assert anonymous.headers["location"].startswith("/login")


class TestProjects:
    async def test_are_given_kinds_of_files_and_no_new_rows(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        page = html_of(await browser.get("/master/projects", params={"q": "LCBP3-C2"}))
        (ref,) = re.findall(r'data-ref="([0-9a-f-]{36})"', page)
        values = {"projectCode": "LCBP3-C2", "projectName": "ท่าเรือ", "projectNameEn": ""}
        save = "/master/projects/save"

        saved = await browser.post(save, data=values | {"ref": ref, "fileKinds": "PDF, dwg"})
        refused = await browser.post(save, data=values | {"ref": ref, "fileKinds": "pdf, exe"})
        added = await browser.post(save, data=values | {"projectCode": "NEW"})
        project = (await browser.get(f"/api/v1/projects/{ref}")).json()

        assert 'id="line-new"' not in page
        assert [one.status_code for one in (saved, added)] == [303, 404]
        assert "Unknown kinds: exe." in html_of(refused)
        assert project["fileKinds"] == "dwg, pdf"


class TestAClosedContract:
    async def test_shows_its_lists_without_forms_and_says_why(self, sit: Sit) -> None:
        browser = await sit("padmin", "th")
        url = await contract_of(browser)
        home = await home_of(browser)
        public_id = url.rpartition("/")[2]
        await browser.post(f"{home}/contracts/close", data={"ref": public_id})

        page = html_of(await browser.get(f"{url}/disciplines"))

        assert "LCBP3-C2 ปิดแล้ว" in page
        assert "data-opens" not in page
        assert 'id="line-new"' not in page
        assert 'id="sheets"' not in page


class TestOverview:
    @pytest.mark.parametrize(
        ("language", "words"),
        [
            ("th", ("ตั้งค่าโครงการ", "องค์กรในโครงการ", "สาขางาน", "ป้ายกำกับ")),
            ("en", ("Project set-up", "Organizations of the project", "Disciplines", "Tags")),
        ],
    )
    async def test_counts_what_there_is_and_says_what_is_missing(
        self, sit: Sit, app: FastAPI, language: str, words: tuple[str, ...]
    ) -> None:
        other = await add_other_project(app.state.db)
        browser = await sit("admin", language)

        missing = html_of(await browser.get(await home_of(browser))).count("setup-missing")
        page = html_of(await browser.get(f"/projects/{other['project']}/setup"))

        assert all(word in page for word in words)
        counts = re.findall(r'href="[^"]*/([\w-]+)">[^<]*</a>\s*<span class="setup-count">(\d+)<', page)
        assert {"members": "2", "contracts": "1", "disciplines": "1", "rfa-types": "0"}.items() <= dict(counts).items()
        assert page.count("setup-missing") == 2  # parties and RFA types
        assert missing == 0

    async def test_is_in_the_menu_of_those_who_set_up(self, sit: Sit) -> None:
        admin, reader = [html_of(await (await sit(who)).get("/inbox")) for who in ("admin", "viewer")]

        for address in ("/project-setup", "/organizations", "/master"):
            assert f'href="{address}"' in admin
            assert f'href="{address}"' not in reader


class TestClosingAnOrganization:
    async def test_is_confirmed_where_documents_wait_for_it(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        browser = await sit("admin", "en")
        row = {"ref": desk.organizations["คคง."]}
        for _ in "12":
            await desk.act("dc.contractor", await desk.write("dc.contractor", "rfas", desk.rfa()), "submit")

        asked = html_of(await browser.post("/organizations/close", data=row, headers=FRAGMENT))
        plain = html_of(await browser.post("/organizations/close", data=row))
        member = html_of(await browser.post(f"{await home_of(browser)}/members/close", data=row, headers=FRAGMENT))
        listed = html_of(await browser.get("/organizations"))
        closed = html_of(await browser.post("/organizations/close", data=row | {"confirm": "1"}, headers=FRAGMENT))

        for page in (asked, plain, member):
            assert "2 documents are pending with คคง." in page
        assert "Close it all the same" in asked
        assert "Take it out all the same" in member
        assert "คคง." in listed
        assert 'data-said="คคง.: Closed"' in closed

    async def test_is_done_at_once_where_none_do(self, sit: Sit, signed_in: SignIn) -> None:
        desk = await desk_of(signed_in)
        browser = await sit("admin", "en")

        closed = await browser.post("/organizations/close", data={"ref": desk.organizations["คคง."]}, headers=FRAGMENT)

        assert 'data-said="คคง.: Closed"' in html_of(closed)
