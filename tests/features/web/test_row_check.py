"""Rows of a spreadsheet, pasted or in a file: what they would do, corrected where they are wrong, saved all together or not at all."""

import re
from pathlib import Path

import httpx

from saraban.kit.workbooks import SheetWriter
from tests.features.web.conftest import Sit
from tests.features.web.grid_pages import contract_of, home_of, packed, verdicts
from tests.features.web.page_html import html_of
from tests.numbering_requests import GENERATE, read_project

PASTED = "P1\tหนึ่ง\tOne\r\nP2\tสอง\t\r\nTER\tท่าเทียบเรือ\tTerminal\r\nP1\tซ้ำ\tTwice\r\n"


def faults(answer: httpx.Response) -> dict[str, str]:
    return dict(re.findall(r'<div class="fault" id="e-(\d+-\w+)">([^<]*)<', html_of(answer)))


class TestPastedRows:
    async def test_are_corrected_at_the_cells_that_are_wrong_and_saved_together(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        url = f"{await contract_of(browser)}/disciplines"

        wrong = await browser.post(f"{url}/check", data={"pasted": PASTED})
        fixed = {"fix2.nameEn": "Two", "fix4.code": "P4", "fix9.code": "X", "fix2.nothing": "X"}
        right = await browser.post(f"{url}/check", data=packed(wrong) | fixed)
        before = html_of(await browser.get(url))
        saved = await browser.post(f"{url}/check", data=packed(right) | {"apply": "1"})
        after = html_of(await browser.get(saved.headers["location"]))
        again = await browser.post(f"{url}/check", data=packed(right))

        assert wrong.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert faults(wrong) == {
            "2-nameEn": "Required",
            "4-code": "Row 1 has the same code, or one that looks like it.",
        }
        assert 'name="fix2.nameEn"' in wrong.text
        assert "apply" not in wrong.text
        assert [said for _, said in sorted(verdicts(right))] == ["New", "New", "The same", "New"]
        assert "P1" not in before
        assert all(f">{code}</a>" in after for code in ("P1", "P2", "P4"))
        assert "Rows saved: <strong>3</strong>" in after
        assert [said for _, said in verdicts(again)] == ["The same"] * 4
        assert "apply" not in again.text

    async def test_may_have_headings_choices_and_days_as_people_write_them(self, sit: Sit) -> None:
        browser = await sit("padmin", "th")
        tags, contracts = [f"{await home_of(browser)}/{name}" for name in ("tags", "contracts")]

        rows = {"pasted": "สี\tรหัส\tชื่อภาษาไทย\nแดง\tR\tด่วน\n"}
        red = await browser.post(
            f"{tags}/check", data=packed(await browser.post(f"{tags}/check", data=rows)) | {"apply": "1"}
        )
        nameless = await browser.post(f"{tags}/check", data={"pasted": "\tด่วน\n"})
        dated = {"pasted": "C7\tงาน\tWorks\t\t5/1/2569\t29/12/2571\n"}
        found = html_of(await browser.post(f"{contracts}/check", data=dated))

        assert 'data-color="red"' in html_of(await browser.get(red.headers["location"]))
        assert "29/12/2571" in found
        assert list(faults(nameless)) == ["1-code"]

    async def test_ask_before_series_of_numbers_begin_anew(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        project = await read_project(browser)
        wanted = {"contractPublicId": project.contracts["LCBP3-C2"], "subTypeCode": "GEN"}
        issued = await browser.post(
            GENERATE, json=project.letter() | wanted | {"correspondenceTypeCode": "TRANSMITTAL"}
        )
        url = f"{await contract_of(browser)}/sub-types"
        row = {"pasted": "GEN\tทั่วไป\tGeneral\t99\tTRANSMITTAL"}

        asked = await browser.post(f"{url}/check", data=row)
        saved = await browser.post(f"{url}/check", data=packed(asked) | {"apply": "1", "confirm": "1"})

        assert issued.status_code == httpx.codes.CREATED, issued.text
        assert asked.status_code == httpx.codes.CONFLICT
        assert "last issued 1" in html_of(asked)
        assert 'name="confirm" value="1"' in html_of(asked)
        assert ">99<" in html_of(await browser.get(saved.headers["location"]))

    async def test_need_at_least_one_row_that_was_packed_here(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        url = f"{await contract_of(browser)}/disciplines"

        answers = [
            await browser.post(f"{url}/check", data=sent)
            for sent in ({"pasted": " \n\t\n"}, {}, {"rows": "no such thing"}, {"rows": "eJyrrgUAAXUA-Q=="})
        ]

        assert [one.status_code for one in answers] == [httpx.codes.UNPROCESSABLE_ENTITY] * 4
        assert all("Required" in html_of(one) for one in answers[:2])
        assert all("paste the rows again" in html_of(one) for one in answers[2:])


class TestFiles:
    async def test_are_shown_before_they_are_imported(self, sit: Sit, tmp_path: Path) -> None:
        browser = await sit("padmin", "en")
        url = f"{await contract_of(browser)}/disciplines"
        path = tmp_path / "rows.xlsx"
        with SheetWriter(path, ["code", "nameTh", "nameEn"], "disciplines") as sheet:
            sheet.add(["X1", "หนึ่ง", "One"])
            sheet.add([22, "สอง", "Two"])

        shown = await browser.post(f"{url}/upload", files={"file": ("rows.xlsx", path.read_bytes())})
        saved = await browser.post(f"{url}/check", data=packed(shown) | {"apply": "1"})
        export = re.search(r'href="([^"]+/export)"', html_of(await browser.get(url)))

        assert verdicts(shown) == [("2", "New"), ("3", "New")]
        assert ">22</a>" in html_of(await browser.get(saved.headers["location"]))
        assert export
        assert (await browser.get(export[1])).content.startswith(b"PK")

    async def test_say_what_is_the_matter_with_them(self, sit: Sit, tmp_path: Path) -> None:
        browser = await sit("padmin", "en")
        url = f"{await contract_of(browser)}/disciplines"
        path = tmp_path / "rows.xlsx"
        with SheetWriter(path, ["code", "remark"], "rows") as sheet:
            sheet.add(["X1", "one"])

        broken = await browser.post(f"{url}/upload", files={"file": ("rows.xlsx", b"no workbook")})
        columns = await browser.post(f"{url}/upload", files={"file": ("rows.xlsx", path.read_bytes())})

        with SheetWriter(path, ["code", "nameTh", "nameEn"], "rows"):
            pass
        empty = await browser.post(f"{url}/upload", files={"file": ("rows.xlsx", path.read_bytes())})

        assert [broken.status_code, columns.status_code, empty.status_code] == [422, 422, 200]
        assert "The file must be XLSX" in html_of(broken)
        assert "Required" in html_of(columns) or "is missing" in html_of(columns)


class TestRights:
    async def test_nobody_else_checks_rows_or_saves_them(self, sit: Sit) -> None:
        admin = await sit("padmin", "en")
        url = f"{await contract_of(admin)}/disciplines"
        shown = packed(await admin.post(f"{url}/check", data={"pasted": "P1\tหนึ่ง\tOne"}))

        for username in ("viewer", "dc.contractor"):
            browser = await sit(username)
            answers = [
                await browser.post(f"{url}/check", data={"pasted": PASTED}),
                await browser.post(f"{url}/check", data=shown | {"apply": "1"}),
                await browser.post(f"{url}/upload", files={"file": ("rows.xlsx", b"")}),
                await browser.post("/organizations/check", data={"pasted": "X\tY"}),
            ]
            assert [one.status_code for one in answers] == [403] * 4, username
