"""“Why may they?”: what it says agrees with what happens, for each kind of document, person and action; who may ask."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.bootstrap import System
from saraban.documents.access import service as access
from saraban.documents.access.domain import AccessQuestion
from saraban.identity import service as identity
from saraban.identity.domain.access import GivenRole, Reason, Standing
from saraban.identity.domain.catalogue import PERMISSIONS, PartyRole
from saraban.identity.domain.context import Caller, Grant, Scope
from saraban.identity.models import UserAssignment
from saraban.identity.service import RoleGrant
from saraban.identity.service.access import Subject, explain_permission, load_subject
from saraban.kit.clock import local_date
from saraban.kit.errors import Forbidden, Text
from saraban.kit.ids import new_id
from saraban.numbering.issue.service.number_request import NumberParties, check_permission
from saraban.projects import service as projects
from saraban.projects.service import ContractRef, OrganizationRef, ProjectRef, TypeRef
from tests.conftest import SignIn
from tests.factories.contexts import context
from tests.features.documents.conftest import Desk

ACCESS = "/api/v1/access"
NOBODY = "01930b5e-0000-7000-8000-000000000000"
PEOPLE = ("admin", "padmin", "dc.contractor", "dc.consultant", "reviewer.consultant", "approver.owner", "viewer")
UNKNOWN: tuple[dict[str, str], ...] = ({}, {"permission": "dance"}, {"permission": "coffee.make"})
SOME = pytest.mark.parametrize(
    "names",
    [
        pytest.param(("padmin", "dc.contractor", "reviewer.consultant"), id="some"),
        pytest.param(PEOPLE, id="all", marks=pytest.mark.faults),
    ],
)
MONTH = timedelta(days=30)
PATHS = {"letter": "correspondences", "rfa": "rfas", "transmittal": "transmittals"}


class Ground:
    def __init__(self, system: System, desk: Desk) -> None:
        self.system, self.desk = system, desk
        self.documents: dict[str, dict[str, Any]] = {}

    async def prepare(self) -> None:
        desk = self.desk
        self.documents["draft letter"] = await desk.write("dc.consultant", "correspondences", desk.letter("กทท."))
        self.documents["letter"] = await desk.write("dc.consultant", "correspondences", desk.letter("กทท."))
        self.documents["draft rfa"] = await desk.write("dc.contractor", "rfas", desk.rfa())
        self.documents["rfa"] = await desk.write("dc.contractor", "rfas", desk.rfa())
        for name, by in (("letter", "dc.consultant"), ("rfa", "dc.contractor")):
            self.documents[name] |= await desk.act(by, self.documents[name], "submit")

    async def who(self, username: str) -> Caller:
        async with self.system.db.reading() as session:
            found = await identity.find_caller(session, username=username)
        assert found is not None
        return found

    async def do(self, verb: Any, *given: Any) -> Any:
        ctx = context(await self.who("system"), self.system.clock.now())
        return await self.system.db.transact(lambda session: verb(ctx, session, *given))

    async def ask(self, by: str, **asked: Any) -> Any:
        answer = await (await self.desk.as_(by)).get(ACCESS, params=asked)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def document(self, name: str) -> str:
        return str(self.documents[name]["publicId"])


@pytest_asyncio.fixture
async def ground(app: FastAPI, desk: Desk) -> Ground:
    found = Ground(app.state, desk)  # type: ignore[arg-type]
    await found.prepare()
    return found


async def contract_of(ground: Ground) -> str:
    admin = await ground.desk.as_("admin")
    contracts = (await admin.get(f"/api/v1/projects/{ground.desk.project}/contracts")).json()["items"]
    return next(str(one["publicId"]) for one in contracts if one["contractCode"] == "LCBP3-C2")


ELSEWHERE = 99_999


def subject_with(grant: Grant, home: int) -> Subject:
    """Somebody of an organization with one role."""
    own = frozenset({home} | ({grant.organization} if grant.organization else set()))
    caller = Caller(99_999, new_id(), "somebody", "Somebody", home, own, (grant,))
    words = Text("บทบาท", "Role")
    held = GivenRole(
        new_id(), grant, Standing.IN_FORCE, words, "Project", "P", None, None, None, datetime(2026, 1, 1, tzinfo=UTC)
    )
    return Subject(caller.public_id, caller.display_name, caller, (held,))


def creates(one: Subject, kind: str, project: ProjectRef, organization: int, contract: int | None) -> bool:
    """What the issue of a number says of it."""
    assert one.caller is not None
    originator = OrganizationRef(organization, new_id(), "X", "X", PartyRole.OTHER)
    of_contract = None if contract is None else ContractRef(contract, new_id(), "C", "C")
    parties = NumberParties(project, TypeRef(1, kind, kind), originator, None, of_contract, None, None, None)
    try:
        check_permission(context(one.caller), parties)
    except Forbidden:
        return False
    return True


class TestAgreement:
    @SOME
    async def test_with_every_guard_of_a_place(self, ground: Ground, names: tuple[str, ...]) -> None:
        people = [await ground.who(name) for name in names]
        grants = [grant for one in people for grant in one.grants]
        scopes = {
            Scope(),
            *(Scope(frozenset({grant.organization})) for grant in grants if grant.organization),
            *(Scope(project=grant.project) for grant in grants if grant.project),
            *(Scope(project=1, contract=grant.contract) for grant in grants if grant.contract),
        }
        ctx = context(await ground.who("admin"), ground.system.clock.now())
        async with ground.system.db.reading() as session:
            for person in people:
                subject = await load_subject(ctx, session, public_id=person.public_id)
                for scope in scopes:
                    for name in ("document.view", "workflow.action_review", "contract.edit", "user.manage_assignments"):
                        found = await explain_permission(session, subject, permission=name, scope=scope)
                        assert found.allowed == person.may(name, scope), (person.username, name, scope)
                        assert bool(found.roles) >= found.allowed
        assert {"document.view", "contract.edit"} <= {offer.name for offer in PERMISSIONS}

    async def test_with_the_guard_of_creating_in_a_project(self, ground: Ground) -> None:
        """A role at a member organization, or at a contract, lets its people create in the project: for them alone."""
        told: dict[tuple[object, ...], bool] = {}
        done: dict[tuple[object, ...], bool] = {}
        async with ground.system.db.reading() as session:
            project = await projects.find_project_by_code(session, code="LCBP3-C2")
            parties = (await projects.parties(session, project_id=project.id, contract_id=None)).values()
            members = sorted(frozenset[int]().union(*parties))
            contract, *_ = await projects.contract_keys(session, project_id=project.id)
            places = [
                *({"organization": key} for key in (members[0], ELSEWHERE)),
                *({"project": key} for key in (project.id, ELSEWHERE)),
                *({"contract": key} for key in (contract, ELSEWHERE)),
                {},
            ]
            for home, place, asked in product((members[1], ELSEWHERE), places, ("rfa.create", "drawing.create")):
                one = subject_with(Grant("Role", frozenset({asked}), **place), home)
                found = await access.explain_in_place(session, one, permission=asked, scope=Scope(project=project.id))
                case = (home == ELSEWHERE, *place.items(), asked)
                told[case] = found.allowed
                kind = {"rfa.create": "RFA", "drawing.create": "DRAWING"}[asked]
                done[case] = any(creates(one, kind, project, *there) for there in product(members, (None, contract)))
                narrow = found.allowed and set(place) & {"organization", "contract"}
                assert found.reason == Reason.GRANTED_WITHIN if narrow else found.reason != Reason.GRANTED_WITHIN
                assert bool(found.roles) >= found.allowed

        assert told == done
        assert len(set(done.values())) == 2

    @SOME
    async def test_with_what_each_person_sees_and_is_offered(self, ground: Ground, names: tuple[str, ...]) -> None:
        ctx = context(await ground.who("admin"), ground.system.clock.now())
        told: dict[tuple[str, str, str], bool] = {}
        done: dict[tuple[str, str, str], bool] = {}
        for name, document in ground.documents.items():
            path = PATHS[name.split()[-1]]
            for person in names:
                read = await ground.desk.read(person, path, str(document["publicId"]))
                body = read.json().get("workflow") or {}
                offered = set(body.get("availableActions", ()))
                public_id = (await ground.who(person)).public_id
                key = UUID(document["publicId"])
                async with ground.system.db.reading() as session:
                    _, actions = await access.offered_actions(ctx, session, key)
                    for one in (each for each in actions if each.code != access.EDIT):
                        question = AccessQuestion(one.code, public_id, key)
                        found = (await access.explain(ctx, session, question)).explanation
                        told[name, person, one.code] = found.allowed
                        sees = read.status_code == 200
                        done[name, person, one.code] = sees if one.code == access.SEE else one.code in offered

        assert told == done
        assert len(set(done.values())) == 2


class TestReasons:
    async def test_name_what_decides(self, ground: Ground) -> None:
        known = {
            ("rfa", "reviewer.consultant", "approve"): Reason.GRANTED,
            ("rfa", "dc.contractor", "approve"): Reason.SEAT,
            ("rfa", "approver.owner", "approve"): Reason.SEAT,
            ("rfa", "viewer", "approve"): Reason.SEAT,
            ("rfa", "dc.contractor", "submit"): Reason.NO_ACTION,
            ("rfa", "dc.contractor", "edit"): Reason.NOT_EDITABLE,
            ("draft rfa", "dc.contractor", "edit"): Reason.GRANTED,
            ("draft rfa", "reviewer.consultant", "view"): Reason.NOT_ISSUED,
            ("draft rfa", "padmin", "submit"): Reason.SEAT,
            ("letter", "dc.contractor", "view"): Reason.NO_PARTY,
            ("letter", "viewer", "view"): Reason.GRANTED,
        }
        told = {}
        for document, person, action in known:
            public_id = str((await ground.who(person)).public_id)
            found = await ground.ask(
                "admin", userPublicId=public_id, permission=action, documentPublicId=ground.document(document)
            )
            told[document, person, action] = (found["reason"], found["allowed"])

        assert told == {case: (reason, reason is Reason.GRANTED) for case, reason in known.items()}

    async def test_name_the_grant_with_who_gave_it_and_until_when(self, ground: Ground) -> None:
        found = await ground.ask("reviewer.consultant", permission="approve", documentPublicId=ground.document("rfa"))

        (role,) = found["roles"]
        assert (role["role"], role["level"], role["place"]) == ("Contract Admin", "Contract", "LCBP3-C2")
        assert (role["standing"], role["from"], role["until"]) == ("in_force", None, None)
        assert found["says"]["en"] == "Allowed, because of this role."

    async def test_name_the_organizations_for_which_it_is_allowed(self, ground: Ground) -> None:
        """Document Control at two members of the project creates there, for each of the two."""
        who = str((await ground.who("dc.contractor")).public_id)
        found = await ground.ask(
            "admin", userPublicId=who, permission="rfa.create", projectPublicId=ground.desk.project
        )

        assert (found["allowed"], found["reason"]) == (True, "granted_within")
        assert {(one["role"], one["place"]) for one in found["roles"]} == {
            ("Document Control", "ผรม.1"),
            ("Document Control", "ผรม.2"),
        }

    async def test_name_who_can_give_what_is_missing(self, ground: Ground) -> None:
        found = await ground.ask("viewer", permission="contract.edit", projectPublicId=ground.desk.project)

        assert (found["allowed"], found["reason"], found["missing"]) == (False, "missing", ["contract.edit"])
        # Who looks after the project comes before who looks after everything.
        assert [one["displayName"] for one in found["givers"]] == ["ปกรณ์ คุมโครงการ", "อารีย์ ดูแลระบบ"]
        assert [(one["role"], one["level"], one["places"]) for one in found["carriers"]] == [
            ("Project Manager", "Project", ["LCBP3-C2"])
        ]

    async def test_name_roles_of_ones_own_in_their_project_alone(self, ground: Ground) -> None:
        role = {
            "name": "Contract Clerk",
            "nameEn": "Contract Clerk",
            "level": "Project",
            "permissions": ["contract.edit"],
        }
        admin = await ground.desk.as_("admin")
        made = await admin.post("/api/v1/roles", json={**role, "projectPublicId": str(ground.desk.project)})
        assert made.status_code == 201, made.text

        here = await ground.ask("viewer", permission="contract.edit", projectPublicId=ground.desk.project)
        everywhere = await ground.ask("viewer", permission="contract.edit")
        await admin.post(f"/api/v1/roles/{made.json()['publicId']}/close")
        closed = await ground.ask("viewer", permission="contract.edit", projectPublicId=ground.desk.project)

        assert [one["role"] for one in here["carriers"]] == ["Project Manager", "Contract Clerk"]
        assert [one["role"] for one in everywhere["carriers"]] == ["Superadmin"]
        assert [one["role"] for one in closed["carriers"]] == ["Project Manager"]

    async def test_answer_a_manager_about_people_of_their_project_without_naming_other_places(
        self, ground: Ground
    ) -> None:
        who = await ground.who("dc.consultant")
        found = await ground.ask(
            "padmin", userPublicId=str(who.public_id), permission="user.create", projectPublicId=ground.desk.project
        )

        assert (found["allowed"], found["roles"]) == (False, [])

    @pytest.mark.parametrize(("first", "last", "reason"), [(-9, -2, "ended"), (2, 9, "upcoming"), (-2, 2, "granted")])
    async def test_tell_a_role_of_another_time(self, ground: Ground, first: int, last: int, reason: str) -> None:
        today = local_date(ground.system.clock.now(), ground.system.clock.zone)
        days = {"first": today + timedelta(days=first), "last": today + timedelta(days=last)}
        later = {name: day + MONTH for name, day in days.items()}  # what is over already is not given
        await ground.do(identity.grant_role, "viewer", RoleGrant("Contract Admin", contract_code="LCBP3-C2", **later))
        async with ground.system.db.writing() as session:
            given = (
                await session.scalars(sa.select(UserAssignment).where(UserAssignment.valid_until.isnot(None)))
            ).one()
            given.valid_from, given.valid_until = given.valid_from - MONTH, given.valid_until - MONTH

        found = await ground.ask("viewer", permission="contract.edit", contractPublicId=await contract_of(ground))

        assert (found["reason"], found["allowed"]) == (reason, reason == "granted")
        assert (found["roles"][0]["from"], found["roles"][0]["until"]) == tuple(map(str, days.values()))

    async def test_tell_in_whose_place(self, ground: Ground) -> None:
        body = {"delegatePublicId": str((await ground.who("dc.consultant")).public_id)}
        today = str(local_date(ground.system.clock.now(), ground.system.clock.zone))
        lender = await ground.desk.as_("reviewer.consultant")
        await lender.post("/api/v1/delegations", json=body | {"startsOn": today, "endsOn": today})
        ends = identity.RoleGrant("Document Control", organization_code="คคง.")
        await ground.do(identity.revoke_role, "dc.consultant", ends)
        await ground.do(identity.grant_role, "dc.consultant", RoleGrant("Viewer", organization_code="คคง."))

        found = await ground.ask("dc.consultant", permission="approve", documentPublicId=ground.document("rfa"))

        assert (found["allowed"], found["reason"]) == (True, "delegated")
        assert [one["displayName"] for one in found["onBehalfOf"]] == ["ระวี ตรวจละเอียด"]

    async def test_tell_a_closed_account(self, ground: Ground) -> None:
        viewer = str((await ground.who("viewer")).public_id)
        await ground.do(lambda ctx, session: identity.set_active(ctx, session, username="viewer", active=False))

        found = await ground.ask(
            "admin", userPublicId=viewer, permission="view", documentPublicId=ground.document("letter")
        )

        assert (found["allowed"], found["reason"]) == (False, "account_closed")

    async def test_tell_a_role_that_is_closed(self, ground: Ground) -> None:
        admin = await ground.desk.as_("admin")
        role = {"name": "ผู้อ่านสัญญา", "level": "Contract", "permissions": ["document.view", "contract.edit"]}
        made = (await admin.post("/api/v1/roles", json=role)).json()
        await ground.do(identity.grant_role, "viewer", RoleGrant("ผู้อ่านสัญญา", contract_code="LCBP3-C2"))
        asked = {"permission": "contract.edit", "contractPublicId": await contract_of(ground)}

        before = await ground.ask("viewer", **asked)
        await admin.post(f"/api/v1/roles/{made['publicId']}/close")
        after = await ground.ask("viewer", **asked)

        assert (before["allowed"], before["reason"]) == (True, "granted")
        assert (after["allowed"], after["reason"]) == (False, "role_closed")
        assert after["roles"][0]["role"] == "ผู้อ่านสัญญา"


class TestCallers:
    async def test_ask_about_themselves(self, ground: Ground) -> None:
        for who in PEOPLE:
            found = await ground.ask(who, permission="document.view", projectPublicId=ground.desk.project)
            assert found["user"]["publicId"] == str((await ground.who(who)).public_id)

    async def test_ask_about_others_whom_they_see_among_people(self, ground: Ground) -> None:
        other = str((await ground.who("approver.owner")).public_id)
        known = {"admin": 200, "padmin": 200, "dc.contractor": 404, "reviewer.consultant": 404, "viewer": 404}
        told = {}
        for who in known:
            client = await ground.desk.as_(who)
            answer = await client.get(ACCESS, params={"userPublicId": other, "permission": "document.view"})
            unknown = await client.get(ACCESS, params={"userPublicId": NOBODY, "permission": "document.view"})
            told[who] = (answer.status_code, unknown.status_code)

        assert told == {who: (status, 404) for who, status in known.items()}

    async def test_learn_nothing_of_what_they_may_not_see(self, ground: Ground, signed_in: SignIn) -> None:
        outsider = await ground.desk.as_("dc.contractor")
        hidden = {"permission": "view", "documentPublicId": ground.document("letter")}
        missing = {"permission": "view", "documentPublicId": NOBODY}

        answers = [await outsider.get(ACCESS, params=one) for one in (hidden, missing)]

        assert [one.status_code for one in answers] == [404, 404]
        assert answers[0].json()["userMessage"] == answers[1].json()["userMessage"]
        place = {"permission": "contract.edit", "projectPublicId": NOBODY}
        assert (await outsider.get(ACCESS, params=place)).status_code == 404

    async def test_need_a_token(self, client: Any) -> None:
        assert (await client.get(ACCESS)).status_code == 401

    async def test_are_told_which_parameter_is_wrong(self, ground: Ground) -> None:
        admin = await ground.desk.as_("admin")
        document = {"documentPublicId": ground.document("rfa")}
        for asked in ({}, {"permission": "coffee.make"}, *({**document, **one} for one in UNKNOWN)):
            answer = await admin.get(ACCESS, params=asked)

            assert answer.status_code == 422, asked
            assert [fault["pointer"] for fault in answer.json()["errors"]] == ["query:permission"], asked
