"""Accounts and roles as an administrator handles them, and what shipping data fills in."""

from typing import Any

import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.identity.domain.context import Scope
from saraban.identity.service import (
    NotSignedIn,
    RoleDoesNotFit,
    RoleGrant,
    UsernameTaken,
)
from saraban.identity.service import first_run as people
from saraban.kit.db import Base, Database
from saraban.kit.errors import Forbidden, Invalid, NotFound
from saraban.projects.service import seed as places
from tests.accounts import STRONG, Office, office, somchai
from tests.factories.projects import load_demo

__all__ = ["office"]


class TestCreateUser:
    async def test_opens_an_account_that_can_log_in_and_do_nothing_yet(self, office: Office) -> None:
        await office.do(identity.create_user, **somchai(organization_code="คคง.", first_name="สมชาย"))

        caller = await office.who("somchai")
        assert await office.enters("somchai", STRONG)
        assert caller.display_name == "สมชาย"
        assert caller.organization_ids == {caller.organization_id}
        assert caller.permissions == frozenset()

    async def test_refuses_a_name_that_looks_like_another_and_finds_it_by_either(self, office: Office) -> None:
        await office.do(identity.create_user, **somchai(username="สมชาย"))

        for twin in ("สม\u00adชาย", "สมชาย\u2060"):
            with pytest.raises(identity.UsernameTaken) as refusal:
                await office.do(identity.create_user, **somchai(username=twin, email="other@example.org"))
            assert refusal.value.values == {"value": "สมชาย"}
        assert await office.enters("สมชาย\u2060", STRONG)

    @pytest.mark.parametrize(
        ("pointer", "changes"),
        [
            ("/username", {"username": "x"}),
            ("/username", {"username": "two words"}),
            ("/username", {"username": "a" * 51}),
            ("/username", {"username": "private\ue000use"}),
            ("/email", {"email": "nowhere"}),
            ("/email", {"email": "a b@example.org"}),
            ("/firstName", {"first_name": "ก" * 51}),
            ("/lastName", {"last_name": "ก\x00"}),
            ("/password", {"password": "short"}),
            ("/password", {"password": "password1234"}),
            ("/organizationCode", {"organization_code": "คคง"}),
        ],
    )
    async def test_names_the_field_that_is_not_acceptable(
        self, office: Office, pointer: str, changes: dict[str, Any]
    ) -> None:
        with pytest.raises(Invalid) as refusal:
            await office.do(identity.create_user, **somchai(**changes))

        assert [field.pointer for field in refusal.value.fields] == [pointer]

    @pytest.mark.parametrize("changes", [{"username": "VIEWER"}, {"email": "viewer@saraban.invalid"}])
    async def test_gives_no_name_twice(self, office: Office, changes: dict[str, Any]) -> None:
        with pytest.raises(UsernameTaken):
            await office.do(identity.create_user, **somchai(**changes))

    async def test_is_refused_to_those_who_may_not(self, office: Office) -> None:
        with pytest.raises(Forbidden):
            await office.do(identity.create_user, by="dc.consultant", **somchai(organization_code="คคง."))


class TestSetActive:
    async def test_shuts_out_at_the_next_request_and_lets_in_again(self, office: Office) -> None:
        viewer = await office.who("viewer")
        await office.do(identity.set_active, username="viewer", active=False)

        async with office.db.reading() as session:
            with pytest.raises(NotSignedIn):
                await identity.load_caller(session, viewer.public_id)
        assert not await office.enters("viewer", "saraban-demo")

        await office.do(identity.set_active, username="viewer", active=True)
        await office.do(identity.unlock, username="viewer")
        assert await office.enters("viewer", "saraban-demo")

    async def test_knows_only_accounts_that_exist(self, office: Office) -> None:
        with pytest.raises(NotFound):
            await office.do(identity.set_active, username="nobody", active=False)


class TestSetPassword:
    async def test_replaces_it_and_unlocks(self, office: Office) -> None:
        for _ in range(3):
            await office.enters("viewer", "wrong")
        await office.do(identity.set_password, username="viewer", password=STRONG)

        assert await office.enters("viewer", STRONG)
        assert not await office.enters("viewer", "saraban-demo")

    async def test_unlock_leaves_the_password(self, office: Office) -> None:
        for _ in range(3):
            await office.enters("viewer", "wrong")
        assert not await office.enters("viewer", "saraban-demo")
        await office.do(identity.unlock, username="viewer")

        assert await office.enters("viewer", "saraban-demo")


class TestGrantRole:
    async def test_counts_at_once_and_only_there(self, office: Office) -> None:
        await office.do(identity.grant_role, username="viewer", grant=RoleGrant("Editor", "คคง."))

        viewer = await office.who("viewer")
        consultant = await office.who("dc.consultant")
        assert consultant.organization_id in viewer.organization_ids
        assert viewer.may("rfa.create", Scope(consultant.organization_ids))
        assert not viewer.may("rfa.create", Scope(frozenset({viewer.organization_id or 0})))

    async def test_is_given_once_however_often_it_is_asked_for(self, office: Office) -> None:
        for _ in range(2):
            await office.do(
                identity.grant_role, username="viewer", grant=RoleGrant("Project Manager", project_code="lcbp3\u2011c2")
            )

        assert sorted((await office.who("viewer")).roles) == ["Project Manager", "Viewer"]
        assert len((await office.who("viewer")).grants) == 2

    @pytest.mark.parametrize(
        ("role", "place"),
        [
            ("Superadmin", {"organization_code": "กทท."}),
            ("Document Control", {}),
            ("Document Control", {"project_code": "LCBP3-C2"}),
            ("Project Manager", {"contract_code": "lcbp3-c2"}),
            ("Contract Admin", {"project_code": "LCBP3-C2"}),
            ("Viewer", {"organization_code": "กทท.", "project_code": "LCBP3-C2"}),
        ],
    )
    async def test_fits_the_level_of_the_role(self, office: Office, role: str, place: dict[str, str]) -> None:
        with pytest.raises(RoleDoesNotFit):
            await office.do(identity.grant_role, username="viewer", grant=RoleGrant(role, **place))

    @pytest.mark.parametrize(
        "given",
        [
            {"role": "King"},
            {"role": "Viewer", "organization_code": "?"},
            {"role": "Project Manager", "project_code": "?"},
            {"role": "Contract Admin", "contract_code": "?"},
        ],
    )
    async def test_names_what_it_does_not_know(self, office: Office, given: dict[str, str]) -> None:
        with pytest.raises(Invalid):
            await office.do(identity.grant_role, username="viewer", grant=RoleGrant(**given))

    @pytest.mark.parametrize(
        ("by", "role", "place"),
        [
            ("dc.consultant", "Superadmin", {}),
            ("dc.consultant", "Document Control", {"organization_code": "ผรม.2"}),
            ("dc.consultant", "Org Admin", {"organization_code": "คคง."}),
            ("viewer", "Viewer", {"organization_code": "กทท."}),
        ],
    )
    async def test_never_gives_more_than_the_giver_has(
        self, office: Office, by: str, role: str, place: dict[str, str]
    ) -> None:
        with pytest.raises(Forbidden):
            await office.do(identity.grant_role, by=by, username="viewer", grant=RoleGrant(role, **place))

    async def test_may_be_handed_on_inside_ones_own_organization(self, office: Office) -> None:
        await office.do(identity.grant_role, by="dc.consultant", username="viewer", grant=RoleGrant("Editor", "คคง."))

        async with office.db.reading() as session:
            row = (await session.scalars(sa.select(AuditLog).where(AuditLog.entity_type == "user"))).one()
        assert (row.action, row.details_json["place"]) == ("user.grant_role", "คคง.")  # type: ignore[index]


class TestRevokeRole:
    async def test_takes_back_what_was_given_there_and_leaves_the_rest(self, office: Office) -> None:
        for place in ("คคง.", "กทท."):
            await office.do(identity.grant_role, username="viewer", grant=RoleGrant("Editor", place))
        await office.do(identity.revoke_role, username="viewer", grant=RoleGrant("Editor", "คคง."))

        viewer, consultant = await office.who("viewer"), await office.who("dc.consultant")
        assert sorted(viewer.roles) == ["Editor", "Viewer"]
        assert not viewer.may("rfa.create", Scope(consultant.organization_ids))
        async with office.db.reading() as session:
            row = (await session.scalars(sa.select(AuditLog).order_by(AuditLog.audit_id.desc()).limit(1))).one()
        assert (row.action, row.details_json["place"]) == ("user.revoke_role", "คคง.")  # type: ignore[index]

    async def test_finds_nothing_where_it_was_not_given(self, office: Office) -> None:
        with pytest.raises(NotFound):
            await office.do(identity.revoke_role, username="viewer", grant=RoleGrant("Editor", "คคง."))

    async def test_is_for_those_who_could_have_given_it(self, office: Office) -> None:
        given = {"username": "padmin", "grant": RoleGrant("Project Manager", project_code="LCBP3-C2")}
        await office.do(identity.grant_role, **given)

        with pytest.raises(Forbidden):
            await office.do(identity.revoke_role, by="dc.consultant", **given)


class TestChanges:
    async def test_of_roles_and_of_the_account_are_told_once_each(self, office: Office) -> None:
        editor = {"username": "viewer", "grant": RoleGrant("Editor", "คคง.")}
        for _ in range(2):  # the second time nothing changes
            await office.do(identity.grant_role, **editor)
        await office.do(identity.revoke_role, **editor)
        await office.do(identity.set_active, username="viewer", active=False)

        async with office.db.reading() as session:
            told = (await session.scalars(sa.select(OutboxEvent))).all()
        person = str((await office.who("viewer")).public_id)
        assert [(one.name, one.payload) for one in told] == [
            ("account.changed", {"userPublicId": person, "hasLeft": has_left}) for has_left in (False, False, True)
        ]


class TestWhoIsTold:
    async def test_names_the_active_people_of_an_organization_who_may(self, office: Office) -> None:
        consultant = await office.who("dc.consultant")
        async with office.db.reading() as session:
            everyone = await identity.users_of(session, consultant.organization_ids)
            deciding = await identity.members_of_each(session, consultant.organization_ids, ["circulation.close"])
            nobody = await identity.users_of(session, frozenset())

        # `svc.loadtest` works for it too, but nobody sits there.
        assert [one.username for one in everyone] == ["dc.consultant", "reviewer.consultant"]
        assert {person for people in deciding.values() for person in people} == {consultant.public_id}
        assert nobody == ()


class TestTheOwnersApprover:
    async def test_acts_for_the_owner_and_for_its_office(self, office: Office) -> None:
        approver, viewer = await office.who("approver.owner"), await office.who("viewer")
        assert approver.organization_id == viewer.organization_id

        assert len(approver.organization_ids) == 2
        for one in approver.organization_ids:
            assert approver.may("workflow.action_review", Scope(frozenset({one})))


class TestSeeding:
    async def test_twice_changes_nothing(self, people_db: Database) -> None:
        before = await self.contents(people_db)
        async with people_db.writing() as session:
            await people.seed_catalogue(session)
            await places.seed_master_data(session)
            await load_demo(session)
            await people.seed_demo_accounts(session)

        assert await self.contents(people_db) == before

    async def test_leaves_a_changed_password_alone(self, office: Office) -> None:
        await office.do(identity.set_password, username="viewer", password=STRONG)
        async with office.db.writing() as session:
            await people.seed_demo_accounts(session)

        assert await office.enters("viewer", STRONG)

    async def contents(self, db: Database) -> dict[str, list[tuple[Any, ...]]]:
        async with db.reading() as session:
            return {
                table.name: [tuple(row) for row in (await session.execute(sa.select(table))).all()]
                for table in Base.metadata.tables.values()
            }
