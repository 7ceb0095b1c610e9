"""`/events` and `saraban events`: who may look, what is shown, and that every deed has a reason and a row in the audit."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from fastapi import FastAPI

from saraban.audit import service as audit
from saraban.config import Settings
from tests.conftest import SignIn, run_apart
from tests.recorded_events import WHY, fill, recorded
from tests.terminal import Command, commands_of

EVENTS = "/api/v1/events"


class TestList:
    async def test_shows_newest_first_and_narrows_by_state_name_and_age(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        done, dead, waiting = await fill(app.state, age=timedelta(hours=1))
        late = await recorded(app.state, "thing.planned")

        async def ask(**query: object) -> list[str]:
            answer = await admin.get(EVENTS, params=query)
            assert answer.status_code == 200, answer.text
            return [item["publicId"] for item in answer.json()["items"]]

        assert await ask() == [str(one) for one in (late, waiting, dead, done)]
        assert await ask(state="dead") == [str(dead)]
        assert await ask(state="waiting", olderThanSeconds=60) == [str(waiting)]
        assert await ask(state="delivered") == [str(done)]
        items = (await admin.get(EVENTS)).json()["items"]
        assert {item["publicId"]: item["attempts"] for item in items} == {
            str(late): 0,
            str(waiting): 0,
            str(dead): 1,
            str(done): 1,
        }
        assert await ask(name="thing.broken", olderThanSeconds=60) == [str(dead)]
        assert await ask(name="thing.unknown") == []

    async def test_names_the_queue_a_dead_letter_came_from_and_where_it_is_kept(
        self, app: FastAPI, signed_in: SignIn
    ) -> None:
        admin = await signed_in("admin")
        done, dead, _ = await fill(app.state)

        told = [(await admin.get(f"{EVENTS}/{one}")).json() for one in (done, dead)]

        assert [(one["queue"], one["keptIn"]) for one in told] == [
            ("workflow-events", None),
            ("workflow-events", "workflow-events-failed"),
        ]

    async def test_pages_through_both_tables_without_losing_one(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        for hours in range(4):
            await fill(app.state, age=timedelta(hours=hours))
        seen: list[str] = []
        cursor: str | None = None
        while True:
            page = (await admin.get(EVENTS, params={"limit": 5} | ({"cursor": cursor} if cursor else {}))).json()
            seen += [item["publicId"] for item in page["items"]]
            cursor = page["nextCursor"]
            if cursor is None:
                break

        assert len(seen) == len(set(seen)) == 12

    @pytest.mark.parametrize("account", ["padmin", "dc.contractor", "dc.consultant"])
    async def test_is_for_those_who_may_see_the_logs(self, signed_in: SignIn, account: str) -> None:
        client = await signed_in(account)

        assert (await client.get(EVENTS)).status_code == 403


class TestDeeds:
    async def test_requeue_brings_a_dead_event_back_with_a_row_in_the_audit(
        self, app: FastAPI, signed_in: SignIn
    ) -> None:
        admin = await signed_in("admin")
        _, dead, _ = await fill(app.state)
        before = (await admin.get(f"{EVENTS}/{dead}")).json()

        answer = await admin.post(f"{EVENTS}/{dead}/requeue", json=WHY)

        assert (before["state"], before["error"]) == ("dead", "NotFound: There is no such document.")
        assert answer.status_code == 200, answer.text
        assert (answer.json()["state"], answer.json()["attempts"]) == ("waiting", 0)
        async with app.state.db.reading() as session:
            (row,) = (await audit.list_records(session, action="event.requeue")).items
        assert (row.entity_id, row.details["reason"]) == (str(dead), WHY["reason"])

    async def test_drop_forgets_it_and_the_audit_does_not(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        _, dead, _ = await fill(app.state)

        answers = [await admin.post(f"{EVENTS}/{dead}/drop", json=WHY) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [204, 404]
        async with app.state.db.reading() as session:
            (row,) = (await audit.list_records(session, action="event.drop")).items
        assert row.details["payload"] == {"number": "คคง.-0001"}

    @pytest.mark.parametrize("deed", ["requeue", "drop"])
    async def test_are_refused_for_what_was_not_given_up(self, app: FastAPI, signed_in: SignIn, deed: str) -> None:
        admin = await signed_in("admin")
        done, dead, waiting = await fill(app.state)

        for public_id in (done, waiting):
            answer = await admin.post(f"{EVENTS}/{public_id}/{deed}", json=WHY)
            assert (answer.status_code, answer.json()["code"]) == (409, "EVENT_NOT_DEAD")
        assert (await admin.post(f"{EVENTS}/{dead}/{deed}", json={"reason": "-"})).status_code == 422

    @pytest.mark.parametrize("deed", ["requeue", "drop"])
    async def test_are_for_super_admins(self, app: FastAPI, signed_in: SignIn, deed: str) -> None:
        _, dead, _ = await fill(app.state)
        client = await signed_in("padmin")

        assert (await client.post(f"{EVENTS}/{dead}/{deed}", json=WHY)).status_code == 403


@pytest.fixture
def command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    with commands_of("events", settings, monkeypatch, capfd) as run:
        yield run


class TestTerminal:
    def left(self, settings: Settings) -> tuple[UUID, UUID, UUID]:
        from saraban.bootstrap import closing, wire

        async def work() -> tuple[UUID, UUID, UUID]:
            async with closing(wire(settings)) as system:
                return await fill(system, age=timedelta(minutes=10))

        return run_apart(work())

    def test_lists_shows_and_puts_back(self, settings: Settings, command: Command) -> None:
        done, dead, waiting = self.left(settings)

        assert str(dead) in command("list", "--state", "dead")[1]
        assert str(waiting) in command("list", "--state", "waiting", "--older-than", "5m")[1]
        assert command("list", "--older-than", "1h")[1] == "There are no events.\n"
        assert "คคง.-0001" in command("show", dead)[1]
        assert command("requeue", dead, "--as", "admin", "--reason", WHY["reason"])[0] == 0
        assert command("drop", dead, "--as", "admin", "--reason", WHY["reason"])[0] == 6
        assert command("drop", done, "--as", "padmin", "--reason", WHY["reason"])[0] == 4
        assert str(dead) in command("list", "--state", "waiting")[1]

    def test_requeues_all_of_a_name(
        self, settings: Settings, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dead = [self.left(settings)[1] for _ in range(3)]
        words = ("requeue", "--all", "--name", "thing.broken", "--as", "admin", "--reason", WHY["reason"])
        monkeypatch.setattr("saraban.cli.events.PAGE", 2)

        counted, other = command(*words, "--dry-run"), command(*words[:2], "--name", "thing.other", *words[4:])
        still_dead = command("list", "--state", "dead")[1]
        done, again = command(*words), command(*words)
        waiting = command("list", "--state", "waiting")[1]

        assert counted[1].endswith("Events to requeue: 3\n")
        assert (done, again, other) == tuple((0, f"Events in the queue again: {count}\n", "") for count in (3, 0, 0))
        assert all(str(one) in still_dead and str(one) in waiting for one in dead)

    def test_requeues_all_for_super_admins_alone(self, settings: Settings, command: Command) -> None:
        self.left(settings)

        assert command("requeue", "--all", "--as", "padmin", "--reason", WHY["reason"])[0] == 4

    @pytest.mark.parametrize("words", [(), (UUID(int=1), "--all"), (UUID(int=1), "--name", "thing.broken")])
    def test_requeues_one_or_all(self, command: Command, words: tuple[object, ...]) -> None:
        assert command("requeue", *words, "--as", "admin", "--reason", WHY["reason"])[0] == 2

    def test_drops(self, settings: Settings, command: Command) -> None:
        _, dead, _ = self.left(settings)

        assert command("drop", dead, "--as", "admin", "--reason", WHY["reason"])[0] == 0
        assert command("show", dead)[0] == 5

    def test_wants_an_age_that_can_be_read(self, command: Command) -> None:
        assert command("list", "--older-than", "soon")[0] == 2
