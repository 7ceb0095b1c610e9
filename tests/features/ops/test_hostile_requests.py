"""Requests that would cost much, fail, or reach two people, sent by strangers and by people who are signed in."""

from typing import Any

import httpx
import orjson
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.identity.models import User
from tests.conftest import SignIn, client_of

LOGIN = "/api/v1/auth/login"
MARKS = "\u0301\u0316" * 20
THAI = "มีเครื่องหมายประกอบอักษรติดกันเกิน 30 ตัว"
ENGLISH = "There are more than 30 combining marks in a row."
BROWSER = {"Accept": "text/html", "Accept-Language": "en"}


def refused_fields(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text[:500]
    return [(error["pointer"], error["code"]) for error in answer.json()["errors"]]


class TestCombiningMarks:
    @pytest.mark.parametrize("field", ["username", "password"])
    @pytest.mark.parametrize(("language", "message"), [("th", THAI), ("en", ENGLISH)])
    async def test_of_a_log_in_are_refused_by_field(
        self, client: httpx.AsyncClient, field: str, language: str, message: str
    ) -> None:
        body = {"username": "viewer", "password": "x"} | {field: "a" + MARKS}
        answer = await client.post(LOGIN, json=body, headers={"Accept-Language": language})

        assert refused_fields(answer) == [(f"/{field}", "combining_marks")]
        assert answer.json()["errors"][0]["message"] == message

    async def test_of_20_000_are_more_than_a_log_in_takes(self, client: httpx.AsyncClient) -> None:
        body = {"username": "a" + "\u0301" * 20_000 + "\u0316" * 20_000, "password": "x"}

        assert (await client.post(LOGIN, json=body)).status_code == 413

    async def test_of_20_000_are_too_long_for_a_field(self, signed_in: SignIn) -> None:
        body = {"email": "a" + "\u0301" * 20_000 + "\u0316" * 20_000}
        answer = await (await signed_in("admin")).post("/api/v1/users", json=body)

        assert refused_fields(answer) == [("/email", "combining_marks")]

    @pytest.mark.parametrize(
        ("path", "pointer"),
        [
            (f"/api/v1/search?q={MARKS}", "query:q"),
            (f"/api/v1/users?search={MARKS}", "query:search"),
            (f"/api/v1/document-numbering/series?q={MARKS}", "query:q"),
            (f"/api/v1/workflow/definitions/{MARKS}/difference", "path:code"),
        ],
    )
    async def test_of_an_address_are_refused_by_parameter(self, signed_in: SignIn, path: str, pointer: str) -> None:
        answer = await (await signed_in("admin")).get(path)

        assert refused_fields(answer) == [(pointer, "combining_marks")]

    async def test_of_the_name_of_a_file_are_refused(self, signed_in: SignIn) -> None:
        files = {"file": (f"a{MARKS}.pdf", b"%PDF-1.4", "application/pdf")}
        answer = await (await signed_in("admin")).post("/api/v1/attachments", files=files)

        assert refused_fields(answer) == [("/file", "combining_marks")]

    async def test_of_forms_and_addresses_of_pages_are_refused(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        async with client_of(app, **BROWSER) as visitor:
            answers = [
                await visitor.post("/login", data={"username": "a" + MARKS, "password": "x"}),
                await visitor.get("/login", params={"next": "/" + MARKS}),
                await admin.post("/people/new", data={"username": "a" + MARKS}, headers=BROWSER),
                await admin.get("/search", params={"q": MARKS}, headers=BROWSER),
            ]

        assert [answer.status_code for answer in answers] == [422] * 4
        for answer, pointer in zip(answers, ["/username", "query:next", "/username", "query:q"], strict=True):
            assert pointer in answer.text
            assert ENGLISH in answer.text


class TestLargeBodies:
    async def test_report_20_problems(self, client: httpx.AsyncClient, signed_in: SignIn) -> None:
        answer = await client.post(LOGIN, json={f"k{key}": 1 for key in range(90)})
        assert len(refused_fields(answer)) == 21
        assert answer.json()["errors"][-1]["message"] == "72 further problems are not listed."

        many = await (await signed_in("admin")).post("/api/v1/users", json={f"k{key}": 1 for key in range(7_000)})
        assert len(refused_fields(many)) == 21
        assert len(many.content) < 10_000

    @pytest.mark.parametrize("size", [4_097, 1_100_000])
    async def test_without_a_token_end_at_4_kilobytes(self, client: httpx.AsyncClient, size: int) -> None:
        for path in (LOGIN, "/api/v1/auth/refresh", "/login", "/language", "/invitations/x"):
            assert (await client.post(path, content=b"x" * size)).status_code == 413, path

    async def test_are_not_read_before_the_token_is_checked(self, client: httpx.AsyncClient, signed_in: SignIn) -> None:
        broken = b'{"subject":' + b" " * 5_000
        forged = {"Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"}
        answers = [await client.post("/api/v1/rfas", content=broken, headers=each) for each in ({}, forged)]
        known = await (await signed_in("admin")).post("/api/v1/rfas", json={"subject": " " * 5_000})

        assert ([answer.status_code for answer in answers], known.status_code) == ([401, 401], 422)

    async def test_end_at_their_number_of_values(self, client: httpx.AsyncClient, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        for path, values in (("/api/v1/users", 8_001), ("/api/v1/rfas", 40_001)):
            answer = await admin.post(path, json={"subject": [0] * values})
            assert refused_fields(answer) == [("/subject", "too_large")]
        assert refused_fields(await client.post(LOGIN, json={"a": [0] * 101})) == [("/a", "too_large")]

    async def test_end_at_their_depth(self, signed_in: SignIn) -> None:
        content = b'{"username":' + b"[" * 200 + b"]" * 200 + b"}"
        answer = await (await signed_in("admin")).post(
            "/api/v1/users", content=content, headers={"Content-Type": "application/json"}
        )

        assert refused_fields(answer) == [("/username", "too_large")]

    async def test_end_at_the_limit_of_their_address(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        large = orjson.dumps({"subject": "x" * 300_000})
        headers = {"Content-Type": "application/json"}

        assert (await admin.post("/api/v1/users", content=large, headers=headers)).status_code == 413
        assert (await admin.post("/api/v1/rfas", content=large, headers=headers)).status_code == 422


class TestMalformedAddresses:
    @pytest.mark.parametrize("address", ["//[", "http://[", "/\\[", "//a]"])
    async def test_after_log_in_lead_home(self, client: httpx.AsyncClient, address: str) -> None:
        answer = await client.get("/login", params={"next": address}, headers=BROWSER)

        assert answer.status_code == 200
        assert address not in answer.text

    @pytest.mark.parametrize("origin", ["http://[", "http://]", "null", "http://a:b"])
    async def test_of_an_origin_are_of_another_site(self, app: FastAPI, origin: str) -> None:
        async with client_of(app, Origin=origin) as visitor:
            assert (await visitor.post("/logout")).status_code == 403
            assert (await visitor.post("/invitations/x", data={"password": "x"})).status_code == 403

    @pytest.mark.parametrize("host", ["[", "a:b", "[::1", "a\u00e9", ""])
    async def test_of_a_host_or_referer_break_nothing(self, client: httpx.AsyncClient, host: str) -> None:
        for path in ("/login", "/api/v1/nothing", "/rfas"):
            headers = {"Host": host.encode("latin-1"), "Referer": "http://["}
            assert (await client.get(path, headers=headers)).status_code < 500


class TestTwoMailboxes:
    @pytest.mark.parametrize("address", ["a@x,b@y", "a@x;b@y", '"a@x,b"@y', "A <a@x>"])
    async def test_are_refused_for_an_account(self, app: FastAPI, signed_in: SignIn, address: str) -> None:
        admin = await signed_in("admin")
        body: dict[str, Any] = {"username": "somchai", "email": address, "invite": True}
        answer = await admin.post("/api/v1/users", json=body, headers={"Accept-Language": "th"})

        assert refused_fields(answer) == [("/email", "malformed")]
        assert "ต้องเป็นที่อยู่เดียว" in answer.json()["errors"][0]["message"]
        async with app.state.db.reading() as session:
            assert await session.scalar(sa.select(User.user_id).where(User.username == "somchai")) is None
