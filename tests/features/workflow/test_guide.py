"""The example of docs/workflow.md is published and played, so that the page stays true."""

import json
import re
from pathlib import Path

import pytest

from saraban.workflow.service import ConditionNotMet
from tests.factories.letterbox import Office

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "workflow.md"


async def test_the_example_does_what_the_page_says(office: Office) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    await office.define(json.loads(example))
    calm = (await office.start(office.letter(priority="LOW"), code="NOTICE_FLOW")).instance_public_id
    urgent = (await office.start(office.letter(priority="URGENT"), code="NOTICE_FLOW")).instance_public_id
    for instance in (calm, urgent):
        await office.act(instance, "submit", by="dc.contractor")

    returned = await office.act(calm, "return", by="reviewer.consultant", comment="page 2")
    with pytest.raises(ConditionNotMet):
        await office.act(urgent, "return", by="reviewer.consultant", comment="page 2")
    acknowledged = await office.act(urgent, "acknowledge", by="reviewer.consultant")

    assert returned["currentState"] == "draft"
    assert acknowledged["status"] == "COMPLETED"
