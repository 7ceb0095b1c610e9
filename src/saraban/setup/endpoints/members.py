"""The organizations of projects and contracts over HTTP; and a project itself with the `ETag` for its change."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import Idempotent, PathId, ReadSession
from saraban.kit.operation import Operation, Receipt
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
    """One project with the organizations that take part and its contracts; a closed one, too. The `ETag` is for its change."""
    row = await master_data.read(ctx, session, PROJECT, MasterAddress(public_id=public_id))
    response.headers["ETag"] = row.etag
    return await projects.read_project(ctx, session, public_id=public_id, closed=True)


@router.get("/contracts/{publicId}", tags=["Contracts"], summary="Read a contract")
async def read_contract(ctx: Context, session: ReadSession, response: Response, public_id: PathId) -> ContractDetail:
    """One contract with its parties; a closed one, too. The `ETag` is for its change."""
    row = await master_data.read(ctx, session, CONTRACT, MasterAddress(public_id=public_id))
    response.headers["ETag"] = row.etag
    parties = await _parties(ctx, session, public_id)
    return ContractDetail(**shown(row).model_dump(by_alias=True), organizations=parties)


@router.get("/contracts/{publicId}/organizations", tags=["Contracts"], summary="List a contract's organizations")
async def contract_organizations(ctx: Context, session: ReadSession, public_id: PathId) -> ShortList[PartySummary]:
    """The parties of the contract, each with its role there."""
    return ShortList[PartySummary](items=await _parties(ctx, session, public_id))


async def _parties(ctx: RequestContext, session: AsyncSession, contract: UUID) -> list[PartySummary]:
    found = await member_rows.list_rows(ctx, session, PARTY, owner=contract, limit=master_data.EVERY)
    return [PartySummary(**shown(one).model_dump(by_alias=True, exclude={"is_active"})) for one in found.items]


def _add(of: Owner, noun: str, saves: tuple[str, str], removes: tuple[str, str]) -> None:
    """:param saves: and `removes`: what each does and what is good to know of it"""

    async def save(
        public_id: PathId,
        organization_public_id: OrganizationId,
        body: PartyIn,
        ctx: KeyedContext,
        idempotency: Idempotent,
    ) -> MemberOut:
        asked = {"owner": public_id, "organization_public_id": organization_public_id}

        async def work(session: AsyncSession) -> Receipt:
            await members.save_member(ctx, session, of, **asked, role=body.role)
            return Receipt("member")

        named = [str(public_id), str(organization_public_id), body.role.value]
        await idempotency.run(Operation.of(ctx, f"PUT {of} {noun}", named), work)
        return MemberOut(organization_public_id=organization_public_id, role=body.role)

    async def remove(
        public_id: PathId, organization_public_id: OrganizationId, ctx: KeyedContext, idempotency: Idempotent
    ) -> None:
        asked = {"owner": public_id, "organization_public_id": organization_public_id}

        async def work(session: AsyncSession) -> Receipt:
            await members.remove_member(ctx, session, of, **asked)
            return Receipt("member")

        named = [str(public_id), str(organization_public_id), None]
        await idempotency.run(Operation.of(ctx, f"DELETE {of} {noun}", named), work)

    path = f"/{of}s/{{publicId}}/organizations/{{organizationPublicId}}"
    for method, function, (summary, description), status in (
        ("PUT", save, saves, 200),
        ("DELETE", remove, removes, 204),
    ):
        router.add_api_route(
            path,
            function,
            methods=[method],
            name=f"{function.__name__}_{noun}",
            tags=[f"{of}s".capitalize()],
            summary=summary,
            description=description,
            status_code=status,
        )


_add(
    Owner.PROJECT,
    "member",
    (
        "Save a project's member",
        "Make an organization a member, or give it another role. Sent again, it changes nothing.",
    ),
    (
        "Take a member out of a project",
        "One that has document numbers in the project, or is a party of a contract, stays: 409 says why.",
    ),
)
_add(
    Owner.CONTRACT,
    "party",
    (
        "Save a contract's party",
        "Make a member of the project a party, or give it another role in the contract. Sent again, it changes nothing.",
    ),
    ("Take a party out of a contract", "One that has document numbers in the project stays: 409 says why."),
)
