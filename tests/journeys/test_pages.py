"""Every page in both languages, on a desk and on a phone: nothing sticks out, fonts are ours, the keyboard is enough."""

import pytest
from playwright.async_api import Browser, ViewportSize, expect

from tests.journeys.conftest import Person, at_browser

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(120)]

PAGES = (
    "/inbox",
    "/correspondences",
    "/rfas/new",
    "/transmittals/new",
    "/circulations/new",
    "/notifications",
    "/nowhere",
)
SIZES: dict[str, ViewportSize] = {
    "desk": {"width": 1400, "height": 900},
    "tablet": {"width": 1024, "height": 768},
    "phone": {"width": 390, "height": 844},
}
OUR_FONT = "[...document.fonts].some((font) => font.family.includes('Sarabun') && font.status === 'loaded')"
STICKS_OUT = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNNAMED = """() => [...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a')]
    .filter((one) => one.checkVisibility())
    .filter((one) => !(one.labels && one.labels.length) && !one.getAttribute('aria-label') && !one.textContent.trim())
    .map((one) => one.outerHTML.slice(0, 120))"""
TIGHT = """() => [...document.querySelectorAll('body *')]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && /[\\u0e00-\\u0e7f]/.test(node.textContent)))
    .filter((one) => one.checkVisibility() && !['OPTION', 'SCRIPT', 'TITLE'].includes(one.tagName))
    .filter((one) => parseFloat(getComputedStyle(one).lineHeight) < 1.55 * parseFloat(getComputedStyle(one).fontSize))
    .map((one) => one.tagName + '.' + one.className)"""


@pytest.mark.parametrize("language", ["th", "en"])
async def test_pages_fit_desk_tablet_and_phone(browser: Browser, site: str, language: str) -> None:
    person = await at_browser(browser, site, language=language)
    await person.log_in("dc.contractor")
    for path in PAGES:
        await person.page.set_viewport_size(SIZES["desk"])
        await person.goto(path)
        assert await person.page.get_attribute("html", "lang") == language
        for device, size in SIZES.items():
            await person.page.set_viewport_size(size)
            await person.picture(f"{device}-{language}-{path.strip('/').replace('/', '-')}", whole=device == "phone")
            assert await person.page.evaluate(STICKS_OUT) <= 0, f"{path} on a {device}"
            assert await person.page.evaluate(UNNAMED) == [], f"{path} on a {device}"
            assert await person.page.evaluate(TIGHT) == [], f"{path} on a {device}"
    assert await person.page.evaluate(OUR_FONT)
    assert [said for said in person.complaints if "404" not in said] == []


async def test_the_keyboard_is_enough(browser: Browser, site: str) -> None:
    person = await at_browser(browser, site)
    page = person.page
    await person.goto("/login")
    await page.keyboard.type("dc.contractor")
    await page.keyboard.press("Tab")
    await page.keyboard.type("saraban-demo")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/inbox")
    await page.keyboard.press("Tab")
    await expect(page.locator(".skip-link")).to_be_focused()
    await press(person, "g", "r")
    await page.wait_for_url("**/rfas")
    await page.keyboard.press("/")
    await expect(page.locator("#q")).to_be_focused()
    await page.keyboard.press("Escape")
    await page.locator("#main").focus()
    await page.keyboard.press("?")
    await expect(page.locator("#help")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#help")).to_be_hidden()
    await page.keyboard.press("n")
    await page.wait_for_url("**/rfas/new")
    assert person.complaints == []


async def press(person: Person, *keys: str) -> None:
    for key in keys:
        await person.page.keyboard.press(key)


async def test_the_language_switches_back_and_forth(browser: Browser, site: str) -> None:
    person = await at_browser(browser, site)
    await person.log_in("viewer")
    await expect(person.page.locator("h1")).to_have_text("งานของฉัน")
    await person.page.click("[data-language-switch]")
    await expect(person.page.locator("h1")).to_have_text("Inbox")
    await person.page.click("[data-language-switch]")
    await expect(person.page.locator("h1")).to_have_text("งานของฉัน")


async def test_a_wrong_file_says_so_where_it_was_dropped(browser: Browser, site: str) -> None:
    person = await at_browser(browser, site)
    await person.log_in("dc.contractor")
    await person.goto("/rfas/new")
    file = {"name": "virus.exe", "mimeType": "application/octet-stream", "buffer": b"MZ"}
    await person.page.set_input_files("form#create input[type=file]", [file])
    row = person.page.locator(".upload-row.is-failed")
    await expect(row).to_contain_text("ไม่ใช่ไฟล์ชนิดที่อนุญาต")
    await row.locator("button").click()
    await expect(row).to_have_count(0)
