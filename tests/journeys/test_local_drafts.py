"""What was typed and not sent is kept in the browser for the person who typed it, and for nobody else."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.journeys.conftest import Sit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]

KEPT = "Object.keys(localStorage).filter((key) => key.startsWith('saraban.draft.'))"


async def test_a_draft_is_offered_again_to_the_same_person_only(sit: Sit) -> None:
    writer = await sit("dc.contractor", language="en")
    page = writer.page
    await page.evaluate("localStorage.setItem('saraban.draft.rfas', JSON.stringify({subject: 'Of an older version'}))")
    await writer.goto("/rfas/new")
    await page.fill("[name=subject]", "Shop drawings of pier P12")
    for _ in range(200):
        if await page.evaluate(KEPT):
            break
        await asyncio.sleep(0.1)  # it is kept two seconds after the last key
    assert len(await page.evaluate(KEPT)) == 1

    await page.context.clear_cookies()  # the session has ended
    await writer.log_in("dc.consultant")
    await writer.goto("/rfas/new")
    await expect(page.locator("[name=subject]")).to_be_visible()
    assert await page.locator(".draft-bar").count() == 0

    await page.context.clear_cookies()
    await writer.log_in("dc.contractor")
    await writer.goto("/rfas/new")
    await page.locator(".draft-bar button").first.click()
    await expect(page.locator("[name=subject]")).to_have_value("Shop drawings of pier P12")

    await page.evaluate("document.querySelector('form[data-signs-out]').requestSubmit()")
    await page.wait_for_url("**/login")
    assert await page.evaluate(KEPT) == []
