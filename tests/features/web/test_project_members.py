"""The organizations of a project and the parties of a contract in the browser."""

import re

import httpx
from fastapi import FastAPI

from tests.features.web.conftest import Sit
from tests.features.web.grid_pages import FRAGMENT, contract_of, faults, home_of, open_row, opened, packed, verdicts
from tests.features.web.page_html import html_of
from tests.other_project import add_other_project

NEW = {"organizationCode": "ผรม.9", "organizationName": "ผู้รับเหมางานไฟฟ้า", "role": "CONTRACTOR"}


def ref_of(page: str, code: str) -> str:
    """Return the public id of an organization of the list."""
    found = re.search(rf'data-ref="([^"]+)"[^>]*><tr data-opens><td[^>]*><a[^>]*>{re.escape(code)}</a>', page)
    assert found, f"{code} is not in the list"
    return found[1]


class TestMembers:
    async def test_come_from_the_register_or_go_into_it_with_the_same_row(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/members"

        nameless = await browser.post(f"{url}/save", data=NEW | {"organizationName": ""}, headers=FRAGMENT)
        added = html_of(await browser.post(f"{url}/save", data=NEW, headers=FRAGMENT))
        register = html_of(await browser.get("/organizations", params={"q": "ผรม.9"}))
        offered = html_of(await browser.get(f"{url}/offers", params={"organizationCode": "ไฟฟ้า"}, headers=FRAGMENT))

        assert faults(nameless) == {"organizationName": "“ผรม.9” is new to the register: type its name, too."}
        assert 'data-said="ผรม.9: Added"' in added
        assert "is-new" in added
        assert ">ผรม.9</a>" in register
        assert re.findall(r'<option value="([^"]+)" data-name="([^"]+)"', offered) == [("ผรม.9", "ผู้รับเหมางานไฟฟ้า")]

    async def test_change_their_role_and_leave(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/members"
        await browser.post(f"{url}/save", data=NEW)
        ref = ref_of(html_of(await browser.get(url)), "ผรม.9")

        row = html_of(await browser.get(f"{url}/line", params={"row": ref}, headers=FRAGMENT))
        changed = html_of(await browser.post(f"{url}/save", data={"ref": ref, "role": "DESIGNER"}, headers=FRAGMENT))
        wrong = await browser.post(f"{url}/save", data={"ref": ref, "role": "KING"}, headers=FRAGMENT)
        gone = html_of(await browser.post(f"{url}/close", data={"ref": ref}, headers=FRAGMENT))
        again = await browser.post(f"{url}/close", data={"ref": ref}, headers=FRAGMENT)

        assert 'name="organizationCode"' not in row
        assert '<option value="CONTRACTOR" selected' in row
        assert "Designer" in changed
        assert list(faults(wrong)) == ["role"]
        assert 'data-said="ผรม.9: Taken out"' in gone
        assert "ผรม.9" not in html_of(await browser.get(url))
        assert again.status_code == httpx.codes.NOT_FOUND

    async def test_stay_while_something_needs_them(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/members"
        ref = ref_of(html_of(await browser.get(url)), "คคง.")

        answer = await browser.post(f"{url}/close", data={"ref": ref})

        assert answer.status_code == httpx.codes.CONFLICT
        assert "คคง. is a party of a contract: take it out there first." in html_of(answer)

    async def test_have_the_name_that_belongs_to_their_code(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/members"

        empty = await browser.post(f"{url}/save", data={"role": "OWNER"}, headers=FRAGMENT)
        other = await browser.post(f"{url}/save", data=NEW | {"organizationCode": "คคง."}, headers=FRAGMENT)

        assert faults(empty) == {"organizationCode": "Required"}
        assert list(faults(other)) == ["organizationCode"]
        assert "This is the code of “" in html_of(other)
        assert 'value="ผู้รับเหมางานไฟฟ้า"' in html_of(other)

    async def test_tell_of_a_role_that_somebody_else_has_changed(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/members"
        await browser.post(f"{url}/save", data=NEW)
        ref = ref_of(html_of(await browser.get(url)), "ผรม.9")
        mine, theirs = [await open_row(browser, url, ref) for _ in range(2)]

        await browser.post(f"{url}/save", data=theirs | {"role": "DESIGNER"})
        saved = await browser.post(f"{url}/save", data=mine | {"role": "OWNER"}, headers=FRAGMENT)
        gone = await browser.post(f"{url}/close", data=mine, headers=FRAGMENT)
        again = await browser.post(
            f"{url}/save", data=mine | {"role": "OWNER", "etag": opened(html_of(saved), "etag")}, headers=FRAGMENT
        )

        assert [saved.status_code, gone.status_code] == [412, 412]
        assert "<strong>Designer" in html_of(saved)
        assert '<option value="OWNER" selected' in html_of(saved)
        assert "ผู้รับเหมางานไฟฟ้า" in html_of(saved)
        assert 'data-said="ผรม.9: Saved"' in html_of(again)

    async def test_come_from_a_spreadsheet_and_go_into_one(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/members"
        rows = ["ผรม.9\tผู้รับเหมางานไฟฟ้า\tElectrical\tDesigner", "คคง.\t\t\tContractor", "กทท．", "Q\t\t\t"]

        wrong = await browser.post(f"{url}/check", data={"pasted": "\n".join(rows)})
        shown = await browser.post(f"{url}/check", data=packed(wrong) | {"fix4.organizationName": "ใหม่"})
        before = html_of(await browser.get(url))
        saved = await browser.post(f"{url}/check", data=packed(shown) | {"apply": "1"})
        after = html_of(await browser.get(saved.headers["location"]))
        workbook = await browser.get(f"{url}/export")
        same = await browser.post(f"{url}/upload", files={"file": ("rows.xlsx", workbook.content)})

        assert verdicts(wrong) == []
        assert "type its name, too" in html_of(wrong)
        assert sorted(verdicts(shown)) == [("1", "New"), ("2", "Changed"), ("3", "The same"), ("4", "New")]
        assert "ผรม.9" not in before
        assert ref_of(after, "ผรม.9") != ref_of(after, "Q")
        assert {said for _, said in verdicts(same)} == {"The same"}

    async def test_may_have_rows_that_are_no_records_and_words_of_offices(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await home_of(browser)}/members"
        rows = ["LK-1\tหนึ่ง\t\tผู้รับจ้าง", "LK-2\tสอง\t\tอื่น ๆ", "lk-1\tสาม", "รหัส\tชื่อภาษาไทย", "รวม 3 ราย\t\t\t"]

        wrong = await browser.post(f"{url}/check", data={"pasted": "\n".join(rows)})
        right = await browser.post(f"{url}/check", data=packed(wrong) | {"fix3.organizationCode": "LK-3"})
        saved = await browser.post(f"{url}/check", data=packed(right) | {"apply": "1"})
        alike = await browser.post(f"{url}/check", data={"pasted": "lk-2\tสอง"})
        counted = html_of(await browser.post(f"{url}/check", data={"pasted": "1\tA\tหนึ่ง\n2\tB\tสอง"}))

        assert 'id="e-3-organizationCode"' in wrong.text
        assert sorted(verdicts(right)) == [*((line, "New") for line in "123"), ("4", "Left out"), ("5", "Left out")]
        assert ("Contractor" in html_of(right), saved.status_code) == (True, httpx.codes.SEE_OTHER)
        assert verdicts(alike) == [("1", "The same")]
        assert "The first column seems to count the rows" in counted

    async def test_of_a_spreadsheet_are_named_by_row_where_the_register_says_otherwise(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        url = f"{await home_of(browser)}/members"
        rows = ["คคง.\tคนอื่น\t\t", "คคง．\t\t\tDesigner", "NEW\tใหม่\t\t", "กทท.\t\tElse\tOwner", "ผรม.1\t\t\tKing"]

        wrong = html_of(await browser.post(f"{url}/check", data={"pasted": "\n".join(rows)}))

        said = dict(re.findall(r'<div class="fault" id="e-(\d+-\w+)">([^<]*)<', wrong))
        assert said["1-organizationCode"].startswith("This is the code of “")
        assert said["2-organizationCode"] == "Row 1 has the same code, or one that looks like it."
        assert said["3-organizationCode"].startswith(
            "“NEW” is not in the register. Only a Super Admin adds organizations"
        )
        assert said["4-organizationNameEn"].startswith("The register says “")
        assert "5-role" in said


class TestParties:
    async def test_take_part_in_the_project_too(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        url = f"{await contract_of(browser)}/parties"

        added = await browser.post(f"{url}/save", data=NEW)
        parties = html_of(await browser.get(added.headers["location"]))
        members = html_of(await browser.get(f"{await home_of(browser)}/members"))

        assert ref_of(parties, "ผรม.9") == ref_of(members, "ผรม.9")


class TestRights:
    async def test_a_project_admin_takes_in_those_of_the_register(self, sit: Sit, app: FastAPI) -> None:
        await add_other_project(app.state.db)
        browser = await sit("padmin", "en")
        url = f"{await home_of(browser)}/members"

        known = await browser.post(f"{url}/save", data={"organizationCode": "อื่น", "role": "OTHER"})
        new = await browser.post(f"{url}/save", data=NEW)

        assert [known.status_code, new.status_code] == [303, 422]
        assert faults(new) == {
            "organizationCode": "“ผรม.9” is not in the register. Only a Super Admin adds organizations: ask อารีย์ ดูแลระบบ."
        }
        assert 'value="ผู้รับเหมางานไฟฟ้า"' in html_of(new)

    async def test_readers_see_the_list_and_strangers_nothing(self, sit: Sit, app: FastAPI) -> None:
        other = await add_other_project(app.state.db)
        reader = await sit("viewer", "en")
        mine = [f"{await home_of(reader)}/members", f"{await contract_of(reader)}/parties"]
        place = f"/projects/{other['project']}/setup"
        theirs = [f"{place}/members", f"{place}/contracts/{other['contract']}/parties"]

        for url in mine:
            page = html_of(await reader.get(url))
            assert "คคง." in page
            assert "<select" not in page
            answers = [
                await reader.post(f"{url}/save", data=NEW),
                await reader.get(f"{url}/offers"),
            ]
            assert [one.status_code for one in answers] == [403, 403]
        assert [(await reader.get(url)).status_code for url in theirs] == [404, 404]
        assert [(await reader.post(f"{url}/save", data=NEW)).status_code for url in theirs] == [404, 404]
        assert [(await reader.post(f"{url}/close", data={"ref": "x"})).status_code for url in theirs] == [404, 404]
