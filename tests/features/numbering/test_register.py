"""The account of a series and the check of the books, over HTTP and at the terminal."""

import asyncio
import sqlite3
from typing import Any

import pytest

from saraban.bootstrap import carriers, closing, wire
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

    async def test_are_not_for_everybody(self, signed_in: SignIn) -> None:
        client = await signed_in("viewer")
        project = await read_project(client)

        for path, more in (
            ("series", {}),
            ("numbers", {"q": "1"}),
            ("series/account", {"series": "x"}),
            ("ledger/export", {}),
        ):
            answer = await client.get(f"{BASE}/{path}", params={"projectPublicId": project.id, **more})

            assert (path, answer.status_code, answer.json()["code"]) == (path, 403, "PERMISSION_DENIED")

    async def test_refuse_the_cursor_of_another_search(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        await drawn(client, project)
        await drawn(client, project, correspondenceTypeCode="TRANSMITTAL", subTypeCode="GEN")
        params = {"projectPublicId": project.id, "limit": 1}
        cursor = (await client.get(f"{BASE}/series", params=params)).json()["nextCursor"]

        answer = await client.get(f"{BASE}/series", params={**params, "q": "x", "cursor": cursor})

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "query:cursor")


class TestControllersOfAnOrganization:
    """They see the series that were begun for their organization, and of others nothing."""

    async def test_see_its_series_its_numbers_and_its_rows_of_the_export(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        number = (await drawn(client, project))["documentNumber"]

        (series,) = (await client.get(f"{BASE}/series", params={"projectPublicId": project.id})).json()["items"]
        account = await account_of(client, project)
        sheet = await client.get(f"{BASE}/ledger/export", params={"projectPublicId": project.id, "format": "csv"})

        assert series["lastNumber"] == 1
        assert [line["documentNumber"] for line in account["items"]] == [number]
        assert number in sheet.text

    async def test_see_none_of_another(self, signed_in: SignIn) -> None:
        ours = await signed_in("dc.consultant")
        project = await read_project(ours)
        number = (await drawn(ours, project))["documentNumber"]
        series = (await account_of(ours, project))["series"]
        theirs = await signed_in("dc.contractor")
        params = {"projectPublicId": project.id}

        listed = await theirs.get(f"{BASE}/series", params=params)
        account = await theirs.get(f"{BASE}/series/account", params={**params, "series": series})
        searched = await theirs.get(f"{BASE}/numbers", params={**params, "q": number})
        sheet = await theirs.get(f"{BASE}/ledger/export", params={**params, "format": "csv"})

        assert (listed.json()["items"], searched.json()["items"], account.status_code) == ([], [], 404)
        assert number not in sheet.text

    async def test_do_not_see_ranges_and_imports_of_the_project(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)

        answer = await client.get(f"{BASE}/ranges", params={"projectPublicId": project.id})

        assert answer.status_code == 403

    async def test_see_of_a_shared_series_where_others_stand_and_no_more(
        self, signed_in: SignIn, rows: sqlite3.Connection
    ) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        first, second = [(await drawn(client, project))["documentNumber"] for _ in range(2)]
        belongs_to(rows, second, "ผรม.2")
        account = await account_of(client, project)
        theirs = await signed_in("dc.contractor")

        assert lines(account) == [(1, first, "CONFIRMED", "dc.consultant"), (2, None, "OTHER_ORGANIZATION", None)]
        # Begun for another, but with a number of theirs: list, account, search and export agree.
        assert lines(await account_of(theirs, project)) == [
            (1, None, "OTHER_ORGANIZATION", None),
            (2, second, "CONFIRMED", "dc.consultant"),
        ]
        params = {"projectPublicId": project.id}
        searched = await theirs.get(f"{BASE}/numbers", params={**params, "q": "000"})
        sheet = await theirs.get(f"{BASE}/ledger/export", params={**params, "format": "csv"})
        assert [one["documentNumber"] for one in searched.json()["items"]] == [second]
        assert [number in sheet.text for number in (first, second)] == [False, True]

    async def test_are_told_that_others_skipped_and_not_why(self, signed_in: SignIn) -> None:
        client, manager = await signed_in("dc.consultant"), await signed_in("padmin")
        project = await read_project(client)
        await drawn(client, project)
        jump = project.letter(sequence=5, reason=REASON, moveCounter=True, confirmedJump=4)
        assert (await manager.post(f"{BASE}/manual-override", json=jump)).status_code == 201

        skipped = [
            [(line["reason"], line["username"]) for line in (await account_of(who, project))["items"][1:2]]
            for who in (client, manager)
        ]

        assert skipped == [[(None, None)], [(REASON, "padmin")]]

    async def test_are_not_told_what_replaced_a_number_for_another(
        self, signed_in: SignIn, rows: sqlite3.Connection
    ) -> None:
        client, manager = await signed_in("dc.consultant"), await signed_in("padmin")
        project = await read_project(client)
        first = await drawn(client, project)
        body = {"publicId": first["publicId"], "reason": REASON, "replacement": project.letter()}
        await manager.post(f"{BASE}/void-and-replace", json=body)
        asked = {"projectPublicId": project.id, "q": first["documentNumber"]}

        async def told() -> tuple[str, str]:
            line = (await account_of(client, project))["items"][0]
            (hit,) = (await client.get(f"{BASE}/numbers", params=asked)).json()["items"]
            return line["replacedBy"], hit["currentNumber"]

        second, current = await told()
        assert second == current
        belongs_to(rows, second, "ผรม.2")
        assert await told() == (None, first["documentNumber"])


def belongs_to(rows: sqlite3.Connection, number: str, organization: str) -> None:
    rows.execute(
        "UPDATE document_number_reservations SET originator_organization_id = "
        "(SELECT id FROM organizations WHERE organization_code = ?) WHERE document_number = ?",
        (organization, number),
    )


def lines(account: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(line["first"], line["documentNumber"], line["state"], line["username"]) for line in account["items"]]


class TestSearch:
    async def found(self, client: Any, project: Project, text: str) -> list[dict[str, Any]]:
        answer = await client.get(f"{BASE}/numbers", params={"projectPublicId": project.id, "q": text})
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]  # type: ignore[no-any-return]

    async def test_finds_a_number_by_any_part(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        numbers = [(await drawn(client, project))["documentNumber"] for _ in range(2)]
        whole = numbers[1]

        for text, wanted in ((whole, [whole]), (whole[:5], numbers), ("-0002-", [whole]), ("9999", [])):
            assert [one["documentNumber"] for one in await self.found(client, project, text)] == wanted

    async def test_leads_from_an_old_number_to_the_one_in_its_place(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        first = await drawn(client, project)
        body = {"publicId": first["publicId"], "reason": REASON, "replacement": project.letter()}
        answer = await client.post(f"{BASE}/void-and-replace", json=body)
        assert answer.status_code in {200, 201}, answer.text

        (hit,) = await self.found(client, project, first["documentNumber"])

        assert (hit["printed"], hit["status"]) == (first["documentNumber"], "VOID")
        assert hit["currentNumber"] != first["documentNumber"]

    async def test_takes_signs_of_patterns_for_letters(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        await drawn(client, project)

        for text in ("%", "_", "\\", "'"):
            assert await self.found(client, project, text) == []


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
    async def test_finds_the_demo_in_order(self, settings_with_documents: Settings) -> None:
        done: list[int] = []

        async with closing(wire(settings_with_documents)) as system:
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
