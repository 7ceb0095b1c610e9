"""
Members of a project and parties of its contracts.

A step in progress asks the organizations that had a role when it began.
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
from saraban.setup.service.master_data import MasterPlace, find_place

_LINKS: Final[Mapping[Owner, type[ContractOrganization | ProjectOrganization]]] = {
    Owner.PROJECT: ProjectOrganization,
    Owner.CONTRACT: ContractOrganization,
}
OF_PROJECT, OF_CONTRACT = "project.manage_members", "contract.manage_members"


class MemberInUse(DomainError):
    """
    An organization cannot leave a project in which it has numbers or is a party of a
    contract, nor a contract of such a project.
    """

    kind, code = ErrorKind.CONFLICT, "MEMBER_IN_USE"
    says = Text(
        "นำ {value} ออกไม่ได้ เพราะมีเลขที่เอกสารในโครงการนี้",
        "{value} has document numbers in this project: it stays a member.",
    )
    recovery = (Text("ปิดองค์กรหากไม่ใช้แล้ว", "Close the organization if it is to leave the forms."),)


class NoMemberOfTheProject(DomainError):
    """Only members of the project can be parties of its contracts."""

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
    """:raises NotFound, NoMemberOfTheProject:"""
    place = await _require_manager(ctx, session, of, owner)
    organization = await _find_organization(session, organization_public_id)
    await lock_rights(session)
    if of is Owner.CONTRACT:
        project = await master_rows.participant_roles(session, Owner.PROJECT, place.scope.project, [organization.key])
        if not project:
            raise NoMemberOfTheProject(values={"value": organization.code})
    before = (await master_rows.participant_roles(session, of, place.key, [organization.key])).get(organization.key)
    if before != role:
        keys = {f"{of}_id": place.key, "organization_id": organization.key, f"role_in_{of}": role}
        await session.merge(_LINKS[of](**keys))
        await _record(ctx, session, f"{of}.save_member", owner, organization, (before, role))
    return Receipt("member")


async def remove_member(
    ctx: RequestContext, session: AsyncSession, of: Owner, *, owner: UUID, organization_public_id: UUID
) -> Receipt:
    """:raises NotFound, MemberInUse:"""
    place = await _require_manager(ctx, session, of, owner)
    await lock_rights(session)
    organization = await _find_organization(session, organization_public_id, closed=True)
    roles = await master_rows.participant_roles(session, of, place.key, [organization.key])
    if organization.key not in roles:
        raise NotFound(f"{organization.code} takes no part.")
    keys = {"project_id": place.scope.project or 0, "organization_id": organization.key}
    if of is Owner.PROJECT and await project_contents.is_party(session, **keys):
        raise MemberInUse(words=_IN_CONTRACT, values={"value": organization.code})
    if await project_contents.has_numbers(session, **keys):
        raise MemberInUse(values={"value": organization.code})
    link_keys = {f"{of}_id": place.key, "organization_id": organization.key}
    await session.delete(await session.get_one(_LINKS[of], link_keys))
    await _record(ctx, session, f"{of}.remove_member", owner, organization, (roles[organization.key], None))
    return Receipt("member")


async def _require_manager(ctx: RequestContext, session: AsyncSession, of: Owner, owner: UUID) -> MasterPlace:
    place = await find_place(ctx, session, of, owner)
    ctx.caller.require(OF_CONTRACT if of is Owner.CONTRACT else OF_PROJECT, place.scope)
    place.require_open()
    return place


async def _find_organization(session: AsyncSession, public_id: UUID, *, closed: bool = False) -> MasterRow:
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
