"""
The organizations of a project and the parties of its contracts, each with its role there.

Steps that are in progress ask those who had a role when they began; the next step asks those who have it then.
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import lock_rights
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text
from saraban.kit.operation import Receipt
from saraban.projects.models import ContractOrganization, ProjectOrganization
from saraban.setup.domain.master_kinds import ORGANIZATION, Owner
from saraban.setup.domain.master_rows import MasterRow
from saraban.setup.repository import master_rows, project_contents
from saraban.setup.service.master_data import MasterPlace, place_of

_LINKS: Final[Mapping[Owner, type[ContractOrganization | ProjectOrganization]]] = {
    Owner.PROJECT: ProjectOrganization,
    Owner.CONTRACT: ContractOrganization,
}
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


async def save_member(
    ctx: RequestContext,
    session: AsyncSession,
    of: Owner,
    *,
    owner: UUID,
    organization_public_id: UUID,
    role: PartyRole,
) -> Receipt:
    """
    Make an organization a member of a project or a party of a contract, or give it another role there.

    :raises NotFound: for a project or contract that the caller may not see, and an organization that is closed or not there
    :raises NoMemberOfTheProject: for a party that is no member of the contract's project
    """
    place = await _managed(ctx, session, of, owner)
    organization = await _organization(session, organization_public_id)
    await lock_rights(session)
    if of is Owner.CONTRACT:
        project = await master_rows.roles_of(session, Owner.PROJECT, place.scope.project, [organization.key])
        if not project:
            raise NoMemberOfTheProject(values={"value": organization.code})
    before = (await master_rows.roles_of(session, of, place.key, [organization.key])).get(organization.key)
    if before != role:
        keys = {f"{of}_id": place.key, "organization_id": organization.key, f"role_in_{of}": role}
        await session.merge(_LINKS[of](**keys))
        await _record(ctx, session, f"{of}.save_member", owner, organization, (before, role))
    return Receipt("member")


async def remove_member(
    ctx: RequestContext, session: AsyncSession, of: Owner, *, owner: UUID, organization_public_id: UUID
) -> Receipt:
    """
    :raises NotFound: for a project or contract that the caller may not see, and an organization that takes no part
    :raises MemberInUse: when it has numbers in the project, or is a party of one of the project's contracts
    """
    place = await _managed(ctx, session, of, owner)
    await lock_rights(session)
    organization = await _organization(session, organization_public_id, closed=True)
    roles = await master_rows.roles_of(session, of, place.key, [organization.key])
    if organization.key not in roles:
        raise NotFound(f"{organization.code} takes no part.")
    asked = {"project_id": place.scope.project or 0, "organization_id": organization.key}
    if of is Owner.PROJECT and await project_contents.is_party(session, **asked):
        raise MemberInUse(words=_IN_CONTRACT, values={"value": organization.code})
    if await project_contents.has_numbers(session, **asked):
        raise MemberInUse(values={"value": organization.code})
    keys = {f"{of}_id": place.key, "organization_id": organization.key}
    await session.delete(await session.get_one(_LINKS[of], keys))
    await _record(ctx, session, f"{of}.remove_member", owner, organization, (roles[organization.key], None))
    return Receipt("member")


async def _managed(ctx: RequestContext, session: AsyncSession, of: Owner, owner: UUID) -> MasterPlace:
    place = await place_of(ctx, session, of, owner)
    ctx.caller.require(OF_CONTRACT if of is Owner.CONTRACT else OF_PROJECT, place.scope)
    place.require_open()
    return place


async def _organization(session: AsyncSession, public_id: UUID, *, closed: bool = False) -> MasterRow:
    row = await master_rows.by_public_id(session, ORGANIZATION, public_id)
    if row is None or not (row.is_active or closed):
        raise NotFound(f"There is no organization {public_id}.")
    return row


async def _record(
    ctx: RequestContext,
    session: AsyncSession,
    action: str,
    owner: UUID,
    organization: MasterRow,
    roles: tuple[str | None, str | None],
) -> None:
    before, after = (None if role is None else {"role": role} for role in roles)
    details = {"organization": organization.code, "before": before, "after": after}
    await audit.record(ctx, session, audit.AuditEntry(action, action.partition(".")[0], str(owner), details))
