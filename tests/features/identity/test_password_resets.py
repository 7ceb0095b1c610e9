"""Links by which a person who forgot the password chooses another, and the change that is forced after an administrator set it."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.identity.models import RefreshToken, User, UserInvitation
from saraban.identity.service import Device, Invitation, InvitationEnded
from saraban.identity.service import invitations as links
from saraban.identity.service.invitations import TooManyPasswords
from saraban.kit.clock import stopwatch
from saraban.kit.rate_limits import RateLimiter
from tests.accounts import STRONG, Office, office, somchai
from tests.conftest import SignIn

__all__ = ["office"]

CHOSEN = "Chosen-By-Me-7"
SET_BY_ADMIN = "Handed-Over-By-Admin"


class Stranger:
    """Asks for links from one address."""

    def __init__(self, office: Office) -> None:
        self.office, self.limiter = office, RateLimiter()

    async def ask(self, identifier: str, *, least: float = 0.0, address: str = "10.0.0.9") -> None:
        await identity.request_reset(
            self.office.db,
            limiter=self.limiter,
            identifier=identifier,
            address=address,
            now=self.office.clock.now(),
            least_seconds=least,
        )

    async def mails(self) -> int:
        statement = sa.select(sa.func.count()).where(OutboxEvent.name == identity.RESET_REQUESTED)
        async with self.office.db.reading() as session:
            return await session.scalar(statement) or 0


@pytest.fixture
async def stranger(office: Office) -> Stranger:
    await office.do(identity.create_user, **somchai())
    return Stranger(office)


async def mailed_link(office: Office, username: str = "somchai") -> Invitation | None:
    """Return the link as the letter makes it."""
    person = await office.who(username)
    return await office.db.transact(
        lambda session: identity.renew_invitation(session, user_id=person.user_id, now=office.clock.now())
    )


async def use(office: Office, link: Invitation, password: str = CHOSEN) -> None:
    given: dict[str, Any] = {"token": link.token, "password": password, "address": "10.0.0.9"}
    await identity.accept_invitation(office.db, limiter=RateLimiter(), now=office.clock.now(), **given)


class TestRequestReset:
    @pytest.mark.parametrize("identifier", ["somchai", " SOMCHAI ", "somchai@example.org", "Somchai@Example.org"])
    async def test_mails_a_link_to_the_person_of_a_name_or_an_address(
        self, office: Office, stranger: Stranger, identifier: str
    ) -> None:
        await stranger.ask(identifier)

        assert await stranger.mails() == 1
        assert await office.enters("somchai", STRONG)
        link = await mailed_link(office)
        assert link is not None
        await use(office, link)
        assert await office.enters("somchai", CHOSEN)

    @pytest.mark.parametrize("identifier", ["", "nobody", "nobody@example.org", "system", "svc.loadtest", "x" * 100])
    async def test_mails_nothing_to_programs_and_to_nobody(self, stranger: Stranger, identifier: str) -> None:
        await stranger.ask(identifier)

        assert await stranger.mails() == 0

    async def test_leaves_the_invitation_of_who_never_had_a_password(self, office: Office, stranger: Stranger) -> None:
        account = somchai(username="new", email="new@example.org")["new"]
        invitation: Invitation = await office.do(identity.invite_user, new=account)
        await stranger.ask("new")

        assert await stranger.mails() == 0
        await use(office, invitation)

    async def test_mails_nothing_to_a_closed_account(self, office: Office, stranger: Stranger) -> None:
        await office.do(identity.set_active, username="somchai", active=False)
        await stranger.ask("somchai")

        assert await stranger.mails() == 0

    async def test_mails_an_account_three_times_an_hour_and_never_says_so(self, stranger: Stranger) -> None:
        for number in range(5):
            await stranger.ask("somchai", address=f"10.0.0.{number}")

        assert await stranger.mails() == 3

    @pytest.mark.parametrize("identifier", ["somchai", "nobody"])
    async def test_refuses_an_address_that_asks_too_often(self, stranger: Stranger, identifier: str) -> None:
        for _ in range(20):
            await stranger.ask(identifier)

        with pytest.raises(TooManyPasswords):
            await stranger.ask(identifier)

    @pytest.mark.parametrize("identifier", ["somchai", "nobody"])
    async def test_takes_as_long_for_nobody_as_for_somebody(self, stranger: Stranger, identifier: str) -> None:
        began = stopwatch()
        await stranger.ask(identifier, least=0.3)

        assert stopwatch() - began >= 0.3

    async def test_keeps_no_token_and_tells_the_audit_trail(self, office: Office, stranger: Stranger) -> None:
        await stranger.ask("somchai")
        link = await mailed_link(office)

        assert link is not None
        async with office.db.reading() as session:
            kept = [str(row) for row in (await session.execute(sa.select(UserInvitation.__table__))).all()]
            row = await session.scalar(sa.select(AuditLog).where(AuditLog.action == "user.request_reset"))
        assert kept
        assert not [one for one in kept if link.token in one]
        assert row is not None
        assert row.ip_address == "10.0.0.9"


class TestResetLink:
    async def link(self, office: Office, stranger: Stranger) -> Invitation:
        await stranger.ask("somchai")
        link = await mailed_link(office)
        assert link is not None
        return link

    async def test_works_once(self, office: Office, stranger: Stranger) -> None:
        link = await self.link(office, stranger)
        await use(office, link)

        with pytest.raises(InvitationEnded):
            await use(office, link, "Somebody-Else-7")

    async def test_ends_after_thirty_minutes(self, office: Office, stranger: Stranger) -> None:
        link = await self.link(office, stranger)
        office.clock.at += timedelta(minutes=30)

        with pytest.raises(InvitationEnded):
            await use(office, link)
        assert await mailed_link(office) is None

    async def test_is_replaced_by_the_next(self, office: Office, stranger: Stranger) -> None:
        first, second = await self.link(office, stranger), await self.link(office, stranger)

        with pytest.raises(InvitationEnded):
            await use(office, first)
        await use(office, second)

    async def test_ends_every_session(self, office: Office, stranger: Stranger) -> None:
        account: dict[str, Any] = {"username": "somchai", "password": STRONG, "device": Device()}
        await identity.log_in(office.db, issuer=office.issuer, throttle=office.throttle, **account)
        await use(office, await self.link(office, stranger))

        async with office.db.reading() as session:
            open_sessions = sa.select(sa.func.count()).select_from(RefreshToken)
            assert await session.scalar(open_sessions.where(RefreshToken.is_revoked.is_(False))) == 0

    async def test_of_an_administrator_works_for_a_day_and_is_not_mailed(
        self, office: Office, stranger: Stranger
    ) -> None:
        link: Invitation = await office.do(links.invite_again, username="somchai", handed_over=True)
        async with office.db.reading() as session:
            events = (await session.scalars(sa.select(OutboxEvent.name))).all()
            actions = (await session.scalars(sa.select(AuditLog.action))).all()

        assert "user.make_reset_link" in actions
        assert not {identity.USER_INVITED, identity.RESET_REQUESTED} & set(events)
        office.clock.at += timedelta(hours=23, minutes=59)
        async with office.db.reading() as session:
            assert (await identity.read_invitation(session, link.token, office.clock.now())).username == "somchai"
        office.clock.at += timedelta(minutes=1)
        with pytest.raises(InvitationEnded):
            await use(office, link)


async def must_change(office: Office, username: str = "somchai") -> bool:
    return (await office.who(username)).must_change_password


class TestForcedChange:
    async def test_follows_a_password_that_an_administrator_set(self, office: Office, stranger: Stranger) -> None:
        assert not await must_change(office)
        await office.do(identity.set_password, username="somchai", password=SET_BY_ADMIN)
        assert await must_change(office)

        await stranger.ask("somchai")
        link = await mailed_link(office)
        assert link is not None
        await use(office, link)
        assert not await must_change(office)

    async def test_does_not_follow_for_a_program_nor_for_oneself(self, office: Office) -> None:
        await office.do(identity.set_password, username="svc.loadtest", password=SET_BY_ADMIN)
        await office.do(identity.set_password, by="admin", username="admin", password=SET_BY_ADMIN)

        assert [await must_change(office, name) for name in ("svc.loadtest", "admin")] == [False, False]


@pytest.fixture
async def handed(signed_in: SignIn, app: FastAPI) -> str:
    """Set the password of the viewer, and return an access token of a session with it."""
    admin = await signed_in("admin")
    people = (await admin.get("/api/v1/users", params={"search": "viewer"})).json()["items"]
    viewer = next(one["publicId"] for one in people if one["username"] == "viewer")
    answer = await admin.post(f"/api/v1/users/{viewer}/password", json={"password": SET_BY_ADMIN})
    assert answer.status_code == 200, answer.text
    login = {"username": "viewer", "password": SET_BY_ADMIN}
    opened = await (await signed_in("admin")).post("/api/v1/auth/login", json=login)
    return str(opened.json()["accessToken"])


class TestApi:
    @pytest.mark.parametrize(
        ("language", "title"), [("en", "Change the password"), ("th", "ต้องเปลี่ยนรหัสผ่านที่ผู้ดูแลระบบตั้งให้ก่อน")]
    )
    async def test_does_nothing_before_the_password_is_changed(
        self, handed: str, client: httpx.AsyncClient, language: str, title: str
    ) -> None:
        bearer = {"Authorization": f"Bearer {handed}", "Accept-Language": language}
        answers = [
            await client.request(method, f"/api/v1{path}", headers=bearer)
            for method, path in (("GET", "/auth/me"), ("GET", "/inbox"), ("GET", "/projects"), ("POST", "/rfas"))
        ]

        assert [(one.status_code, one.json()["code"]) for one in answers] == [(403, "PASSWORD_CHANGE_REQUIRED")] * 4
        assert title in answers[0].text

    async def test_goes_on_after_the_change_to_another_password(self, handed: str, client: httpx.AsyncClient) -> None:
        bearer = {"Authorization": f"Bearer {handed}"}
        same, other = [
            await client.post(
                "/api/v1/auth/password",
                json={"currentPassword": SET_BY_ADMIN, "newPassword": new},
                headers=bearer,
            )
            for new in (SET_BY_ADMIN, CHOSEN)
        ]

        assert (same.status_code, same.json()["errors"][0]["pointer"]) == (422, "/newPassword")
        assert other.status_code == 204
        login = {"username": "viewer", "password": CHOSEN}
        token = (await client.post("/api/v1/auth/login", json=login)).json()["accessToken"]
        answer = await client.get("/api/v1/auth/me", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200

    async def test_a_person_whose_account_was_opened_with_a_password_changes_it(
        self, signed_in: SignIn, app: FastAPI
    ) -> None:
        admin = await signed_in("admin")
        for name, more in (("somchai", {}), ("importer", {"isService": True})):
            body = {"username": name, "email": f"{name}@example.org", "password": SET_BY_ADMIN} | more
            assert (await admin.post("/api/v1/users", json=body)).status_code == 201

        flags = sa.select(User.username, User.must_change_password).where(User.username.in_(["somchai", "importer"]))
        async with app.state.db.reading() as session:
            assert {row[0]: row[1] for row in await session.execute(flags)} == {"somchai": True, "importer": False}

    async def test_tells_a_link_to_hand_over_once(self, signed_in: SignIn, client: httpx.AsyncClient) -> None:
        admin = await signed_in("admin")
        people = (await admin.get("/api/v1/users", params={"search": "viewer"})).json()["items"]
        path = f"/api/v1/users/{people[0]['publicId']}/invite"
        first, again = [
            await admin.post(path, params={"handOver": True}, headers={"Idempotency-Key": "one"}) for _ in range(2)
        ]

        assert again.json()["invitationUrl"] is None
        link = httpx.URL(first.json()["invitationUrl"])
        assert (await client.get(link.path)).status_code == 200

    async def test_the_names_of_projects_are_no_passwords(self, handed: str, client: httpx.AsyncClient) -> None:
        body = {"currentPassword": SET_BY_ADMIN, "newPassword": "LCBP3-C2-2569"}
        answer = await client.post("/api/v1/auth/password", json=body, headers={"Authorization": f"Bearer {handed}"})

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/newPassword"
