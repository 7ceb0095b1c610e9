"""Log-in, rotation, lock-out and the tokens themselves, on the service."""

import asyncio
import base64
import json
import threading
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from saraban.audit.models import AuditLog
from saraban.identity import service as identity
from saraban.identity.models import RefreshToken, User
from saraban.identity.service import (
    Device,
    LogInThrottle,
    LogInThrottled,
    NotSignedIn,
    OpenedSession,
    PasswordsBusy,
    SessionEnded,
    TokenIssuer,
    WrongCredentials,
    passwords,
)
from saraban.identity.service import throttle as throttling
from saraban.kit.clock import FixedClock, stopwatch
from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id
from saraban.kit.rate_limits import RateLimiter
from tests.features.identity.conftest import RULES

At = Callable[..., Awaitable[str]]
HERE = Device("203.0.113.7", "a browser")
PASSWORD = "saraban-demo"


async def log_in(
    db: Database,
    issuer: TokenIssuer,
    username: str = "viewer",
    password: str = PASSWORD,
    *,
    throttle: LogInThrottle | None = None,
    address: str = HERE.address,
    cookie: str = "",
) -> OpenedSession:
    return await identity.log_in(
        db,
        issuer=issuer,
        throttle=throttle or LogInThrottle(RateLimiter(), RULES, key="a key"),
        username=username,
        password=password,
        device=replace(HERE, address=address, cookie=cookie),
    )


async def refresh(db: Database, issuer: TokenIssuer, token: str) -> OpenedSession:
    return await identity.refresh(db, issuer=issuer, refresh_token=token, device=HERE)


async def trail(db: Database) -> list[str]:
    """What was done since the demo project was made."""
    actions = sa.select(AuditLog.action).where(AuditLog.action != "project.apply").order_by(AuditLog.audit_id)
    async with db.reading() as session:
        return list(await session.scalars(actions))


class TestLogIn:
    async def test_gives_tokens_that_speak_for_the_user(self, people_db: Database, issuer: TokenIssuer) -> None:
        opened = await log_in(people_db, issuer)

        async with people_db.reading() as session:
            caller = await identity.load_caller(session, issuer.read(opened.access_token).subject)
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

        assert await trail(people_db) == ["login.success", "login.failed"]
        async with people_db.reading() as session:
            addresses = set(
                await session.scalars(sa.select(AuditLog.ip_address).where(AuditLog.action != "project.apply"))
            )
        assert addresses == {"203.0.113.7"}


class TestThrottle:
    @pytest.fixture
    def at(self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle) -> At:
        async def attempt(address: str = HERE.address, username: str = "viewer", password: str = "wrong") -> str:
            try:
                await log_in(people_db, issuer, username, password, throttle=throttle, address=address)
            except DomainError as refusal:
                return refusal.code
            return "in"

        return attempt

    async def test_makes_an_address_wait_that_failed_too_often(self, at: At) -> None:
        assert [await at() for _ in range(5)] == ["INVALID_CREDENTIALS"] * 3 + ["LOGIN_THROTTLED"] * 2
        assert await at(password=PASSWORD) == "LOGIN_THROTTLED"
        assert await at(username="padmin", password=PASSWORD) == "in"

    async def test_lets_nobody_keep_another_out(self, at: At, people_db: Database, issuer: TokenIssuer) -> None:
        opened = await log_in(people_db, issuer)
        for place in range(1, 30):
            assert await at(f"198.51.100.{place}") == "INVALID_CREDENTIALS"

        assert await at(password=PASSWORD) == "in"
        async with people_db.reading() as session:
            assert (await identity.load_caller(session, opened.public_id)).username == "viewer"

    async def test_delays_a_name_that_others_failed_at(self, people_db: Database, issuer: TokenIssuer) -> None:
        throttle = LogInThrottle(RateLimiter(), replace(RULES, longest=0.2), key="a key")
        for place in range(3):
            with pytest.raises(WrongCredentials):
                await log_in(people_db, issuer, password="wrong", throttle=throttle, address=f"198.51.100.{place}")

        began = stopwatch()
        await log_in(people_db, issuer, throttle=throttle)

        assert 0.2 <= stopwatch() - began < 5

    async def test_makes_an_address_wait_that_tries_many_names(self, people_db: Database, issuer: TokenIssuer) -> None:
        throttle = LogInThrottle(RateLimiter(), replace(RULES, of_address=4), key="a key")
        tries = [log_in(people_db, issuer, f"name{n}", "wrong", throttle=throttle) for n in range(12)]
        refused: list[Any] = await asyncio.gather(*tries, return_exceptions=True)

        waits = [one.retry_after for one in refused if isinstance(one, LogInThrottled)]
        assert (
            sum(isinstance(one, WrongCredentials) for one in refused) == 4
        )  # which of them come first is nobody's promise
        assert len(waits) == 8
        assert all(0 < wait <= 60 for wait in waits)
        assert (await log_in(people_db, issuer, throttle=throttle, address="2001:db8::1")).access_token

    async def test_is_forgotten_by_a_success(self, at: At) -> None:
        for _ in range(3):
            assert [await at(), await at(), await at(password=PASSWORD)] == ["INVALID_CREDENTIALS"] * 2 + ["in"]

    async def test_answers_no_more_guesses_at_once_than_one_after_another(self, at: At, people_db: Database) -> None:
        guesses = await asyncio.gather(*(at(password=f"guess {n}") for n in range(8)))

        assert sorted(guesses) == ["INVALID_CREDENTIALS"] * 3 + ["LOGIN_THROTTLED"] * 5
        assert await trail(people_db) == ["login.failed"] * 3 + ["login.throttled"]

    async def test_answers_an_unknown_name_like_a_known_one(self, at: At) -> None:
        answers = {name: [await at(username=name) for _ in range(5)] for name in ("viewer", "nobody", " NOBODY ")}

        assert answers["viewer"] == answers["nobody"]
        assert set(answers[" NOBODY "]) == {"LOGIN_THROTTLED"}

    @pytest.mark.parametrize("name", ["viewer", "nobody"])
    async def test_takes_its_time_to_say_no(self, people_db: Database, issuer: TokenIssuer, name: str) -> None:
        """Or the audit row of a name that exists could be felt."""
        throttle = LogInThrottle(RateLimiter(), replace(RULES, least=0.4), key="a key")
        began = stopwatch()
        with pytest.raises(WrongCredentials):
            await log_in(people_db, issuer, name, "wrong", throttle=throttle)

        assert stopwatch() - began >= 0.4

    async def test_has_a_password_in_the_place_of_the_name_written_nowhere(
        self, people_db: Database, issuer: TokenIssuer, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        typed = "my-secret-passphrase-7"
        for _ in range(4):
            with pytest.raises((WrongCredentials, LogInThrottled)):
                await log_in(people_db, issuer, typed, "viewer")

        assert await trail(people_db) == []
        await people_db.close()
        kept = b"".join(file.read_bytes() for file in tmp_path.glob("people.db*"))  # noqa: ASYNC240
        said = "".join(capsys.readouterr())
        assert (typed.encode() in kept, typed in said) == (False, False)

    async def test_has_it_in_no_error_of_the_database(self, people_db: Database, issuer: TokenIssuer) -> None:
        async with people_db.writing() as session:
            await session.execute(sa.text("ALTER TABLE users RENAME TO users_gone"))

        typed = f"passphrase-{new_id()}"  # a traceback shows this line

        with pytest.raises(SQLAlchemyError) as failure:
            await log_in(people_db, issuer, typed, "viewer")

        assert typed not in "".join(traceback.format_exception(failure.value))

    async def test_keeps_an_address_from_filling_the_queue(
        self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        go_on = asyncio.Event()

        async def slow(*_: object, **__: object) -> bool:
            await go_on.wait()
            return True

        monkeypatch.setattr(passwords, "matches", slow)
        flood = [asyncio.create_task(log_in(people_db, issuer, throttle=throttle)) for _ in range(60)]
        elsewhere = asyncio.create_task(log_in(people_db, issuer, throttle=throttle, address="198.51.100.1"))
        done, _ = await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 10:
            done, _ = await asyncio.wait(flood, timeout=0.01)
        go_on.set()
        outcomes = await asyncio.gather(*flood, return_exceptions=True)

        assert sum(isinstance(one, PasswordsBusy) for one in outcomes) == 10
        assert (await elsewhere).access_token

    async def test_refuses_what_would_wait_too_long_for_argon2(
        self, people_db: Database, issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A flood of many addresses with one guess each."""
        monkeypatch.setattr(passwords._pace, "seconds", 0.5)
        go_on = threading.Event()
        monkeypatch.setattr(passwords, "_verify", lambda *_: go_on.wait(10))
        throttle = LogInThrottle(RateLimiter(), RULES, key="a key")
        flood = [
            asyncio.create_task(log_in(people_db, issuer, throttle=throttle, address=f"198.51.100.{n}"))
            for n in range(95)
        ]
        done: set[asyncio.Task[OpenedSession]] = set()
        while len(done) < 86:
            done, _ = await asyncio.wait(flood, timeout=0.01)
        go_on.set()
        outcomes = await asyncio.gather(*flood, return_exceptions=True)

        refused = [one for one in outcomes if isinstance(one, PasswordsBusy)]
        assert len(refused) == 86  # nine may wait: the last of them for 2 s
        assert {one.retry_after for one in refused} == {3}

    async def test_measures_how_long_a_check_takes(
        self, people_db: Database, issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(passwords._pace, "seconds", 1000.0)
        await log_in(people_db, issuer)  # nobody is before it

        assert 800 <= passwords._pace.seconds < 810

    async def test_keeps_nobody_waiting_for_longer_than_it_says(
        self, people_db: Database, issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(throttling, "_LONGEST", 0.2)

        async def endless(*_: object, **__: object) -> bool:
            return await asyncio.Event().wait()

        monkeypatch.setattr(passwords, "matches", endless)
        with pytest.raises(PasswordsBusy):
            await log_in(people_db, issuer)


class TestKnownBrowser:
    """A colleague behind the same address fails; whoever has logged in here before is not kept out by it."""

    @pytest.fixture
    def throttle(self) -> LogInThrottle:
        return LogInThrottle(RateLimiter(), replace(RULES, of_address=4), key="a key")

    @pytest_asyncio.fixture
    async def cookie(self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle) -> str:
        """Of the viewer, whose address and name are used up by somebody else now."""
        cookie = (await log_in(people_db, issuer, throttle=throttle)).device_cookie
        for _ in range(3):
            with pytest.raises(WrongCredentials):
                await log_in(people_db, issuer, password="wrong", throttle=throttle)
        with pytest.raises(LogInThrottled):
            await log_in(people_db, issuer, throttle=throttle)
        return cookie

    async def test_logs_in_whatever_others_did_at_its_address(
        self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle, cookie: str
    ) -> None:
        assert (await log_in(people_db, issuer, throttle=throttle, cookie=cookie)).access_token

    async def test_waits_for_its_own_failures(
        self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle, cookie: str
    ) -> None:
        for _ in range(3):
            with pytest.raises(WrongCredentials):
                await log_in(people_db, issuer, password="wrong", throttle=throttle, cookie=cookie)

        with pytest.raises(LogInThrottled):
            await log_in(people_db, issuer, throttle=throttle, cookie=cookie)

    @pytest.mark.parametrize("forge", ["", "x.9999999999.ab", "..", "{}x", "x{}", "ก{}", "{}\ud800", "{}.{}"])
    async def test_is_not_known_by_a_forged_cookie(
        self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle, cookie: str, forge: str
    ) -> None:
        with pytest.raises(LogInThrottled):
            await log_in(people_db, issuer, throttle=throttle, cookie=forge.replace("{}", cookie))

    async def test_is_not_known_by_the_cookie_of_another_account(
        self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle, cookie: str
    ) -> None:
        others = (await log_in(people_db, issuer, "padmin", throttle=throttle)).device_cookie
        with pytest.raises(LogInThrottled):
            await log_in(people_db, issuer, throttle=throttle, cookie=others)

    async def test_is_forgotten_after_a_year(
        self, people_db: Database, issuer: TokenIssuer, throttle: LogInThrottle, cookie: str, clock: FixedClock
    ) -> None:
        clock.at += timedelta(days=365)
        with pytest.raises(LogInThrottled):
            await log_in(people_db, issuer, throttle=throttle, cookie=cookie)


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

        assert one.refresh_token == other.refresh_token
        assert one.access_token != other.access_token
        assert (await refresh(people_db, issuer, one.refresh_token)).access_token

    async def test_follows_a_repeated_token_to_the_newest(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        first = await log_in(people_db, issuer)
        second = await refresh(people_db, issuer, first.refresh_token)
        third = await refresh(people_db, issuer, second.refresh_token)

        assert (await refresh(people_db, issuer, first.refresh_token)).refresh_token == third.refresh_token

    async def test_notices_a_second_use_long_after_the_idle_limit(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        first = await log_in(people_db, issuer)
        newest = await refresh(people_db, issuer, first.refresh_token)
        for _ in range(10):
            clock.at += timedelta(hours=4)
            await people_db.transact(lambda session: identity.delete_expired_sessions(session, now=clock.at))
            newest = await refresh(people_db, issuer, newest.refresh_token)

        for token in (first.refresh_token, newest.refresh_token):
            with pytest.raises(SessionEnded):
                await refresh(people_db, issuer, token)

    async def test_ends_with_the_idle_limit(self, people_db: Database, issuer: TokenIssuer, clock: FixedClock) -> None:
        opened = await log_in(people_db, issuer)
        clock.at += timedelta(minutes=issuer.idle_minutes - 1)
        opened = await refresh(people_db, issuer, opened.refresh_token)
        clock.at += timedelta(minutes=issuer.idle_minutes)

        with pytest.raises(SessionEnded):
            await refresh(people_db, issuer, opened.refresh_token)

    async def test_ends_with_the_absolute_limit_however_much_it_is_used(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        opened = await log_in(people_db, issuer)
        for _ in range(27):
            clock.at += timedelta(hours=6)
            opened = await refresh(people_db, issuer, opened.refresh_token)
        clock.at += timedelta(hours=5, minutes=50)
        opened = await refresh(people_db, issuer, opened.refresh_token)

        assert opened.expires_in == 600
        clock.at += timedelta(minutes=10)
        with pytest.raises(NotSignedIn):
            issuer.read(opened.access_token)
        with pytest.raises(SessionEnded):
            await refresh(people_db, issuer, opened.refresh_token)

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
        clock.at += timedelta(minutes=issuer.idle_minutes) - timedelta(hours=1)
        young = await log_in(people_db, issuer)
        clock.at += timedelta(hours=2)

        gone = await people_db.transact(lambda session: identity.delete_expired_sessions(session, now=clock.at))

        assert gone == 1
        assert (await refresh(people_db, issuer, young.refresh_token)).access_token


class TestLogOut:
    async def test_ends_this_device_and_no_other(
        self, people_db: Database, issuer: TokenIssuer, clock: FixedClock
    ) -> None:
        here, there = await log_in(people_db, issuer), await log_in(people_db, issuer)
        for _ in range(2):
            async with people_db.writing() as session:
                await identity.log_out(here.refresh_token, session, address="", now=clock.now())

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
                issuer.read(token)

    async def test_refuses_an_expired_token(self, people_db: Database, issuer: TokenIssuer, clock: FixedClock) -> None:
        opened = await log_in(people_db, issuer)
        clock.at += timedelta(minutes=15)

        with pytest.raises(NotSignedIn):
            issuer.read(opened.access_token)

    def test_does_not_show_its_key(self, issuer: TokenIssuer) -> None:
        assert issuer.secret not in repr(issuer)
