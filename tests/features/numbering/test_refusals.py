"""What numbering refused: kept for everybody, read by operators, forgotten after the days that are set."""

import sqlite3
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from prometheus_client import REGISTRY

from saraban.kit.db import Database
from saraban.numbering.series.models import NumberError
from saraban.worker.timers import purge_number_errors
from tests.conftest import SignIn, client_of
from tests.number_commands import command, rows
from tests.numbering_requests import BASE, GENERATE, count, db, present, read_project
from tests.terminal import Command

__all__ = ["command", "db", "rows"]

ERRORS = f"{BASE}/logs/errors"


async def refuse_two(signed_in: SignIn) -> list[httpx.Response]:
    """Have two people refused who ask for what is not there."""
    clients = [await signed_in("dc.contractor"), await signed_in("dc.consultant")]
    project = await read_project(clients[0])
    return [await client.post(GENERATE, json=project.letter(correspondenceTypeCode="NONE")) for client in clients]


class TestList:
    async def test_tells_operators_who_was_refused_what(self, signed_in: SignIn) -> None:
        answers = await refuse_two(signed_in)
        admin = await signed_in("admin")

        items = (await admin.get(ERRORS)).json()["items"]

        assert [answer.status_code for answer in answers] == [422, 422]
        assert [(one["username"], one["context"]["code"]) for one in items] == [
            ("dc.consultant", "VALIDATION_ERROR"),
            ("dc.contractor", "VALIDATION_ERROR"),
        ]
        assert {one["errorType"] for one in items} == {"VALIDATION_ERROR"}
        assert items[0]["context"]["request"] == f"POST {GENERATE}"

    async def test_is_narrowed_and_turned_over(self, signed_in: SignIn) -> None:
        one, _ = await refuse_two(signed_in)
        admin = await signed_in("admin")

        async def found(**params: Any) -> list[Any]:
            answer = await admin.get(ERRORS, params=params)
            assert answer.status_code == 200, answer.text
            return [one["username"] for one in answer.json()["items"]]

        first = (await admin.get(ERRORS, params={"limit": 1})).json()
        assert await found(username="dc.consultant") == ["dc.consultant"]
        assert await found(traceId=one.headers["x-trace-id"]) == ["dc.contractor"]
        assert await found(errorType="LOCK_TIMEOUT") == []
        assert await found(limit=1, cursor=first["nextCursor"]) == ["dc.contractor"]
        assert (await admin.get(ERRORS, params={"errorType": "SHRUG"})).status_code == 422

    @pytest.mark.parametrize("username", ["padmin", "dc.consultant"])
    async def test_is_for_who_may_read_the_systems_logs(self, signed_in: SignIn, username: str) -> None:
        client = await signed_in(username)

        assert (await client.get(ERRORS)).status_code == 403


class TestStrangers:
    async def test_write_no_rows_and_are_counted(self, app: FastAPI, signed_in: SignIn, db: Database) -> None:
        project = await read_project(await signed_in("dc.consultant"))
        forged = {"Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"}
        before = counted()

        async with client_of(app) as stranger:
            answers = [
                await stranger.post(GENERATE, json=project.letter()),
                await stranger.post(GENERATE, json={}, headers=forged),
                await stranger.get(f"{BASE}/configs"),
            ]

        assert [answer.status_code for answer in answers] == [401, 401, 401]
        assert await count(db, NumberError) == 0
        assert counted() - before == 3

    async def test_leave_their_address_in_the_access_log(self, app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
        async with client_of(app) as stranger:
            await stranger.get(f"{BASE}/configs")

        (line,) = [one.msg for one in caplog.records if one.name == "saraban.access"]
        assert isinstance(line, dict)
        assert line["address"]


def counted() -> float:
    return REGISTRY.get_sample_value("docnum_unauthenticated_total") or 0.0


class TestDurations:
    async def test_of_refusals_are_measured_apart(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        short = {"template": "{ORIGINATOR}-M-{SEQ:1}", "overflow": "refuse", "correspondenceTypeCode": "MEMO"}
        await admin.put(f"{BASE}/configs", json={"projectPublicId": project.id} | short)
        before = [measured(outcome) for outcome in ("success", "refused")]

        for _ in range(10):
            last = await admin.post(GENERATE, json=project.letter(correspondenceTypeCode="MEMO"))

        assert (last.status_code, last.json()["code"]) == (409, "SEQUENCE_EXHAUSTED")
        assert [measured(outcome) for outcome in ("success", "refused")] == [before[0] + 9, before[1] + 1]


def measured(outcome: str) -> float:
    return REGISTRY.get_sample_value("docnum_generate_seconds_count", {"outcome": outcome}) or 0.0


class TestPurge:
    async def test_forgets_rows_that_are_older_than_the_setting(self, signed_in: SignIn, db: Database) -> None:
        await refuse_two(signed_in)
        now = present()
        first = sa.select(sa.func.min(NumberError.id)).scalar_subquery()
        old = sa.update(NumberError).where(NumberError.id == first).values(created_at=now - timedelta(days=31))
        await db.transact(lambda session: session.execute(old))

        left = []
        for days in (32, 30):
            system = SimpleNamespace(db=db, settings=SimpleNamespace(number_error_days=days))
            await purge_number_errors(system, now)
            left.append(await count(db, NumberError))

        assert left == [2, 1]


class TestCommand:
    def test_lists_them_newest_first(self, command: Command, rows: sqlite3.Connection) -> None:
        none = command("errors")
        for number, kind in enumerate(("LOCK_TIMEOUT", "DB_ERROR")):
            rows.execute(
                "INSERT INTO document_number_errors (uuid, error_type, error_message, context_data, trace_id, created_at)"
                ' VALUES (?, ?, \'told\', \'{"code": "A_CODE", "series": "x-{SEQ}"}\', ?, ?)',
                [f"{number:032}", kind, f"{number:032}", f"2026-11-0{number + 1} 10:00:00.000000"],
            )

        code, out, err = command("errors")

        assert none == (0, "There are none.\n", "")
        assert code == 0, err
        assert [line.split()[2] for line in out.splitlines()] == ["DB_ERROR", "LOCK_TIMEOUT"]
        assert "A_CODE  -  -  x-{SEQ}  told" in out
        for words in (("--type", "db_error"), ("--since", "2026-11-02"), ("--trace", f"{1:032}"), ("--limit", 1)):
            assert [line.split()[2] for line in command("errors", *words)[1].splitlines()] == ["DB_ERROR"], words
        assert command("errors", "--user", "padmin")[1] == "There are none.\n"
