"""What a person chooses about being told, over the API and on the page."""

from typing import Any

import httpx
import pytest

from saraban.notifications.domain.delivery_preferences import KINDS
from tests.conftest import SignIn
from tests.features.web.conftest import sit

__all__ = ["sit"]

URL = "/api/v1/notifications/preferences"
PAGE = "/notifications/preferences"
CHOSEN = {
    "email": True,
    "digest": True,
    "digestHour": 17,
    "quietFrom": 20,
    "quietUntil": 7,
    "channels": [{"kind": "moved", "inApp": True, "email": False}],
}


@pytest.fixture
async def reader(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("viewer")


class TestApi:
    async def test_begins_with_everything_by_every_channel(self, reader: httpx.AsyncClient) -> None:
        answer = (await reader.get(URL)).json()

        assert [one["kind"] for one in answer["channels"]] == list(KINDS)
        assert all(one["inApp"] and one["email"] for one in answer["channels"])
        assert (answer["email"], answer["digest"], answer["quietFrom"], answer["mailIsOn"]) == (
            True,
            False,
            None,
            False,
        )

    async def test_keeps_what_was_chosen(self, reader: httpx.AsyncClient, signed_in: SignIn) -> None:
        for _ in range(2):
            assert (await reader.put(URL, json=CHOSEN)).status_code == 204
        answer = (await reader.get(URL)).json()

        assert {name: answer[name] for name in CHOSEN if name != "channels"} == {
            name: value for name, value in CHOSEN.items() if name != "channels"
        }
        assert [one["kind"] for one in answer["channels"] if not one["email"]] == ["moved"]
        other = await signed_in("dc.contractor")
        assert (await other.get(URL)).json()["digest"] is False

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"quietFrom": None}, "/quietFrom"),
            ({"quietUntil": None}, "/quietUntil"),
            ({"digestHour": 24}, "/digestHour"),
            ({"channels": [{"kind": "waiting", "inApp": False, "email": False}]}, "/channels/0"),
            ({"email": False, "channels": [{"kind": "reminder", "inApp": False, "email": True}]}, "/channels/0"),
            ({"channels": [{"kind": "nonsense", "inApp": True, "email": True}]}, "/channels/0/kind"),
        ],
    )
    async def test_refuses_what_would_leave_somebody_untold(
        self, reader: httpx.AsyncClient, change: dict[str, Any], pointer: str
    ) -> None:
        answer = await reader.put(URL, json=CHOSEN | change)

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
        assert (await reader.get(URL)).json()["digest"] is False


class TestPage:
    @pytest.mark.parametrize(
        ("language", "words"), [("th", "เอกสารรอฉันดำเนินการ"), ("en", "A document awaits my action")]
    )
    async def test_shows_the_choices_in_both_languages(self, sit: Any, language: str, words: str) -> None:
        browser = await sit("viewer", language)
        assert f'href="{PAGE}"' in (await browser.get("/notifications")).text

        assert words in (await browser.get(PAGE)).text

    async def test_keeps_them(self, sit: Any) -> None:
        browser = await sit("viewer", "en")
        ticked = {f"in-{kind}": "1" for kind in KINDS} | {"mail-waiting": "1", "email": "1", "digest": "1"}
        form = ticked | {"digestHour": "17", "quietFrom": "20", "quietUntil": "7"}
        answer = await browser.post(PAGE, data=form)
        assert answer.headers["location"] == f"{PAGE}?done=1"
        page = " ".join((await browser.get(answer.headers["location"])).text.split()).replace("> ", ">")

        assert "Settings saved." in page
        assert '<option value="17" selected>17:00</option>' in page
        assert 'name="mail-waiting" value="1" checked' in page
        assert 'name="mail-moved" value="1">' in page

    @pytest.mark.parametrize(
        ("form", "words"),
        [
            ({"digestHour": "8"}, "Tasks that need your action must have at least one channel."),
            ({"digestHour": "8", "in-waiting": "1", "in-reminder": "1", "quietFrom": "9"}, "Enter both"),
            ({"digestHour": "eight", "in-waiting": "1", "in-reminder": "1"}, "invalid"),
        ],
    )
    async def test_says_what_is_wrong(self, sit: Any, form: dict[str, str], words: str) -> None:
        browser = await sit("viewer", "en")
        answer = await browser.post(PAGE, data=form)

        assert answer.status_code == 422
        assert words in answer.text
