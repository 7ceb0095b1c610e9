"""Somebody goes on leave: lends the steps on the page, and a colleague takes one, named for whom."""

from zoneinfo import ZoneInfo

import pytest

from saraban.kit.dates import date_in_figures, local_date
from tests.journey_steps import a_draft
from tests.journeys.conftest import Person, Sit
from tests.numbering_requests import present

pytestmark = [
    pytest.mark.browser,
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]


async def act(person: Person, address: str, action: str) -> None:
    await person.goto(address)
    await person.page.click(f'[data-action="{action}"]')
    without_files = person.page.locator(f"#act-{action} [name=withoutFiles]")
    if await without_files.count():
        await without_files.check()
    await person.page.click(f"#act-{action} [data-submit]")
    await person.page.wait_for_load_state()


async def lend(owner: Person, language: str) -> None:
    """First with nothing filled in, then for today and one kind of work."""
    await owner.goto("/delegations")
    await owner.picture(f"delegations-empty-{language}", whole=True)
    await owner.page.click(".form-card [data-submit]")
    await owner.page.wait_for_selector("#e-startsOn")
    await owner.picture(f"delegations-faults-{language}", whole=True)
    await owner.page.fill('main input[name="q"]', "วิไล")
    await owner.page.locator("#f-delegatePublicId option:nth-child(3)").wait_for(state="detached")
    await owner.page.select_option("#f-delegatePublicId", index=1)
    today = date_in_figures(local_date(present(), ZoneInfo("Asia/Bangkok")), language)
    for name in ("startsOn", "endsOn"):
        await owner.page.fill(f"#f-{name}", today)
    await owner.page.check('input[value="RFA_APPROVAL"]')
    await owner.page.click(".form-card [data-submit]")
    await owner.page.wait_for_url("**/delegations?done=lent")
    await owner.picture(f"delegations-{language}", whole=True)


async def approve(viewer: Person, address: str, language: str) -> str:
    """Return the timeline after the step."""
    await viewer.goto("/inbox")
    await viewer.picture(f"inbox-for-{language}")
    await viewer.goto(address)
    await viewer.page.click('[data-action="approve"]')
    await viewer.picture(f"act-for-{language}")
    await viewer.page.click("#act-approve [data-submit]")
    await viewer.page.wait_for_selector('.banner[data-state="approved"]')
    await viewer.picture(f"timeline-for-{language}", whole=True)
    return await viewer.page.inner_text(".timeline")


@pytest.mark.parametrize(
    ("language", "both"),
    [
        pytest.param("th", "วิไล อ่านอย่างเดียว แทน อนันต์ เห็นชอบ", id="th"),
        pytest.param("en", "วิไล อ่านอย่างเดียว for อนันต์ เห็นชอบ", id="en"),
    ],
)
async def test_lends_steps_and_a_colleague_takes_one(sit: Sit, language: str, both: str) -> None:
    writer, reviewer = [await sit(name, language=language) for name in ("dc.contractor", "reviewer.consultant")]
    owner, viewer = [await sit(name, language=language) for name in ("approver.owner", "viewer")]
    address = await a_draft(writer)
    await act(writer, address, "submit")
    await act(reviewer, address, "approve")

    await lend(owner, language)

    assert both in await approve(viewer, address, language)
    await owner.goto("/delegations")
    await owner.page.click('form[action$="/revoke"] button')
    await owner.page.wait_for_url("**/delegations?done=revoked")
    assert viewer.complaints == []
    assert [one for one in owner.complaints if "422" not in one] == []  # the form that was sent empty
