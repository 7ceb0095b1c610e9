"""Registers of drawings out of a file: checked line by line, imported once that is said, and the same again when run again."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from xlsxwriter import Workbook

from tests.conftest import unwrapped, unwrapped_items
from tests.drawing_imports import CONTRACT_HEAD, SHOP_HEAD, DrawingImports, drawing_worker
from tests.features.documents.conftest import Desk, pointers
from tests.number_imports import sheet_of

FIRST, SECOND = "LP3-HW-ST-001", "LP3-HW-ST-002"


@pytest.fixture
async def imports(desk: Desk, app: FastAPI, tmp_path: Path) -> DrawingImports:
    return DrawingImports(await desk.as_("admin"), app, desk.project, tmp_path)


async def register(imports: DrawingImports, kind: str = "shop") -> dict[str, list[str]]:
    """Return the labels of each drawing of a register, the current one last, by number."""
    query = {"projectPublicId": imports.project, "limit": 100}
    found = {}
    for one in unwrapped_items(await imports.client.get(f"/api/v1/drawings/{kind}", params=query)):
        whole = unwrapped(await imports.client.get(f"/api/v1/drawings/{kind}/{one['publicId']}"))
        assert whole["revision"]["publicId"] == whole["revisions"][0]["publicId"]
        found[one["drawingNumber"]] = [revision["revisionLabel"] for revision in reversed(whole["revisions"])]
    return found


def faults(found: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(one["line"], one["column"], one["code"]) for one in found["report"]["faults"]]


def counts(found: dict[str, Any]) -> dict[str, int | None]:
    return {name: found["report"][name] for name in ("ready", "there", "waiting", "refused", "imported")}


class TestCheck:
    async def test_says_what_would_come_and_writes_nothing(self, imports: DrawingImports) -> None:
        found = await imports.checked(
            [FIRST, "", "", "0", "2026-02-28", "แปลนฐานราก"], [FIRST, "", "", "1", "", "แปลนฐานราก"]
        )

        assert (found["state"], found["rowsTotal"], found["rowsDone"]) == ("CHECKED", 2, 2)
        assert counts(found) == {"ready": 2, "there": 0, "waiting": 0, "refused": 0, "imported": None}
        assert await register(imports) == {}

    async def test_reads_the_sheet_that_is_named(self, imports: DrawingImports, tmp_path: Path) -> None:
        with Workbook(str(tmp_path / "two.xlsx")) as book:
            for name, number in (("เดิม", FIRST), ("ใหม่", SECOND)):
                sheet = book.add_worksheet(name)
                sheet.write_row(0, 0, ["drawing_number", "title"])
                sheet.write_row(1, 0, [number, "แปลน"])
        sent = await imports.send_bytes((tmp_path / "two.xlsx").read_bytes(), "shop", "two.xlsx", sheet="ใหม่")
        assert await drawing_worker(imports.app).round()
        await imports.commit("shop", sent.json()["publicId"])
        assert await drawing_worker(imports.app).round()

        assert list(await register(imports)) == [SECOND]

    async def test_offers_the_codes_of_a_project_in_the_template(self, imports: DrawingImports) -> None:
        query = {"projectPublicId": imports.project}
        answer = await imports.client.get("/api/v1/drawings/shop/imports/template", params=query)

        with zipfile.ZipFile(BytesIO(answer.content)) as packed:
            rows, lists = (packed.read(f"xl/worksheets/sheet{number}.xml") for number in (1, 3))
        assert b"LCBP3-C2" in lists
        assert b'errorStyle="information"' in rows

    async def test_names_the_row_and_the_column(self, imports: DrawingImports, tmp_path: Path) -> None:
        await imports.imported([SECOND, "", "", "3", "", "แปลนฐานราก"])
        found = await imports.checked(
            ["", "", "", "0", "", "แปลน"],
            ["N-1", "", "", "0", "", "ก" * 300],
            ["N-2", "", "", "0", "31/2/2569", "แปลน"],
            ["N-3", "", "", "B", "", "แปลน"],
            ["N-4", "", "", "0", "", "แปลน"],
            ["N-4", "", "", "0", "", "แปลน"],
            [SECOND, "", "", "2", "", "แปลนฐานราก"],
            [SECOND, "", "", "3", "", "ชื่ออื่น"],
            ["=1+1", "", "", "0", "", "แปลน"],
            name="bad.csv",
        )

        assert faults(found) == [
            (2, "drawing_number", "required"),
            (3, "title", "too_long"),
            (4, "revision_date", "no_such_day"),
            (10, "drawing_number", "formula"),
            (5, "revision", "not_in_scheme"),
            (7, "revision", "twice"),
            (8, "revision", "not_forward"),
            (9, "title", "differs"),
        ]
        assert counts(found)["ready"] == 1

    async def test_takes_what_is_no_sheet_for_none(self, imports: DrawingImports) -> None:
        found = [
            (await imports.send_bytes(content, "shop", name)).status_code
            for content, name in ((b"", "empty.xlsx"), (b"%PDF-1.7", "drawing.xlsx"), (b"a,b", "drawing.pdf"))
        ]
        sent = await imports.send(["N-1", "แปลน"], head=["drawing_number", "name"])
        assert await drawing_worker(imports.app).round()
        failed = await imports.read("shop", sent.json()["publicId"])

        assert found == [422, 422, 422]
        assert (failed["state"], failed["problem"]["code"]) == ("FAILED", "VALIDATION_ERROR")
        assert "Title" in failed["problem"]["message"]

    async def test_reads_headings_in_any_order_and_language(self, imports: DrawingImports) -> None:
        head = ["ชื่อแบบ", "Revision date", "เลขที่แบบ / Drawing number", "REVISION", "มาตราส่วน"]
        found = await imports.imported(["แปลนฐานราก", "31/12/2569", FIRST, "2", "1:100"], head=head)

        query = {"projectPublicId": imports.project}
        (one,) = unwrapped_items(await imports.client.get("/api/v1/drawings/shop", params=query))
        assert counts(found)["imported"] == 1
        assert (one["revision"]["revisionDate"], one["revision"]["revisionLabel"], one["scale"]) == (
            "2026-12-31",
            "2",
            "1:100",
        )


class TestImport:
    async def test_sorts_the_lines_of_a_drawing(self, imports: DrawingImports) -> None:
        lines = [[FIRST, "", "", label, "", "แปลนฐานราก"] for label in ("2", "0", "1")]
        done = await imports.imported(*lines, [SECOND, "", "", "5", "", "แปลนคาน"])

        assert (done["state"], counts(done)["imported"]) == ("DONE", 4)
        assert await register(imports) == {FIRST: ["0", "1", "2"], SECOND: ["5"]}

    async def test_is_the_same_when_it_is_run_again(self, imports: DrawingImports) -> None:
        lines = [[FIRST, "", "", label, "2026-02-28", "แปลนฐานราก"] for label in ("0", "1")]
        await imports.imported(*lines)
        again = await imports.imported(*lines, [FIRST, "", "", "2", "", "แปลนฐานราก"])

        assert counts(again) == {"ready": 1, "there": 2, "waiting": 0, "refused": 0, "imported": 1}
        assert await register(imports) == {FIRST: ["0", "1", "2"]}

    async def test_adds_to_what_was_registered_by_hand(self, imports: DrawingImports, desk: Desk) -> None:
        made = await desk.register("admin", "shop", FIRST)
        await imports.imported([FIRST, "", "", "1", "", "แปลนฐานราก แก้ไข"])

        whole = unwrapped(await imports.client.get(f"/api/v1/drawings/shop/{made['publicId']}"))
        newer, older = whole["revisions"]
        assert (older["isCurrent"], newer["isCurrent"]) == (False, True)
        assert older["currentUntil"] == newer["currentFrom"]
        assert whole["revision"]["title"] == "แปลนฐานราก แก้ไข"

    async def test_leaves_the_classification_of_what_is_registered(self, imports: DrawingImports, desk: Desk) -> None:
        made = await desk.register("admin", "shop", FIRST)
        done = await imports.imported([FIRST, "NOWHERE", "", "1", "", "แปลนฐานราก"])

        whole = unwrapped(await imports.client.get(f"/api/v1/drawings/shop/{made['publicId']}"))
        assert counts(done)["imported"] == 1
        assert whole["category"] is None

    async def test_takes_an_empty_revision_for_the_first_one_whatever_the_scheme_is_by_now(
        self, imports: DrawingImports
    ) -> None:
        lines = [[FIRST, "", "", label, "", "แปลน"] for label in ("", "1")]
        await imports.imported(*lines)
        path = f"/api/v1/projects/{imports.project}/drawing-registers/shop"
        await imports.client.put(path, json={"revisionScheme": "A", "approval": "rfa"})

        again = await imports.imported(*lines)

        assert counts(again) == {"ready": 0, "there": 2, "waiting": 0, "refused": 0, "imported": 0}
        assert await register(imports) == {FIRST: ["0", "1"]}

    async def test_refuses_a_new_drawing_whose_lines_disagree_on_whose_it_is(self, imports: DrawingImports) -> None:
        head = [*SHOP_HEAD, "originator"]
        lines = [
            [number, "", "", label, "", "แปลน", code]
            for number, codes in ((FIRST, ("ผรม.2", "คคง.")), (SECOND, ("ผรม.2", "")))
            for label, code in enumerate(codes)
        ]
        done = await imports.imported(*lines, head=head, originator="คคง.")
        again = await imports.imported(*lines, head=head, originator="คคง.")

        disagree = [(2, "originator", "disagree"), (3, "originator", "disagree")]
        assert [faults(done), faults(again)] == [disagree, disagree]
        assert [(counts(one)["imported"], counts(one)["there"]) for one in (done, again)] == [(2, 0), (0, 2)]
        assert await register(imports) == {SECOND: ["0", "1"]}

    async def test_registers_zone_status_and_former_number_once(self, imports: DrawingImports) -> None:
        head = [*SHOP_HEAD, "โซน", "รหัสสถานะ", "เลขที่แบบเดิม"]
        stated = ["โซน 2", "S2", "เดิม-7"]
        await imports.imported([FIRST, "", "", "0", "", "แปลน", *stated], head=head)
        again = await imports.checked([FIRST, "", "", "0", "", "แปลน", *stated], head=head)
        other = await imports.checked([FIRST, "", "", "0", "", "แปลน", "", "S3", ""], head=head)

        query = {"projectPublicId": imports.project}
        (one,) = unwrapped_items(await imports.client.get("/api/v1/drawings/shop", params=query))
        whole = unwrapped(await imports.client.get(f"/api/v1/drawings/shop/{one['publicId']}"))
        (revision,) = whole["revisions"]
        assert [whole["zone"], revision["statusCode"], revision["legacyNumber"]] == stated
        assert (counts(again)["there"], faults(other)) == (1, [(2, "status_code", "differs")])

    async def test_says_what_of_a_registered_drawing_stays(self, imports: DrawingImports) -> None:
        head = [*SHOP_HEAD, "scale"]
        lines = [[FIRST, "", "", label, "", "แปลน", scale] for label, scale in (("0", "1:200"), ("1", "1:100"))]
        await imports.imported(*lines, head=head)
        found = await imports.checked(*lines[:1], [*lines[1][:-1], "1:50"], head=head)

        answer = await imports.client.get(f"/api/v1/drawings/shop/imports/{found['publicId']}/result")
        path = imports.folder / "result.xlsx"
        path.write_bytes(answer.content)
        reasons = [row[-2] for row in sheet_of(path)]
        assert counts(found)["there"] == 2
        assert "1:100" in str(reasons[-1])
        assert not reasons[-2]

    async def test_goes_on_past_refused_lines(self, imports: DrawingImports) -> None:
        done = await imports.imported([FIRST, "", "", "X", "", "แปลน"], [SECOND, "", "", "0", "", "แปลน"])

        assert (done["rowsRefused"], await register(imports)) == (1, {SECOND: ["0"]})

    async def test_is_started_once(self, imports: DrawingImports) -> None:
        done = await imports.imported([FIRST, "", "", "0", "", "แปลน"])

        again = await imports.commit("shop", done["publicId"])

        assert (again.status_code, again.json()["code"]) == (409, "IMPORT_NOT_CHECKED")

    async def test_gives_each_line_its_result(self, imports: DrawingImports) -> None:
        done = await imports.imported([FIRST, "", "", "X", "", "แปลน"], [SECOND, "", "", "0", "", "แปลน"])

        answer = await imports.client.get(f"/api/v1/drawings/shop/imports/{done['publicId']}/result")

        assert answer.status_code == httpx.codes.OK
        assert answer.content[:2] == b"PK"


class TestMissing:
    async def test_is_listed_and_left_alone(self, imports: DrawingImports) -> None:
        line = [FIRST, "แปลนฐานราก", "VOL-9", 12, "ZZ", "ZZ-1"]
        found = await imports.checked(line, kind="contract")
        await imports.commit("contract", found["publicId"])
        await drawing_worker(imports.app).round()
        done = await imports.read("contract", found["publicId"])

        missing = {"volumes": ["VOL-9"], "categories": ["ZZ"], "subCategories": ["ZZ-1"], "pairs": [["ZZ", "ZZ-1"]]}
        assert (found["report"]["missing"], counts(found)["waiting"]) == (missing, 1)
        assert (done["state"], done["rowsRefused"], await register(imports, "contract")) == ("DONE", 1, {})

    async def test_does_not_hide_what_else_is_wrong_with_a_line(self, imports: DrawingImports) -> None:
        lines = [[FIRST, "ZZ", "", label, "", "แปลน"] for label in ("0", "0", "Rev.1", "1")]

        found = await imports.checked(*lines)

        assert counts(found) == {"ready": 0, "there": 0, "waiting": 2, "refused": 2, "imported": None}
        assert [one["message"] for one in found["report"]["faults"] if one["line"] == 3] == [
            "Row 2 has the same number and revision."
        ]

    async def test_is_made_when_that_is_said(self, imports: DrawingImports) -> None:
        lines = [[f"N-{place}", "แปลน", "VOL-9", place, "ZZ", f"ZZ-{place}"] for place in (1, 2)]
        lines.append(["N-3", "แปลน", "vol\u20119", "", "YY", "zz-1"])
        done = await imports.imported(*lines, kind="contract", create_missing=True)
        shop = await imports.imported([FIRST, "QQ", "QQ-1", "0", "", "แปลน"], create_missing=True)

        assert (counts(done)["imported"], counts(shop)["imported"]) == (3, 1)
        query = {"projectPublicId": imports.project}
        found = unwrapped_items(await imports.client.get("/api/v1/drawings/contract", params=query))
        assert [(one["category"]["code"], one["subCategory"]["code"], one["volumePage"]) for one in found] == [
            ("ZZ", "ZZ-1", 1),
            ("ZZ", "ZZ-2", 2),
            ("YY", "ZZ-1", None),
        ]

    async def test_is_not_a_code_that_is_spelled_in_another_way(self, imports: DrawingImports) -> None:
        await imports.imported([FIRST, "แปลน", "VOL-9", 12, "ZZ", "ZZ-1"], kind="contract", create_missing=True)
        line = [SECOND, "แปลน", "vol\u20119", 13, "zz", "ＺＺ-1", "lcbp3\u2011c2", "ผรม．2"]
        head = [*CONTRACT_HEAD, "contract", "originator"]
        done = await imports.imported(line, line, head=head, kind="contract", originator="คคง．", contract="lcbp3-c2")

        assert (counts(done)["imported"], faults(done)) == (1, [(3, "revision", "twice")])
        query = {"projectPublicId": imports.project}
        found = unwrapped_items(await imports.client.get("/api/v1/drawings/contract", params=query))
        (other,) = [one for one in found if one["drawingNumber"] == SECOND]
        place = [other["category"]["code"], other["contract"]["contractCode"]]
        assert [*place, other["originator"]["organizationCode"]] == ["ZZ", "LCBP3-C2", "ผรม.2"]


class TestContractor:
    @pytest.fixture
    async def contractor(self, desk: Desk, app: FastAPI, tmp_path: Path) -> DrawingImports:
        return DrawingImports(await desk.as_("dc.contractor"), app, desk.project, tmp_path)

    async def test_imports_its_own_alone(self, contractor: DrawingImports) -> None:
        line = [FIRST, "", "", "0", "", "แปลน"]
        nobodys = await contractor.checked(line)
        own = await contractor.imported(line, originator="ผรม.1")
        others = await contractor.checked([SECOND, "", "", "0", "", "แปลน", "คคง."], head=[*SHOP_HEAD, "originator"])
        strange = await contractor.send(line, originator="NOBODY")

        assert faults(nobodys) == [(2, "originator", "forbidden")]
        assert counts(own)["imported"] == 1
        assert faults(others) == [(2, "originator", "not_yours")]
        assert (strange.status_code, pointers(strange)) == (422, ["query:originator"])

    async def test_learns_of_a_hidden_drawing_that_its_number_is_taken(
        self, imports: DrawingImports, contractor: DrawingImports
    ) -> None:
        await imports.imported([FIRST, "", "", "7", "", "ความลับ"], originator="สคฉ.3")

        found = await contractor.checked([FIRST, "", "", "7", "", "แปลน"], originator="ผรม.1")

        assert faults(found) == [(2, "drawing_number", "taken")]
        assert "ความลับ" not in str(found)

    async def test_sees_its_own_imports(self, imports: DrawingImports, contractor: DrawingImports) -> None:
        of_admin = await imports.checked([FIRST, "", "", "0", "", "แปลน"])
        own = await contractor.checked([SECOND, "", "", "0", "", "แปลน"], originator="ผรม.1")
        path = f"/api/v1/drawings/shop/imports/{of_admin['publicId']}"
        query = {"projectPublicId": imports.project}

        hidden = [
            (await contractor.client.get(path)).status_code,
            (await contractor.client.get(f"{path}/result")).status_code,
            (await contractor.commit("shop", of_admin["publicId"])).status_code,
        ]
        lists = [
            [
                one["publicId"]
                for one in (await who.client.get("/api/v1/drawings/shop/imports", params=query)).json()["items"]
            ]
            for who in (contractor, imports)
        ]

        assert hidden == [404, 404, 404]
        assert lists == [[own["publicId"]], [own["publicId"], of_admin["publicId"]]]

    async def test_makes_no_codes_of_the_project(self, contractor: DrawingImports) -> None:
        found = await contractor.checked([FIRST, "QQ", "", "0", "", "แปลน"], originator="ผรม.1")

        refused = await contractor.commit("shop", found["publicId"], create_missing=True)

        assert refused.status_code == httpx.codes.FORBIDDEN
        assert (await contractor.read("shop", found["publicId"]))["state"] == "CHECKED"
