"""Fifty drawings with their sheets: registered, submitted in one RFA, answered in three ways, resubmitted, and looked for a month ago."""

from collections.abc import Awaitable
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import FilePayload, expect

from saraban.kit.dates import date_in_figures, local_date
from tests.journeys.conftest import Person, Sit
from tests.numbering_requests import present

pytestmark = [
    pytest.mark.browser,
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]

SHEETS = 50
MOST_INTERACTIONS = 15
SUBMITTED = {"th": "รอตรวจสอบ", "en": "Pending review"}
NOTHING = {"th": "ไม่พบรายการ", "en": "No results"}
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
ITEMS = "section[aria-labelledby=s-items] tbody tr"


class Hands:
    """What somebody does with mouse and keyboard, counted."""

    def __init__(self, person: Person) -> None:
        self.page, self.count = person.page, 0

    async def do(self, *deeds: Awaitable[object]) -> None:
        for deed in deeds:
            self.count += 1
            await deed


@pytest.mark.parametrize("language", ["th", "en"])
async def test_fifty_drawings_go_through_one_rfa(sit: Sit, language: str) -> None:
    contractor = await sit("dc.contractor", language=language)
    numbers = [f"LP3-{language.upper()}-ST-{place:03}" for place in range(1, SHEETS + 1)]
    hands = Hands(contractor)

    await register(contractor, hands, numbers)
    address = await submit(contractor, hands)
    await expect(contractor.page.locator(".banner .badge-state").first).to_have_text(SUBMITTED[language])
    assert hands.count <= MOST_INTERACTIONS

    reviewer = await sit("reviewer.consultant", language=language)
    await answer(reviewer, address, {numbers[0]: "1N", numbers[1]: "3R", numbers[2]: "4X"})
    owner = await sit("approver.owner", language=language)
    await answer(owner, address, {})
    await resubmit(contractor, address, numbers[:3])
    await look_back(contractor, numbers[0], language)
    await pick(contractor, numbers[0])
    assert contractor.complaints + reviewer.complaints + owner.complaints == []


async def register(person: Person, hands: Hands, numbers: list[str]) -> None:
    page = person.page
    sheets = [FilePayload(name=f"{one}.pdf", mimeType="application/pdf", buffer=PDF) for one in numbers]
    await person.goto("/drawings/shop")
    await hands.do(
        page.click('a[href="/drawings/shop/new"]'),
        page.fill("[name=lines]", "\n".join(f"{one}\tแปลนฐานราก {one}\tFoundation plan {one}" for one in numbers)),
        page.set_input_files("input[type=file]", sheets),
        page.select_option("[name=disciplineCode]", "TER"),
    )
    await expect(page.locator(".upload-row.is-done")).to_have_count(len(numbers))
    await hands.do(page.click("[data-submit]"))
    await expect(page.locator(".alert-success")).to_contain_text(str(len(numbers)))


async def submit(person: Person, hands: Hands) -> str:
    """The link after the registration carries the numbers into the form."""
    page = person.page
    await hands.do(
        page.click(".alert-success a"),
        page.select_option("[name=rfaTypeCode]", "SDW"),
        page.select_option("[name=disciplineCode]", "TER"),
        page.fill("[name=subject]", "ขออนุมัติแบบฐานราก 50 แผ่น"),
    )
    await expect(page.locator("#number [data-number]")).to_be_visible()
    await hands.do(page.click("form#create [data-submit]"))
    await page.wait_for_url("**/rfas/*?created=1")
    await expect(page.locator(ITEMS)).to_have_count(SHEETS)
    await hands.do(page.click('.banner [data-action="submit"]'), page.click("#act-submit [data-submit]"))
    return page.url.partition("?")[0]


async def answer(person: Person, address: str, codes: dict[str, str]) -> None:
    page = person.page
    await page.goto(address)
    await page.click('.banner [data-action="approve"]')
    dialog = page.locator("#act-approve")
    if codes:
        await dialog.locator("summary").first.click()
    for number, code in codes.items():
        await dialog.locator(".item-answer", has_text=number).locator("select").select_option(code)
    if not codes:
        await dialog.locator("[name=responseCode]").select_option("1A")
    await dialog.locator("[data-submit]").click()
    await expect(page.locator('.banner [data-action="approve"]')).to_have_count(0)


async def resubmit(person: Person, address: str, answered: list[str]) -> None:
    """Three were answered on their own, and the first of them was approved."""
    page, left = person.page, answered[1:]
    await page.goto(address)
    for number, code in zip(answered, ("1N", "3R", "4X"), strict=True):
        await expect(page.locator(ITEMS, has_text=number)).to_contain_text(code)
    await expect(page.locator(ITEMS, has_text="1A")).to_have_count(SHEETS - len(answered))
    await page.click('[data-dialog="revise"]')
    await page.click("#revise [data-submit]")
    await expect(page.locator(ITEMS)).to_have_count(len(left))
    for number in left:
        await expect(page.locator(ITEMS, has_text=number)).to_be_visible()


async def look_back(person: Person, number: str, language: str) -> None:
    """They stand in the set of today, and in none of a month ago."""
    page, month_ago = person.page, local_date(present(), ZoneInfo("Asia/Bangkok")) - timedelta(days=31)
    await person.goto(f"/drawings/shop?q={number}")
    await expect(page.locator("#list tbody tr")).to_have_count(1)
    await person.goto(f"/drawings/shop?q={number}&asOf={date_in_figures(month_ago, language)}")
    await expect(page.locator("#list")).to_contain_text(NOTHING[language])


async def pick(person: Person, number: str) -> None:
    """Without a mouse: one drawing from a search, then its whole discipline, each number once."""
    page = person.page
    await person.goto("/transmittals/new")
    await page.focus("#f-find-drawings")
    await page.keyboard.type(number)
    await expect(page.locator("[data-pick]")).to_have_count(1)
    await person.press("ArrowDown", "Enter")
    await expect(page.locator("#f-shopNumbers")).to_have_value(number)
    await person.press("Tab", "Enter")
    await expect(page.locator("[data-categories] select[name=kind]")).to_be_visible()
    await page.select_option("[data-categories] [name=discipline]", "TER")
    await page.focus("[data-categories] button")
    await person.press("Enter")
    await expect(page.locator("[data-result]")).not_to_be_empty()
    listed = (await page.input_value("#f-shopNumbers")).splitlines()
    assert number in listed
    assert SHEETS <= len(listed) == len(set(listed))
    await person.picture(f"drawing-picker-{number}", whole=True)
