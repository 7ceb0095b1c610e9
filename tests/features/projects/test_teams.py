"""Review teams of a project, over the API."""

from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.events.models import OutboxEvent
from saraban.identity.models import User
from saraban.projects import service as projects
from tests.conftest import SignIn

TEAM = {"nameTh": "ทีมตรวจแบบ", "nameEn": "Design review"}


@pytest.fixture
async def address(signed_in: SignIn) -> str:
    admin = await signed_in("admin")
    (project,) = (await admin.get("/api/v1/projects")).json()["items"]
    return f"/api/v1/projects/{project['publicId']}/review-teams"


async def person(app: FastAPI, username: str) -> str:
    async with app.state.db.reading() as session:
        return str(await session.scalar(sa.select(User.public_id).where(User.username == username)))


async def seats(app: FastAPI) -> set[tuple[str, str | None]]:
    async with app.state.db.reading() as session:
        project = await projects.find_project_by_code(session, code="LCBP3-C2")
        found = await projects.memberships(session, project_ids=[project.id])
    return {(seat.team, seat.discipline) for seat in found}


class TestTeams:
    async def test_are_made_and_changed_by_who_manages_the_project(
        self, app: FastAPI, signed_in: SignIn, address: str
    ) -> None:
        admin = await signed_in("padmin")
        reviewer = await person(app, "reviewer.consultant")

        for body in (TEAM, TEAM | {"nameEn": "Design"}):
            assert (await admin.put(f"{address}/DESIGN", json=body)).status_code == 200
        given: dict[str, Any] = {"disciplineCode": "STR", "role": "LEAD"}
        placed = await admin.put(f"{address}/DESIGN/members/{reviewer}", json=given)

        assert placed.status_code == 200, placed.text
        (team,) = (await admin.get(address)).json()["items"]
        assert (team["code"], team["nameEn"], team["isActive"]) == ("DESIGN", "Design", True)
        (member,) = team["members"]
        assert given.items() <= member.items()
        assert member["userPublicId"] == reviewer
        assert await seats(app) == {("DESIGN", "STR")}
        async with app.state.db.reading() as session:
            told = (await session.scalars(sa.select(OutboxEvent.name))).all()
        assert told.count("review_team.changed") == 3

    async def test_that_are_not_active_seat_nobody(self, app: FastAPI, signed_in: SignIn, address: str) -> None:
        admin = await signed_in("padmin")
        reviewer = await person(app, "reviewer.consultant")
        await admin.put(f"{address}/DESIGN", json=TEAM)
        await admin.put(f"{address}/DESIGN/members/{reviewer}", json={})

        await admin.put(f"{address}/DESIGN", json=TEAM | {"isActive": False})

        assert await seats(app) == set()

    async def test_and_members_are_removed(self, app: FastAPI, signed_in: SignIn, address: str) -> None:
        admin = await signed_in("padmin")
        reviewer = await person(app, "reviewer.consultant")
        await admin.put(f"{address}/DESIGN", json=TEAM)
        member = f"{address}/DESIGN/members/{reviewer}"
        await admin.put(member, json={})

        assert [(await admin.delete(member)).status_code for _ in range(2)] == [204, 404]
        assert await seats(app) == set()
        assert [(await admin.delete(f"{address}/DESIGN")).status_code for _ in range(2)] == [204, 404]
        assert (await admin.get(address)).json()["items"] == []

    async def test_seat_only_who_takes_part_for_a_discipline_of_the_project(
        self, app: FastAPI, signed_in: SignIn, address: str
    ) -> None:
        admin = await signed_in("padmin")
        await admin.put(f"{address}/DESIGN", json=TEAM)
        reviewer = await person(app, "reviewer.consultant")

        unknown = await admin.put(f"{address}/DESIGN/members/{reviewer}", json={"disciplineCode": "XXX"})
        stranger = await admin.put(f"{address}/DESIGN/members/{await person(app, 'system')}", json={})

        assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (422, "/disciplineCode")
        assert stranger.status_code == 404

    @pytest.mark.parametrize("username", ["viewer", "reviewer.consultant"])
    async def test_are_read_by_all_and_changed_by_few(self, signed_in: SignIn, address: str, username: str) -> None:
        client = await signed_in(username)

        assert (await client.get(address)).json()["items"] == []
        assert (await client.put(f"{address}/DESIGN", json=TEAM)).status_code == 403
