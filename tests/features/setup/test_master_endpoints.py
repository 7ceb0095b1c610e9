"""Master data over HTTP: what the contract for programs says, and who may call what."""

from io import BytesIO
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import xlsxwriter
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.kit.http import MEDIA
from saraban.setup.domain import master_kinds as kinds
from saraban.setup.domain.master_kinds import KINDS, MasterKind, Owner
from tests.accounts import STRONG
from tests.conftest import SignIn, client_of
from tests.other_project import add_other_project

API = "/api/v1"


async def places(client: httpx.AsyncClient) -> dict[Owner, str]:
    project = (await client.get(f"{API}/projects", params={"search": "LCBP3-C2"})).json()["items"][0]["publicId"]
    contract = (await client.get(f"{API}/projects/{project}/contracts")).json()["items"][0]["publicId"]
    return {Owner.INSTALLATION: "", Owner.PROJECT: f"/projects/{project}", Owner.CONTRACT: f"/contracts/{contract}"}


def example(kind: MasterKind) -> dict[str, Any]:
    return {one.name: one.example for one in kind.fields if one.example}


def workbook(*rows: list[str]) -> bytes:
    held = BytesIO()
    with xlsxwriter.Workbook(held) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                if cell.startswith("="):
                    sheet.write_formula(number, column, cell, value="#N/A")
                else:
                    sheet.write_string(number, column, cell)
    return held.getvalue()


@pytest.fixture
async def admin(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("admin")


@pytest.fixture
async def disciplines(admin: httpx.AsyncClient) -> str:
    return f"{API}{(await places(admin))[Owner.CONTRACT]}/disciplines"


class TestARow:
    @pytest.mark.parametrize("kind", [one for one in KINDS if one is not kinds.PROJECT], ids=lambda kind: kind.name)
    async def test_is_made_read_and_changed_by_who_saw_it(self, admin: httpx.AsyncClient, kind: MasterKind) -> None:
        path = f"{API}{(await places(admin))[kind.owner]}/{kind.path}"
        name = kind.fields[1].name

        made = await admin.post(path, json=example(kind))
        read = await admin.get(made.headers["Location"], params={"typeCode": "TRANSMITTAL"} if kind.within else {})
        changed = await admin.patch(
            made.headers["Location"], json={name: "New"}, headers={"If-Match": read.headers["ETag"]}
        )
        late = await admin.patch(
            made.headers["Location"], json={name: "Late"}, headers={"If-Match": read.headers["ETag"]}
        )

        # A contract is read with its parties.
        seen = {key: value for key, value in read.json().items() if key != "organizations"}
        assert (made.status_code, seen, read.headers["ETag"]) == (201, made.json(), made.headers["ETag"])
        assert (changed.status_code, changed.json()[name]) == (200, "New")
        assert (late.status_code, late.json()["code"]) == (412, "MASTER_ROW_CHANGED")

    @pytest.mark.parametrize("code", ["Volume-1/7", "S R", "ก/ข", "/", "A//", "a?b#c%2F"])
    async def test_is_reached_by_whatever_code_it_has(self, admin: httpx.AsyncClient, code: str) -> None:
        volumes = f"{API}{(await places(admin))[Owner.PROJECT]}/drawing-categories/contract-volumes"
        made = await admin.post(volumes, json={"code": code, "nameTh": "เล่ม"})
        address = f"{volumes}/{quote(code, safe='')}"

        seen = [
            await admin.get(address),
            await admin.patch(address, json={"nameTh": "เล่มที่ 1"}),
            await admin.post(f"{address}/close"),
            await admin.post(f"{address}/reopen"),
        ]

        assert (made.status_code, made.headers["Location"]) == (201, address)
        assert [(one.status_code, one.json()["code"]) for one in seen] == [(200, code)] * 4
        assert [one.json()["isActive"] for one in seen[2:]] == [False, True]

    async def test_is_made_once_for_a_key(self, admin: httpx.AsyncClient, disciplines: str) -> None:
        body, key = example(kinds.DISCIPLINE), {"Idempotency-Key": "one"}

        first = await admin.post(disciplines, json=body, headers=key)
        again = await admin.post(disciplines, json=body, headers=key)

        assert (again.status_code, again.json(), again.headers["ETag"]) == (201, first.json(), first.headers["ETag"])
        assert again.headers["Idempotent-Replay"] == "true"

    async def test_that_is_closed_leaves_the_forms_and_keeps_its_address(
        self, admin: httpx.AsyncClient, disciplines: str
    ) -> None:
        project = (await places(admin))[Owner.PROJECT]

        closed = await admin.post(f"{disciplines}/TER/close")

        offered = (await admin.get(f"{API}{project}/disciplines")).json()["items"]
        assert closed.json()["isActive"] is False
        assert (await admin.get(f"{disciplines}/TER")).json()["isActive"] is False
        assert "TER" not in {one["code"] for one in offered if one["contractCode"] == "LCBP3-C2"}
        assert (await admin.post(f"{disciplines}/TER/reopen")).json()["isActive"] is True

    async def test_that_is_closed_is_listed_where_that_is_asked_for(self, admin: httpx.AsyncClient) -> None:
        where = await places(admin)
        organization = (await admin.post(f"{API}/organizations", json=example(kinds.ORGANIZATION))).json()["publicId"]
        for list_path, row in [
            ("/organizations", f"/organizations/{organization}"),
            (f"{where[Owner.CONTRACT]}/disciplines", f"{where[Owner.CONTRACT]}/disciplines/TER"),
            (f"{where[Owner.PROJECT]}/contracts", where[Owner.CONTRACT]),
            ("/projects", where[Owner.PROJECT]),
        ]:
            shown = (await admin.post(f"{API}{row}/close")).json()
            name, code = next(one for one in shown.items() if one[0].casefold().endswith("code"))

            found = [
                [one["isActive"] for one in answer.json()["items"] if one[name] == code]
                for closed in (False, True)
                for answer in [await admin.get(f"{API}{list_path}", params={"includeClosed": closed})]
            ]

            assert (list_path, found) == (list_path, [[], [False]])

    async def test_is_neither_added_nor_changed_where_its_project_or_contract_is_closed(
        self, admin: httpx.AsyncClient
    ) -> None:
        where = await places(admin)
        project, contract = f"{API}{where[Owner.PROJECT]}", f"{API}{where[Owner.CONTRACT]}"
        new = example(kinds.TAG), example(kinds.DISCIPLINE)
        organization = (await admin.get(f"{project}/organizations")).json()["items"][0]["publicId"]

        async def refused() -> list[tuple[int, str]]:
            answers = [
                await admin.post(f"{project}/tags", json=new[0]),
                await admin.post(f"{contract}/disciplines", json=new[1]),
                await admin.patch(f"{contract}/disciplines/TER", json={"nameEn": "Earth"}),
                await admin.put(f"{contract}/disciplines/order", json={"codes": ["TER"]}),
                await admin.post(f"{contract}/disciplines/import", content=b"no workbook"),
                await admin.post(f"{contract}/disciplines/TER/close"),
                await admin.put(f"{contract}/organizations/{organization}", json={"role": "OWNER"}),
            ]
            found = [(one.status_code, one.json()) for one in answers if one.content]
            return [
                (status, said["userMessage"]) for status, said in found if said.get("code") == "MASTER_PLACE_CLOSED"
            ]

        await admin.post(f"{contract}/close")
        of_contract = await refused()
        await admin.post(f"{project}/close")
        of_project = await refused()

        assert [status for status, _ in of_contract] == [409] * 6
        assert all("LCBP3-C2" in said for _, said in of_contract)
        assert [status for status, _ in of_project] == [409] * 7
        assert (await admin.post(f"{contract}/reopen")).status_code == 409
        assert (await admin.post(f"{project}/reopen")).status_code == 200
        assert (await admin.post(f"{contract}/reopen")).status_code == 200
        assert await refused() == []

    async def test_that_is_closed_is_not_taken_for_a_new_document(self, admin: httpx.AsyncClient) -> None:
        where = await places(admin)
        await admin.post(f"{API}{where[Owner.CONTRACT]}/sub-types/GEN/close", params={"typeCode": "TRANSMITTAL"})

        offered = (await admin.get(f"{API}{where[Owner.PROJECT]}/sub-types")).json()["items"]

        assert ("TRANSMITTAL", "GEN", "LCBP3-C2") not in {
            (one["typeCode"], one["code"], one["contractCode"]) for one in offered
        }

    async def test_stands_where_forms_are_to_show_it(self, admin: httpx.AsyncClient, disciplines: str) -> None:
        before = [one["code"] for one in (await admin.get(disciplines)).json()["items"]]

        ordered = await admin.put(f"{disciplines}/order", json={"codes": before[::-1]})

        assert ordered.status_code == 204
        assert [one["code"] for one in (await admin.get(disciplines)).json()["items"]] == before[::-1]
        offered = (await admin.get(f"{API}{(await places(admin))[Owner.PROJECT]}/disciplines")).json()["items"]
        assert [one["code"] for one in offered if one["contractCode"] == "LCBP3-C2"] == before[::-1]


class TestMembers:
    async def test_come_with_a_role_and_go_while_nothing_refers_to_them(self, admin: httpx.AsyncClient) -> None:
        where = await places(admin)
        made = (await admin.post(f"{API}/organizations", json=example(kinds.ORGANIZATION))).json()["publicId"]
        of_contract, of_project = (
            f"{API}{where[owner]}/organizations/{made}" for owner in (Owner.CONTRACT, Owner.PROJECT)
        )

        stranger = await admin.put(of_contract, json={"role": "CONTRACTOR"})
        joined = [await admin.put(one, json={"role": "CONTRACTOR"}) for one in (of_project, of_contract)]
        kept = await admin.delete(of_project)
        gone = [await admin.delete(one) for one in (of_contract, of_project)]

        assert (stranger.status_code, stranger.json()["code"]) == (409, "PARTY_NOT_IN_PROJECT")
        assert [one.status_code for one in joined] == [200, 200]
        assert (kept.status_code, kept.json()["code"]) == (409, "MEMBER_IN_USE")
        assert [one.status_code for one in gone] == [204, 204]


class TestAnImport:
    async def test_says_what_it_would_do_then_does_it(self, admin: httpx.AsyncClient, disciplines: str) -> None:
        sheet = workbook(
            ["รหัส / Code", "Name in English", "nameTh"],
            ["ELE", "Electrical", "ไฟฟ้า"],
            ["TER", "Quay", "ท่าเทียบเรือ"],
        )

        headers = {"Content-Type": MEDIA["xlsx"]}
        dry = await admin.post(f"{disciplines}/import", params={"dryRun": True}, content=sheet, headers=headers)
        there = await admin.get(f"{disciplines}/ELE")
        done = await admin.post(f"{disciplines}/import", content=sheet, headers=headers)
        again = await admin.post(f"{disciplines}/import", content=sheet, headers=headers)

        told = {"added": 1, "changed": 1, "same": 0}
        assert {name: dry.json()[name] for name in told} == {name: done.json()[name] for name in told} == told
        assert (dry.json()["applied"], there.status_code, done.json()["applied"]) == (False, 404, True)
        assert [row["change"] for row in again.json()["rows"]] == ["same", "same"]
        assert (await admin.get(f"{disciplines}/TER")).json()["nameEn"] == "Quay"

    async def test_names_each_fault_by_row_and_field_and_writes_nothing(
        self, admin: httpx.AsyncClient, disciplines: str
    ) -> None:
        sheet = workbook(
            ["code", "nameTh", "nameEn"],
            ["NEW", "ใหม่", "New"],
            ["TOOLONGCODE", "ก", "A"],
            ["NEW", "ใหม่", "New"],
            ["F", '=HYPERLINK("http://example.com")', "F"],
            ["NONE", "", "None"],
            ["ｎew", "ใหม่", "New"],
        )

        answer = await admin.post(f"{disciplines}/import", content=sheet, headers={"Content-Type": MEDIA["xlsx"]})

        assert answer.status_code == 422
        assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [
            ("/3/code", "too_long"),
            ("/4/code", "twice"),
            ("/5/nameTh", "error"),
            ("/6/nameTh", "required"),
            ("/7/code", "twice"),
        ]
        assert answer.json()["errors"][-1]["detail"].endswith("Row 2 has the same code, or one that looks like it.")
        assert (await admin.get(f"{disciplines}/NEW")).status_code == 404

    async def test_reads_the_named_sheet_of_any_kind_of_workbook_and_csv(
        self, admin: httpx.AsyncClient, disciplines: str
    ) -> None:
        held = BytesIO()
        with xlsxwriter.Workbook(held) as book:
            for name, code in (("One", 1), ("Two", 7)):
                sheet = book.add_worksheet(name)
                sheet.write_row("A3", ["รหัส", "ชื่อภาษาไทย", "Name in English"])
                sheet.write_row("A4", [code, "ใหม่", "New"], book.add_format({"num_format": "000"}))
        sent = {"url": f"{disciplines}/import", "params": {"dryRun": True}}

        two = await admin.post(**sent, content=held.getvalue(), headers={"Content-Type": "application/vnd.ms-excel"})
        sent["params"] |= {"sheet": "Two"}
        named = await admin.post(**sent, content=held.getvalue(), headers={"Content-Type": "application/vnd.ms-excel"})
        text = "รหัส;ชื่อภาษาไทย;Name in English\n008;ใหม่;New".encode("cp874")
        of_text = await admin.post(
            f"{disciplines}/import", params={"dryRun": True}, content=text, headers={"Content-Type": MEDIA["csv"]}
        )

        assert [one["code"] for one in two.json()["errors"]] == ["two_sheets"]
        assert [row["code"] for row in named.json()["rows"]] == ["007"]
        assert [row["code"] for row in of_text.json()["rows"]] == ["008"]

    async def test_takes_what_was_exported_as_it_is(self, admin: httpx.AsyncClient, disciplines: str) -> None:
        await admin.post(disciplines, json={"code": "EQ", "nameTh": "=1+1 ไม่ใช่สูตร", "nameEn": "@x"})

        sheet = (await admin.get(f"{disciplines}/export")).content
        back = await admin.post(
            f"{disciplines}/import", params={"dryRun": True}, content=sheet, headers={"Content-Type": MEDIA["xlsx"]}
        )

        assert back.json()["changed"] == back.json()["added"] == 0, back.json()


CALLERS = ("anonymous", "outsider", "viewer", "dc.contractor", "reviewer.consultant", "padmin", "admin")
# What each caller is told when adding a row of the kind.
EXPECTED = {
    Owner.INSTALLATION: (401, 403, 403, 403, 403, 403, 201),
    Owner.PROJECT: (401, 404, 403, 403, 403, 201, 201),
    Owner.CONTRACT: (401, 404, 403, 403, 403, 201, 201),
}


@pytest.fixture
async def outsider(app: FastAPI, admin: httpx.AsyncClient, signed_in: SignIn) -> httpx.AsyncClient:
    """A project admin of another project, whose organization takes part in no other."""
    await add_other_project(app.state.db)

    async def open_account(session: AsyncSession) -> None:
        ctx = await identity.system_context(session, app.state.clock)
        account = identity.NewAccount("outsider", "outsider@example.org", organization_code="อื่น")
        await identity.create_user(ctx, session, account, password=STRONG)
        await identity.grant_role(ctx, session, "outsider", identity.RoleGrant("Project Manager", project_code="OTHER"))

    await app.state.db.transact(open_account)
    return await signed_in("outsider")


@pytest.mark.parametrize("kind", [one for one in KINDS if one is not kinds.PROJECT], ids=lambda kind: kind.name)
async def test_rows_are_added_by_those_whose_place_it_is(
    app: FastAPI, admin: httpx.AsyncClient, outsider: httpx.AsyncClient, signed_in: SignIn, kind: MasterKind
) -> None:
    path = f"{API}{(await places(admin))[kind.owner]}/{kind.path}"
    told = []
    for name in CALLERS:
        if name == "anonymous":
            async with client_of(app) as nobody:
                told.append((await nobody.post(path, json=example(kind))).status_code)
            continue
        client = outsider if name == "outsider" else await signed_in(name)
        body = example(kind) | {kind.code.name: f"N{len(told)}"} | ({"nameTh": f"N{len(told)}"} if kind.unique else {})
        told.append((await client.post(path, json=body)).status_code)

    assert dict(zip(CALLERS, told, strict=True)) == dict(zip(CALLERS, EXPECTED[kind.owner], strict=True))
