"""Log-in, rotation, lock-out and the tokens themselves, on the service."""

import asyncio
import base64
import json
from datetime import timedelta

import jwt
import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.identity import service as identity
from saraban.identity.domain.lockout import LockoutRules
from saraban.identity.models import RefreshToken, User
from saraban.identity.service import (
    AccountLocked,
    Device,
    NotSignedIn,
    SessionEnded,
    SignedIn,
    TokenIssuer,
    WrongCredentials,
)
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError

RULES = LockoutRules(attempts=3, minutes=15)
HERE = Device("203.0.113.7", "a browser")
PASSWORD = "saraban-demo"


async def log_in(db: Database, issuer: TokenIssuer, username: str = "viewer", password: str = PASSWORD) -> SignedIn:
    return await identity.log_in(db, issuer=issuer, rules=RULES, username=username, password=password, device=HERE)


async def refresh(db: Database, issuer: TokenIssuer, token: str) -> SignedIn:
    return await identity.refresh(db, issuer=issuer, refresh_token=token, device=HERE)


async def trail(db: Database) -> list[str]:
    async with db.reading() as session:
        return list(await session.scalars(sa.select(AuditLog.action).order_by(AuditLog.audit_id)))


class TestLogIn:
    async def test_gives_tokens_that_speak_for_the_user(self, people_db: Database, issuer: TokenIssuer) -> None:
        opened = await log_in(people_db, issuer)

        async with people_db.reading() as session:
            caller = await identity.load_caller(session, issuer.subject(opened.access_token))
        assert caller.username == "viewer"
        assert opened.expires_in == 900

    @pytest.mark.parametrize("name", [" viewer ", "VIEWER"])
    async def test_knows_a_name_however_it_is_typed(self, people_db: Database, issuer: TokenIssuer, name: str) -> None:
        assert (await log_in(people_db, issuer, name)).access_token

    @pytest.mark.parametrize(
        ("name", "password"),
        [("viewer", "wrong"), ("nobody", PASSWORD), ("system", PASSWORD), ("system", "!"), ("viewer", "Saraban-demo")],
    )
    async def test_refuses_the_wrong_pair_without_saying_which(
        self, people_db: Database, issuer: TokenIssuer, name: str, password: str
    ) -> None:
        with pytest.raises(WrongCredentials) as refusal:
            await log_in(people_db, issuer, name, password)

        assert refusal.value.says.th == "ชื่อผู้ใช้หรือรหัสผ่านไม่ถูกต้อง"

    async def test_keeps_only_a_digest_of_the_refresh_token(self, people_db: Database, issuer: TokenIssuer) -> None:
        opened = await log_in(people_db, issuer)

        async with people_db.reading() as session:
            stored = (await session.scalars(sa.select(RefreshToken))).one()
        assert opened.refresh_token not in (stored.token_hash, str(stored.family))
        assert (stored.ip_address, stored.user_agent) == ("203.0.113.7", "a browser")

    async def test_leaves_a_trail(self, people_db: Database, issuer: TokenIssuer) -> None:
        await log_in(people_db, issuer)
        for name in ("viewer", "nobody"):
            with pytest.raises(WrongCredentials):
                await log_in(people_db, issuer, name, "wrong")

        assert await trail(people_db) == ["login.success", "login.failed", "login.failed"]
        async with people_db.reading() as session:
            addresses = set(await session.scalars(sa.select(AuditLog.ip_address)))
        assert addresses == {"203.0.113.7"}


class TestLockout:
    async def fail(self, db: Database, issuer: TokenIssuer, times: int) -> None:
        for _ in range(times):
            with pytest.raises((WrongCredentials, AccountLocked)):
                await log_in(db, issuer, password="wrong")

    async def test_refuses_even_the_right_password_until_it_ends(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        await self.fail(people_db, issuer, 3)

        with pytest.raises(AccountLocked) as refusal:
            await log_in(people_db, issuer)
        assert refusal.value.retry_after == 900

        clock.at += timedelta(minutes=15)
        assert (await log_in(people_db, issuer)).access_token

    async def test_is_forgotten_by_a_success(self, people_db: Database, issuer: TokenIssuer) -> None:
        for _ in range(3):
            await self.fail(people_db, issuer, 2)
            await log_in(people_db, issuer)

        assert "login.locked" not in await trail(people_db)

    async def test_answers_no_more_guesses_at_once_than_one_after_another(
        self, people_db: Database, issuer: TokenIssuer
    ) -> None:
        guesses = await asyncio.gather(
            *(log_in(people_db, issuer, password=f"guess {n}") for n in range(8)), return_exceptions=True
        )

        assert sum(isinstance(guess, WrongCredentials) for guess in guesses) == 2
        assert sum(isinstance(guess, AccountLocked) for guess in guesses) == 6
        assert (await trail(people_db)).count("login.failed") == 3

    async def test_answers_an_unknown_name_like_a_known_one(self, people_db: Database, issuer: TokenIssuer) -> None:
        def told(refusal: BaseException) -> tuple[object, ...]:
            assert isinstance(refusal, DomainError)
            return refusal.code, refusal.detail, refusal.retry_after, refusal.values

        answers = {
            name: [
                told((await asyncio.gather(log_in(people_db, issuer, name, "wrong"), return_exceptions=True))[0])
                for _ in range(5)
            ]
            for name in ("viewer", "nobody")
        }

        assert answers["nobody"] == answers["viewer"]
        assert [answer[0] for answer in answers["nobody"]] == ["INVALID_CREDENTIALS"] * 2 + ["ACCOUNT_LOCKED"] * 3
        assert (await trail(people_db)).count("login.locked") == 2

    async def test_of_an_unknown_name_counts_guesses_at_once_and_ends(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        guesses = await asyncio.gather(
            *(log_in(people_db, issuer, "nobody", f"guess {n}") for n in range(8)), return_exceptions=True
        )
        assert sum(isinstance(guess, AccountLocked) for guess in guesses) == 6

        clock.at += timedelta(minutes=15)
        with pytest.raises(WrongCredentials):
            await log_in(people_db, issuer, " NOBODY ", "wrong")

    async def test_of_an_unknown_name_is_forgotten_after_a_month(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        with pytest.raises(WrongCredentials):
            await log_in(people_db, issuer, "nobody", "wrong")

        async def forget() -> int:
            return await people_db.transact(lambda session: identity.forget_strangers(session, now=clock.at))

        clock.at += timedelta(days=29)
        assert await forget() == 0
        clock.at += timedelta(days=2)
        assert await forget() == 1

    async def test_concerns_one_account_only(self, people_db: Database, issuer: TokenIssuer) -> None:
        await self.fail(people_db, issuer, 3)

        assert (await log_in(people_db, issuer, "padmin")).access_token

    async def test_closes_the_sessions_that_are_open(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        opened = await log_in(people_db, issuer)
        await self.fail(people_db, issuer, 3)

        async with people_db.reading() as session:
            with pytest.raises(NotSignedIn):
                await identity.load_caller(session, opened.public_id, now=clock.now())


class TestRefresh:
    async def test_gives_a_new_pair_each_time(self, people_db: Database, issuer: TokenIssuer) -> None:
        first = await log_in(people_db, issuer)
        second = await refresh(people_db, issuer, first.refresh_token)
        third = await refresh(people_db, issuer, second.refresh_token)

        assert len({first.refresh_token, second.refresh_token, third.refresh_token}) == 3
        assert third.public_id == first.public_id

    async def test_lets_two_tabs_present_the_same_token(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        first = await log_in(people_db, issuer)
        one = await refresh(people_db, issuer, first.refresh_token)
        clock.at += timedelta(seconds=30)
        other = await refresh(people_db, issuer, first.refresh_token)

        for tab in (one, other):
            assert (await refresh(people_db, issuer, tab.refresh_token)).access_token

    async def test_ends_the_whole_chain_when_an_old_token_comes_back(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        first = await log_in(people_db, issuer)
        elsewhere = await log_in(people_db, issuer)
        second = await refresh(people_db, issuer, first.refresh_token)
        clock.at += timedelta(seconds=31)

        for token in (first.refresh_token, second.refresh_token):
            with pytest.raises(SessionEnded):
                await refresh(people_db, issuer, token)
        assert (await refresh(people_db, issuer, elsewhere.refresh_token)).access_token
        assert "login.token_reused" in await trail(people_db)

    async def test_ends_with_the_life_of_the_token(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        opened = await log_in(people_db, issuer)
        clock.at += timedelta(days=7)

        with pytest.raises(SessionEnded):
            await refresh(people_db, issuer, opened.refresh_token)

    @pytest.mark.parametrize("token", ["", "nonsense", "ก" * 64, "\ud800"])
    async def test_refuses_what_it_never_gave(self, people_db: Database, issuer: TokenIssuer, token: str) -> None:
        with pytest.raises(SessionEnded):
            await refresh(people_db, issuer, token)

    async def test_refuses_a_closed_account(self, people_db: Database, issuer: TokenIssuer) -> None:
        opened = await log_in(people_db, issuer)
        async with people_db.writing() as session:
            await session.execute(sa.update(User).where(User.username == "viewer").values(is_active=False))

        with pytest.raises(SessionEnded):
            await refresh(people_db, issuer, opened.refresh_token)

    async def test_is_forgotten_when_it_has_run_out(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        await log_in(people_db, issuer)
        clock.at += issuer.refresh_life - timedelta(hours=1)
        young = await log_in(people_db, issuer)
        clock.at += timedelta(hours=2)

        gone = await people_db.transact(lambda session: identity.forget_sessions(session, now=clock.at))

        assert gone == 1
        assert (await refresh(people_db, issuer, young.refresh_token)).access_token


class TestLogOut:
    async def test_ends_this_device_and_no_other(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        here, there = await log_in(people_db, issuer), await log_in(people_db, issuer)
        for _ in range(2):
            async with people_db.writing() as session:
                await identity.log_out(session, refresh_token=here.refresh_token, address="", now=clock.now())

        with pytest.raises(SessionEnded):
            await refresh(people_db, issuer, here.refresh_token)
        assert (await refresh(people_db, issuer, there.refresh_token)).access_token
        assert (await trail(people_db)).count("logout") == 1


def unsigned(token: str, algorithm: str) -> str:
    head = base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "typ": "JWT"}).encode()).rstrip(b"=").decode()
    return f"{head}.{token.split('.')[1]}."


class TestTokenIssuer:
    async def test_refuses_what_it_did_not_sign(self, people_db: Database, issuer: TokenIssuer) -> None:
        good = (await log_in(people_db, issuer)).access_token
        claims = jwt.decode(good, options={"verify_signature": False})
        forged = [
            jwt.encode(claims, "another-key-that-is-long-enough-too", algorithm="HS256"),
            jwt.encode(claims, issuer.secret, algorithm="HS384"),
            unsigned(good, "none"),
            unsigned(good, "HS256"),
            good[:-2],
            f"{good}.x",
            "",
            "a.b.c",
            "ก.ข.ค",
        ]

        for token in forged:
            with pytest.raises(NotSignedIn):
                issuer.subject(token)

    async def test_refuses_an_expired_token(self, people_db: Database, issuer: TokenIssuer, clock: FixedClock) -> None:
        opened = await log_in(people_db, issuer)
        clock.at += timedelta(minutes=15)

        with pytest.raises(NotSignedIn):
            issuer.subject(opened.access_token)

    def test_does_not_show_its_key(self, issuer: TokenIssuer) -> None:
        assert issuer.secret not in repr(issuer)
