"""Who is told what, and how it is read."""

from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from saraban.bootstrap import System
from saraban.events.service import Event
from saraban.identity.models import Organization
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications
from tests.notices import person, told, transition

URL = "/api/v1/notifications"


async def organization(system: Any, code: str) -> str:
    async with system.db.reading() as session:
        found = sa.select(Organization.public_id).where(Organization.organization_code == code)
        return str(await session.scalar(found))


async def tell(system: Any, event: Event) -> None:
    await system.db.transact(lambda session: notifications.react_all(session, [event]))


class TestReact:
    async def test_tells_those_of_an_organization_who_may_act(self, system: System) -> None:
        consultant = {"organizations": [{"publicId": await organization(system, "คคง."), "code": "คคง."}], "users": []}

        await tell(system, await transition(system, "dc.contractor", waiting=consultant))

        for username in ("dc.consultant", "reviewer.consultant"):
            assert await told(system, username) == ["LCBP3-C2-RFA-TER-RPT-0001-A รอคุณดำเนินการ"]
            assert await told(system, username, "en") == ["LCBP3-C2-RFA-TER-RPT-0001-A awaits your action"]
        for username in ("dc.contractor", "viewer", "approver.owner"):
            assert await told(system, username) == []

    async def test_never_tells_the_actor(self, system: System) -> None:
        consultant = {"organizations": [{"publicId": await organization(system, "คคง."), "code": "คคง."}], "users": []}

        await tell(system, await transition(system, "dc.consultant", waiting=consultant))

        assert await told(system, "dc.consultant") == []
        assert await told(system, "reviewer.consultant") != []

    async def test_tells_nobody_twice_when_an_event_comes_again(self, system: System) -> None:
        reviewer = await person(system, "reviewer.consultant")
        named = {"organizations": [], "users": [str(reviewer.public_id)]}
        event = await transition(system, "dc.contractor", waiting=named, notify=named)

        await tell(system, event)
        await tell(system, event)

        assert len(await told(system, "reviewer.consultant")) == 1

    async def test_tells_the_submitter_of_the_end(self, system: System) -> None:
        submitter = await person(system, "dc.contractor")
        event = await transition(
            system,
            "approver.owner",
            terminal=True,
            stateLabel={"th": "อนุมัติ", "en": "Approved"},
            notify={"organizations": [], "users": [str(submitter.public_id)]},
        )

        await tell(system, event)

        assert await told(system, "dc.contractor") == ["LCBP3-C2-RFA-TER-RPT-0001-A: อนุมัติ"]

    async def test_tells_no_service_account(self, system: System) -> None:
        program = await person(system, "svc.loadtest")
        organizations = [{"publicId": await organization(system, "คคง."), "code": "คคง."}]
        event = await transition(
            system, "dc.contractor", waiting={"organizations": organizations, "users": [str(program.public_id)]}
        )

        await tell(system, event)

        assert await told(system, "svc.loadtest") == []
        assert await told(system, "dc.consultant") != []

    async def test_survives_an_event_about_a_document_it_does_not_find(self, system: System) -> None:
        payload = {"documentPublicId": str(new_id()), "kind": "circulation", "subject": "x", "reason": "y"}

        await tell(system, Event(new_id(), "document.cancelled", "document", "1", payload, system.clock.now()))

    async def test_hears_of_everything_it_has_words_for(self, system: System) -> None:
        assert system.handlers.names() >= set(notifications.EVENTS)


class TestReading:
    @pytest.fixture
    async def reader(self, app: Any, signed_in: Any) -> httpx.AsyncClient:
        reviewer = await person(app.state, "reviewer.consultant")
        named = {"organizations": [], "users": [str(reviewer.public_id)]}
        for number in range(3):
            event = await transition(app.state, "dc.contractor", waiting=named, number=f"N-{number}")
            await tell(app.state, event)
        return await signed_in("reviewer.consultant")

    async def test_goes_page_by_page_newest_first(self, reader: httpx.AsyncClient) -> None:
        first = (await reader.get(URL, params={"limit": 2})).json()
        second = (await reader.get(URL, params={"limit": 2, "cursor": first["nextCursor"]})).json()

        titles = [item["title"] for item in first["items"] + second["items"]]
        assert titles == ["N-2 awaits your action", "N-1 awaits your action", "N-0 awaits your action"]
        assert (first["unreadCount"], second["nextCursor"]) == (3, None)
        assert set(first["items"][0]) == {
            "publicId",
            "title",
            "message",
            "isRead",
            "entityType",
            "entityPublicId",
            "createdAt",
        }

    async def test_speaks_the_language_of_the_request(self, reader: httpx.AsyncClient) -> None:
        said = (await reader.get(URL, headers={"Accept-Language": "th"})).json()

        assert said["items"][0]["title"] == "N-2 รอคุณดำเนินการ"

    async def test_marks_one_or_all(self, reader: httpx.AsyncClient) -> None:
        newest = (await reader.get(URL)).json()["items"][0]["publicId"]

        for _ in range(2):
            assert (await reader.post(f"{URL}/{newest}/read")).status_code == 204
        unread = (await reader.get(URL, params={"unread": "true"})).json()
        assert (len(unread["items"]), unread["unreadCount"]) == (2, 2)

        assert (await reader.post(f"{URL}/read-all")).status_code == 204
        assert (await reader.get(URL)).json()["unreadCount"] == 0

    async def test_is_for_ones_own_only(
        self, reader: httpx.AsyncClient, signed_in: Any, client: httpx.AsyncClient
    ) -> None:
        newest = (await reader.get(URL)).json()["items"][0]["publicId"]
        other = await signed_in("viewer")

        assert (await other.get(URL)).json()["items"] == []
        assert (await other.post(f"{URL}/{newest}/read")).status_code == 404
        assert (await client.get(URL)).status_code == 401

    async def test_refuses_a_cursor_of_its_own_making(self, reader: httpx.AsyncClient) -> None:
        answer = await reader.get(URL, params={"cursor": "1"})

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "query:cursor")
