"""API of roles and their permissions."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.identity.schemas import NewRole, RoleChanges, RoleOut, RolePage
from saraban.identity.service import roles
from saraban.kit.db import Database
from saraban.kit.http import (
    Db,
    Idempotent,
    IfMatch,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    read_after_commit,
    respond,
)
from saraban.kit.idempotency import Idempotency
from saraban.kit.operation import Operation, Receipt

router = APIRouter(prefix="/roles", tags=["Roles"])


@router.get("", summary="The matrix of roles and permissions")
async def listing(
    ctx: Context,
    session: ReadSession,
    project: Annotated[
        UUID | None, Query(alias="projectPublicId", description="Without the roles of other projects.")
    ] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> RolePage:
    """
    Custom roles first, the newest at the top, then the shipped ones. For readers who may see roles or give them; a
    project's roles are shown to those who may do so there.
    """
    page = await roles.list_roles(ctx, session, project_public_id=project, cursor=cursor, limit=limit)
    permissions = await roles.list_permissions(session)
    return RolePage(items=[*page.items], next_cursor=page.next_cursor, permissions=[*permissions])


@router.post("", status_code=201, response_model=RoleOut, summary="Make a role of your own")
async def create(body: NewRole, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """
    Make a role for the installation, or for one project. Nobody makes a role with permissions that they do not have.
    """
    receipt = await idempotency.run(Operation.of(ctx, "POST /roles", body), roles.create_role, ctx, wanted=body)
    return await _present(ctx, db, receipt, status=201)


@router.get("/{publicId}", response_model=RoleOut, summary="Read a role")
async def read(public_id: PathId, ctx: Context, session: ReadSession) -> Response:
    """With its `ETag`, for a change."""
    role = await roles.read_role(ctx, session, public_id=public_id)
    return respond(role, headers={"ETag": role.etag})


@router.patch("/{publicId}", response_model=RoleOut, summary="Change a role of your own")
async def change(
    public_id: PathId,
    body: RoleChanges,
    ctx: KeyedContext,
    db: Db,
    idempotency: Idempotent,
    if_match: IfMatch = None,
) -> Response:
    """
    The change counts at the next request of everybody who holds the role. You must hold each permission that it gains
    or loses.
    """
    payload = {"role": str(public_id), **body.model_dump(mode="json", exclude_unset=True)}
    operation = Operation.of(ctx, "PATCH /roles", payload)
    receipt = await idempotency.run(
        operation, roles.change_role, ctx, public_id=public_id, changes=body, if_match=if_match
    )
    return await _present(ctx, db, receipt)


@router.post("/{publicId}/close", response_model=RoleOut, summary="Close a role")
async def close(
    public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent, if_match: IfMatch = None
) -> Response:
    """From now on the role gives no permissions to the people who hold it (`holders`), and nobody can be given it."""
    return await _switch(ctx, db, idempotency, public_id, is_open=False, if_match=if_match)


@router.post("/{publicId}/reopen", response_model=RoleOut, summary="Reopen a role")
async def reopen(
    public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent, if_match: IfMatch = None
) -> Response:
    """The role gives its permissions again to the same people. You must hold all of them."""
    return await _switch(ctx, db, idempotency, public_id, is_open=True, if_match=if_match)


async def _switch(
    ctx: RequestContext, db: Database, idempotency: Idempotency, public_id: UUID, *, is_open: bool, if_match: str | None
) -> Response:
    name = "POST /roles/reopen" if is_open else "POST /roles/close"
    operation = Operation.of(ctx, name, {"role": str(public_id)})
    receipt = await idempotency.run(
        operation, roles.set_role_open, ctx, public_id=public_id, is_open=is_open, if_match=if_match
    )
    return await _present(ctx, db, receipt)


async def _present(ctx: RequestContext, db: Database, receipt: Receipt, *, status: int = 200) -> Response:
    async with read_after_commit(db) as session:
        role = await roles.read_role(ctx, session, public_id=receipt.resource_id)
    located = {"Location": f"/api/v1/roles/{role.public_id}"} if status == 201 else {}
    return respond(role, status=status, receipt=receipt, headers={**located, "ETag": role.etag})
