"""The HTTP doors of identity: tokens and cookies, what a caller is told, and the register of organizations."""

import httpx
import pytest

from saraban.bootstrap import System, closing, wire
from saraban.config import Settings
from saraban.identity import service as identity
from saraban.identity.dependencies import ACCESS_COOKIE
from tests.conftest import PASSWORD, SignIn
from tests.factories.contexts import context

ME = "/api/v1/auth/me"
NOBODY = "01930b5e-0000-7000-8000-000000000000"


async def log_in(client: httpx.AsyncClient, username: str = "viewer", password: str = PASSWORD) -> httpx.Response:
    return await client.post("/api/v1/auth/login", json={"username": username, "password": password})


class TestProcesses:
    @pytest.mark.parametrize(("redis", "limits"), [("", (3, 5)), ("redis://127.0.0.1:1/0", (5, 10))])
    async def test_share_the_limits_where_nobody_counts_for_all(
        self, settings: Settings, redis: str, limits: tuple[int, int]
    ) -> None:
        chosen = {"workers": 2, "redis_url": redis, "lockout_attempts": 5, "login_limit_address": 10}
        async with closing(wire(settings.model_copy(update=chosen))) as system:
            rules = system.throttle.rules

        assert (rules.attempts, rules.of_address) == limits


class TestLogIn:
    async def test_answers_with_three_fields(self, client: httpx.AsyncClient) -> None:
        answer = await log_in(client)

        assert answer.status_code == 200
        assert set(answer.json()) == {"accessToken", "refreshToken", "expiresIn"}
        assert answer.json()["expiresIn"] == 900

    async def test_says_no_in_the_callers_language(self, client: httpx.AsyncClient) -> None:
        answer = await client.post(
            "/api/v1/auth/login", json={"username": "viewer", "password": "x"}, headers={"Accept-Language": "th"}
        )

        assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
        assert answer.json()["code"] == "INVALID_CREDENTIALS"
        assert answer.json()["userMessage"] == "ชื่อผู้ใช้หรือรหัสผ่านไม่ถูกต้อง"

    async def test_says_after_five_failures_for_how_long_to_wait(self, client: httpx.AsyncClient) -> None:
        answers = [await log_in(client, password="wrong") for _ in range(6)]

        assert [answer.status_code for answer in answers] == [401, 401, 401, 401, 401, 429]
        assert answers[-1].json()["code"] == "LOGIN_THROTTLED"
        assert 0 < int(answers[-1].headers["retry-after"]) <= 900

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/username"),
            ({"username": "viewer"}, "/password"),
            ({"username": "viewer", "password": ""}, "/password"),
            ({"username": "viewer", "password": 7}, "/password"),
            ({"username": "viewer", "password": "a" * 129}, "/password"),
            ({"username": "a" * 51, "password": "x"}, "/username"),
            ({"username": "a\x00b", "password": "x"}, "/username"),
            ({"username": ["viewer"], "password": "x"}, "/username"),
            ({"username": "viewer", "password": "x", "role": "Superadmin"}, "/role"),
        ],
    )
    async def test_names_the_field_at_fault(
        self, client: httpx.AsyncClient, body: dict[str, object], pointer: str
    ) -> None:
        answer = await client.post("/api/v1/auth/login", json=body)

        assert answer.status_code == 422
        assert pointer in [fault["pointer"] for fault in answer.json()["errors"]]


class TestRefreshAndLogOut:
    async def test_exchange_and_end_a_session(self, client: httpx.AsyncClient) -> None:
        first = (await log_in(client)).json()
        second = (await client.post("/api/v1/auth/refresh", json={"refreshToken": first["refreshToken"]})).json()
        ended = await client.post("/api/v1/auth/logout", json={"refreshToken": second["refreshToken"]})
        refused = await client.post("/api/v1/auth/refresh", json={"refreshToken": second["refreshToken"]})

        assert second["refreshToken"] != first["refreshToken"]
        assert ended.status_code == 204
        assert (refused.status_code, refused.json()["code"]) == (401, "SESSION_ENDED")


class TestCurrentCaller:
    @pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic dmlld2Vy", "Bearer a.b.c", "token"])
    async def test_needs_a_token(self, client: httpx.AsyncClient, header: str) -> None:
        answer = await client.get(ME, headers={"Authorization": header})

        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")
        assert answer.headers["www-authenticate"] == "Bearer"

    async def test_takes_the_pages_cookie(self, client: httpx.AsyncClient) -> None:
        client.cookies.set(ACCESS_COOKIE, (await log_in(client)).json()["accessToken"])

        assert (await client.get(ME)).json()["username"] == "viewer"

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Sec-Fetch-Site": "same-site"}, 403),
            ({"Origin": "https://elsewhere.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Sec-Fetch-Site": "same-origin", "Origin": "http://saraban.test"}, 422),
            ({"Origin": "http://saraban.test"}, 422),
            ({}, 422),
        ],
    )
    async def test_does_not_let_another_site_write_with_it(
        self, client: httpx.AsyncClient, headers: dict[str, str], status: int
    ) -> None:
        client.cookies.set(ACCESS_COOKIE, (await log_in(client)).json()["accessToken"])
        answer = await client.post("/api/v1/document-numbering/preview", json={}, headers=headers)

        assert answer.status_code == status
        assert status != 403 or answer.json()["code"] == "CROSS_SITE_REQUEST"

    async def test_refuses_a_closed_account_at_its_next_request(
        self, app: object, client: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        system: System = app.state  # type: ignore[attr-defined]
        viewer = await signed_in("viewer")
        assert (await viewer.get(ME)).status_code == 200

        async with system.db.writing() as session:
            by = await identity.system_caller(session)
            await identity.set_active(
                context(caller=by, address="", now=system.clock.now()), session, username="viewer", active=False
            )
        assert (await viewer.get(ME)).status_code == 401

    async def test_lets_a_new_role_count_at_the_next_request(self, app: object, signed_in: SignIn) -> None:
        system: System = app.state  # type: ignore[attr-defined]
        viewer = await signed_in("viewer")
        assert "rfa.create" not in (await viewer.get(ME)).json()["permissions"]

        async with system.db.writing() as session:
            by = await identity.system_caller(session)
            now = system.clock.now()
            await identity.grant_role(
                context(caller=by, address="", now=now),
                session,
                "viewer",
                identity.RoleGrant("Editor", "กทท."),
            )
        assert "rfa.create" in (await viewer.get(ME)).json()["permissions"]


class TestMe:
    async def test_tells_who_for_whom_and_what(self, signed_in: SignIn) -> None:
        answer = (await (await signed_in("dc.contractor")).get(ME)).json()

        assert answer["organization"]["organizationCode"] == "ผรม.2"
        assert [one["organizationCode"] for one in answer["organizations"]] == ["ผรม.1", "ผรม.2"]
        assert [(one["role"], one["level"], one["place"]["code"]) for one in answer["roles"]] == [
            ("Document Control", "Organization", "ผรม.2"),
            ("Document Control", "Organization", "ผรม.1"),
        ]
        assert "rfa.submit" in answer["permissions"]
        assert answer["language"] == "th"

    @pytest.mark.parametrize(
        ("username", "roles"),
        [
            ("admin", [("Superadmin", None)]),
            ("padmin", [("Project Manager", "LCBP3-C2")]),
            ("reviewer.consultant", [("Contract Admin", "LCBP3-C2"), ("Editor", "คคง.")]),
        ],
    )
    async def test_names_the_place_of_each_role(
        self, signed_in: SignIn, username: str, roles: list[tuple[str, str | None]]
    ) -> None:
        answer = (await (await signed_in(username)).get(ME)).json()

        assert [(one["role"], one["place"] and one["place"]["code"]) for one in answer["roles"]] == roles


class TestOrganizations:
    async def test_are_listed_page_by_page(self, signed_in: SignIn) -> None:
        viewer = await signed_in("viewer")
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(3):
            params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
            page = (await viewer.get("/api/v1/organizations", params=params)).json()
            seen += [one["organizationCode"] for one in page["items"]]
            cursor = page["nextCursor"]

        assert cursor is None
        assert sorted(seen) == sorted({"กทท.", "สคฉ.3", "คคง.", "ผรม.1", "ผรม.2"})

    @pytest.mark.parametrize(
        ("params", "codes"),
        [
            ({"role": "CONTRACTOR"}, {"ผรม.1", "ผรม.2"}),
            ({"role": "OTHER"}, set()),
            ({"search": "ผรม"}, {"ผรม.1", "ผรม.2"}),
            ({"search": "ท่าเรือแห่ง"}, {"กทท."}),
            ({"search": "%"}, set()),
        ],
    )
    async def test_are_found_by_role_and_by_words(
        self, signed_in: SignIn, params: dict[str, str], codes: set[str]
    ) -> None:
        page = (await (await signed_in("viewer")).get("/api/v1/organizations", params=params)).json()

        assert {one["organizationCode"] for one in page["items"]} == codes

    async def test_are_read_one_by_one(self, signed_in: SignIn) -> None:
        viewer = await signed_in("viewer")
        listed = (await viewer.get("/api/v1/organizations")).json()["items"][0]

        assert (await viewer.get(f"/api/v1/organizations/{listed['publicId']}")).json() == listed
        assert (await viewer.get(f"/api/v1/organizations/{NOBODY}")).status_code == 404
        assert (await viewer.get("/api/v1/organizations/1")).status_code in {404, 422}

    @pytest.mark.parametrize(
        "params", [{"cursor": "nonsense"}, {"limit": 0}, {"limit": 101}, {"role": "KING"}, {"search": "a\x07"}]
    )
    async def test_refuse_a_question_that_makes_no_sense(self, signed_in: SignIn, params: dict[str, str | int]) -> None:
        answer = await (await signed_in("viewer")).get("/api/v1/organizations", params=params)

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == f"query:{next(iter(params))}"

    async def test_are_for_people_who_are_signed_in(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/v1/organizations")).status_code == 401
