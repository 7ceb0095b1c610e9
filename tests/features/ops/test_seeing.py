"""Who may look into what happens: the audit trail, events, the system, as pages and over the API; callers by routes."""

import ast
import re
from pathlib import Path

import pytest
from fastapi import FastAPI

import saraban
from saraban.config import Settings
from saraban.documents.core.service import DocumentAct
from saraban.ops.system_report import without_password
from saraban.web.operations.events import EVENT_NAMES
from saraban.web.operations.system import SETTINGS
from tests.conftest import SignIn
from tests.features.documents.conftest import desk_of
from tests.features.web.conftest import Sit, sit, visitor
from tests.further_people import add_people
from tests.recorded_events import WHY, fill

__all__ = ["sit", "visitor"]


async def test_the_menu_has_the_pages_that_open(app: FastAPI, signed_in: SignIn) -> None:
    await add_people(app)
    known = {
        "orgadmin": {"/audit"},
        "padmin": {"/numbers/audit"},
        "dc.consultant": {"/audit"},
        "admin": {"/audit", "/events", "/system", "/numbers/audit"},
    }
    found = {}
    for caller in known:
        page = (await (await signed_in(caller)).get("/inbox")).text
        pages = ("/audit", "/events", "/system", "/numbers/audit")
        found[caller] = {one for one in pages if f'href="{one}"' in page}

    assert found == known


class TestEventPages:
    """Requeue and drop from the pages of events."""

    async def test_bring_back_or_forget_what_failed(self, app: FastAPI, sit: Sit) -> None:
        browser = await sit("admin", "en")
        (_, first, _), (_, second, _) = await fill(app.state), await fill(app.state)

        again = await browser.post(f"/events/{first}/requeue", data=WHY)
        gone = await browser.post(f"/events/{second}/drop", data=WHY)

        assert again.headers["location"] == f"/events/{first}?done=requeue"
        assert "The event is in the queue again." in (await browser.get(again.headers["location"])).text
        assert gone.headers["location"] == "/events?state=dead&done=drop"
        assert (await browser.get(f"/events/{second}")).status_code == 404

    async def test_want_a_reason(self, app: FastAPI, sit: Sit) -> None:
        browser = await sit("admin", "en")
        _, dead, _ = await fill(app.state)

        for deed in ("requeue", "drop"):
            answer = await browser.post(f"/events/{dead}/{deed}", data={"reason": ""})
            assert (answer.status_code, "Required" in answer.text) == (422, True)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("mysql+asyncmy://saraban:s3cret@db.example:3306/saraban?ssl=1", "mysql://db.example:3306/saraban"),
        ("redis://:s3cret@redis.example:6379/0", "redis://redis.example:6379/0"),
        ("redis+sentinel://u:s3cret@a,b:26380/dms/1?sentinel_password=s3cret", "redis+sentinel://a:26379,b:26380/dms"),
        ("https://hooks.example/webhook/s3cret?token=s3cret", "https://hooks.example/…"),
        ("https://user:s3cret@n8n.example", "https://n8n.example"),
    ],
)
def test_an_address_is_told_without_what_opens_it(address: str, shown: str) -> None:
    assert without_password(address) == shown


async def test_events_say_what_happened_and_about_what(app: FastAPI, signed_in: SignIn, sit: Sit) -> None:
    """A filter of an old link that cannot be used is said at its field, and left out."""
    desk = await desk_of(signed_in)
    letter = await desk.write("dc.contractor", "correspondences", desk.letter())
    thai = await sit("admin", "th")

    page = (await thai.get("/events?name=document.created")).text
    wrong = (await thai.get("/events?state=lost&name=nothing.happened")).text

    assert "สร้างเอกสาร</a>" in page
    assert (
        f'<a href="/documents/correspondence/{letter["publicId"]}">{letter["documentNumber"]} · {letter["subject"]}</a>'
        in page
    )
    assert "ไม่มีเหตุการณ์นี้" in wrong
    assert wrong.count(" is-invalid") == 2
    assert "สร้างเอกสาร</a>" in wrong


def test_every_event_has_words() -> None:
    recorded = {f"document.{act.event}" for act in DocumentAct}
    texts = (path.read_text("utf-8") for path in Path(saraban.__file__).parent.rglob("*.py"))
    recorded |= {
        node.value.value
        for text in texts
        if re.search(r'"[a-z_]+\.[a-z_]*(ed|up|hook)"', text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and re.fullmatch(r"[A-Z_]+", ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target))
        and re.fullmatch(r"[a-z_]+\.[a-z_]*(ed|up|hook)", str(node.value.value))
    }

    assert {"workflow.transitioned", "account.changed", "mail.given_up"} <= recorded
    assert sorted(recorded - set(EVENT_NAMES) - {"webhook.tested", "workflow.force_proceed"}) == []


def test_every_setting_is_told_in_thai() -> None:
    assert set(SETTINGS) == set(Settings.model_fields)
