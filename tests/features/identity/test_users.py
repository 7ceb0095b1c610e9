"""People over the API: who sees and changes whose account, what is told once, and what nobody may do to themselves or above."""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.identity import service as identity
from saraban.identity.models import RefreshToken, User
from saraban.kit.clock import SystemClock
from saraban.kit.db import Database
from saraban.kit.idempotency import IdempotencyKey
from saraban.webhooks import repository as webhooks
from tests.conftest import PASSWORD, SignIn
from tests.factories.contexts import context

USERS = "/api/v1/users"
SOMCHAI = {"username": "Somchai", "email": "Somchai@Example.org", "firstName": "สมชาย", "lastName": "ใจดี"}
STRONG = "Correct-Horse-7"
NOBODY = "01930b5e-0000-7000-8000-000000000000"


async def as_system(db: Database, verb: Any, **given: Any) -> Any:
    async with db.reading() as session:
        system = await identity.system_caller(session)

    ctx = context(system, SystemClock(ZoneInfo("Asia/Bangkok")).now())
    return await db.transact(lambda session: verb(ctx, session, **given))


async def open_account(db: Database, username: str, organization: str) -> None:
    """Open the account of a person who chose the password."""
    new = identity.NewAccount(username, f"{username}@example.org", organization_code=organization)
    await as_system(db, identity.create_user, new=new, password=STRONG)


async def grant(db: Database, username: str, role: str, *place: str, **where: Any) -> None:
    await as_system(db, identity.grant_role, username=username, grant=identity.RoleGrant(role, *place, **where))


class Office:
    """The API as each of the demo people sees it; `orgadmin` administers the people of คคง."""

    def __init__(self, sign_in: SignIn, db: Database) -> None:
        self.sign_in, self.db = sign_in, db

    async def ask(self, who: str, method: str, path: str = "", **request: Any) -> httpx.Response:
        return await (await self.sign_in(who)).request(method, USERS + path, **request)

    async def organization(self, code: str) -> str:
        found = await (await self.sign_in("admin")).get("/api/v1/organizations", params={"search": code})
        return next(str(one["publicId"]) for one in found.json()["items"] if one["organizationCode"] == code)

    async def id_of(self, username: str) -> str:
        found = await self.ask("admin", "GET", params={"search": username})
        return next(str(one["publicId"]) for one in found.json()["items"] if one["username"] == username)

    async def somchai(self, who: str = "admin", code: str = "คคง.", **changes: Any) -> dict[str, Any]:
        body = SOMCHAI | {"organizationPublicId": await self.organization(code), "invite": True} | changes
        answer = await self.ask(who, "POST", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()  # type: ignore[no-any-return]


@pytest.fixture
async def office(signed_in: SignIn, demo_db: Database) -> Office:
    made = Office(signed_in, demo_db)
    await open_account(demo_db, "orgadmin", "คคง.")
    await grant(demo_db, "orgadmin", "Org Admin", "คคง.")
    return made


class TestCreate:
    async def test_a_password_given_at_creation_works_at_once(self, office: Office, client: httpx.AsyncClient) -> None:
        made = await office.somchai(invite=False, password=STRONG)

        answer = await client.post("/api/v1/auth/login", json={"username": "somchai", "password": STRONG})
        assert answer.status_code == 200
        assert (made["username"], made["email"], made["state"]) == ("somchai", "somchai@example.org", "active")
        assert (made["password"], made["invitationUrl"]) == (None, None)

    async def test_an_invitation_is_told_once_where_nothing_is_mailed(
        self, office: Office, client: httpx.AsyncClient
    ) -> None:
        body = SOMCHAI | {"organizationPublicId": await office.organization("คคง."), "invite": True}
        first, second = [
            await office.ask("admin", "POST", json=body, headers={"Idempotency-Key": "one"}) for _ in range(2)
        ]

        link = first.json()["invitationUrl"]
        assert (await client.get(urlsplit(link).path)).status_code == 200
        assert (second.status_code, second.headers["idempotent-replay"]) == (201, "true")
        assert (second.json()["publicId"], second.json()["invitationUrl"]) == (first.json()["publicId"], None)
        assert first.json()["state"] == "invited"

    async def test_no_secret_stays_with_a_key(self, office: Office) -> None:
        body = SOMCHAI | {"isService": True}
        answer = await office.ask("admin", "POST", json=body, headers={"Idempotency-Key": "one"})

        async with office.db.reading() as session:
            kept = (await session.scalars(sa.select(IdempotencyKey))).one()
        assert answer.json()["password"] not in str(vars(kept))

    async def test_a_program_gets_a_password_that_is_told_once(self, office: Office, client: httpx.AsyncClient) -> None:
        made = await office.somchai(isService=True, invite=False)

        answer = await client.post("/api/v1/auth/login", json={"username": "somchai", "password": made["password"]})
        assert answer.status_code == 200
        again = await office.ask("admin", "POST", f"/{made['publicId']}/password", json={})
        assert again.json()["password"] not in {None, made["password"]}

    @pytest.mark.parametrize(
        ("changes", "pointer"),
        [
            ({"invite": False}, "/password"),
            ({"password": STRONG}, "/invite"),
            ({"isService": True}, "/invite"),
            ({"invite": False, "password": "short"}, "/password"),
            ({"username": "two words"}, "/username"),
            ({"email": "nowhere"}, "/email"),
            ({"email": "a@x,b@y"}, "/email"),
            ({"password": "Aa1" + "\u0301\u0316" * 20}, "/password"),
            ({"organizationPublicId": NOBODY}, "/organizationPublicId"),
        ],
    )
    async def test_names_the_field(self, office: Office, changes: dict[str, Any], pointer: str) -> None:
        answer = await office.ask("admin", "POST", json=SOMCHAI | {"invite": True} | changes)

        assert (answer.status_code, [one["pointer"] for one in answer.json()["errors"]]) == (422, [pointer])

    @pytest.mark.parametrize(
        ("changes", "pointer"), [({"username": "VIEWER"}, "/username"), ({"email": "viewer@saraban.invalid"}, "/email")]
    )
    async def test_names_what_is_taken(self, office: Office, changes: dict[str, Any], pointer: str) -> None:
        answer = await office.ask("admin", "POST", json=SOMCHAI | {"invite": True} | changes)

        assert (answer.status_code, answer.json()["code"]) == (409, "USERNAME_TAKEN")
        assert [one["pointer"] for one in answer.json()["errors"]] == [pointer]


class TestChange:
    async def test_only_the_version_that_was_read(self, office: Office) -> None:
        made = await office.somchai()
        path = f"/{made['publicId']}"
        tag = (await office.ask("admin", "GET", path)).headers["etag"]
        first = await office.ask("admin", "PATCH", path, json={"lastName": "ใจเย็น"}, headers={"If-Match": tag})
        second = await office.ask("admin", "PATCH", path, json={"lastName": "ใจร้อน"}, headers={"If-Match": tag})

        assert (first.status_code, first.json()["displayName"]) == (200, "สมชาย ใจเย็น")
        assert (second.status_code, second.json()["code"]) == (412, "ACCOUNT_CHANGED")
        assert first.headers["etag"] != tag

    async def test_is_kept_with_before_and_after(self, office: Office) -> None:
        made = await office.somchai()
        await office.ask(
            "admin", "PATCH", f"/{made['publicId']}", json={"email": "new@example.org", "firstName": "สมชาย"}
        )

        async with office.db.reading() as session:
            row = (await session.scalars(sa.select(AuditLog).where(AuditLog.action == "user.change"))).one()
        assert row.details_json == {
            "username": "somchai",
            "before": {"email": "somchai@example.org"},
            "after": {"email": "new@example.org"},
        }

    async def test_moves_to_another_organization_with_what_is_held_there(self, office: Office) -> None:
        made = await office.somchai()
        there = await office.organization("ผรม.2")
        role = {"role": "Document Control", "level": "Organization"}
        for place in (made["organization"]["publicId"], there):
            await office.ask("admin", "POST", f"/{made['publicId']}/roles", json=role | {"placePublicId": place})
        moved = await office.ask("admin", "PATCH", f"/{made['publicId']}", json={"organizationPublicId": there})
        held = (await office.ask("admin", "GET", f"/{made['publicId']}/roles")).json()["items"]
        lost = await office.ask("orgadmin", "GET", f"/{made['publicId']}")

        assert moved.json()["organization"]["organizationCode"] == "ผรม.2"
        assert lost.status_code == 404
        assert [one["place"]["code"] for one in held] == ["ผรม.2"]
        assert [(one["code"], one["field"]) for one in moved.json()["warnings"]] == [
            ("ROLES_AFTER_MOVE", "/organizationPublicId")
        ]

    async def test_nobody_is_moved_where_the_mover_administers_nobody(self, office: Office) -> None:
        made = await office.somchai("orgadmin")
        there = await office.organization("ผรม.2")
        answer = await office.ask("orgadmin", "PATCH", f"/{made['publicId']}", json={"organizationPublicId": there})

        assert answer.status_code == 403

    async def test_a_limit_of_numbers_is_for_programs(self, office: Office) -> None:
        made = await office.somchai()
        answer = await office.ask("admin", "PATCH", f"/{made['publicId']}", json={"drawsPerMinute": 5})

        assert [one["pointer"] for one in answer.json()["errors"]] == ["/drawsPerMinute"]


class TestList:
    async def test_an_administrator_of_an_organization_sees_its_people_alone(self, office: Office) -> None:
        await office.somchai(code="ผรม.2")
        found = (await office.ask("orgadmin", "GET", params={"sort": "name"})).json()["items"]

        assert [one["username"] for one in found] == ["dc.consultant", "orgadmin", "reviewer.consultant"]

    @pytest.mark.parametrize("sort", ["newest", "name"])
    async def test_pages_show_everybody_once(self, office: Office, sort: str) -> None:
        found, cursor = [], None
        while True:
            asked = {"limit": 4, "sort": sort} | ({"cursor": cursor} if cursor else {})
            page = (await office.ask("admin", "GET", params=asked)).json()
            found += [one["username"] for one in page["items"]]
            if (cursor := page["nextCursor"]) is None:
                break

        assert len(found) == len(set(found)) == 9
        assert sort == "newest" or found == sorted(found)

    async def test_is_narrowed(self, office: Office) -> None:
        await office.somchai()
        await office.ask("admin", "POST", f"/{await office.id_of('viewer')}/close")
        await office.db.transact(
            lambda session: session.execute(sa.update(User).where(User.username == "padmin").values(failed_attempts=5))
        )
        for asked, found in [
            ({"search": "DC.CON"}, {"dc.contractor", "dc.consultant"}),
            ({"search": "ระวี ตรวจ"}, {"reviewer.consultant"}),
            ({"search": "orgadmin@"}, {"orgadmin"}),
            ({"role": "Org Admin"}, {"orgadmin"}),
            ({"isService": True}, {"svc.loadtest"}),
            ({"state": "invited"}, {"somchai"}),
            ({"state": "closed"}, {"viewer"}),
            ({"state": "locked"}, {"padmin"}),
        ]:
            answer = await office.ask("admin", "GET", params=asked)
            assert {one["username"] for one in answer.json()["items"]} == found, (asked, found)


class TestPower:
    """Whose account somebody may change who holds less, or holds it elsewhere."""

    @pytest.mark.parametrize("until", [None, "2199-01-01"])
    async def test_never_of_one_whose_roles_reach_further(self, office: Office, until: str | None) -> None:
        made = await office.somchai("orgadmin")
        role = {"role": "Superadmin", "level": "Global"} | ({"from": until} if until else {})
        assert (await office.ask("admin", "POST", f"/{made['publicId']}/roles", json=role)).status_code == 201
        asked: dict[tuple[str, str], dict[str, str] | None] = {
            ("PATCH", ""): {"email": "mine@example.org"},
            ("POST", "/password"): {"password": STRONG},
            ("POST", "/invite"): None,
            ("POST", "/invite?handOver=true"): None,
            ("POST", "/close"): None,
            ("POST", "/unlock"): None,
        }
        for (method, path), body in asked.items():
            answer = await office.ask("orgadmin", method, f"/{made['publicId']}{path}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED"), (method, path)

    async def test_of_ones_own_people(self, office: Office) -> None:
        made = await office.somchai("orgadmin")
        await grant(office.db, "somchai", "Document Control", "คคง.")
        answers = [
            await office.ask("orgadmin", method, f"/{made['publicId']}{path}", json=body)
            for method, path, body in (
                ("PATCH", "", {"email": "other@example.org"}),
                ("POST", "/password", {"password": STRONG}),
                ("POST", "/close", None),
                ("POST", "/reopen", None),
                ("POST", "/invite", None),
            )
        ]

        assert [answer.status_code for answer in answers] == [200] * 5

    async def test_the_last_super_admin_stays(self, office: Office) -> None:
        admin, made = await office.id_of("admin"), await office.somchai(invite=False, password=STRONG)
        temporary = {"role": "Superadmin", "level": "Global", "until": "2199-01-01"}
        await office.ask("admin", "POST", f"/{made['publicId']}/roles", json=temporary)
        (role,) = (await office.ask("admin", "GET", f"/{admin}/roles")).json()["items"]
        refused = [
            await office.ask("admin", "POST", f"/{admin}/close"),
            await office.ask("admin", "DELETE", f"/{admin}/roles/{role['publicId']}"),
        ]
        assert [(one.status_code, one.json()["code"]) for one in refused] == [(409, "LAST_SUPER_ADMIN")] * 2

        (given,) = (await office.ask("admin", "GET", f"/{made['publicId']}/roles")).json()["items"]
        await office.ask("admin", "DELETE", f"/{made['publicId']}/roles/{given['publicId']}")
        await office.ask("admin", "POST", f"/{made['publicId']}/roles", json={"role": "Superadmin", "level": "Global"})
        assert (await office.ask("admin", "POST", f"/{admin}/close")).status_code == 200

    async def test_who_was_only_invited_administers_nothing_yet(self, office: Office) -> None:
        await office.somchai()
        await grant(office.db, "somchai", "Superadmin")

        answer = await office.ask("admin", "POST", f"/{await office.id_of('admin')}/close")
        assert answer.json()["code"] == "LAST_SUPER_ADMIN"


class TestRoles:
    async def given(self, office: Office, who: str, person: str, **role: Any) -> httpx.Response:
        place = await office.organization(role.pop("code", "คคง."))
        body = {"role": "Editor", "level": "Organization", "placePublicId": place} | role
        return await office.ask(who, "POST", f"/{await office.id_of(person)}/roles", json=body)

    async def test_count_from_a_day_until_a_day(self, office: Office) -> None:
        answers = [
            await self.given(office, "admin", "viewer", **{"from": first, "until": last})
            for first, last in (
                ("2190-01-01", "2190-01-31"),
                ("2020-02-01", "2189-12-31"),
            )
        ]

        assert [answer.status_code for answer in answers] == [201] * 2
        assert [answer.json()["state"] for answer in answers] == ["upcoming", "active"]
        me = (await (await office.sign_in("viewer")).get("/api/v1/auth/me")).json()
        assert [one["role"] for one in me["roles"]] == ["Viewer", "Editor"]

    @pytest.mark.parametrize(
        ("days", "code"),
        [
            ({"from": "2030-01-02", "until": "2030-01-01"}, "before_from"),
            ({"until": "2020-12-31"}, "past"),
            ({"from": "2020-01-01", "until": "2020-12-31"}, "past"),
        ],
    )
    async def test_end_no_earlier_than_they_begin_nor_before_today(
        self, office: Office, days: dict[str, str], code: str
    ) -> None:
        answer = await self.given(office, "admin", "viewer", **days)

        assert answer.status_code == 422
        assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [("/until", code)]

    @pytest.mark.parametrize("again", [{}, {"until": "2190-01-01"}, {"from": "2190-01-01"}])
    async def test_are_given_once_at_a_time(self, office: Office, again: dict[str, str]) -> None:
        await self.given(office, "admin", "viewer")
        answer = await self.given(office, "admin", "viewer", **again)

        assert (answer.status_code, answer.json()["code"]) == (409, "ROLE_ALREADY_GIVEN")
        assert [one["pointer"] for one in answer.json()["errors"]] == ["/role"]

    async def test_are_taken_back(self, office: Office) -> None:
        given = await self.given(office, "admin", "viewer")
        path = given.headers["location"].removeprefix(USERS)
        answers = [await office.ask("admin", "DELETE", path) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [204, 404]

    async def test_nobody_gives_what_they_do_not_have(self, office: Office) -> None:
        raised = await self.given(office, "orgadmin", "orgadmin", role="Document Control")
        elsewhere = await self.given(office, "dc.consultant", "dc.consultant", code="ผรม.2")

        assert [raised.status_code, elsewhere.status_code] == [403, 403]

    @pytest.mark.parametrize(
        "role", [{"role": "Pope"}, {"level": "Project"}, {"until": "2020-01-01", "from": "2020-01-02"}]
    )
    async def test_refusals_tell_an_outsider_of_nobody(self, office: Office, role: dict[str, Any]) -> None:
        await grant(office.db, "viewer", "Viewer", "ผรม.2")
        there = await self.given(office, "viewer", "padmin", **role)
        nobody = await office.ask(
            "viewer", "POST", f"/{NOBODY}/roles", json={"role": "Editor", "level": "Global", **role}
        )

        assert (there.status_code, nobody.status_code) == (404, 404)

    async def test_who_gives_roles_in_a_place_sees_those_alone(self, office: Office) -> None:
        given = await self.given(office, "dc.consultant", "viewer")
        viewer = await office.id_of("viewer")
        mine = await office.ask("dc.consultant", "GET", f"/{viewer}/roles")
        nothing = await office.ask("dc.consultant", "GET", f"/{await office.id_of('padmin')}/roles")

        assert given.status_code == 201
        assert [one["role"] for one in mine.json()["items"]] == ["Editor"]
        assert nothing.status_code == 404
        assert (await office.ask("dc.consultant", "GET", f"/{viewer}")).status_code == 404


class TestClose:
    async def test_ends_sessions_and_an_open_invitation(self, office: Office, client: httpx.AsyncClient) -> None:
        opened = await client.post("/api/v1/auth/login", json={"username": "viewer", "password": PASSWORD})
        invited = await office.somchai()
        for person in (await office.id_of("viewer"), invited["publicId"]):
            assert (await office.ask("admin", "POST", f"/{person}/close")).json()["state"] == "closed"

        token = {"Authorization": f"Bearer {opened.json()['accessToken']}"}
        assert (await client.get("/api/v1/auth/me", headers=token)).status_code == 401
        async with office.db.reading() as session:
            is_open = RefreshToken.is_revoked.is_(False), User.user_id == RefreshToken.user_id
            assert (await session.scalars(sa.select(User.username).where(*is_open))).all() == ["admin"]
        assert (await client.get(urlsplit(invited["invitationUrl"]).path)).status_code == 410

    async def test_holds_back_what_the_persons_own_webhook_was_to_be_told(self, office: Office) -> None:
        order = {"url": "https://hooks.example.com/mine"}
        made = await (await office.sign_in("viewer")).post("/api/v1/notifications/webhooks", json=order)
        webhook, told = UUID(made.json()["publicId"]), []
        for verb in ("close", "reopen"):
            await office.ask("admin", "POST", f"/{await office.id_of('viewer')}/{verb}")
            async with office.db.reading() as session:
                told.append(await webhooks.find_for_delivery(session, webhook) is not None)

        assert told == [False, True]


# Who, and what reading a list, reading somebody of คคง., giving them a role there and closing them answers.
CALLERS = [
    (None, (401, 401, 401, 401, 401)),
    ("viewer", (403, 404, 404, 404, 404)),
    ("dc.contractor", (200, 404, 404, 404, 404)),
    ("dc.consultant", (200, 200, 200, 201, 403)),
    ("reviewer.consultant", (403, 404, 404, 404, 404)),
    ("padmin", (200, 200, 200, 403, 403)),
    ("otheradmin", (200, 404, 404, 404, 404)),
    ("orgadmin", (200, 200, 200, 403, 200)),
    ("admin", (200, 200, 200, 201, 200)),
]


@pytest.mark.parametrize(("who", "answers"), CALLERS, ids=[str(who) for who, _ in CALLERS])
async def test_who_may_what(
    office: Office, client: httpx.AsyncClient, who: str | None, answers: tuple[int, ...]
) -> None:
    await open_account(office.db, "otheradmin", "ผรม.2")
    await grant(office.db, "otheradmin", "Org Admin", "ผรม.2")
    person = (await office.somchai())["publicId"]
    role = {"role": "Editor", "level": "Organization", "placePublicId": await office.organization("คคง.")}
    asking = client if who is None else await office.sign_in(who)
    found = [
        (await asking.get(USERS)).status_code,
        (await asking.get(f"{USERS}/{person}")).status_code,
        (await asking.get(f"{USERS}/{person}/roles")).status_code,
        (await asking.post(f"{USERS}/{person}/roles", json=role)).status_code,
        (await asking.post(f"{USERS}/{person}/close")).status_code,
    ]

    assert tuple(found) == answers


class TestOwnAccount:
    @pytest.mark.parametrize("who", ["viewer", "padmin", "dc.contractor", "orgadmin"])
    async def test_is_there_for_everybody_with_its_roles(self, office: Office, who: str) -> None:
        own = "/" + await office.id_of(who)

        account, roles = await office.ask(who, "GET", own), await office.ask(who, "GET", own + "/roles")

        assert (account.status_code, account.json()["username"]) == (200, who)
        assert account.headers["ETag"]
        assert (roles.status_code, bool(roles.json()["items"])) == (200, True)

    async def test_is_not_changed_by_whom_may_change_no_account(self, office: Office) -> None:
        answer = await office.ask("viewer", "PATCH", "/" + await office.id_of("viewer"), json={"firstName": "X"})

        assert answer.status_code == 403


class TestImport:
    CSV = "userName,email,firstName,lastName,organization,role,level,place\n"

    async def sent(self, office: Office, who: str, *rows: str, **params: str) -> httpx.Response:
        content, headers = self.CSV + "\n".join(rows), {"Content-Type": "text/csv; charset=utf-8"}
        return await office.ask(who, "POST", "/import", content=content.encode(), headers=headers, params=params)

    async def test_invites_everybody_once_and_tells_the_links(self, office: Office) -> None:
        row = "somchai,somchai@example.org,สมชาย,ใจดี,คคง.,Document Control,Organization,คคง."

        tried = await self.sent(office, "admin", row, dryRun="true")
        made = (await self.sent(office, "admin", row)).json()
        again = (await self.sent(office, "admin", row)).json()

        assert tried.json() == {
            "applied": False,
            "invited": [{"username": "somchai", "displayName": "สมชาย ใจดี", "invitationUrl": None}],
            "known": [],
        }
        assert "/invitations/" in made["invited"][0]["invitationUrl"]
        assert again == {"applied": True, "invited": [], "known": [{"row": 2, "username": "somchai", "differs": []}]}

    async def test_names_each_fault_by_row_and_column_and_invites_nobody(self, office: Office) -> None:
        answer = await self.sent(
            office,
            "admin",
            "good,good@example.org,,,คคง.,,,",
            "bad,nonsense,,,คคง.,,,",
            "lost,lost@example.org,,,XXX,,,",
        )

        assert answer.status_code == 422
        assert [one["pointer"] for one in answer.json()["errors"]] == ["/3/email", "/4/organization"]
        assert (await office.ask("admin", "GET", params={"search": "good"})).json()["items"] == []

    async def test_is_for_who_opens_accounts_and_takes_sheets_alone(self, office: Office) -> None:
        assert (await self.sent(office, "viewer")).status_code == 403
        assert (await self.sent(office, "padmin")).status_code == 403
        wrong = await office.ask("admin", "POST", "/import", json={"people": []})
        assert (wrong.status_code, wrong.json()["code"]) == (415, "NOT_A_WORKBOOK")
