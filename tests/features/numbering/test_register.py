"""The account of a series and the check of the books, over HTTP and at the terminal."""

import asyncio
import sqlite3
from typing import Any

import pytest

from saraban.bootstrap import System, carriers, load_documents
from saraban.config import Settings
from saraban.numbering import service as numbering
from tests.conftest import SignIn
from tests.number_commands import command, drawn, rows
from tests.numbering_requests import BASE, REASON, Project, read_project, reserved
from tests.terminal import Command

__all__ = ["command", "rows"]


async def account_of(client: Any, project: Project, **more: Any) -> dict[str, Any]:
    found = await client.get(f"{BASE}/series", params={"projectPublicId": project.id})
    series = found.json()["items"][0]["series"]
    answer = await client.get(
        f"{BASE}/series/account", params={"projectPublicId": project.id, "series": series, **more}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


class TestSeries:
    async def test_are_listed_with_where_they_stand(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        await drawn(client, project)
        await drawn(client, project)

        answer = await client.get(f"{BASE}/series", params={"projectPublicId": project.id})

        (row,) = answer.json()["items"]
        assert (row["lastNumber"], row["documentType"], "{SEQ}" in row["series"]) == (2, "LETTER", True)

    async def test_come_in_pages_by_name(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        await drawn(client, project)
        await drawn(client, project, correspondenceTypeCode="TRANSMITTAL", subTypeCode="GEN")
        params = {"projectPublicId": project.id, "limit": 1}

        first = (await client.get(f"{BASE}/series", params=params)).json()
        second = (await client.get(f"{BASE}/series", params={**params, "cursor": first["nextCursor"]})).json()

        names = [page["items"][0]["series"] for page in (first, second)]
        assert names == sorted(set(names))
        assert second["nextCursor"] is None

    async def test_are_listed_that_have_stated_numbers_only(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        answer = await client.post(f"{BASE}/manual-override", json=project.letter(sequence=5, reason=REASON))
        assert answer.status_code == 201, answer.text

        found = (await client.get(f"{BASE}/series", params={"projectPublicId": project.id})).json()
        (row,) = found["items"]
        page = await client.get("/numbers", params={"project": project.id})

        assert (row["lastNumber"], row["highestNumber"]) == (0, 5)
        assert row["series"].replace("{SEQ}", "…") in page.text
        assert [line["state"] for line in (await account_of(client, project))["items"]] == ["NOT_ISSUED", "CONFIRMED"]

    async def test_of_a_project_are_not_for_everybody(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)

        answer = await client.get(f"{BASE}/series", params={"projectPublicId": project.id})

        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")


class TestAccount:
    async def test_tells_what_became_of_each_number(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        first = await drawn(client, project)
        token = (await reserved(client, project))["reservationToken"]
        await client.post(f"{BASE}/cancel", json={"reservationToken": token, "reason": REASON})
        await client.post(f"{BASE}/void", json={"publicId": first["publicId"], "reason": REASON})

        account = await account_of(client, project)

        told = [(line["first"], line["state"], line["reason"]) for line in account["items"]]
        assert told == [(1, "VOID", REASON), (2, "CANCELLED", REASON)]
        assert account["lastNumber"] == 2

    async def test_explains_a_jump_made_by_hand(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        await drawn(client, project)
        answer = await client.post(
            f"{BASE}/manual-override",
            json=project.letter(sequence=5, reason=REASON, moveCounter=True, confirmedJump=4),
        )
        assert answer.status_code == 201, answer.text

        lines = (await account_of(client, project))["items"]

        assert [(line["first"], line["last"], line["state"]) for line in lines] == [
            (1, 1, "CONFIRMED"),
            (2, 4, "SKIPPED"),
            (5, 5, "CONFIRMED"),
        ]
        assert (lines[1]["reason"], lines[1]["username"]) == (REASON, "padmin")

    async def test_goes_on_where_a_page_ended(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        for _ in range(3):
            await drawn(client, project)

        first = await account_of(client, project, limit=2)
        second = await account_of(client, project, limit=2, cursor=first["nextCursor"])

        assert [line["first"] for line in first["items"] + second["items"]] == [1, 2, 3]
        assert second["nextCursor"] is None

    async def test_begins_where_it_is_asked_to(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        for _ in range(3):
            await drawn(client, project)

        account = await account_of(client, project, **{"from": 3})

        assert [line["first"] for line in account["items"]] == [3]

    async def test_of_a_series_that_never_counted_is_not_there(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)

        answer = await client.get(f"{BASE}/series/account", params={"projectPublicId": project.id, "series": "X-{SEQ}"})

        assert answer.status_code == 404

    @pytest.mark.parametrize("cursor", ["!!", "AAAA", "%00", "__________8", "AAAAAIAAAAA"])
    async def test_refuses_a_cursor_it_never_gave(self, signed_in: SignIn, cursor: str) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)

        answer = await client.get(
            f"{BASE}/series/account",
            params={"projectPublicId": project.id, "series": "X-{SEQ}", "cursor": cursor},
        )

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "query:cursor")


class TestTerminal:
    async def test_lists_series_and_accounts_for_one(self, signed_in: SignIn, command: Command) -> None:
        client = await signed_in("padmin")
        number = (await drawn(client, await read_project(client)))["documentNumber"]

        code, out, _ = await asyncio.to_thread(command, "series")
        series = out.split()[0]
        _, account, _ = await asyncio.to_thread(command, "account", series)

        assert code == 0
        assert number in account
        assert "The counter stands at 1." in account


class TestVerify:
    async def test_finds_the_demo_in_order(self, system: System) -> None:
        await load_documents(system)
        done: list[int] = []

        found = [
            one
            async for one in numbering.check_consistency(
                system.db, carriers=carriers(), progress=lambda n, _: done.append(n)
            )
        ]

        assert found == []
        assert done[-1] > 50

    async def test_at_the_terminal_names_what_disagrees(
        self, signed_in: SignIn, command: Command, rows: sqlite3.Connection
    ) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        number = (await drawn(client, project))["documentNumber"]

        clean = await asyncio.to_thread(command, "verify")
        rows.execute("DELETE FROM document_number_renderings")
        torn = await asyncio.to_thread(command, "verify")

        assert clean[0] == 0
        assert "everything adds up" in clean[1]
        assert torn[0] == 1
        assert f"LCBP3-C2 {number}: its printed form is missing" in torn[2]

    def test_cannot_tell_without_a_database(self, command: Command, settings: Settings) -> None:
        (settings.data_dir / "saraban.db").unlink()

        code, _, err = command("verify")

        assert code == 2
        assert "saraban migrate" in err
