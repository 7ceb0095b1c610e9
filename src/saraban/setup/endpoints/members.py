"""The organizations of projects and contracts over HTTP; and a project itself with the `ETag` for its change."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import Idempotent, PathId, ReadSession
from saraban.kit.operation import Operation, Receipt
from saraban.projects import service as projects
from saraban.projects.schemas import ProjectDetail
from saraban.setup.domain.master_kinds import PROJECT
from saraban.setup.domain.master_rows import MasterAddress
from saraban.setup.schemas.master_data import MemberOut, PartyIn
from saraban.setup.service import master_data, members

router = APIRouter()
Work = Callable[[AsyncSession], Awaitable[object]]

OrganizationId = Annotated[UUID, Path(alias="organizationPublicId", description="Public id of the organization.")]


@router.get("/projects/{publicId}", tags=["projects"], summary="Read a project")
async def read_project(ctx: Context, session: ReadSession, response: Response, public_id: PathId) -> ProjectDetail:
    """One project with the organizations that take part and its contracts; a closed one, too. The `ETag` is for its change."""
    row = await master_data.read(ctx, session, PROJECT, MasterAddress(public_id=public_id))
    response.headers["ETag"] = row.etag
    return await projects.read_project(ctx, session, public_id=public_id, closed=True)


@router.put(
    "/projects/{publicId}/organizations/{organizationPublicId}", tags=["projects"], summary="Save a project's member"
)
async def save_member(
    public_id: PathId, organization_public_id: OrganizationId, body: PartyIn, ctx: KeyedContext, idempotency: Idempotent
) -> MemberOut:
    """Make an organization a member, or give it another role. Sent again, it changes nothing."""
    operation = _operation(ctx, "PUT project member", public_id, organization_public_id, body)
    work = partial(
        members.save_project_member,
        ctx,
        project_public_id=public_id,
        organization_public_id=organization_public_id,
        role=body.role,
    )
    await idempotency.run(operation, partial(_receipt, work))
    return MemberOut(organization_public_id=organization_public_id, role=body.role)


@router.delete(
    "/projects/{publicId}/organizations/{organizationPublicId}",
    status_code=204,
    tags=["projects"],
    summary="Take a member out of a project",
)
async def remove_member(
    public_id: PathId, organization_public_id: OrganizationId, ctx: KeyedContext, idempotency: Idempotent
) -> None:
    """One that has document numbers in the project, or is a party of a contract, stays: 409 says why."""
    operation = _operation(ctx, "DELETE project member", public_id, organization_public_id)
    work = partial(
        members.remove_project_member, ctx, project_public_id=public_id, organization_public_id=organization_public_id
    )
    await idempotency.run(operation, partial(_receipt, work))


@router.put(
    "/contracts/{publicId}/organizations/{organizationPublicId}", tags=["contracts"], summary="Save a contract's party"
)
async def save_party(
    public_id: PathId, organization_public_id: OrganizationId, body: PartyIn, ctx: KeyedContext, idempotency: Idempotent
) -> MemberOut:
    """Make a member of the project a party, or give it another role in the contract. Sent again, it changes nothing."""
    operation = _operation(ctx, "PUT contract party", public_id, organization_public_id, body)
    work = partial(
        members.save_party,
        ctx,
        contract_public_id=public_id,
        organization_public_id=organization_public_id,
        role=body.role,
    )
    await idempotency.run(operation, partial(_receipt, work))
    return MemberOut(organization_public_id=organization_public_id, role=body.role)


@router.delete(
    "/contracts/{publicId}/organizations/{organizationPublicId}",
    status_code=204,
    tags=["contracts"],
    summary="Take a party out of a contract",
)
async def remove_party(
    public_id: PathId, organization_public_id: OrganizationId, ctx: KeyedContext, idempotency: Idempotent
) -> None:
    """One that has document numbers in the project stays: 409 says why."""
    operation = _operation(ctx, "DELETE contract party", public_id, organization_public_id)
    work = partial(
        members.remove_party, ctx, contract_public_id=public_id, organization_public_id=organization_public_id
    )
    await idempotency.run(operation, partial(_receipt, work))


def _operation(
    ctx: RequestContext, name: str, place: UUID, organization: UUID, body: PartyIn | None = None
) -> Operation:
    return Operation.of(ctx, name, [str(place), str(organization), body.role.value if body else None])


async def _receipt(work: Work, session: AsyncSession) -> Receipt:
    await work(session)
    return Receipt("member")
