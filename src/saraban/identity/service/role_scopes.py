"""Turns the code of an organization, a project or a contract into the scope that a role is given in."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Scope
from saraban.identity.repository import role_scopes as repository
from saraban.kit.errors import Invalid, invalid
from saraban.kit.text import fold


@dataclass(frozen=True, slots=True)
class RoleScope:
    """A contract carries its project too, because whoever may in the project may in its contracts."""

    organization_id: int | None = None
    project_id: int | None = None
    contract_id: int | None = None

    @property
    def scope(self) -> Scope:
        organizations = frozenset({self.organization_id} if self.organization_id is not None else ())
        return Scope(organizations, self.project_id, self.contract_id)


async def find_scope(
    session: AsyncSession, organization: str | None = None, project: str | None = None, contract: str | None = None
) -> RoleScope:
    """
    :raises Invalid: at the field whose code is not known
    """
    organization_id = project_id = contract_id = None
    if organization is not None:
        organization_id = await repository.organization(session, code=fold(organization))
        if organization_id is None:
            raise _unknown("/organizationCode", organization)
    if project is not None:
        project_id = await repository.project(session, code=fold(project))
        if project_id is None:
            raise _unknown("/projectCode", project)
    if contract is not None:
        row = await repository.contract(session, code=fold(contract))
        if row is None:
            raise _unknown("/contractCode", contract)
        contract_id, project_id = row.id, row.project_id
    return RoleScope(organization_id, project_id, contract_id)


def _unknown(pointer: str, code: str) -> Invalid:
    return invalid(pointer, "unknown", "ไม่มีรหัส “{value}”", "There is no “{value}”.", value=code)
