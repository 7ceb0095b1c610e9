"""Invited people: an account without a password, and the link that gives it one."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.identity.models import UserInvitation
from saraban.identity.service import Invitation, InvitationEnded
from saraban.kit.errors import Invalid
from saraban.kit.rate_limits import RateLimiter
from tests.accounts import Office, office, somchai

__all__ = ["office"]

CHOSEN = "Chosen-By-Me-7"


async def invite(office: Office) -> Invitation:
    account = somchai(organization_code="คคง.", first_name="สมชาย")["new"]
    invitation: Invitation = await office.do(identity.invite_user, new=account)
    return invitation


async def accept(office: Office, invitation: Invitation, password: str = CHOSEN) -> str:
    return await identity.accept_invitation(
        office.db,
        limiter=RateLimiter(),
        token=invitation.token,
        password=password,
        address="10.0.0.9",
        now=office.clock.now(),
    )


class TestInviteUser:
    async def test_opens_an_account_that_nobody_can_log_in_to(self, office: Office) -> None:
        invitation = await invite(office)

        async with office.db.reading() as session:
            account = next(one for one in await identity.list_users(session) if one.username == "somchai")
        assert account.state == "invited"
        assert account.public_id == invitation.public_id
        assert not await office.enters("somchai", "!")
        assert not await office.enters("somchai", "")

    async def test_keeps_the_token_nowhere(self, office: Office) -> None:
        invitation = await invite(office)

        async with office.db.reading() as session:
            stored = [
                str(row)
                for table in (UserInvitation, OutboxEvent, AuditLog)
                for row in (await session.execute(sa.select(table.__table__))).all()
            ]
        assert len(stored) > 2
        assert not [row for row in stored if invitation.token in row]
        assert invitation.token not in repr(invitation)

    async def test_makes_an_event_for_the_letter_and_a_row_of_the_audit_trail(self, office: Office) -> None:
        invitation = await invite(office)

        async with office.db.reading() as session:
            event = await session.scalar(sa.select(OutboxEvent).where(OutboxEvent.name == "user.invited"))
            actions = (await session.scalars(sa.select(AuditLog.action))).all()
        assert event is not None
        assert event.payload == {"userPublicId": str(invitation.public_id)}
        assert {"user.create", "user.invite"} <= set(actions)


class TestAcceptInvitation:
    async def test_sets_the_password_that_the_person_chose(self, office: Office) -> None:
        username = await accept(office, await invite(office))

        assert username == "somchai"
        assert await office.enters("somchai", CHOSEN)

    async def test_works_once(self, office: Office) -> None:
        invitation = await invite(office)
        await accept(office, invitation)

        with pytest.raises(InvitationEnded):
            await accept(office, invitation, "Somebody-Else-7")
        assert await office.enters("somchai", CHOSEN)

    async def test_names_a_weak_password_and_keeps_the_link(self, office: Office) -> None:
        invitation = await invite(office)

        with pytest.raises(Invalid) as caught:
            await accept(office, invitation, "somchai-Aa1")
        assert [one.pointer for one in caught.value.fields] == ["/password"]
        await accept(office, invitation)

    async def test_ends_after_seven_days(self, office: Office) -> None:
        invitation = await invite(office)

        office.clock.at += timedelta(days=7)
        with pytest.raises(InvitationEnded):
            await accept(office, invitation)

    async def test_does_not_open_a_closed_account(self, office: Office) -> None:
        invitation = await invite(office)
        await office.do(identity.set_active, username="somchai", active=False)

        with pytest.raises(InvitationEnded):
            await accept(office, invitation)

    async def test_is_audited_as_the_persons_own_deed(self, office: Office) -> None:
        await accept(office, await invite(office))

        caller = await office.who("somchai")
        async with office.db.reading() as session:
            row = await session.scalar(sa.select(AuditLog).where(AuditLog.action == "user.accept_invitation"))
        assert row is not None
        assert row.actor_uuid == caller.public_id
        assert row.ip_address == "10.0.0.9"


class TestInviteAgain:
    async def test_replaces_the_link(self, office: Office) -> None:
        first = await invite(office)
        second: Invitation = await office.do(identity.invite_again, username="somchai")

        with pytest.raises(InvitationEnded):
            await accept(office, first)
        await accept(office, second)
        assert await office.enters("somchai", CHOSEN)

    async def test_lets_somebody_who_forgot_the_password_choose_another(self, office: Office) -> None:
        await office.do(identity.create_user, **somchai())
        again: Invitation = await office.do(identity.invite_again, username="somchai")

        assert await office.enters("somchai", somchai()["password"])
        await accept(office, again)
        assert await office.enters("somchai", CHOSEN)
        assert not await office.enters("somchai", somchai()["password"])

    @pytest.mark.parametrize("username", ["system", "svc.loadtest"])
    async def test_is_refused_for_a_program(self, office: Office, username: str) -> None:
        with pytest.raises(Invalid):
            await office.do(identity.invite_again, username=username)

    async def test_ends_when_an_administrator_sets_the_password(self, office: Office) -> None:
        invitation = await invite(office)
        await office.do(identity.set_password, username="somchai", password="Set-By-Admin-7")

        with pytest.raises(InvitationEnded):
            await accept(office, invitation)


class TestRenewInvitation:
    async def test_gives_the_letter_a_token_of_its_own(self, office: Office) -> None:
        invitation = await invite(office)
        caller = await office.who("somchai")
        renewed = await office.db.transact(
            lambda session: identity.renew_invitation(session, user_id=caller.user_id, now=office.clock.now())
        )

        assert renewed is not None
        with pytest.raises(InvitationEnded):
            await accept(office, invitation)
        await accept(office, renewed)

    async def test_gives_none_for_what_was_used(self, office: Office) -> None:
        await accept(office, await invite(office))
        caller = await office.who("somchai")
        renewed = await office.db.transact(
            lambda session: identity.renew_invitation(session, user_id=caller.user_id, now=office.clock.now())
        )

        assert renewed is None
