"""The working days of a project, over the API and at the terminal."""

from datetime import date
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from typer.testing import CliRunner

from saraban.config import Settings
from saraban.projects import service as projects
from saraban.projects.domain.calendar import working_days_after
from tests.conftest import SignIn
from tests.terminal import DEMO

HOLIDAY = {"nameTh": "หยุดไซต์งานปลายปี", "nameEn": "Site closed"}


@pytest.fixture
async def address(signed_in: SignIn) -> str:
    admin = await signed_in("admin")
    project = next(
        one for one in (await admin.get("/api/v1/projects")).json()["items"] if one["projectCode"] == "LCBP3-C2"
    )
    return f"/api/v1/projects/{project['publicId']}/calendar"


async def days(client: httpx.AsyncClient, address: str, year: int = 2026) -> dict[str, tuple[str, str]]:
    answer = (await client.get(address, params={"year": year})).json()
    return {day["date"]: (day["kind"], day["source"]) for day in answer["days"]}


async def counted(app: FastAPI, start: date, count: int) -> date:
    async with app.state.db.reading() as session:
        project = await projects.find_project_by_code(session, code="LCBP3-C2")
        return working_days_after(await projects.work_calendar(session, project_id=project.id), start, count)


class TestCalendar:
    async def test_begins_with_the_weekend_and_the_public_holidays(self, signed_in: SignIn, address: str) -> None:
        viewer = await signed_in("viewer")
        answer = (await viewer.get(address, params={"year": 2026})).json()

        assert (answer["weekend"], answer["isShipped"]) == (["SATURDAY", "SUNDAY"], True)
        assert {"date": "2026-04-13", "kind": "HOLIDAY", "source": "PUBLIC"}.items() <= answer["days"][4].items()
        later = (await viewer.get(address, params={"year": 2040})).json()
        assert (later["days"], later["isShipped"]) == ([], False)

    async def test_takes_holidays_and_working_days_of_the_project(
        self, app: FastAPI, signed_in: SignIn, address: str
    ) -> None:
        admin = await signed_in("padmin")
        working = HOLIDAY | {"kind": "WORKING"}
        for day, body in (("2026-12-30", HOLIDAY), ("2026-12-30", HOLIDAY), ("2026-12-31", working)):
            assert (await admin.put(f"{address}/days/{day}", json=body)).status_code == 200

        found = await days(admin, address)
        assert found["2026-12-30"] == ("HOLIDAY", "PROJECT")
        assert found["2026-12-31"] == ("WORKING", "PROJECT")
        assert await counted(app, date(2026, 12, 29), 1) == date(2026, 12, 31)

        for _ in range(2):
            gone = await admin.delete(f"{address}/days/2026-12-31")
        assert gone.status_code == 404
        assert (await days(admin, address))["2026-12-31"] == ("HOLIDAY", "PUBLIC")

    async def test_has_the_weekend_of_the_project(self, app: FastAPI, signed_in: SignIn, address: str) -> None:
        admin = await signed_in("padmin")
        for weekend in (["FRIDAY"], ["SUNDAY", "SUNDAY"]):
            assert (await admin.put(f"{address}/weekend", json={"weekend": weekend})).status_code == 204

        assert (await admin.get(address, params={"year": 2026})).json()["weekend"] == ["SUNDAY"]
        assert await counted(app, date(2026, 11, 20), 1) == date(2026, 11, 21)

    @pytest.mark.parametrize("body", [{"weekend": ["FUNDAY"]}, {"weekend": ["MONDAY"] * 7}, {"weekend": None}], ids=str)
    async def test_refuses_a_weekend_that_is_none(self, signed_in: SignIn, address: str, body: Any) -> None:
        admin = await signed_in("padmin")

        assert (await admin.put(f"{address}/weekend", json=body)).status_code == 422

    async def test_is_changed_by_nobody_who_does_not_manage_the_project(self, signed_in: SignIn, address: str) -> None:
        contractor = await signed_in("dc.contractor")

        answers = [
            await contractor.put(f"{address}/days/2026-12-30", json=HOLIDAY),
            await contractor.delete(f"{address}/days/2026-12-30"),
            await contractor.put(f"{address}/weekend", json={"weekend": []}),
        ]

        assert [answer.status_code for answer in answers] == [403, 403, 403]

    @pytest.mark.parametrize("day", ["2026-02-30", "yesterday", "01-01-69"])
    async def test_refuses_a_day_that_is_none(self, signed_in: SignIn, address: str, day: str) -> None:
        admin = await signed_in("padmin")
        answer = await admin.put(f"{address}/days/{day}", json=HOLIDAY)

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "path:day")


class TestTerminal:
    def test_keeps_and_shows_the_days(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        from saraban import config
        from saraban.cli import app

        monkeypatch.setattr(config, "load", lambda: settings)
        monkeypatch.setenv("SARABAN_LANG", "en")
        run = CliRunner().invoke
        named = ["--name-th", "ปิดไซต์", "--name-en", "Site closed", "--as", "padmin", *DEMO]

        assert run(app, ["project", "add-day", "30 ธันวาคม พ.ศ. 2569", *named]).exit_code == 0
        assert run(app, ["project", "weekend", "sunday", "--as", "padmin", *DEMO]).exit_code == 0
        shown = run(app, ["project", "calendar", "2026", *DEMO]).output
        assert "Weekend: SUNDAY" in shown
        assert "2026-12-30  HOLIDAY  PROJECT  Site closed" in shown
        assert run(app, ["project", "remove-day", "2026-12-30", "--as", "padmin", *DEMO]).exit_code == 0
        assert "2026-12-30" not in run(app, ["project", "calendar", "2026", *DEMO]).output
        assert run(app, ["project", "remove-day", "yesterday", "--as", "padmin", *DEMO]).exit_code != 0
        assert run(app, ["project", "weekend", "someday", "--as", "padmin", *DEMO]).exit_code != 0
