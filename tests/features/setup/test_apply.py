"""A project file applied: what it makes, that a second time changes nothing, and what it refuses."""

import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.identity import service as identity
from saraban.identity.models import Organization, User, UserInvitation
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, Forbidden, Invalid
from saraban.projects import service as projects
from saraban.projects.models import (
    Contract,
    CorrespondenceSubType,
    Discipline,
    DrawingSettingsRow,
    Project,
    ProjectOrganization,
    ReviewTeamMember,
    Tag,
)
from saraban.setup.service import ProjectConflict
from tests.factories.contexts import context
from tests.factories.projects import FULL, LISTS
from tests.project_files import applied, said
from tests.row_counts import row_counts


async def refused(db: Database, text: str, error: type[DomainError] = DomainError) -> list[tuple[str, str, object]]:
    before = await row_counts(db)
    with pytest.raises(error) as refusal:
        await applied(db, text)
    assert await row_counts(db) == before
    return [(one.pointer, one.code, one.values["line"]) for one in refusal.value.fields]


class TestApply:
    async def test_makes_a_project_of_everything_in_the_file(self, empty_db: Database) -> None:
        found = await applied(empty_db, FULL)

        assert found.applied
        assert {what for what, _ in said(found)} == {"add"}
        async with empty_db.reading() as session:
            caller = await identity.system_caller(session)
            project = await projects.find_project_by_code(session, code="BRIDGE")
            read = await projects.read_project(context(caller=caller), session, public_id=project.public_id)
            assert read.project_name_en == "River bridge"
            assert [(one.organization_code, one.role) for one in read.organizations] == [
                ("ทช.", "OWNER"),
                ("ที่ปรึกษา", "CONSULTANT"),
                ("ผรม.", "CONTRACTOR"),
            ]
            assert [one.contract_code for one in read.contracts] == ["BR-1"]
            teams = await projects.review_teams(context(caller=caller), session, project_public_id=project.public_id)
            assert [(one.code, [seat.discipline_code for seat in one.members]) for one in teams] == [
                ("DESIGN", ["STR"])
            ]
            somchai = await identity.find_caller(session, username="somchai")
            assert somchai is not None
            assert [grant.role for grant in somchai.grants] == ["Document Control"]
            assert await session.scalar(sa.select(sa.func.count()).select_from(UserInvitation)) == 2

    async def test_changes_nothing_a_second_time(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        before = await row_counts(empty_db)

        again = await applied(empty_db, FULL, prune=True)

        assert said(again) == []
        assert await row_counts(empty_db) == before

    async def test_leaves_what_the_file_does_not_name(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)

        found = await applied(empty_db, "project: {code: BRIDGE, name: สะพานข้ามแม่น้ำ}", prune=True)

        assert said(found) == []

    async def test_shows_the_same_without_writing_it(self, empty_db: Database) -> None:
        before = await row_counts(empty_db)
        dry = await applied(empty_db, FULL, dry_run=True)

        assert (dry.applied, dry.invitations) == (False, ())
        assert await row_counts(empty_db) == before
        assert said(await applied(empty_db, FULL)) == said(dry)

    async def test_keeps_who_did_it_and_what_changed_in_the_audit_trail(self, empty_db: Database) -> None:
        await applied(empty_db, FULL, operator="root")
        async with empty_db.reading() as session:
            rows = list(await session.scalars(sa.select(AuditLog).where(AuditLog.action == "project.apply")))

        by_section = {row.details_json["section"]: row.details_json for row in rows if row.details_json}
        assert {"organizations", "project", "members", "contracts", "people", "numberFormats"} <= set(by_section)
        assert {details["operator"] for details in by_section.values()} == {"root"}
        assert by_section["project"]["changes"][0]["after"]["name"] == "สะพานข้ามแม่น้ำ"

    async def test_is_for_super_admins(self, demo_db: Database) -> None:
        with pytest.raises(Forbidden):
            await applied(demo_db, FULL, by="padmin")

    async def test_gives_an_organization_another_role_in_another_project(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        await applied(empty_db, "project: {code: TWO, name: สอง}\nmembers: [{organization: ทช., role: CONSULTANT}]")
        async with empty_db.reading() as session:
            roles = await session.execute(
                sa.select(Project.project_code, ProjectOrganization.role_in_project)
                .join(Project, Project.id == ProjectOrganization.project_id)
                .join(Organization, Organization.id == ProjectOrganization.organization_id)
                .where(Organization.organization_code == "ทช.")
                .order_by(Project.project_code)
            )

            assert [tuple(row) for row in roles] == [("BRIDGE", "OWNER"), ("TWO", "CONSULTANT")]


class TestFormats:
    async def test_that_are_shipped_are_given_to_a_new_project_without_any(self, empty_db: Database) -> None:
        await applied(empty_db, "project: {code: P, name: พี}")

        assert len(await formats(empty_db)) == 5

    async def test_are_those_of_the_file_where_it_states_its_own(self, empty_db: Database) -> None:
        await applied(empty_db, "project: {code: P, name: พี}\nnumberFormats: [{template: '{SEQ:4}-{YEAR:B.E.}'}]")

        assert await formats(empty_db) == ["{SEQ:4}-{YEAR:B.E.}"]


async def formats(db: Database) -> list[str]:
    async with db.reading() as session:
        return list(await session.scalars(sa.text("SELECT format_template FROM document_number_formats")))


class TestPrune:
    async def test_closes_what_nothing_refers_to(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        less = FULL.replace("    - {code: ROD, nameTh: ถนน, nameEn: Road}\n", "")
        less = less.replace("days:\n    - {date: 2026-12-07, kind: holiday, name: ชดเชยวันพ่อ}", "days: []")
        found = await applied(empty_db, less, prune=True)

        assert said(found) == [("close", "/contracts/BR-1/disciplines/ROD"), ("close", "/calendar/days/2026-12-07")]
        async with empty_db.reading() as session:
            active = await session.scalar(sa.select(Discipline.is_active).where(Discipline.discipline_code == "ROD"))
            assert active is False
        assert said(await applied(empty_db, FULL)) == [
            ("add", "/contracts/BR-1/disciplines/ROD"),
            ("add", "/calendar/days/2026-12-07"),
        ]

    async def test_reports_what_is_in_use_and_keeps_it(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        less = FULL.replace("    - {code: STR, nameTh: โครงสร้าง, nameEn: Structure}\n", "")
        without_team = less.replace("{person: somchai, discipline: STR}", "{person: somchai}")

        assert said(await applied(empty_db, without_team, prune=True)) == [("keep", "/contracts/BR-1/disciplines/STR")]
        async with empty_db.reading() as session:
            kept = await session.scalar(sa.select(ReviewTeamMember.discipline_code))
            assert kept == "STR"

    async def test_takes_back_roles_given_in_the_project(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        less = FULL.replace("{role: Contract Admin, level: Contract, place: BR-1}", "")

        assert said(await applied(empty_db, less, prune=True)) == [
            ("close", "/people/malee/roles/Contract Admin Contract BR-1")
        ]


class TestShared:
    async def test_is_a_conflict_unless_it_is_to_be_changed(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        other = FULL.replace("{code: ทช., name: กรมทางหลวงชนบท}", "{code: ทช., name: กรมใหม่}")

        assert await refused(empty_db, other, ProjectConflict) == [("/organizations/0", "differs", 2)]
        assert said(await applied(empty_db, other, dry_run=True)) == [("conflict", "/organizations/ทช.")]
        assert said(await applied(empty_db, other, update_shared=True)) == [("change", "/organizations/ทช.")]

    async def test_accounts_are_changed_when_that_is_asked_for(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        other = FULL.replace("somchai@example.org", "somchai@example.com")

        assert await refused(empty_db, other, ProjectConflict) == [("/people/0", "differs", 50)]
        await applied(empty_db, other, update_shared=True)
        async with empty_db.reading() as session:
            email = await session.scalar(sa.select(User.email).where(User.username == "somchai"))
            assert email == "somchai@example.com"

    async def test_a_contract_of_another_project_is_a_conflict(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        other = "project: {code: P, name: พี}\ncontracts: [{code: BR-1, name: อื่น}]"

        assert await refused(empty_db, other, ProjectConflict) == [("/contracts/0", "taken", 2)]

    async def test_document_types_are_added_to_the_installation(self, empty_db: Database) -> None:
        text = (
            "correspondenceTypes: [{code: SITE, name: คำสั่งหน้างาน}]\nproject: {code: P, name: พี}\n"
            "numberFormats: [{type: SITE, template: 'SI-{SEQ:4}'}]"
        )

        found = await applied(empty_db, text)

        assert said(found)[0] == ("add", "/correspondenceTypes/SITE")
        assert said(await applied(empty_db, text)) == []


P = "project: {code: P, name: พี}\n"
A = "organizations: [{code: A, name: เอ}]\n"
M = "members: [{organization: A, role: OWNER}]\n"
C = "contracts: [{code: C, name: ซี, disciplines: [{code: STR, nameTh: ก, nameEn: a}]}]\n"


class TestFaults:
    async def test_is_named_with_line_and_key_and_nothing_is_written(self, empty_db: Database) -> None:
        for text, expected in [
            (P + M, [("/members/0/organization", "unknown", 2)]),
            (A + P + M + M.replace("members", "x"), [("/x", "unknown_field", 4)]),
            (
                A + P + "contracts: [{code: C, name: c, parties: [{organization: A, role: OWNER}]}]",
                [("/contracts/0/parties/0/organization", "unknown", 3)],
            ),
            (
                P + "contracts:\n- code: C\n  name: c\n  subTypes: [{type: NOTE, code: A, number: 1, nameTh: ก}]",
                [("/contracts/0/subTypes/0/type", "unknown", 5)],
            ),
            (P + "numberFormats:\n- type: NOTE\n  template: '{SEQ:4}'", [("/numberFormats/0/type", "unknown", 3)]),
            (
                P + C + "numberFormats:\n- {type: RFA, discipline: XXX, template: '{SEQ:4}'}",
                [("/numberFormats/0/discipline", "unknown", 4)],
            ),
            (
                P + "numberFormats:\n- type: RFA\n  template: '{NOPE}-{SEQ:4}'",
                [("/numberFormats/0/template", "token_unknown", 4)],
            ),
            (
                P + "numberFormats:\n- template: '{SEQ:4}'\n  resetYearly: true",
                [("/numberFormats/0/resetYearly", "no_period", 4)],
            ),
            (P + "assignments:\n- workflow: NOPE\n  kind: RFA", [("/assignments/0/workflow", "unknown", 3)]),
            (
                P + "assignments:\n- workflow: RFA_APPROVAL\n  kind: RFA\n  type: XXX",
                [("/assignments/0/type", "unknown", 5)],
            ),
            (
                P + "assignments:\n- workflow: RFA_APPROVAL\n  kind: CIRCULATION",
                [("/assignments/0/workflow", "does_not_fit", 3)],
            ),
            (
                P + "reviewTeams:\n- code: T\n  name: ที\n  members:\n  - person: nobody",
                [("/reviewTeams/0/members/0/person", "unknown", 6)],
            ),
            (
                P + "people:\n- {username: me, email: m@x, firstName: a, lastName: b, organization: A}",
                [("/people/0/organization", "unknown", 3)],
            ),
            (
                A + P + "people:\n- username: me\n  email: m\n  firstName: a\n  lastName: b\n  organization: A",
                [("/people/0/email", "malformed", 5)],
            ),
            (
                A + P + "people:\n- username: me\n  email: 'a@x,b@y'\n  firstName: a\n  lastName: b\n  organization: A",
                [("/people/0/email", "malformed", 5)],
            ),
            (
                P.replace("project: {", "project: {nameEn: 'a" + "\u0301\u0316" * 16 + "', "),
                [("/project/nameEn", "combining_marks", 1)],
            ),
            (
                A
                + P
                + "people:\n- {username: me, email: m@x, firstName: a, lastName: b, organization: A, roles: [{role: Boss, level: Global}]}",
                [("/people/0/roles/0/role", "unknown", 4)],
            ),
            (
                A
                + P
                + "people:\n- {username: me, email: m@x, firstName: a, lastName: b, organization: A, roles: [{role: Viewer, level: Project, place: P}]}",
                [("/people/0/roles/0/level", "does_not_fit", 4)],
            ),
            (
                A
                + P
                + "people:\n- {username: me, email: m@x, firstName: a, lastName: b, organization: A, roles: [{role: Viewer, level: Organization, place: Z}]}",
                [("/people/0/roles/0/place", "unknown", 4)],
            ),
            (
                A
                + P
                + "people:\n- {username: me, email: system@saraban.invalid, firstName: a, lastName: b, organization: A}",
                [("/people/0/email", "taken", 4)],
            ),
            (A.replace("]", ", {code: A, name: บี}]") + P, [("/organizations/1", "duplicate", 1)]),
            (P + "contracts: [{code: C, name: c}, {code: C, name: d}]", [("/contracts/1", "duplicate", 2)]),
            (A.replace("]", ", {code: a, name: บี}]") + P, [("/organizations/1/code", "collides", 1)]),
            (
                P + C.replace("]}]", ", {code: Str, nameTh: ก, nameEn: a}]}]"),
                [("/contracts/0/disciplines/1/code", "collides", 2)],
            ),
            (P + "contracts: [{code: C, name: c}, {code: c, name: d}]", [("/contracts/1/code", "collides", 2)]),
            (P + "correspondenceTypes: [{code: Letter, name: a}]", [("/correspondenceTypes/0/code", "collides", 2)]),
            (
                P
                + "contracts:\n- code: C\n  name: c\n  rfaTypes:\n  - {code: ADW, nameTh: ก, nameEn: a}\n  - {code: adw, nameTh: ก, nameEn: a}\n"
                "  subTypes:\n  - {type: RFA, code: A, number: 1, nameTh: ก}\n  - {type: RFA, code: a, number: 2, nameTh: ก}",
                [("/contracts/0/rfaTypes/1/code", "collides", 7), ("/contracts/0/subTypes/1/code", "collides", 10)],
            ),
            (
                P + "drawingRegisters:\n- kind: shop\n  revisionScheme: P1, P2",
                [("/drawingRegisters/0/revisionScheme", "ambiguous", 4)],
            ),
            (
                P + "drawingRegisters:\n- kind: shop\n  numberPattern: '*'",
                [("/drawingRegisters/0/numberPattern", "malformed", 4)],
            ),
            (
                P + "drawingRegisters:\n- kind: shop\n  takesAddenda: true",
                [("/drawingRegisters/0/takesAddenda", "not_for_this", 4)],
            ),
            (
                P + "drawingRegisters:\n- kind: contract\n  approval: workflow",
                [("/drawingRegisters/0/approval", "not_for_this", 4)],
            ),
            (P + "drawingRegisters: [{kind: shop}, {kind: shop}]", [("/drawingRegisters/1", "duplicate", 2)]),
            (P + "calendar: {weekend: [MON, TUE, WED, THU, FRI, SAT, SUN]}", [("/calendar/weekend", "too_long", 2)]),
        ]:
            assert await refused(empty_db, text) == expected, (text, expected)

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            (P.replace("P", "p"), "/project/code"),
            (P + C.replace("STR", "Str"), "/contracts/0/disciplines/0/code"),
            (P + C.replace("code: C", "code: c"), "/contracts/0/code"),
            (A.replace("A", "a") + P, "/organizations/0/code"),
        ],
    )
    async def test_is_a_code_that_differs_from_what_is_there_by_case_only(
        self, empty_db: Database, text: str, place: str
    ) -> None:
        await applied(empty_db, A + P + C)

        assert [one[:2] for one in await refused(empty_db, text)] == [(place, "collides")]

    async def test_are_not_codes_that_collide_in_an_installation_already(self, empty_db: Database) -> None:
        both = P + C.replace("]}]", ", {code: TER, nameTh: ก, nameEn: a}]}]")
        await applied(empty_db, both)
        async with empty_db.writing() as session:
            await session.execute(
                sa.update(Discipline).where(Discipline.discipline_code == "TER").values(discipline_code="str")
            )

        assert said(await applied(empty_db, both.replace("TER", "str"))) == []

    async def test_tells_where_to_add_an_organization_that_is_no_member(self, empty_db: Database) -> None:
        text = A + P + "contracts: [{code: C, name: c, parties: [{organization: A, role: OWNER}]}]"
        with pytest.raises(Invalid) as refusal:
            await applied(empty_db, text)
        (one,) = refusal.value.fields

        assert one.text.say("en", one.values).endswith("add it to `members`.")
        assert one.text.say("th", one.values) == "บรรทัด 3: องค์กร “A” ยังไม่อยู่ในโครงการ เพิ่มใน `members`"

    async def test_that_a_service_finds_undoes_what_was_written_before(self, empty_db: Database) -> None:
        text = FULL.replace("workflow: RFA_APPROVAL", "workflow: CIRCULATION_FLOW_V1")

        assert [one[0] for one in await refused(empty_db, text)] == ["/assignments/0/workflow"]
        async with empty_db.reading() as session:
            assert await session.scalar(sa.select(sa.func.count()).select_from(Contract)) == 0


class TestLists:
    async def test_stand_in_the_order_of_the_file(self, empty_db: Database) -> None:
        await applied(empty_db, LISTS)
        turned = LISTS.replace(
            "[{code: B, nameTh: ข, nameEn: B}, {code: A, nameTh: ก, nameEn: A}]",
            "[{code: A, nameTh: ก, nameEn: A}, {code: N, nameTh: น, nameEn: N}, {code: B, nameTh: ข, nameEn: B}]",
        )

        found = await applied(empty_db, turned)

        assert said(found) == [
            ("add", "/contracts/L-1/disciplines/N"),
            ("change", "/contracts/L-1/disciplines"),
        ]
        async with empty_db.reading() as session:
            rows = await session.scalars(sa.select(Discipline.discipline_code).order_by(Discipline.sort_order))
            assert list(rows) == ["A", "N", "B"]
        assert said(await applied(empty_db, turned, prune=True)) == []

    async def test_pair_what_goes_together_and_name_what_is_not_there(self, empty_db: Database) -> None:
        await applied(empty_db, LISTS)

        found = await applied(empty_db, LISTS.replace('"ST,AR"', "AR"))
        with pytest.raises(Invalid) as refused:
            await applied(empty_db, LISTS.replace('"ST,AR"', "NONE"))

        assert [(one.before, one.after) for one in found.differences] == [
            ({"categories": "AR, ST"}, {"categories": "AR"})
        ]
        assert [one.pointer for one in refused.value.fields] == ["/contractDrawingSubCategories/0/categories"]

    async def test_of_a_project_are_saved_closed_and_reopened(self, empty_db: Database) -> None:
        await applied(empty_db, LISTS)
        without = LISTS.replace("{code: LATE, nameTh: ล่าช้า}", "")

        closed = await applied(empty_db, without, prune=True)
        again = await applied(empty_db, LISTS)

        assert said(closed) == [("close", "/tags/LATE")]
        assert said(again) == [("add", "/tags/LATE")]
        async with empty_db.reading() as session:
            rows = await session.execute(
                sa.select(Tag.tag_code, Tag.color_code, Tag.is_active).order_by(Tag.sort_order)
            )
            assert [tuple(row) for row in rows] == [("URGENT", "red", True), ("LATE", "default", True)]

    async def test_of_drawing_registers_say_what_is_decided_and_leave_the_rest(self, empty_db: Database) -> None:
        text = (
            P
            + "drawingRegisters:\n- {kind: contract, revisionScheme: A, takesAddenda: true}\n- {kind: shop, revisionScheme: '0'}\n"
        )
        made = await applied(empty_db, text)
        again = await applied(empty_db, text)
        changed = await applied(empty_db, text.replace("revisionScheme: A, ", "numberPattern: C-###, "), prune=True)
        closed = await applied(empty_db, P + "drawingRegisters: [{kind: contract, takesAddenda: false}]", prune=True)

        assert said(made)[-2:] == [("add", "/drawingRegisters/contract"), ("add", "/drawingRegisters/shop")]
        assert said(again) == []
        assert said(changed) == [("change", "/drawingRegisters/contract")]
        assert said(closed) == [("change", "/drawingRegisters/contract"), ("close", "/drawingRegisters/shop")]
        async with empty_db.reading() as session:
            rows = list(await session.scalars(sa.select(DrawingSettingsRow)))
            assert [(row.kind, row.revision_scheme, row.number_pattern, row.addenda) for row in rows] == [
                ("contract", "A", "C-###", False)
            ]

    async def test_close_a_sub_type_that_is_left_out(self, empty_db: Database) -> None:
        await applied(empty_db, LISTS)

        await applied(empty_db, LISTS.replace("{type: LETTER, code: S, number: '1', nameTh: ส}", ""), prune=True)

        async with empty_db.reading() as session:
            rows = await session.execute(
                sa.select(CorrespondenceSubType.sub_type_code, CorrespondenceSubType.is_active)
            )
            assert [tuple(row) for row in rows] == [("S", False)]
