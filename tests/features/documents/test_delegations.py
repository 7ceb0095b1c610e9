"""Lending one's own steps while away, over HTTP: who may, what is refused, and what both names look like afterwards."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.kit.clock import FixedClock, local_date
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.runtime.models import WorkflowHistory
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers

HOME = "/api/v1/delegations"


async def person(desk: Desk, account: str) -> str:
    return str((await (await desk.as_(account)).get("/api/v1/auth/me")).json()["publicId"])


def day(app: FastAPI, later: int) -> str:
    return (local_date(app.state.clock.now(), app.state.clock.zone) + timedelta(days=later)).isoformat()


async def lend(
    desk: Desk, app: FastAPI, account: str, to: str, *, first: int = 0, last: int = 6, **more: Any
) -> httpx.Response:
    client = await desk.as_(account)
    body = {"delegatePublicId": await person(desk, to), "startsOn": day(app, first), "endsOn": day(app, last), **more}
    return await client.post(HOME, json=body)


class TestDelegate:
    async def test_lends_and_shows_it_to_both_and_to_nobody_else(self, desk: Desk, app: FastAPI) -> None:
        made = await lend(desk, app, "approver.owner", "viewer", reason="ลาพักร้อน", workflowCodes=["RFA_APPROVAL"])

        assert made.status_code == 201, made.text
        address = f"{HOME}/{made.json()['publicId']}"
        assert made.headers["location"] == address
        assert (made.json()["status"], made.json()["reason"]) == ("active", "ลาพักร้อน")
        for account in ("approver.owner", "viewer", "admin"):
            read = await (await desk.as_(account)).get(address)
            assert (read.status_code, read.headers.get("etag")) == (200, made.headers["etag"]), account
            assert read.json() == made.json()
        assert (await (await desk.as_("dc.consultant")).get(address)).status_code == 404
        for account, many in (("approver.owner", 1), ("viewer", 1), ("dc.consultant", 0)):
            items = (await (await desk.as_(account)).get(HOME)).json()["items"]
            assert len(items) == many, account

    async def test_says_that_everything_is_lent_as_it_is_asked_for(self, desk: Desk, app: FastAPI) -> None:
        for asked in ({}, {"workflowCodes": None}):
            made = await lend(desk, app, "approver.owner", "viewer", first=7, last=7, **asked)
            assert (made.status_code, made.json()["workflowCodes"]) == (201, None), made.text
            gone = await (await desk.as_("approver.owner")).delete(f"{HOME}/{made.json()['publicId']}")
            assert gone.is_success, gone.text

    @pytest.mark.parametrize(
        ("changes", "pointer"),
        [
            ({"first": -1}, "/startsOn"),
            ({"first": 3, "last": 2}, "/endsOn"),
            ({"last": 366}, "/endsOn"),
            ({"to": "approver.owner"}, "/delegatePublicId"),
            ({"to": "dc.contractor"}, "/delegatePublicId"),
            ({"to": "svc.loadtest"}, "/delegatePublicId"),
            ({"workflowCodes": ["RFA_APPROVAL", "NOWHERE"]}, "/workflowCodes/1"),
            ({"projectPublicId": "01930b5e-0000-7000-8000-0000000000ff"}, "/projectPublicId"),
            ({"workflowCodes": []}, "/workflowCodes"),
        ],
        ids=["past", "order", "long", "self", "stranger", "program", "workflow", "project", "no workflow"],
    )
    async def test_names_the_field_that_is_wrong(
        self, desk: Desk, app: FastAPI, changes: dict[str, Any], pointer: str
    ) -> None:
        refused = await lend(desk, app, "approver.owner", **({"to": "viewer"} | changes))

        assert (refused.status_code, pointers(refused)) == (422, [pointer]), refused.text

    async def test_ends_chains(self, desk: Desk, app: FastAPI) -> None:
        assert (await lend(desk, app, "approver.owner", "viewer")).status_code == 201

        on = await lend(desk, app, "viewer", "admin", first=6, last=9)
        away = await lend(desk, app, "admin", "approver.owner", first=6, last=9)
        twice = await lend(desk, app, "approver.owner", "admin", first=6, last=9)
        later = await lend(desk, app, "viewer", "admin", first=7, last=9)

        assert [(one.status_code, one.json()["code"]) for one in (on, away, twice)] == [
            (409, "DELEGATION_CHAINED"),
            (409, "DELEGATE_AWAY"),
            (409, "DELEGATION_OVERLAPS"),
        ]
        assert pointers(away) == ["/delegatePublicId"]
        assert later.status_code == 201

    async def test_has_one_effect_under_one_key(self, desk: Desk, app: FastAPI) -> None:
        client = await desk.as_("approver.owner")
        body = {"delegatePublicId": await person(desk, "viewer"), "startsOn": day(app, 0), "endsOn": day(app, 1)}

        first, again = [await client.post(HOME, json=body, headers={"Idempotency-Key": "leave"}) for _ in range(2)]

        assert (first.json(), again.headers["idempotent-replay"]) == (again.json(), "true")
        assert len((await client.get(HOME)).json()["items"]) == 1

    async def test_offers_colleagues(self, desk: Desk) -> None:
        client = await desk.as_("reviewer.consultant")

        everybody = (await client.get(f"{HOME}/colleagues")).json()["items"]
        found = (await client.get(f"{HOME}/colleagues", params={"q": "เดชา"})).json()["items"]

        assert [one["displayName"] for one in everybody] == ["เดชา รับส่งดี"]
        assert found == everybody
        assert (await client.get(f"{HOME}/colleagues", params={"q": "nobody"})).json()["items"] == []


class TestRevoke:
    async def test_takes_it_back_at_once_and_once(self, desk: Desk, app: FastAPI) -> None:
        made = await lend(desk, app, "approver.owner", "viewer")
        address, client = f"{HOME}/{made.json()['publicId']}", await desk.as_("approver.owner")

        others = [(await (await desk.as_(one)).delete(address)).status_code for one in ("viewer", "dc.consultant")]
        stale = await client.delete(address, headers={"If-Match": '"7"'})
        done = await client.delete(address, headers={"If-Match": made.headers["etag"]})
        again = await client.delete(address)

        assert others == [404, 404]
        assert (stale.status_code, stale.json()["code"]) == (412, "DELEGATION_CHANGED")
        assert (done.status_code, again.status_code) == (204, 204)
        read = (await client.get(address)).json()
        assert (read["status"], read["revokedAt"] is not None) == ("revoked", True)
        async with app.state.db.reading() as session:
            kept = await session.scalars(sa.select(AuditLog.action).where(AuditLog.entity_type == "delegation"))
        assert sorted(kept.all()) == ["delegation.create", "delegation.revoke"]

    async def test_is_for_whoever_manages_the_account_too(self, desk: Desk, app: FastAPI) -> None:
        made = await lend(desk, app, "approver.owner", "viewer")
        admin, owner = await desk.as_("admin"), await person(desk, "approver.owner")

        listed = await admin.get(HOME, params={"userPublicId": owner})
        foreign = await (await desk.as_("dc.consultant")).get(HOME, params={"userPublicId": owner})

        assert [one["publicId"] for one in listed.json()["items"]] == [made.json()["publicId"]]
        assert foreign.status_code == 404
        assert (await admin.delete(f"{HOME}/{made.json()['publicId']}")).status_code == 204


async def submitted_rfa(desk: Desk) -> dict[str, Any]:
    """An RFA that waits for the owner's approval."""
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
    await desk.act("dc.contractor", rfa, "submit")
    await desk.act("reviewer.consultant", rfa, "approve")
    return rfa


def transitions(document: dict[str, Any]) -> str:
    return f"/api/v1/workflow/instances/{document['workflow']['instancePublicId']}/transitions"


class TestActing:
    async def test_approves_an_rfa_for_who_is_away_with_both_names_on_every_record(
        self, desk: Desk, app: FastAPI
    ) -> None:
        owner, viewer = await person(desk, "approver.owner"), await person(desk, "viewer")
        rfa = await submitted_rfa(desk)
        client = await desk.as_("viewer")
        before = await client.post(transitions(rfa), json={"action": "approve"})
        assert (before.status_code, before.json()["code"]) == (403, "WORKFLOW_ACTION_FORBIDDEN")
        await lend(desk, app, "approver.owner", "viewer")

        read = unwrapped(await client.get(f"/api/v1/rfas/{rfa['publicId']}"))["workflow"]
        listed = (await desk.listed("viewer", "rfas"))[0]["workflow"]
        (waiting,) = (await client.get("/api/v1/inbox")).json()["items"]
        done = await desk.act("viewer", rfa, "approve")

        absent = {"publicId": owner, "displayName": "อนันต์ เห็นชอบ"}
        for envelope in (read, listed, waiting["workflow"]):
            assert sorted(envelope["availableActions"]) == ["approve", "reject", "request-revision"]
            assert [(one["inOwnRight"], one["onBehalfOf"]) for one in envelope["actions"]] == [(False, [absent])] * 3
            assert envelope["canEdit"] is False
        assert waiting["data"]["onBehalfOf"] == [absent]
        assert done["workflow"]["currentState"] == "approved"
        address = transitions(rfa).replace("transitions", "history")
        step = (await client.get(address)).json()["items"][-1]
        assert (step["actor"]["publicId"], step["onBehalfOf"]) == (viewer, absent)
        entries = (await client.get(f"/api/v1/rfas/{rfa['publicId']}/history")).json()["items"]
        assert [one["onBehalfOf"] for one in entries if one["toState"] == "approved"] == [absent]
        await self._kept(app, rfa, viewer, owner)

    async def _kept(self, app: FastAPI, rfa: dict[str, Any], viewer: str, owner: str) -> None:
        async with app.state.db.reading() as session:
            event = (
                await session.scalars(
                    sa.select(OutboxEvent.payload).where(
                        OutboxEvent.aggregate_id == rfa["workflow"]["instancePublicId"]
                    )
                )
            ).all()[-1]
            row = (await session.scalars(sa.select(WorkflowHistory).order_by(WorkflowHistory.created_at))).all()[-1]
            told = (
                await session.scalars(
                    sa.select(AuditLog.details_json)
                    .where(AuditLog.action == "workflow.transition")
                    .order_by(AuditLog.created_at)
                )
            ).all()[-1]
        assert (event["actor"]["publicId"], event["actor"]["onBehalfOf"]["publicId"]) == (viewer, owner)
        assert (row.action_by_user_uuid, row.on_behalf_of_user_uuid) == (viewer, owner)
        assert row.on_behalf_of_user_id is not None
        assert told["onBehalfOfPublicId"] == owner

    async def test_takes_a_letter_in_its_own_right_or_for_somebody_as_it_says(self, desk: Desk, app: FastAPI) -> None:
        first, second = [await desk.write("dc.contractor", "correspondences", desk.letter("คคง.")) for _ in range(2)]
        for letter in (first, second):
            await desk.act("dc.contractor", letter, "submit")
        assert (await (await desk.as_("reviewer.consultant")).get("/api/v1/inbox")).json()["items"] == []
        await lend(desk, app, "dc.consultant", "reviewer.consultant", workflowCodes=["CORRESPONDENCE_FLOW_V1"])
        absent, client = await person(desk, "dc.consultant"), await desk.as_("reviewer.consultant")

        mine = await client.post(transitions(first), json={"action": "approve", "onBehalfOf": await self._me(client)})
        theirs = await client.post(transitions(first), json={"action": "approve", "onBehalfOf": absent})
        nobody = await client.post(
            transitions(second), json={"action": "approve", "onBehalfOf": await person(desk, "admin")}
        )

        assert mine.status_code == 403
        assert (theirs.status_code, theirs.json()["workflow"]["currentState"]) == (200, "approved"), theirs.text
        assert (nobody.status_code, pointers(nobody)) == (422, ["/onBehalfOf"])
        own = await desk.act("dc.consultant", second, "approve")  # who is away may still act himself
        assert own["workflow"]["currentState"] == "approved"

    @staticmethod
    async def _me(client: httpx.AsyncClient) -> str:
        return str((await client.get("/api/v1/auth/me")).json()["publicId"])

    async def test_is_never_lent_the_right_to_everything(self, desk: Desk, app: FastAPI) -> None:
        rfa = await submitted_rfa(desk)
        assert (await lend(desk, app, "admin", "viewer")).status_code == 201

        assert await self._tries(desk, rfa) == 403

    async def test_ends_with_its_days_its_matter_and_its_taking_back(self, desk: Desk, app: FastAPI) -> None:
        rfa = await submitted_rfa(desk)
        other = await lend(desk, app, "approver.owner", "viewer", workflowCodes=["CORRESPONDENCE_FLOW_V1"])
        assert await self._tries(desk, rfa) == 403
        await (await desk.as_("approver.owner")).delete(other.headers["location"])
        made = await lend(desk, app, "approver.owner", "viewer", first=1, last=1, projectPublicId=desk.project)
        assert await self._tries(desk, rfa) == 403

        clock = app.state.clock
        days = [clock.now() + timedelta(days=later) for later in (1, 2)]
        app.state = replace(app.state, clock=FixedClock(days[1], clock.zone))
        assert await self._tries(desk, rfa) == 403
        app.state = replace(app.state, clock=FixedClock(days[0], clock.zone))
        assert await self._offered(desk, rfa) == ["approve", "reject", "request-revision"]
        await (await desk.as_("approver.owner")).delete(made.headers["location"])
        assert await self._offered(desk, rfa) == []
        assert await self._tries(desk, rfa) == 403

    async def test_lends_steps_and_nothing_else(self, desk: Desk, app: FastAPI) -> None:
        draft = await desk.write("dc.consultant", "correspondences", desk.letter("กทท."))
        sent = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await lend(desk, app, "approver.owner", "viewer")
        client = await desk.as_("viewer")

        edit = await client.patch(f"/api/v1/correspondences/{draft['publicId']}", json={"subject": "แก้ไข"})
        cancel = await client.post(f"/api/v1/correspondences/{sent['publicId']}/cancel", json={"reason": "ทดสอบระบบ"})
        write = await client.post("/api/v1/correspondences", json=desk.letter("คคง."))

        assert {edit.status_code, cancel.status_code, write.status_code} <= {403, 404}
        assert (await client.get(f"/api/v1/correspondences/{draft['publicId']}")).status_code == 404

    @staticmethod
    async def _tries(desk: Desk, document: dict[str, Any]) -> int:
        return (await (await desk.as_("viewer")).post(transitions(document), json={"action": "approve"})).status_code

    @staticmethod
    async def _offered(desk: Desk, document: dict[str, Any]) -> list[str]:
        read = await (await desk.as_("viewer")).get(f"/api/v1/rfas/{document['publicId']}")
        return sorted(read.json()["workflow"]["availableActions"])


class TestSheet:
    async def test_is_answered_for_who_is_away_as_that_persons_part(self, desk: Desk, app: FastAPI) -> None:
        absent = await person(desk, "reviewer.consultant")
        people = [await person(desk, "dc.consultant"), absent]
        body = {"projectPublicId": desk.project, "subject": "เวียนเพื่อพิจารณา"}
        assignees = [{"userPublicId": one, "kind": kind} for one, kind in zip(people, ("MAIN", "ACTION"), strict=True)]
        sheet = await desk.write("dc.consultant", "circulations", body | {"assignees": assignees})
        await desk.act("dc.consultant", sheet, "start")
        await lend(desk, app, "reviewer.consultant", "dc.consultant")
        client = await desk.as_("dc.consultant")
        address = f"/api/v1/circulations/{sheet['publicId']}/responses"

        own = await client.post(address, json={"status": "COMPLETED", "comment": "ของตนเอง"})
        theirs = await client.post(address, json={"status": "COMPLETED", "comment": "ทำแทน"})
        again = await client.post(address, json={"status": "COMPLETED"})

        assert (own.status_code, theirs.status_code) == (201, 201), theirs.text
        parts = {part["user"]["publicId"]: part["comment"] for part in theirs.json()["data"]["assignees"]}
        assert parts == {people[0]: "ของตนเอง", absent: "ทำแทน"}
        assert (again.status_code, again.json()["code"]) == (409, "CIRCULATION_ANSWERED")
        items = (await client.get(f"/api/v1/circulations/{sheet['publicId']}/history")).json()["items"]
        answers = [one for one in items if one["action"] == "circulation.respond"]
        assert [one["onBehalfOf"] and one["onBehalfOf"]["publicId"] for one in answers] == [absent, None]

    async def test_is_lent_with_the_workflow_that_it_runs_on(self, desk: Desk, app: FastAPI) -> None:
        admin, absent = await desk.as_("admin"), await person(desk, "reviewer.consultant")
        raw = next(one for one in shipped() if one["workflow"] == "CIRCULATION_FLOW_V1") | {"workflow": "SHEETS"}
        await admin.post("/api/v1/workflow/definitions", json={"dsl": raw, "activate": True})
        order = {"kind": "circulation", "workflowCode": "SHEETS", "projectPublicId": desk.project}
        assert (await admin.put("/api/v1/workflow/choices", json=order)).status_code == 200
        assignees = [{"userPublicId": absent, "kind": "MAIN"}]
        body = {"projectPublicId": desk.project, "subject": "เวียน", "assignees": assignees}
        sheet = await desk.write("dc.consultant", "circulations", body)
        await desk.act("dc.consultant", sheet, "start")
        answers = []
        for code in ("CIRCULATION_FLOW_V1", "SHEETS"):
            lent = await lend(desk, app, "reviewer.consultant", "dc.consultant", workflowCodes=[code])
            client = await desk.as_("dc.consultant")
            address = f"/api/v1/circulations/{sheet['publicId']}/responses"
            answers.append((await client.post(address, json={"status": "COMPLETED"})).status_code)
            away = await desk.as_("reviewer.consultant")
            await away.delete(f"{HOME}/{lent.json()['publicId']}")

        assert sheet["workflow"]["workflowCode"] == "SHEETS"
        assert answers == [403, 201]

    async def test_takes_the_step_of_who_is_away_by_the_workflow_too(self, desk: Desk, app: FastAPI) -> None:
        absent = await person(desk, "reviewer.consultant")
        body = {
            "projectPublicId": desk.project,
            "subject": "เวียน",
            "assignees": [{"userPublicId": absent, "kind": "MAIN"}],
        }
        sheet = await desk.write("dc.consultant", "circulations", body)
        await desk.act("dc.consultant", sheet, "start")
        await lend(desk, app, "reviewer.consultant", "dc.consultant")
        (waiting,) = (await (await desk.as_("dc.consultant")).get("/api/v1/inbox")).json()["items"]

        await desk.act("dc.consultant", sheet, "respond", comment="แทน")

        read = unwrapped(await desk.read("dc.consultant", "circulations", sheet["publicId"]))
        assert [one["publicId"] for one in waiting["data"]["onBehalfOf"]] == [absent]
        assert [(part["status"], part["comment"]) for part in read["assignees"]] == [("COMPLETED", "แทน")]


class TestCost:
    async def test_is_nothing_in_ones_own_right_and_one_statement_where_nobody_is_away(
        self, desk: Desk, app: FastAPI
    ) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        asked: list[str] = []

        def listen(_c: Any, _cursor: Any, statement: str, *_more: Any) -> None:
            if "FROM delegations" in statement:
                asked.append(statement)

        engine = app.state.db.engine.sync_engine
        sa.event.listen(engine, "before_cursor_execute", listen)
        own = await desk.act("dc.contractor", rfa, "submit")
        in_own_right = len(asked)
        refused = await (await desk.as_("viewer")).post(transitions(rfa), json={"action": "approve"})
        sa.event.remove(engine, "before_cursor_execute", listen)

        assert (own["workflow"]["currentState"], refused.status_code) == ("pending_review", 403)
        assert (in_own_right, len(asked)) == (0, 1)

    async def test_of_an_inbox_is_the_same_for_one_row_and_for_many(self, desk: Desk, app: FastAPI) -> None:
        await lend(desk, app, "approver.owner", "viewer")
        engine, counts = app.state.db.engine.sync_engine, []
        client = await desk.as_("viewer")
        for more in (1, 3):
            for _ in range(more):
                await submitted_rfa(desk)
            asked: list[str] = []
            listen = partial(_note, asked)
            sa.event.listen(engine, "before_cursor_execute", listen)
            items = (await client.get("/api/v1/inbox")).json()["items"]
            sa.event.remove(engine, "before_cursor_execute", listen)
            counts.append((len(items), len(asked)))

        assert [items for items, _ in counts] == [1, 4]
        assert counts[0][1] == counts[1][1]


def _note(asked: list[str], _c: Any, _cursor: Any, statement: str, *_more: Any) -> None:
    asked.append(statement)
