"""The diagram of a workflow in a browser: everything is drawn, nothing lies on anything else, and words remain without it."""

import json

import pytest
from playwright.async_api import expect

from saraban.workflow.administration.domain.diagram import MOST_TRANSITIONS
from saraban.workflow.administration.service.versions import shipped
from tests.journeys.conftest import LANGUAGES, Sit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]

CODES = sorted(raw["workflow"] for raw in shipped())
FAULTS = """
() => {
  const data = JSON.parse(document.querySelector("[data-diagram]").dataset.diagram);
  const sheet = document.querySelector(".diagram-sheet").getBoundingClientRect();
  const boxes = [...document.querySelectorAll(".diagram-box")].map((box) => [box.innerText, box.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([text, one], index) => {
    const inside = one.left >= sheet.left && one.right <= sheet.right && one.top >= sheet.top && one.bottom <= sheet.bottom;
    if (!inside || !one.width) found.push(`outside: ${text}`);
    for (const [said, other] of boxes.slice(index + 1)) {
      if (one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom) found.push(`${text} on ${said}`);
    }
  });
  const shown = boxes.map(([text]) => text);
  for (const state of data.states) if (!shown.some((text) => text.startsWith(state.label))) found.push(`missing: ${state.label}`);
  const lines = data.transitions.filter((one) => one.start !== one.to).length;
  if (document.querySelectorAll("path.diagram-line").length !== lines) found.push("not every line");
  return found;
}
"""


@pytest.mark.parametrize("language", LANGUAGES)
async def test_draws_every_workflow(sit: Sit, language: str) -> None:
    person = await sit("admin", language=language)
    for code in CODES:
        await person.goto(f"/workflows/{code}/v1")
        await person.page.wait_for_selector("[data-drawn]")
        assert await person.page.evaluate(FAULTS) == [], code
        await person.picture(f"diagram-{language}-{code}", whole=True)
    assert person.complaints == []


async def test_draws_the_largest_before_anybody_has_read_a_line(sit: Sit) -> None:
    person = await sit("admin", language="en")
    count, reach = 51, 6
    states = [{"name": f"s{index}", "label": {"th": "ก", "en": f"State {index}"}} for index in range(count)]
    for index, state in enumerate(states[:-1]):
        names = [f"s{to}" for to in range(index + 1, min(index + 1 + reach, count))]
        state["on"] = {f"go-{name}": {"to": name, "label": {"th": "ก", "en": f"Go to {name}"}} for name in names}
    states[0]["initial"], states[-1]["terminal"] = True, True
    assert sum(len(state.get("on", {})) for state in states) <= MOST_TRANSITIONS
    await person.goto("/workflows/new")
    await person.page.fill("#f-text", json.dumps({"workflow": "ROW", "states": states}))
    await expect(person.page.locator("[data-drawn]")).to_have_count(1, timeout=90_000)
    await expect(person.page.locator(".diagram-state")).to_have_count(count, timeout=90_000)
    assert await person.page.evaluate(FAULTS) == []
    assert person.complaints == []


async def test_leaves_the_table_where_there_is_no_script(sit: Sit) -> None:
    await sit("admin", language="en")
    person = await sit("admin", language="en", scripts=False)
    await person.goto("/workflows/RFA_APPROVAL/v1")
    await expect(person.page.locator("#main noscript p")).to_be_visible()
    await expect(person.page.locator(".diagram")).to_be_hidden()
    await expect(person.page.get_by_role("cell", name="Pending approval").first).to_be_visible()
