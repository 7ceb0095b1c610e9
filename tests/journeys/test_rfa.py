"""The main job, seen from the chairs of three people: a contractor asks, a consultant reviews, an owner approves."""

import struct
import zlib

import pytest
from playwright.async_api import FilePayload, expect

from tests.journeys.conftest import Person, Sit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]

NUMBER = "LCBP3-C2-RFA-TER-MST-0001-A"
SUBJECT = "ขออนุมัติรายงานผลการตอกเสาเข็มท่าเทียบเรือ ที่ตำแหน่ง A-12"
INDIGO = "rgb(99, 102, 241)"


def pdf() -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
    )


def png(width: int = 64, height: int = 48) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + bytes([40, 90, 200]) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class TestRfa:
    async def test_goes_from_the_contractor_over_the_consultant_to_the_owner(self, sit: Sit) -> None:
        contractor = await sit()
        await contractor.goto("/login")
        await contractor.picture("01-log-in-th")
        await contractor.log_in("dc.contractor")
        address = await self.create(contractor)
        await self.preview_files(contractor)
        await self.act(contractor, "submit", "รอตรวจสอบ")

        reviewer = await sit("reviewer.consultant", moves=True)
        await self.open_from_inbox(reviewer, "06-inbox-th")
        await self.act(reviewer, "approve", "รออนุมัติ", comment="ตรวจสอบแล้ว เห็นควรอนุมัติ")

        owner = await sit("approver.owner", language="en", moves=True)
        await self.open_from_inbox(owner, "08-inbox-en")
        await self.act(owner, "approve", "Approved")
        await owner.picture("09-approved-en", whole=True)

        await self.everybody_sees_it(contractor, address)
        assert contractor.complaints + reviewer.complaints + owner.complaints == []

    async def create(self, person: Person) -> str:
        page = person.page
        await person.goto("/rfas/new")
        await expect(page.locator("#number")).to_contain_text("ยังต้องระบุ")
        await page.select_option("[name=rfaTypeCode]", "MST")
        await page.select_option("[name=disciplineCode]", "TER")
        await expect(page.locator("#number [data-number]")).to_have_text(NUMBER)
        await page.fill("[name=subject]", SUBJECT)
        await page.fill("[name=body]", "ตามสัญญาข้อ 12 ผู้รับเหมาขอส่งรายงานผลการตอกเสาเข็มเพื่อพิจารณาอนุมัติ")
        files = [
            FilePayload(name="รายงานผลการตอกเสาเข็ม.pdf", mimeType="application/pdf", buffer=pdf()),
            FilePayload(name="ภาพหน้างาน.png", mimeType="image/png", buffer=png()),
        ]
        await page.set_input_files("form#create input[type=file]", files)
        await expect(page.locator(".upload-row.is-done")).to_have_count(2)
        await person.picture("02-new-rfa-th", whole=True)
        await page.click("form#create [data-submit]")
        await page.wait_for_url("**/rfas/*?created=1")
        await expect(page.locator("#document-number")).to_have_text(NUMBER)
        await expect(page.locator(".file")).to_have_count(2)
        await person.picture("03-draft-th", whole=True)
        return page.url.partition("?")[0]

    async def preview_files(self, person: Person) -> None:
        page = person.page
        for kind, shown, name in (("image/png", "img", "04-image-th"), ("application/pdf", "iframe", "05-pdf-th")):
            await page.click(f'.file [data-preview="{kind}"]')
            await expect(page.locator(f"#preview[open] {shown}")).to_be_visible()
            await person.picture(name)
            await page.keyboard.press("Escape")
            await expect(page.locator("#preview")).to_be_hidden()

    async def act(self, person: Person, action: str, state: str, *, comment: str = "") -> None:
        page = person.page
        await page.click(f'.banner [data-action="{action}"]')
        dialog = page.locator(f"#act-{action}")
        if comment:
            await dialog.locator("textarea").fill(comment)
        await dialog.locator("[data-submit]").click()
        await expect(page.locator(".banner .badge-state").first).to_have_text(state)

    async def open_from_inbox(self, person: Person, name: str) -> None:
        await person.picture(name)
        await person.page.click(f'#inbox a:has-text("{NUMBER}")')
        await expect(person.page.locator("#document-number")).to_have_text(NUMBER)
        marker = person.page.locator(".step.is-current .marker")
        assert await marker.evaluate("element => getComputedStyle(element).backgroundColor") == INDIGO
        assert await marker.evaluate("element => getComputedStyle(element, '::after').animationName") == "pulse"
        await person.picture(f"{name}-document", whole=True)

    async def everybody_sees_it(self, person: Person, address: str) -> None:
        page = person.page
        await page.goto(address)
        await expect(page.locator(".timeline .step.is-done")).to_have_count(3)
        await expect(page.locator(".timeline .step-title").last).to_have_text("อนุมัติแล้ว 1A")
        await expect(page.locator(".timeline")).to_contain_text("ตรวจสอบแล้ว เห็นควรอนุมัติ")
        await person.picture("10-approved-th", whole=True)
        await person.goto("/rfas")
        await page.fill("#q", "ตำแหน่ง A-12")
        await expect(page.locator("#list tbody tr")).to_have_count(1)
        await page.wait_for_url("**/rfas?q=*")
        await person.picture("11-register-th")
