"""Members of projects and parties of contracts over HTTP; also projects and contracts."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import Idempotent, PathId, ReadSession
from saraban.kit.idempotency import Idempotency
from saraban.kit.operation import Operation
from saraban.kit.schema import ShortList
from saraban.projects import service as projects
from saraban.projects.schemas import PartySummary, ProjectDetail
from saraban.setup.domain.master_kinds import CONTRACT, PROJECT, Owner
from saraban.setup.domain.master_rows import MasterAddress
from saraban.setup.schemas.master_data import ContractDetail, MemberOut, PartyIn, shown
from saraban.setup.service import master_data, member_rows, members
from saraban.setup.service.member_rows import PARTY

router = APIRouter()

OrganizationId = Annotated[UUID, Path(alias="organizationPublicId", description="Public id of the organization.")]


@router.get("/projects/{publicId}", tags=["Projects"], summary="Read a project")
async def read_project(ctx: Context, session: ReadSession, response: Response, public_id: PathId) -> ProjectDetail:
    """
    Returns one project, also a closed one, with its members and contracts. Send the `ETag`
    as `If-Match` with a change.
    """
    row = await master_data.read(ctx, session, PROJECT, MasterAddress(public_id=public_id))
    response.headers["ETag"] = row.etag
    return await projects.read_project(ctx, session, public_id=public_id, closed=True)


@router.get("/contracts/{publicId}", tags=["Contracts"], summary="Read a contract")
async def read_contract(ctx: Context, session: ReadSession, response: Response, public_id: PathId) -> ContractDetail:
    """
    Returns one contract, also a closed one, with its parties. Send the `ETag` as `If-Match`
    with a change.
    """
    row = await master_data.read(ctx, session, CONTRACT, MasterAddress(public_id=public_id))
    response.headers["ETag"] = row.etag
    parties = await _list_parties(ctx, session, public_id)
    return ContractDetail(**shown(row).model_dump(by_alias=True), organizations=parties)


@router.get("/contracts/{publicId}/organizations", tags=["Contracts"], summary="List a contract's organizations")
async def contract_organizations(ctx: Context, session: ReadSession, public_id: PathId) -> ShortList[PartySummary]:
    """Returns the parties of the contract with their roles."""
    return ShortList[PartySummary](items=await _list_parties(ctx, session, public_id))


async def _list_parties(ctx: RequestContext, session: AsyncSession, contract: UUID) -> list[PartySummary]:
    page = await member_rows.list_rows(ctx, session, PARTY, owner=contract, limit=master_data.EVERY)
    return [PartySummary(**shown(row).model_dump(by_alias=True, exclude={"is_active"})) for row in page.items]


_MEMBER = "/projects/{publicId}/organizations/{organizationPublicId}"
_PARTY = "/contracts/{publicId}/organizations/{organizationPublicId}"


@router.put(_MEMBER, tags=["Projects"], summary="Save a project's member")
async def save_member(
    public_id: PathId, organization_public_id: OrganizationId, body: PartyIn, ctx: KeyedContext, idempotency: Idempotent
) -> MemberOut:
    """
    Adds an organization to the project, or changes its role. A repeated request changes
    nothing.
    """
    return await _save(ctx, idempotency, Owner.PROJECT, "PUT project member", public_id, organization_public_id, body)


@router.put(_PARTY, tags=["Contracts"], summary="Save a contract's party")
async def save_party(
    public_id: PathId, organization_public_id: OrganizationId, body: PartyIn, ctx: KeyedContext, idempotency: Idempotent
) -> MemberOut:
    """
    Adds a member of the project to the contract, or changes its role there. A repeated
    request changes nothing.
    """
    return await _save(ctx, idempotency, Owner.CONTRACT, "PUT contract party", public_id, organization_public_id, body)


async def _save(
    ctx: RequestContext,
    idempotency: Idempotency,
    of: Owner,
    name: str,
    owner: UUID,
    organization: UUID,
    body: PartyIn,
) -> MemberOut:
    operation = Operation.of(ctx, name, [str(owner), str(organization), body.role.value])
    await idempotency.run(
        operation, members.save_member, ctx, of, owner=owner, organization_public_id=organization, role=body.role
    )
    return MemberOut(organization_public_id=organization, role=body.role)


@router.delete(_MEMBER, status_code=204, tags=["Projects"], summary="Take a member out of a project")
async def remove_member(
    public_id: PathId, organization_public_id: OrganizationId, ctx: KeyedContext, idempotency: Idempotent
) -> None:
    """
    Answers 409 if the organization has document numbers in the project or is a party of a
    contract.
    """
    await _remove(ctx, idempotency, Owner.PROJECT, "DELETE project member", public_id, organization_public_id)


@router.delete(_PARTY, status_code=204, tags=["Contracts"], summary="Take a party out of a contract")
async def remove_party(
    public_id: PathId, organization_public_id: OrganizationId, ctx: KeyedContext, idempotency: Idempotent
) -> None:
    """Answers 409 if the organization has document numbers in the project."""
    await _remove(ctx, idempotency, Owner.CONTRACT, "DELETE contract party", public_id, organization_public_id)


async def _remove(
    ctx: RequestContext, idempotency: Idempotency, of: Owner, name: str, owner: UUID, organization: UUID
) -> None:
    operation = Operation.of(ctx, name, [str(owner), str(organization), None])
    await idempotency.run(operation, members.remove_member, ctx, of, owner=owner, organization_public_id=organization)
