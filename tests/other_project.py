"""A second project that a caller of the first has no rights in."""

from uuid import UUID

import sqlalchemy as sa

from saraban.identity.models import Organization
from saraban.identity.service.first_run import SHIPPED_AT
from saraban.kit.db import Database
from saraban.projects.models import Contract, Discipline, Project, ProjectOrganization


async def add_other_project(db: Database) -> dict[str, UUID]:
    """Make a second project with a contract, a discipline and an organization of its own."""
    async with db.writing() as session:
        project = Project(project_code="OTHER", project_name="อีกโครงการ")
        stranger = Organization(
            organization_code="อื่น",
            organization_name="องค์กรอื่น",
            is_active=True,
            created_at=SHIPPED_AT,
            updated_at=SHIPPED_AT,
        )
        session.add_all([project, stranger])
        await session.flush()
        consultant = await session.scalar(sa.select(Organization.id).where(Organization.organization_code == "คคง."))
        contract = Contract(project_id=project.id, contract_code="OTHER-1", contract_name="อีกสัญญา")
        session.add_all(
            [
                contract,
                ProjectOrganization(project_id=project.id, organization_id=consultant),
                ProjectOrganization(project_id=project.id, organization_id=stranger.id),
            ]
        )
        await session.flush()
        session.add(Discipline(contract_id=contract.id, discipline_code="XYZ"))
        return {"project": project.public_id, "organization": stranger.public_id, "contract": contract.public_id}
