"""The audit trail as people read it: filters in their words, names for ids, what was changed, and no row that is not theirs."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from tests.conftest import SignIn
from tests.further_people import add_people
from tests.numbering_requests import read_project

AUDIT = "/api/v1/audit"
NOON = datetime(2026, 3, 2, 5, tzinfo=UTC)  # of Bangkok


async def caller_named(app: FastAPI, username: str) -> Caller:
    async with app.state.db.reading() as session:
        found = await identity.find_caller(session, username=username)
    assert found is not None
    return found


async def write(
    app: FastAPI,
    username: str,
    action: str,
    at: datetime = NOON,
    about: tuple[str, str] = ("rfa", "d-1"),
    **details: Any,
) -> None:
    caller = await caller_named(app, username)

    async def work(session: AsyncSession) -> None:
        await audit.record(
            audit.AuditOrigin(caller, at, "203.0.113.9"), session, audit.AuditEntry(action, *about, details)
        )

    await app.state.db.transact(work)


@pytest_asyncio.fixture
async def admin(app: FastAPI, signed_in: SignIn) -> httpx.AsyncClient:
    await write(app, "dc.contractor", "rfa.create", documentNumber="RFA-1")
    await write(
        app, "dc.consultant", "rfa.edit", NOON + timedelta(days=1), changes={"subject": {"old": "ก", "new": "ข"}}
    )
    await write(app, "padmin", "project.reminders", NOON + timedelta(days=2), ("project", "p-1"), days_before=[3])
    return await signed_in("admin")


async def actions(client: httpx.AsyncClient, **asked: object) -> list[str]:
    answer = await client.get(AUDIT, params={"until": "2026-03-31", **asked})
    assert answer.status_code == 200, answer.text
    return [one["action"] for one in answer.json()["items"]]


class TestWords:
    @pytest.mark.parametrize(
        ("action", "about", "details", "label", "name"),
        [
            ("role.create", ("role", "01a2"), {"role": "Checker", "project": "01b3"}, "Role created", "Checker"),
            ("project.reopen", ("project", "01a2"), {"code": "P2"}, "Project reopened", "P2"),
            (
                "project.create",
                ("project", "01a2"),
                {"section": "contracts", "project": "P2"},
                "Project created: contracts",
                "P2",
            ),
        ],
    )
    async def test_an_entry_says_what_was_done_and_to_what(
        self, app: FastAPI, signed_in: SignIn, action: str, about: tuple[str, str], details: Any, label: str, name: str
    ) -> None:
        await write(app, "admin", action, about=about, **details)

        found = (await (await signed_in("admin")).get(AUDIT, params={"action": action})).json()["items"]

        assert [(one["label"]["en"], one["object"]["name"]) for one in found] == [(label, name)]


class TestFilters:
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({}, ["project.reminders", "rfa.edit", "rfa.create"]),
            ({"person": "dc.consultant"}, ["rfa.edit"]),
            ({"person": "nobody"}, []),
            ({"object": "d-1"}, ["rfa.edit", "rfa.create"]),
            ({"object": "d-1", "person": "dc.contractor"}, ["rfa.create"]),
            ({"object": "d-1", "kind": "project"}, []),
            ({"kind": "project"}, ["project.reminders"]),
            ({"action": "rfa.edit"}, ["rfa.edit"]),
            ({"from": "2026-03-03"}, ["project.reminders", "rfa.edit"]),
            ({"from": "2026-03-03", "until": "2026-03-03"}, ["rfa.edit"]),
            ({"person": "dc.consultant", "from": "2026-03-04"}, []),
        ],
    )
    async def test_each_narrows_the_trail(
        self, admin: httpx.AsyncClient, asked: dict[str, str], found: list[str]
    ) -> None:
        assert await actions(admin, **asked) == found

    async def test_a_day_is_one_of_the_zone_of_the_installation(self, app: FastAPI, signed_in: SignIn) -> None:
        client = await signed_in("admin")
        await write(app, "padmin", "rfa.create", datetime(2026, 3, 1, 17, 30, tzinfo=UTC))  # half past midnight

        assert await actions(client, **{"from": "2026-03-02", "until": "2026-03-02"}) == ["rfa.create"]

    async def test_a_person_may_be_named_by_public_id(self, app: FastAPI, admin: httpx.AsyncClient) -> None:
        consultant = await caller_named(app, "dc.consultant")

        assert await actions(admin, person=str(consultant.public_id)) == ["rfa.edit"]

    async def test_a_document_is_found_by_its_number_and_a_project_by_its_code(
        self, app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        project = await read_project(admin)
        consultant = await signed_in("dc.consultant")
        letter = {
            "projectPublicId": project.id,
            "correspondenceTypeCode": "LETTER",
            "recipients": [{"organizationPublicId": project.organizations["ผรม.1"], "recipientType": "TO"}],
            "subject": "ขอเชิญประชุม",
        }
        made = (await consultant.post("/api/v1/correspondences", json=letter)).json()["data"]
        await write(app, "padmin", "project.reminders", about=("project", project.id))

        for name in (made["documentNumber"], made["publicId"]):
            (row,) = (await admin.get(AUDIT, params={"object": name})).json()["items"]
            assert (row["action"], row["object"]["reference"]) == ("correspondence.create", made["publicId"])
            assert row["object"]["name"] == made["documentNumber"]
        (row,) = (await admin.get(AUDIT, params={"object": "LCBP3-C2", "action": "project.reminders"})).json()["items"]
        assert row["object"]["name"] == "LCBP3-C2"

    async def test_a_period_that_ends_before_it_begins_is_named(self, admin: httpx.AsyncClient) -> None:
        answer = await admin.get(AUDIT, params={"from": "2026-03-04", "until": "2026-03-02"})

        assert answer.status_code == 422
        assert [one["pointer"] for one in answer.json()["errors"]] == ["query:until"]

    async def test_pages_go_through_all_rows_once(self, admin: httpx.AsyncClient) -> None:
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = (await admin.get(AUDIT, params={"object": "d-1", "limit": 1, **cursor})).json()
            seen += [one["action"] for one in page["items"]]
            if page["nextCursor"] is None:
                break
            cursor = {"cursor": page["nextCursor"]}

        assert seen == ["rfa.edit", "rfa.create"]


class TestEntry:
    async def test_says_what_it_was_before_in_words_and_without_keys(
        self, app: FastAPI, admin: httpx.AsyncClient
    ) -> None:
        await write(app, "padmin", "rfa.edit", NOON + timedelta(days=5), secret="whsec_1", userId=7)

        newest, _, edited, _ = (await admin.get(AUDIT, params={"until": "2026-03-31"})).json()["items"]

        assert newest["details"] == {"secret": "•••"}
        assert edited["changes"] == [{"field": "subject", "before": "ก", "after": "ข"}]
        assert edited["label"] == {"th": "แก้ไข RFA", "en": "RFA edited"}
        assert (edited["person"]["username"], edited["address"]) == ("dc.consultant", "203.0.113.9")


class TestOrganization:
    async def test_sees_what_its_own_accounts_did_and_nothing_else(
        self, app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        await add_people(app)
        own = await signed_in("orgadmin")

        assert await actions(own) == ["rfa.edit"]
        assert await actions(own, object="d-1") == ["rfa.edit"]
        assert await actions(own, kind="project") == []
        assert await actions(own, person="dc.contractor") == []
        rows = csv.reader(io.StringIO((await own.get(f"{AUDIT}/export?format=csv&until=2026-03-31")).text))
        assert [row[4] for row in rows][1:] == ["rfa.edit"]

    async def test_who_only_has_a_role_there_is_not_of_it(
        self, app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        """The contractor's controller is given a role at the consultant: what they do at home is not the consultant's to know."""
        await add_people(app)
        async with app.state.db.reading() as session:
            ctx = await identity.system_context(session, app.state.clock)
        grant = identity.RoleGrant("Viewer", organization_code="คคง.")
        await app.state.db.transact(lambda session: identity.grant_role(ctx, session, "dc.contractor", grant))

        assert await actions(await signed_in("orgadmin")) == ["rfa.edit"]


class TestExport:
    @pytest.mark.parametrize("form", ["csv", "xlsx"])
    async def test_has_what_the_filters_list(self, admin: httpx.AsyncClient, form: str) -> None:
        answer = await admin.get(f"{AUDIT}/export", params={"format": form, "object": "d-1"})

        assert answer.status_code == 200
        assert f"audit.{form}" in answer.headers["content-disposition"]
        if form == "csv":
            head, *rows = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
            assert len(head) == len(rows[0]) == 13
            assert [(row[1], row[4], row[8]) for row in rows] == [
                ("dc.consultant", "rfa.edit", "subject: ก → ข"),
                ("dc.contractor", "rfa.create", ""),
            ]
        else:
            assert answer.content[:2] == b"PK"

    async def test_goes_on_over_many_pages(
        self, app: FastAPI, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("saraban.ops.audit_trail._EXPORT_PAGE_ROWS", 1)

        answer = await admin.get(f"{AUDIT}/export", params={"format": "csv", "until": "2026-03-31"})

        assert len(answer.text.strip().splitlines()) == 4

    async def test_text_that_a_program_takes_for_a_formula_is_harmless(self, app: FastAPI, signed_in: SignIn) -> None:
        await write(app, "padmin", "rfa.create", about=("rfa", "=1+1"))

        answer = await (await signed_in("admin")).get(
            f"{AUDIT}/export", params={"format": "csv", "action": "rfa.create"}
        )

        assert "'=1+1" in answer.text


class TestPage:
    async def page(self, app: FastAPI, signed_in: SignIn, address: str, language: str = "en", **headers: str) -> str:
        client = await signed_in("admin")
        answer = await client.get(address, headers={"Cookie": f"lang={language}", **headers})
        assert answer.status_code == 200, answer.text
        return answer.text

    async def test_shows_before_and_after_by_the_names_of_fields(
        self, app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        page = await self.page(app, signed_in, "/audit?object=d-1", "th")

        assert "แก้ไข RFA" in page
        assert "เรื่อง" in page
        assert "/rfas/d-1" in page

    async def test_takes_thai_days_and_puts_two_in_order(
        self, app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        page = await self.page(app, signed_in, "/audit?from=03/03/2569&until=02/03/2569", "th")

        assert "RFA-1" in page
        assert "ตั้งการเตือน" not in page.partition('id="list"')[2]

    async def test_names_a_day_that_is_none_and_lists_the_rest(
        self, app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        page = await self.page(app, signed_in, "/audit?from=yesterday&object=d-1")

        assert "must be a date" in page
        assert "RFA-1" in page
        assert 'value="yesterday"' in page

    async def test_a_fragment_is_the_list_alone(
        self, app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        page = await self.page(app, signed_in, "/audit?object=d-1", **{"HX-Request": "true"})

        assert "<html" not in page
        assert "RFA-1" in page
