"""`/users`: people and programs with an account, for those who administer their organization, and the roles they have."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext, invitation_base
from saraban.identity.domain.context import RequestContext
from saraban.identity.schemas import (
    HeldRoleOut,
    InvitedPersonOut,
    KnownPersonOut,
    PeopleImportOut,
    RoleGrantIn,
    UserChangedOut,
    UserChangeIn,
    UserIn,
    UserOut,
    UserPasswordIn,
    UserSearch,
    UserSecretOut,
)
from saraban.identity.service import accounts, assignments, invitations, people, people_import
from saraban.kit.db import Database
from saraban.kit.http import (
    Db,
    Idempotent,
    IfMatch,
    Language,
    NamedSheet,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    async_dependency,
    read_after_commit,
    read_sent_sheet,
    respond,
    sheet_body,
)
from saraban.kit.idempotency import Claim, Idempotency
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Items, PageOut, WarningOut

router = APIRouter(tags=["Users"], prefix="/users")

RoleId = Annotated[UUID, Path(alias="rolePublicId", description="The `publicId` of the role as it was given.")]
Work = Callable[[RequestContext, AsyncSession], Awaitable[Any]]


HandOver = Annotated[
    bool, Query(alias="handOver", description="Tell the link here in any case; it works for 24 hours.")
]
InvitationBase = Annotated[str | None, Depends(async_dependency(invitation_base))]


@router.get("", summary="List people")
async def list_users(
    ctx: Context,
    session: ReadSession,
    wanted: Annotated[UserSearch, Query()],
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> PageOut[UserOut]:
    """The people and programs of the organizations that you administer, newest first or by user name."""
    return await people.list_people(ctx, session, wanted, cursor=cursor, limit=limit)


@router.post("", status_code=201, response_model=UserSecretOut, summary="Open an account")
async def create_user(
    body: UserIn, ctx: KeyedContext, db: Db, idempotency: Idempotent, base: InvitationBase
) -> Response:
    """
    With a password that its person has to change first, or with an invitation: then the person chooses it, by a link that is
    mailed or, where no e-mail is set up, told in this answer. An account for a program may have neither: its password is made
    and told in this answer. What is told once is not told again to a repetition with the same `Idempotency-Key`.
    """
    new = people.new_account(body)
    password_hash, told = await people.first_password(db, body)
    # The password is no part of what a key is remembered by: a digest of it would be there to be guessed at.
    asked = body.model_dump(mode="json", by_alias=True, exclude={"password"}) | {"hasPassword": bool(body.password)}

    async def work(ctx: RequestContext, session: AsyncSession) -> tuple[UUID, dict[str, str | None]]:
        if password_hash is not None:
            return await accounts.create_account(ctx, session, new, password_hash=password_hash), {"password": told}
        invitation = await invitations.invite_user(ctx, session, new)
        return invitation.public_id, _link(base, invitation)

    return await _done(ctx, db, idempotency, Operation.of(ctx, "POST /users", asked), work, UserSecretOut, status=201)


@router.post(
    "/import",
    summary="Import people",
    openapi_extra=sheet_body("A sheet of people, as `saraban user import --template` writes it."),
)
async def import_users(
    ctx: Context,
    request: Request,
    db: Db,
    base: InvitationBase,
    dry_run: Annotated[bool, Query(alias="dryRun", description="Say what it would do, and do nothing.")] = False,
    sheet: NamedSheet = None,
) -> PeopleImportOut:
    """
    Invites everybody who has no account and gives them their roles: all of them, or nobody and each fault is named by its row and
    column: `/3/email`. Who has an account stays as they are, so that a second time changes nothing.
    """
    ctx.caller.require_somewhere(accounts.CREATE)  # who may not learns nothing of the file's faults
    rows = await read_sent_sheet(request, partial(people_import.read_people_sheet, sheet=sheet))
    work = partial(people_import.import_people, ctx, rows=rows, dry_run=dry_run)
    return _imported(await db.transact(work), None if dry_run else base, dry_run=dry_run)


@router.get("/{publicId}", summary="Read an account")
async def read_user(public_id: PathId, ctx: Context, session: ReadSession, response: Response) -> UserOut:
    user = await people.read_person(ctx, session, public_id)
    response.headers["ETag"] = people.etag(user)
    return user


@router.patch("/{publicId}", response_model=UserChangedOut, summary="Change an account, or move its person")
async def change_user(
    public_id: PathId,
    body: UserChangeIn,
    ctx: KeyedContext,
    db: Db,
    idempotency: Idempotent,
    language: Language,
    if_match: IfMatch = None,
) -> Response:
    """
    Fields that are left out stay. With `organizationPublicId` the person moves and acts for the new organization
    only: roles in others end, and those in projects and contracts stay, as `warnings` say. With `If-Match`, only the version
    that was read.
    """
    asked = body.model_dump(mode="json", by_alias=True, exclude_unset=True)
    operation = Operation.of(ctx, f"PATCH /users/{public_id}", asked | {"if": if_match})

    async def work(ctx: RequestContext, session: AsyncSession) -> tuple[UUID, dict[str, list[WarningOut]]]:
        roles = await people.change_person(ctx, session, person=public_id, change=body, if_match=if_match)
        message = people.ROLES_AFTER_MOVE.say(language, roles)
        warning = WarningOut(code="ROLES_AFTER_MOVE", field="/organizationPublicId", message=message, public_id=None)
        return public_id, {"warnings": [warning] if roles else []}

    return await _done(ctx, db, idempotency, operation, work, UserChangedOut)


@router.post("/{publicId}/close", response_model=UserOut, summary="Close an account")
async def close_user(public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """
    From the next request on nothing is let in; sessions and an open invitation end, steps and reviews ask others, and what was
    to be mailed is not. The account of the last Super Admin stays open.
    """
    work = partial(accounts.set_active, username=public_id, active=False)
    return await _act(public_id, "close", ctx, db, idempotency, work)


@router.post("/{publicId}/reopen", response_model=UserOut, summary="Open a closed account again")
async def reopen_user(public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """Password and roles are those of before."""
    work = partial(accounts.set_active, username=public_id, active=True)
    return await _act(public_id, "reopen", ctx, db, idempotency, work)


@router.post("/{publicId}/unlock", response_model=UserOut, summary="Forgive wrong passwords")
async def unlock_user(public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """Who was delayed, or has to wait, may sign in at once."""
    return await _act(public_id, "unlock", ctx, db, idempotency, partial(accounts.unlock, username=public_id))


@router.post("/{publicId}/invite", response_model=UserSecretOut, summary="Invite a person again")
async def invite_user(
    public_id: PathId, request: Request, ctx: KeyedContext, db: Db, idempotency: Idempotent, hand_over: HandOver = False
) -> Response:
    """A new link; the one of before ends. A password that is there stays good until the person chooses another."""

    async def work(ctx: RequestContext, session: AsyncSession) -> tuple[UUID, dict[str, str | None]]:
        link = await invitations.invite_again(ctx, session, username=public_id, handed_over=hand_over)
        return public_id, _link(invitation_base(request, handed_over=hand_over), link)

    operation = Operation.of(ctx, f"POST /users/{public_id}/invite", {"handOver": True} if hand_over else {})
    return await _done(ctx, db, idempotency, operation, work, UserSecretOut)


@router.post("/{publicId}/password", response_model=UserSecretOut, summary="Set a password")
async def set_password(
    public_id: PathId, body: UserPasswordIn, ctx: KeyedContext, db: Db, idempotency: Idempotent
) -> Response:
    """Ends its sessions; a person has to change it at the next sign-in. For a program without one, it is made and told once."""
    password_hash, made = await accounts.reset_password(ctx, db, person=public_id, password=body.password)

    async def work(ctx: RequestContext, session: AsyncSession) -> tuple[UUID, dict[str, str | None]]:
        await accounts.keep_password(ctx, session, person=public_id, password_hash=password_hash)
        return public_id, {"password": made}

    operation = Operation.of(ctx, f"POST /users/{public_id}/password", {"made": made is not None})
    return await _done(ctx, db, idempotency, operation, work, UserSecretOut)


@router.get("/{publicId}/roles", summary="List the roles of a person")
async def list_roles(public_id: PathId, ctx: Context, session: ReadSession) -> Items[HeldRoleOut]:
    """All of them, past and coming ones too; to those who do not administer the person, the ones where they give roles."""
    return await people.list_roles(ctx, session, public_id)


@router.post("/{publicId}/roles", status_code=201, response_model=HeldRoleOut, summary="Give a role")
async def give_role(
    public_id: PathId, body: RoleGrantIn, ctx: KeyedContext, db: Db, idempotency: Idempotent
) -> Response:
    """
    In one place, or everywhere, from a day until a day; nobody gives what they do not have there. The same role twice in one
    place at one time is refused: to change its period, delete it and give it anew.
    """
    operation = Operation.of(ctx, f"POST /users/{public_id}/roles", body)

    async def work(session: AsyncSession) -> Receipt:
        made = await people.give_role(ctx, session, person=public_id, wanted=body)
        return Receipt("user_assignment", made)

    receipt = await idempotency.run(operation, work)
    async with read_after_commit(db) as session:
        found = await people.read_role(ctx, session, public_id, receipt.resource_id)
    headers = {"Location": f"/api/v1/users/{public_id}/roles/{receipt.public_id}"}
    return respond(found, status=201, receipt=receipt, headers=headers)


@router.delete("/{publicId}/roles/{rolePublicId}", status_code=204, summary="Take a role back")
async def take_role(public_id: PathId, role_public_id: RoleId, ctx: KeyedContext, idempotency: Idempotent) -> Response:
    """For those who could have given it. Open reviews ask the person no more; the last Super Admin keeps that role."""

    async def work(session: AsyncSession) -> Receipt:
        await assignments.revoke_assignment(ctx, session, person=public_id, assignment=role_public_id)
        return Receipt("user_assignment", role_public_id)

    operation = Operation.of(ctx, f"DELETE /users/{public_id}/roles", {"role": str(role_public_id)})
    receipt = await idempotency.run(operation, work)
    return Response(status_code=204, headers={"Idempotent-Replay": "true"} if receipt.repeated else {})


def _imported(done: people_import.PeopleImport, base: str | None, *, dry_run: bool) -> PeopleImportOut:
    return PeopleImportOut(
        applied=not dry_run,
        invited=[
            InvitedPersonOut(username=one.username, display_name=one.display_name, **_link(base, one))
            for one in done.invitations
        ],
        known=[KnownPersonOut(row=one.line, username=one.username, differs=list(one.differs)) for one in done.known],
    )


def _link(base: str | None, invitation: invitations.Invitation) -> dict[str, str | None]:
    return {"invitation_url": None if base is None else base + invitation.path}


async def _then(work: Work, public_id: UUID, ctx: RequestContext, session: AsyncSession) -> tuple[UUID, None]:
    await work(ctx, session)
    return public_id, None


async def _act(
    public_id: UUID, verb: str, ctx: RequestContext, db: Database, idempotency: Idempotency, work: Work
) -> Response:
    operation = Operation.of(ctx, f"POST /users/{public_id}/{verb}", {})
    return await _done(ctx, db, idempotency, operation, partial(_then, work, public_id))


async def _done(
    ctx: RequestContext,
    db: Database,
    idempotency: Idempotency,
    operation: Operation,
    work: Work,
    shape: type[UserOut] = UserOut,
    *,
    status: int = 200,
) -> Response:
    """
    Do the work once for a key and show the account as it is then.

    :param work: returns the account and what is told once, which a repetition is not
    """
    secrets: dict[str, str | None] | None = None

    async def complete(claim: Claim, session: AsyncSession) -> tuple[Receipt, dict[str, str | None] | None]:
        public_id, told = await work(ctx, session)
        receipt = Receipt("user", public_id)
        await claim.complete(session, receipt)
        return receipt, told

    async with idempotency.claim(operation) as claim:
        if claim.receipt is None:
            receipt, secrets = await db.transact(partial(complete, claim))
        else:
            receipt = claim.receipt
    async with read_after_commit(db) as session:
        user = await people.read_person(ctx, session, receipt.resource_id)
    headers = {"ETag": people.etag(user)} | ({"Location": f"/api/v1/users/{user.public_id}"} if status == 201 else {})
    return respond(shape(**user.model_dump(), **(secrets or {})), status=status, receipt=receipt, headers=headers)
