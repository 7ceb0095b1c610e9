"""
The organizations of a project and the parties of its contracts, each with its role there.

Steps that are in progress ask those who had a role when they began; the next step asks those who have it then.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.catalogue import PartyRole, party_role
from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.service import lock_rights
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.projects import service as projects
from saraban.projects.models import ContractOrganization, ProjectOrganization
from saraban.setup.domain.master_kinds import CONTRACT, ORGANIZATION, MasterKind
from saraban.setup.domain.master_rows import MasterRow, cursor_of, position_of
from saraban.setup.repository import master_rows, project_contents
from saraban.setup.service.master_data import visible_contract

OF_PROJECT, OF_CONTRACT = "project.manage_members", "contract.manage_members"


class MemberInUse(DomainError):
    """An organization stays in a project in which it has numbers or is a party of a contract, and in a contract of such a project."""

    kind, code = ErrorKind.CONFLICT, "MEMBER_IN_USE"
    says = Text(
        "นำ {value} ออกไม่ได้ เพราะมีเลขที่เอกสารในโครงการนี้",
        "{value} has document numbers in this project: it stays a member.",
    )
    recovery = (Text("ปิดองค์กรหากไม่ใช้แล้ว", "Close the organization if it is to leave the forms."),)


class NoMemberOfTheProject(DomainError):
    """The parties of a contract are organizations of its project."""

    kind, code = ErrorKind.CONFLICT, "PARTY_NOT_IN_PROJECT"
    says = Text("{value} ยังไม่อยู่ในโครงการ", "{value} is no member of the project.")
    recovery = (Text("เพิ่มองค์กรในโครงการก่อน", "Add it to the project first."),)


_IN_CONTRACT = Text("{value} เป็นคู่สัญญาอยู่ นำออกจากสัญญาก่อน", "{value} is a party of a contract: take it out there first.")


@dataclass(frozen=True, slots=True)
class Member:
    """An organization with its role in a project or contract."""

    organization: MasterRow
    role: PartyRole


async def list_members(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    *,
    owner: UUID,
    search: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[Member]:
    """
    Return a page of the organizations of a project or of a contract, by their codes; closed ones, too.

    :raises NotFound: for a project or contract that the caller may not see
    """
    key = await _owner_key(ctx, session, kind, owner)
    found = await master_rows.rows(
        session,
        ORGANIZATION,
        owner=None,
        only=master_rows.taking_part(_of(kind), key),
        search=fold(search) if search else None,
        after=position_of(cursor) if cursor else None,
        limit=limit + 1,
    )
    rows = found[:limit]
    roles = await master_rows.roles_of(session, _of(kind), key, [row.key for row in rows])
    members = [Member(row, party_role(roles[row.key])) for row in rows]
    return Page(members, cursor_of(rows[-1]) if len(found) > limit else None)


async def read_member(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, *, owner: UUID, organization_public_id: UUID
) -> Member:
    """
    :raises NotFound: for a project or contract that the caller may not see, and an organization that takes no part
    """
    key = await _owner_key(ctx, session, kind, owner)
    organization = await _organization(session, organization_public_id, closed=True)
    roles = await master_rows.roles_of(session, _of(kind), key, [organization.key])
    if organization.key not in roles:
        raise NotFound(f"{organization.code} takes no part.")
    return Member(organization, party_role(roles[organization.key]))


async def _owner_key(ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID) -> int:
    """:param kind: `PROJECT` or `CONTRACT`"""
    if kind is CONTRACT:
        return int((await visible_contract(ctx, session, owner)).id)
    return (await projects.visible_project(ctx, session, owner, closed=True)).id


def _of(kind: MasterKind) -> Literal["project", "contract"]:
    return "contract" if kind is CONTRACT else "project"


async def save_project_member(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    organization_public_id: UUID,
    role: PartyRole,
) -> Member:
    """
    Make an organization a member, or give it another role.

    :raises NotFound: for a project that the caller may not see, and an organization that is closed or not there
    """
    project = await projects.visible_project(ctx, session, project_public_id, closed=True)
    ctx.caller.require(OF_PROJECT, Scope(project=project.id))
    organization = await _organization(session, organization_public_id)
    await lock_rights(session)
    key = {"project_id": project.id, "organization_id": organization.key}
    row = await session.get(ProjectOrganization, key)
    before = row.role_in_project if row else None
    if before != role:
        await session.merge(ProjectOrganization(**key, role_in_project=role))
        await _record(ctx, session, "project.save_member", "project", project_public_id, organization, (before, role))
    return Member(organization, role)


async def save_party(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    contract_public_id: UUID,
    organization_public_id: UUID,
    role: PartyRole,
) -> Member:
    """
    Make an organization of the project a party of a contract, or give it another role there.

    :raises NotFound: for a contract that the caller may not see, and an organization that is closed or not there
    :raises NoMemberOfTheProject: for an organization of no such project
    """
    contract = await visible_contract(ctx, session, contract_public_id)
    ctx.caller.require(OF_CONTRACT, Scope(project=contract.project_id, contract=contract.id))
    organization = await _organization(session, organization_public_id)
    await lock_rights(session)
    if await session.get(ProjectOrganization, (contract.project_id, organization.key)) is None:
        raise NoMemberOfTheProject(values={"value": organization.code})
    key = {"contract_id": contract.id, "organization_id": organization.key}
    row = await session.get(ContractOrganization, key)
    before = row.role_in_contract if row else None
    if before != role:
        await session.merge(ContractOrganization(**key, role_in_contract=role))
        await _record(
            ctx, session, "contract.save_member", "contract", contract_public_id, organization, (before, role)
        )
    return Member(organization, role)


async def remove_project_member(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, organization_public_id: UUID
) -> None:
    """
    :raises NotFound: for a project that the caller may not see, and an organization that is no member
    :raises MemberInUse: when it has numbers, or is a party of a contract
    """
    project = await projects.visible_project(ctx, session, project_public_id, closed=True)
    ctx.caller.require(OF_PROJECT, Scope(project=project.id))
    await lock_rights(session)
    organization = await _organization(session, organization_public_id, closed=True)
    asked = {"project_id": project.id, "organization_id": organization.key}
    row = await session.get(ProjectOrganization, asked)
    if row is None:
        raise NotFound(f"{organization.code} is no member of {project.project_code}.")
    if await project_contents.is_party(session, **asked):
        raise MemberInUse(words=_IN_CONTRACT, values={"value": organization.code})
    if await project_contents.has_numbers(session, **asked):
        raise MemberInUse(values={"value": organization.code})
    await session.delete(row)
    await _record(
        ctx, session, "project.remove_member", "project", project_public_id, organization, (row.role_in_project, None)
    )


async def remove_party(
    ctx: RequestContext, session: AsyncSession, *, contract_public_id: UUID, organization_public_id: UUID
) -> None:
    """
    :raises NotFound: for a contract that the caller may not see, and an organization that is no party
    :raises MemberInUse: when it has numbers in the project
    """
    contract = await visible_contract(ctx, session, contract_public_id)
    ctx.caller.require(OF_CONTRACT, Scope(project=contract.project_id, contract=contract.id))
    await lock_rights(session)
    organization = await _organization(session, organization_public_id, closed=True)
    row = await session.get(ContractOrganization, (contract.id, organization.key))
    if row is None:
        raise NotFound(f"{organization.code} is no party of {contract.contract_code}.")
    asked = {"project_id": contract.project_id, "organization_id": organization.key}
    if await project_contents.has_numbers(session, **asked):
        raise MemberInUse(values={"value": organization.code})
    await session.delete(row)
    await _record(
        ctx,
        session,
        "contract.remove_member",
        "contract",
        contract_public_id,
        organization,
        (row.role_in_contract, None),
    )


async def _organization(session: AsyncSession, public_id: UUID, *, closed: bool = False) -> MasterRow:
    row = await master_rows.by_public_id(session, ORGANIZATION, public_id)
    if row is None or not (row.is_active or closed):
        raise NotFound(f"There is no organization {public_id}.")
    return row


async def _record(
    ctx: RequestContext,
    session: AsyncSession,
    action: str,
    kind: str,
    public_id: UUID,
    organization: MasterRow,
    roles: tuple[str | None, str | None],
) -> None:
    before, after = (None if role is None else {"role": role} for role in roles)
    details = {"organization": organization.code, "before": before, "after": after}
    await audit.record(ctx, session, audit.AuditEntry(action, kind, str(public_id), details))
