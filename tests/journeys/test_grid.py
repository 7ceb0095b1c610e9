"""Lists that are edited in place, by keyboard alone: new rows, a change, an order, two people at one row, rows from a spreadsheet."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from tests.journeys.conftest import Person, Sit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]


async def disciplines_of(person: Person) -> str:
    """Return the address of the disciplines of the contract that has few."""
    await person.goto("/project-setup")
    links = person.page.locator("section.setup-contract a[href$='/disciplines']")
    return str(await links.last.get_attribute("href"))


def row_of(page: Page, code: str) -> Locator:
    return page.locator(".line", has=page.get_by_role("link", name=code, exact=True))


async def type_row(person: Person, *cells: str) -> None:
    """Fill in the cells of a row from where the cursor is, and save it."""
    keyboard = person.page.keyboard
    for cell in cells[:-1]:
        await keyboard.type(cell)
        await keyboard.press("Tab")
    await keyboard.type(cells[-1])
    await keyboard.press("Enter")
    await expect(person.page.get_by_role("link", name=cells[0], exact=True)).to_be_visible()
    await expect(person.page.locator("#f-new-code")).to_be_focused()


async def test_a_list_is_typed_changed_and_put_in_order_without_a_mouse(sit: Sit) -> None:
    one = await sit("padmin", language="en")
    page, keyboard = one.page, one.page.keyboard
    await one.goto(await disciplines_of(one))

    await page.locator("#f-new-code").focus()
    await type_row(one, "J1", "หนึ่ง", "One")
    await type_row(one, "J2", "สอง", "Two")
    await expect(page.locator("#grid-said")).to_have_text("J2: Added")

    # What is wrong is said at its cell; Escape takes it back.
    await keyboard.type("J1")
    await keyboard.press("Enter")
    await expect(page.locator("#e-new-nameTh")).to_have_text("Required")
    await expect(page.locator("#f-new-nameTh")).to_be_focused()
    await keyboard.press("Escape")
    await expect(page.locator("#f-new-code")).to_have_value("")
    await expect(page.locator("#f-new-code")).to_be_focused()

    # Up from the new row, open, change, save; then one place up.
    await row_of(page, "J2").get_by_role("link").focus()
    await keyboard.press("ArrowUp")
    await expect(row_of(page, "J1").get_by_role("link")).to_be_focused()
    await keyboard.press("ArrowDown")
    async with page.expect_response(re.compile("/move$")) as answer:
        await keyboard.press("Alt+ArrowUp")
    assert (await answer.value).status == 204
    await page.reload()
    codes = await page.locator(".line-open").all_text_contents()
    assert codes.index("J2") < codes.index("J1")
    assert [said for said in one.complaints if "422" not in said] == []


async def test_two_people_at_one_row_see_both_values(sit: Sit) -> None:
    one, other = await sit("padmin", language="en"), await sit("padmin", language="en")
    page, keyboard = one.page, one.page.keyboard
    address = await disciplines_of(one)
    for person in (one, other):
        await person.goto(address)
        await row_of(person.page, "NAV").get_by_role("link").focus()
        await person.press("Enter")
        await expect(person.page.locator(".is-open:not(.is-new) [name=code]")).to_be_focused()
        await person.press("Tab", "Tab")
    await other.page.keyboard.type("Theirs")
    await other.press("Enter")
    await expect(other.page.locator("#grid-said")).to_have_text("NAV: Saved")

    await keyboard.type("Mine")
    await keyboard.press("Enter")
    await expect(page.locator(".grid-theirs")).to_contain_text("Theirs")
    await expect(page.locator(".is-open:not(.is-new) [name=nameEn]")).to_have_value("Mine")
    await keyboard.press("Enter")
    await expect(row_of(page, "NAV")).to_contain_text("Mine")
    # A refusal is an answer; the browser's console reports it all the same.
    assert [said for said in one.complaints if "412" not in said] == []


async def paste_tags(person: Person, count: int) -> None:
    """Fill the tags of the project, and stay at their list."""
    page = person.page
    await person.goto("/project-setup")
    await person.goto(str(await page.locator("a[href$='/tags']").get_attribute("href")))
    await page.locator("[data-sheets]").click()
    await page.locator("#f-pasted").fill("\n".join(f"S{number:03}\tป้าย {number}" for number in range(count)))
    await page.get_by_role("button", name="Check rows").click()
    await page.get_by_role("button", name=f"Save {count} rows").click()
    await page.wait_for_url("**/tags?*")


async def test_what_is_typed_stays_through_a_search_and_all_rows_are_reached(sit: Sit) -> None:
    person = await sit("padmin", language="en")
    page, keyboard = person.page, person.page.keyboard
    await paste_tags(person, 120)

    # "n" goes to the new row; a search keeps what it says, and a row that is there is found.
    await page.locator("h1").click()
    await keyboard.press("n")
    await expect(page.locator("#f-new-code")).to_be_focused()
    await keyboard.type("HALF")
    await page.locator("#grid-search").fill("S117")
    await expect(page.locator(".line-open")).to_have_text(["S117"])
    await expect(page.locator("#f-new-code")).to_have_value("HALF")
    await page.locator("#grid-search").fill("no such tag")
    await expect(page.locator(".line-open")).to_have_count(0)
    await page.locator("#f-new-code").focus()
    await person.press("Tab")
    await keyboard.type("ครึ่ง")
    await keyboard.press("Enter")
    await expect(page.locator("#grid-said")).to_have_text("HALF: Added")

    # Below the last row stands what brings the next ones, and the cursor goes on to the first of them.
    await page.locator("#grid-search").fill("")
    await expect(page.locator(".line-open")).to_have_count(50)
    await page.locator(".line-open").last.focus()
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
    await expect(page.locator(".line-open")).to_have_count(100)
    await expect(page.locator(".line-open").nth(50)).to_be_focused()
    assert person.complaints == []


async def test_rows_of_a_spreadsheet_are_pasted_into_the_new_row(sit: Sit) -> None:
    person = await sit("padmin", language="th")
    page, keyboard = person.page, person.page.keyboard
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await person.goto(await disciplines_of(person))

    await page.locator("#f-new-code").focus()
    await page.evaluate("navigator.clipboard.writeText('K1\\tหนึ่ง\\tOne\\nK2\\tสอง\\n')")
    await keyboard.press("Control+v")
    await page.wait_for_url("**/check")
    await page.locator("[name='fix2.nameEn']").fill("Two")
    await keyboard.press("Enter")
    await page.get_by_role("button", name="บันทึก 2 แถว").click()

    await expect(row_of(page, "K1")).to_be_visible()
    await expect(row_of(page, "K2")).to_contain_text("Two")
    assert [said for said in person.complaints if "422" not in said] == []
