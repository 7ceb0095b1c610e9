"""Sessions, roles and codes on each database: races for one token or one account, and codes that compare exactly."""

import asyncio
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from saraban.identity import service as identity
from saraban.identity.domain import catalogue
from saraban.identity.models import RefreshToken, User
from saraban.identity.schemas import OrganizationSearch
from saraban.identity.service import (
    Device,
    LogInThrottle,
    LogInThrottled,
    NotSignedIn,
    OpenedSession,
    SessionEnded,
    ThrottleRules,
    TokenIssuer,
    WrongCredentials,
    accounts,
    passwords,
)
from saraban.kit.clock import FixedClock
from saraban.kit.db import Base, Database
from saraban.kit.errors import Invalid
from saraban.kit.rate_limits import RateLimiter
from saraban.projects import service as projects
from tests.demo_people import fill
from tests.factories.contexts import context

pytestmark = pytest.mark.sampled("mariadb")

START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
RULES = ThrottleRules(attempts=3, of_address=0, longest=0.01, least=0)


@pytest.fixture
def people_db(any_people_db: Database) -> Database:
    return any_people_db


@pytest.fixture
def issuer() -> TokenIssuer:
    clock = FixedClock(START, ZoneInfo("Asia/Bangkok"))
    return TokenIssuer("a-key-of-this-test-and-of-nothing-else-at-all", access_minutes=15, refresh_days=7, clock=clock)


async def log_in(
    db: Database, issuer: TokenIssuer, password: str = "saraban-demo", throttle: LogInThrottle | None = None
) -> OpenedSession:
    throttle = throttle or LogInThrottle(RateLimiter(), RULES, key="a key")
    return await identity.log_in(
        db, issuer=issuer, throttle=throttle, username="viewer", password=password, device=Device("198.51.100.1")
    )


class TestSessions:
    async def test_answer_only_so_many_of_many_guesses(self, people_db: Database, issuer: TokenIssuer) -> None:
        throttle = LogInThrottle(RateLimiter(), RULES, key="a key")
        guesses = await asyncio.gather(
            *(log_in(people_db, issuer, f"guess {n}", throttle) for n in range(12)), return_exceptions=True
        )

        assert sum(isinstance(guess, WrongCredentials) for guess in guesses) == 3
        assert sum(isinstance(guess, LogInThrottled) for guess in guesses) == 9
        async with people_db.reading() as session:
            count = await session.scalar(sa.select(User.failed_attempts).where(User.username == "viewer"))
        assert count == 3

    async def test_survive_tabs_that_refresh_at_the_same_moment(self, people_db: Database, issuer: TokenIssuer) -> None:
        opened = await log_in(people_db, issuer)
        tabs = await asyncio.gather(
            *(
                identity.refresh(people_db, issuer=issuer, refresh_token=opened.refresh_token, device=Device())
                for _ in range(6)
            )
        )

        assert len({tab.refresh_token for tab in tabs}) == 1
        assert len({tab.access_token for tab in tabs}) == 6
        async with people_db.reading() as session:
            families = set(await session.scalars(sa.select(RefreshToken.family)))
        assert len(families) == 1

    async def test_end_together_when_one_logs_out(self, people_db: Database, issuer: TokenIssuer) -> None:
        opened = await log_in(people_db, issuer)
        renewed = await identity.refresh(people_db, issuer=issuer, refresh_token=opened.refresh_token, device=Device())
        async with people_db.writing() as session:
            await identity.log_out(renewed.refresh_token, session, address="", now=START)

        for token in (opened.refresh_token, renewed.refresh_token):
            with pytest.raises(SessionEnded):
                await identity.refresh(people_db, issuer=issuer, refresh_token=token, device=Device())


NEW_PASSWORD = "Harbour-Crane-Lantern-62"
TRIES = 36


class TestResetPassword:
    """Log-ins, refreshes and changes that had begun when an administrator set another password."""

    async def reset(self, db: Database, password_hash: str) -> None:
        async with db.reading() as session:
            admin = await identity.find_caller(session, username="admin")
            viewer = await identity.find_caller(session, username="viewer")
        assert admin is not None
        assert viewer is not None
        given = {"person": viewer.public_id, "password_hash": password_hash}
        await db.transact(lambda session: accounts.keep_password(context(admin, START), session, **given))

    async def open_tokens(self, db: Database) -> int:
        statement = sa.select(sa.func.count()).select_from(RefreshToken).where(RefreshToken.is_revoked.is_(False))
        async with db.reading() as session:
            return await session.scalar(statement) or 0

    async def test_leaves_no_session_of_a_log_in_that_has_checked_the_old_one(
        self, people_db: Database, issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        matches, new = passwords.matches, await passwords.hash_password(NEW_PASSWORD)

        async def reset_after(password: str, password_hash: str | None, **how: float) -> bool:
            right = await matches(password, password_hash, **how)
            await self.reset(people_db, new)
            return right

        monkeypatch.setattr(passwords, "matches", reset_after)
        with pytest.raises(WrongCredentials):
            await log_in(people_db, issuer)
        assert await self.open_tokens(people_db) == 0

    async def test_leaves_no_session_of_one_that_runs_at_the_same_moment(
        self, people_db: Database, issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, new = await passwords.hash_password("saraban-demo"), await passwords.hash_password(NEW_PASSWORD)
        left = []
        for _ in range(TRIES):
            await self.reset(people_db, old)
            logging_in = asyncio.create_task(log_in(people_db, issuer))
            await asyncio.gather(logging_in, self.reset(people_db, new), return_exceptions=True)
            left.append(await self.open_tokens(people_db))

        assert left == [0] * TRIES

    async def test_leaves_no_session_of_a_refresh_at_the_same_moment(
        self, people_db: Database, issuer: TokenIssuer
    ) -> None:
        old, left = await passwords.hash_password("saraban-demo"), []
        for _ in range(12):
            await self.reset(people_db, old)
            opened = await log_in(people_db, issuer)
            refreshing = identity.refresh(people_db, issuer=issuer, refresh_token=opened.refresh_token, device=Device())
            await asyncio.gather(refreshing, self.reset(people_db, old), return_exceptions=True)
            left.append(await self.open_tokens(people_db))

        assert left == [0] * 12

    async def test_is_not_undone_by_a_change_that_knew_the_old_one(
        self, people_db: Database, issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        matches, new = passwords.matches, await passwords.hash_password(NEW_PASSWORD)

        async def reset_after(password: str, password_hash: str | None) -> bool:
            right = await matches(password, password_hash)
            await self.reset(people_db, new)
            return right

        async with people_db.reading() as session:
            viewer = await identity.find_caller(session, username="viewer")
        assert viewer is not None
        typed = {"current": "saraban-demo", "new": "Another-Lantern-7-Crane"}
        monkeypatch.setattr(passwords, "matches", reset_after)
        with pytest.raises(NotSignedIn):
            await identity.change_password(
                context(viewer, START), people_db, limiter=RateLimiter(), clock=issuer.clock, **typed
            )
        monkeypatch.undo()
        assert (await log_in(people_db, issuer, NEW_PASSWORD)).access_token


class TestCallers:
    async def test_have_every_permission_of_their_roles(self, people_db: Database) -> None:
        async with people_db.reading() as session:
            admin = await identity.find_caller(session, username="admin")
            approver = await identity.find_caller(session, username="approver.owner")
            system = await identity.system_caller(session)

        assert admin is not None
        assert admin.permissions == {offer.name for offer in catalogue.PERMISSIONS}
        assert approver is not None
        assert [catalogue.permissions_of(grant.role) for grant in approver.grants] == [
            grant.permissions for grant in approver.grants
        ]
        assert [grant.role for grant in approver.grants].count(catalogue.DOCUMENT_CONTROL) == 2
        assert system.is_service

    async def test_are_listed_with_their_roles(self, people_db: Database) -> None:
        async with people_db.reading() as session:
            accounts = {one.username: one for one in await identity.list_users(session)}

        assert accounts["viewer"].roles == "Viewer"
        assert accounts["system"].organization_code is None
        assert set(accounts["reviewer.consultant"].roles.split(", ")) == {"Contract Admin", "Editor"}

    async def test_see_their_project(self, people_db: Database) -> None:
        async with people_db.reading() as session:
            viewer = await identity.find_caller(session, username="viewer")
            assert viewer is not None
            page = await projects.list_projects(context(caller=viewer), session)
            (line,) = page.items
            detail = await projects.read_project(context(caller=viewer), session, public_id=line.public_id)
            ctx, wanted = context(caller=viewer), OrganizationSearch(search="ผรม")
            organizations = await identity.list_organizations(ctx, session, wanted, cursor=None, limit=1)
            rest = await identity.list_organizations(ctx, session, wanted, cursor=organizations.next_cursor, limit=1)

        assert [one.contract_code for one in detail.contracts] == ["LCBP3-C2", "LCBP3-C2-M"]
        assert {one.organization_code for one in organizations.items + rest.items} == {"ผรม.1", "ผรม.2"}


class TestCodes:
    @pytest.mark.parametrize("code", ["TÉR", "TE R"])
    async def test_differ_by_their_letters(self, people_db: Database, code: str) -> None:
        async with people_db.reading() as session:
            project = await projects.find_project_by_code(session, code="LCBP3-C2")
            with pytest.raises(Invalid):
                await projects.find_discipline(session, project=project, contract=None, code=code)
            found = await projects.find_discipline(session, project=project, contract=None, code="TER")
            codes = await projects.printable_codes(session, project_id=project.id)
            parties = await projects.parties(session, project_id=project.id, contract_id=found.contract_id)

        assert found.code == "TER"
        assert len(codes.disciplines) == 36
        assert {role: len(ids) for role, ids in parties.items()} == {"OWNER": 2, "CONSULTANT": 1, "CONTRACTOR": 1}


class TestSeeding:
    @pytest.mark.sampled("mariadb")
    async def test_twice_changes_nothing(self, people_db: Database) -> None:
        before = await self.counts(people_db)
        await fill(people_db)

        assert await self.counts(people_db) == before

    async def counts(self, db: Database) -> dict[str, int | None]:
        async with db.reading() as session:
            return {
                table.name: await session.scalar(sa.select(sa.func.count()).select_from(table))
                for table in Base.metadata.tables.values()
            }
