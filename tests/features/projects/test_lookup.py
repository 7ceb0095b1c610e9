"""Public ids and codes become references, or the field that names nothing usable is named."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.kit.db import Database
from saraban.kit.errors import Invalid
from saraban.kit.ids import new_id
from saraban.projects import service as projects
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    CorrespondenceType,
    Discipline,
    Project,
    ProjectOrganization,
)

PROJECT = "LCBP3-C2"


async def in_project(db: Database, ask: Callable[[AsyncSession, projects.ProjectRef], Awaitable[Any]]) -> Any:
    async with db.reading() as session:
        return await ask(session, await projects.find_project_by_code(session, code=PROJECT))


async def contract_of(session: AsyncSession, project: projects.ProjectRef, code: str) -> projects.ContractRef:
    public_id = await session.scalar(sa.select(Contract.public_id).where(Contract.contract_code == code))
    assert public_id is not None
    return await projects.find_contract(session, project=project, public_id=public_id)


def faults(refusal: pytest.ExceptionInfo[Invalid]) -> list[tuple[str, str]]:
    return [(field.pointer, field.code) for field in refusal.value.fields]


async def another_project(db: Database) -> UUID:
    """A second project with a contract of its own, in which the consultant takes part."""
    async with db.writing() as session:
        project = Project(project_code="OTHER", project_name="อีกโครงการ")
        session.add(project)
        await session.flush()
        contract = Contract(project_id=project.id, contract_code="OTHER-1", contract_name="อีกสัญญา")
        consultant = await session.scalar(sa.select(Organization.id).where(Organization.organization_code == "คคง."))
        session.add_all([contract, ProjectOrganization(project_id=project.id, organization_id=consultant)])
        await session.flush()
        session.add(Discipline(contract_id=contract.id, discipline_code="XYZ"))
        return project.public_id


class TestFindProject:
    async def test_gives_code_and_name(self, demo_db: Database) -> None:
        by_code = await in_project(demo_db, _itself)
        async with demo_db.reading() as session:
            by_id = await projects.find_project(session, public_id=by_code.public_id, pointer="/projectPublicId")

        assert by_id == by_code
        assert by_id.code == PROJECT

    async def test_names_the_field_when_there_is_none(self, demo_db: Database) -> None:
        async with demo_db.reading() as session:
            with pytest.raises(Invalid) as refusal:
                await projects.find_project(session, public_id=new_id(), pointer="/projectPublicId")

        assert faults(refusal) == [("/projectPublicId", "unknown")]

    async def test_does_not_give_a_closed_one(self, demo_db: Database) -> None:
        found = await in_project(demo_db, _itself)
        async with demo_db.writing() as session:
            await session.execute(sa.update(Project).values(is_active=False))
        async with demo_db.reading() as session:
            with pytest.raises(Invalid):
                await projects.find_project(session, public_id=found.public_id, pointer="/projectPublicId")


class TestFindMember:
    @pytest.mark.parametrize(
        ("code", "role"),
        [
            ("กทท.", "OWNER"),
            ("สคฉ.3", "OWNER"),
            ("คคง.", "CONSULTANT"),
            ("ผรม.1", "CONTRACTOR"),
            ("ผรม.2", "CONTRACTOR"),
        ],
    )
    async def test_gives_the_role_in_the_project(self, demo_db: Database, code: str, role: str) -> None:
        async def ask(session: AsyncSession, project: projects.ProjectRef) -> Any:
            public_id = await session.scalar(
                sa.select(Organization.public_id).where(Organization.organization_code == code)
            )
            assert public_id is not None
            return await projects.find_organization(session, project=project, public_id=public_id, pointer="/x")

        member = await in_project(demo_db, ask)

        assert (member.code, member.role) == (code, role)

    async def test_gives_another_role_in_another_project_or_contract(self, demo_db: Database) -> None:
        other = await another_project(demo_db)
        async with demo_db.writing() as session:
            project = await projects.find_project(session, public_id=other, pointer="/x")
            consultant = await session.scalar(sa.select(Organization).where(Organization.organization_code == "คคง."))
            contract = await session.scalar(sa.select(Contract.id).where(Contract.contract_code == "OTHER-1"))
            assert consultant is not None
            await session.execute(
                sa.update(ProjectOrganization)
                .where(ProjectOrganization.project_id == project.id)
                .values(role_in_project="OWNER")
            )
            session.add(
                ContractOrganization(contract_id=contract, organization_id=consultant.id, role_in_contract="DESIGNER")
            )
            await session.flush()
            asked = {"project": project, "public_id": consultant.public_id, "pointer": "/x"}
            there = await projects.find_organization(session, **asked)
            in_contract = await projects.find_organization(session, **asked, contract_id=contract)

            assert (there.role, in_contract.role) == ("OWNER", "DESIGNER")
            parties = await projects.parties(session, project_id=project.id, contract_id=contract)
            assert parties == {"DESIGNER": frozenset({consultant.id})}

    async def test_does_not_give_one_that_takes_no_part(self, demo_db: Database) -> None:
        other = await another_project(demo_db)
        async with demo_db.reading() as session:
            project = await projects.find_project(session, public_id=other, pointer="/x")
            owner = await session.scalar(
                sa.select(Organization.public_id).where(Organization.organization_code == "กทท.")
            )
            assert owner is not None
            with pytest.raises(Invalid) as refusal:
                await projects.find_organization(
                    session, project=project, public_id=owner, pointer="/originatorOrganizationPublicId"
                )

        assert faults(refusal) == [("/originatorOrganizationPublicId", "unknown")]


class TestFindContract:
    async def test_does_not_give_another_projects(self, demo_db: Database) -> None:
        await another_project(demo_db)

        with pytest.raises(Invalid) as refusal:
            await in_project(demo_db, lambda session, project: contract_of(session, project, "OTHER-1"))

        assert faults(refusal) == [("/contractPublicId", "unknown")]


class TestFindType:
    @pytest.mark.parametrize(
        "code", ["LETTER", "MEMO", "RFI", "RFA", "TRANSMITTAL", "CIRCULATION", "DRAWING", "EMAIL", "NOTICE", "OTHER"]
    )
    async def test_knows_the_shipped_ones(self, demo_db: Database, code: str) -> None:
        async with demo_db.reading() as session:
            assert (await projects.find_type(session, code=code, pointer="/x")).code == code

    @pytest.mark.parametrize("code", ["", "LETTERS", "NONE"])
    async def test_refuses_an_unknown_code(self, demo_db: Database, code: str) -> None:
        async with demo_db.reading() as session:
            with pytest.raises(Invalid):
                await projects.find_type(session, code=code, pointer="/correspondenceTypeCode")

    async def test_does_not_give_a_retired_one(self, demo_db: Database) -> None:
        async with demo_db.writing() as session:
            await session.execute(sa.update(CorrespondenceType).values(is_active=False))
        async with demo_db.reading() as session:
            with pytest.raises(Invalid):
                await projects.find_type(session, code="LETTER", pointer="/x")


class TestCodesOfContracts:
    async def test_are_found_without_a_contract_when_only_one_has_them(self, demo_db: Database) -> None:
        discipline = await in_project(demo_db, _discipline("TER"))
        rfa_type = await in_project(demo_db, _rfa_type("RPT"))
        sub_type = await in_project(demo_db, _sub_type("TRANSMITTAL", "GEN"))

        assert (discipline.code, rfa_type.code, sub_type.number) == ("TER", "RPT", "21")
        assert discipline.contract_id == rfa_type.contract_id == sub_type.contract_id

    @pytest.mark.parametrize("code", ["STR", "GEO"])
    async def test_need_the_contract_when_several_have_them(self, demo_db: Database, code: str) -> None:
        with pytest.raises(Invalid) as refusal:
            await in_project(demo_db, _discipline(code))

        assert faults(refusal) == [("/contractPublicId", "required")]

    async def test_belong_to_the_contract_that_is_named(self, demo_db: Database) -> None:
        building = await in_project(demo_db, _discipline("STR", "LCBP3-C2"))
        marine = await in_project(demo_db, _discipline("STR", "LCBP3-C2-M"))

        assert building.id != marine.id

    @pytest.mark.parametrize(("code", "contract"), [("TER", "LCBP3-C2-M"), ("XXX", None), ("XYZ", None), ("", None)])
    async def test_are_not_taken_from_elsewhere(self, demo_db: Database, code: str, contract: str | None) -> None:
        await another_project(demo_db)

        with pytest.raises(Invalid) as refusal:
            await in_project(demo_db, _discipline(code, contract))

        assert faults(refusal) == [("/disciplineCode", "unknown")]

    @pytest.mark.parametrize(
        ("kind", "code", "number"),
        [
            ("TRANSMITTAL", "MAT", "11"),
            ("TRANSMITTAL", "SHP", "12"),
            ("TRANSMITTAL", "DWG", "13"),
            ("TRANSMITTAL", "GEN", "21"),
            ("RFA", "MAT", "21"),
        ],
    )
    async def test_have_a_number_for_each_document_type(
        self, demo_db: Database, kind: str, code: str, number: str
    ) -> None:
        assert (await in_project(demo_db, _sub_type(kind, code))).number == number

    async def test_are_not_shared_between_document_types(self, demo_db: Database) -> None:
        with pytest.raises(Invalid) as refusal:
            await in_project(demo_db, _sub_type("LETTER", "GEN"))

        assert faults(refusal) == [("/subTypeCode", "unknown")]


class TestParties:
    async def test_differ_between_project_and_contract(self, demo_db: Database) -> None:
        async def ask(session: AsyncSession, project: projects.ProjectRef) -> Any:
            marine = await contract_of(session, project, "LCBP3-C2-M")
            codes = {row.id: row.organization_code for row in await session.scalars(sa.select(Organization))}
            whole = await projects.parties(session, project_id=project.id, contract_id=None)
            part = await projects.parties(session, project_id=project.id, contract_id=marine.id)
            return [{role: {codes[one] for one in ids} for role, ids in found.items()} for found in (whole, part)]

        whole, part = await in_project(demo_db, ask)

        assert whole["CONTRACTOR"] == {"ผรม.1", "ผรม.2"}
        assert part == {"OWNER": {"กทท.", "สคฉ.3"}, "CONSULTANT": {"คคง."}, "CONTRACTOR": {"ผรม.1"}}


class TestPrintableCodes:
    async def test_are_those_of_the_project_alone(self, demo_db: Database) -> None:
        await another_project(demo_db)

        codes = await in_project(
            demo_db, lambda session, project: projects.printable_codes(session, project_id=project.id)
        )

        assert {"TER", "STR", "NAV"} <= codes.disciplines
        assert "XYZ" not in codes.disciplines
        assert codes.organizations == {"กทท.", "สคฉ.3", "คคง.", "ผรม.1", "ผรม.2"}
        assert {"11", "12", "13", "21"} <= codes.sub_type_numbers


async def _itself(_session: AsyncSession, project: projects.ProjectRef) -> projects.ProjectRef:
    return project


def _discipline(
    code: str, contract: str | None = None
) -> Callable[[AsyncSession, projects.ProjectRef], Awaitable[Any]]:
    async def ask(session: AsyncSession, project: projects.ProjectRef) -> Any:
        named = await contract_of(session, project, contract) if contract else None
        return await projects.find_discipline(session, project=project, contract=named, code=code)

    return ask


def _rfa_type(code: str) -> Callable[[AsyncSession, projects.ProjectRef], Awaitable[Any]]:
    async def ask(session: AsyncSession, project: projects.ProjectRef) -> Any:
        return await projects.find_rfa_type(session, project=project, contract=None, code=code)

    return ask


def _sub_type(kind: str, code: str) -> Callable[[AsyncSession, projects.ProjectRef], Awaitable[Any]]:
    async def ask(session: AsyncSession, project: projects.ProjectRef) -> Any:
        of = await projects.find_type(session, code=kind, pointer="/correspondenceTypeCode")
        return await projects.find_sub_type(session, project=project, contract=None, type_id=of.id, code=code)

    return ask
