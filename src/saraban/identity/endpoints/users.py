"""API of accounts and their roles."""

from functools import partial
from typing import Annotated
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
from saraban.kit.ids import new_secret
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Items, PageOut, WarningOut

router = APIRouter(tags=["Users"], prefix="/users")

RoleId = Annotated[UUID, Path(alias="rolePublicId", description="The `publicId` of the role as it was given.")]


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
    """The people and programs that you administer, newest first or by user name."""
    return await people.list_people(ctx, session, wanted, cursor=cursor, limit=limit)


@router.post("", status_code=201, response_model=UserSecretOut, summary="Open an account")
async def create_user(
    body: UserIn, ctx: KeyedContext, db: Db, idempotency: Idempotent, base: InvitationBase
) -> Response:
    """
    Open an account with a password that the person has to change first, or with an invitation: then the person chooses
    the password by a link, which is mailed or, if no e-mail is set up, returned in this response. A program's account
    may have neither: a password is made and returned in this response. A repetition with the same `Idempotency-Key`
    does not return the secret again.
    """
    password_hash, password = await people.first_password(db, body)
    token = new_secret()
    # The password is not part of the stored payload: its digest could be attacked by guessing.
    payload = body.model_dump(mode="json", by_alias=True, exclude={"password"}) | {"hasPassword": bool(body.password)}
    operation = Operation.of(ctx, "POST /users", payload)
    receipt = await idempotency.run(operation, people.open_account, ctx, body, password_hash=password_hash, token=token)
    link = _link(base, token) if password_hash is None else None
    return await _show_secret(ctx, db, receipt, password=password, invitation_url=link, status=201)


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
    Invite everybody in the sheet who has no account and give them their roles: all of them, or nobody, and each fault
    is named by its row and column: `/3/email`. Existing accounts are not changed, so that a second import changes
    nothing.
    """
    ctx.caller.require_somewhere(accounts.CREATE)  # before the file is read, so that others learn nothing of its faults
    rows = await read_sent_sheet(request, partial(people_import.read_people_sheet, sheet=sheet))
    result = await db.transact(people_import.import_people, ctx, rows=rows, dry_run=dry_run)
    return _import_result(result, None if dry_run else base, dry_run=dry_run)


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
    Fields that are left out stay. With `organizationPublicId` the person moves and acts for the new organization only:
    roles in others end, and those in projects and contracts stay, as `warnings` say. With `If-Match`, only the version
    that was read is changed.
    """
    payload = body.model_dump(mode="json", by_alias=True, exclude_unset=True) | {"if": if_match}
    operation = Operation.of(ctx, f"PATCH /users/{public_id}", payload)
    receipt = await idempotency.run(
        operation, people.change_person, ctx, person=public_id, change=body, if_match=if_match
    )
    user = await _read(ctx, db, receipt)
    warnings = []
    if receipt.outcome and not receipt.repeated:
        message = people.ROLES_AFTER_MOVE.say(language, receipt.outcome)
        warnings = [WarningOut(code="ROLES_AFTER_MOVE", field="/organizationPublicId", message=message, public_id=None)]
    return _respond(UserChangedOut(**user.model_dump(), warnings=warnings), receipt)


@router.post("/{publicId}/close", response_model=UserOut, summary="Close an account")
async def close_user(public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """
    Refuse the account's requests from now on; end its sessions and its open invitation, give its steps and reviews to
    others, and send no more mail to it. The account of the last Superadmin cannot be closed.
    """
    operation = Operation.of(ctx, f"POST /users/{public_id}/close", {})
    receipt = await idempotency.run(operation, accounts.set_active, ctx, username=public_id, active=False)
    return _respond(await _read(ctx, db, receipt), receipt)


@router.post("/{publicId}/reopen", response_model=UserOut, summary="Open a closed account again")
async def reopen_user(public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """Password and roles are those from before the account was closed."""
    operation = Operation.of(ctx, f"POST /users/{public_id}/reopen", {})
    receipt = await idempotency.run(operation, accounts.set_active, ctx, username=public_id, active=True)
    return _respond(await _read(ctx, db, receipt), receipt)


@router.post("/{publicId}/unlock", response_model=UserOut, summary="Forgive wrong passwords")
async def unlock_user(public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """Let a person who was delayed, or has to wait, sign in at once."""
    operation = Operation.of(ctx, f"POST /users/{public_id}/unlock", {})
    receipt = await idempotency.run(operation, accounts.unlock, ctx, username=public_id)
    return _respond(await _read(ctx, db, receipt), receipt)


@router.post("/{publicId}/invite", response_model=UserSecretOut, summary="Invite a person again")
async def invite_user(
    public_id: PathId, request: Request, ctx: KeyedContext, db: Db, idempotency: Idempotent, hand_over: HandOver = False
) -> Response:
    """Send a new link; the previous one ends. An existing password stays good until the person chooses another."""
    token = new_secret()
    operation = Operation.of(ctx, f"POST /users/{public_id}/invite", {"handOver": True} if hand_over else {})
    receipt = await idempotency.run(operation, _invite_again, ctx, public_id, token=token, handed_over=hand_over)
    link = _link(invitation_base(request, handed_over=hand_over), token)
    return await _show_secret(ctx, db, receipt, invitation_url=link)


async def _invite_again(
    ctx: RequestContext, session: AsyncSession, person: UUID, *, token: str, handed_over: bool
) -> Receipt:
    await invitations.invite_again(ctx, session, username=person, handed_over=handed_over, token=token)
    return Receipt("user", person)


@router.post("/{publicId}/password", response_model=UserSecretOut, summary="Set a password")
async def set_password(
    public_id: PathId, body: UserPasswordIn, ctx: KeyedContext, db: Db, idempotency: Idempotent
) -> Response:
    """
    End the account's sessions; a person has to change the password at the next sign-in. For a program, without a
    password in the request, one is made and returned once.
    """
    password_hash, made = await accounts.reset_password(ctx, db, person=public_id, password=body.password)
    operation = Operation.of(ctx, f"POST /users/{public_id}/password", {"made": made is not None})
    receipt = await idempotency.run(
        operation, accounts.keep_password, ctx, person=public_id, password_hash=password_hash
    )
    return await _show_secret(ctx, db, receipt, password=made)


@router.get("/{publicId}/roles", summary="List the roles of a person")
async def list_roles(public_id: PathId, ctx: Context, session: ReadSession) -> Items[HeldRoleOut]:
    """
    Past and future roles are included. A reader who does not administer the person sees the roles in the places where
    the reader gives roles.
    """
    return await people.list_roles(ctx, session, public_id)


@router.post("/{publicId}/roles", status_code=201, response_model=HeldRoleOut, summary="Give a role")
async def give_role(
    public_id: PathId, body: RoleGrantIn, ctx: KeyedContext, db: Db, idempotency: Idempotent
) -> Response:
    """
    Give a role in one place, or everywhere, from a day until a day; nobody gives permissions that they do not have
    there. The same role in the same place and period is refused: to change its period, delete it and give it again.
    """
    operation = Operation.of(ctx, f"POST /users/{public_id}/roles", body)
    receipt = await idempotency.run(operation, people.give_role, ctx, person=public_id, wanted=body)
    async with read_after_commit(db) as session:
        role = await people.read_role(ctx, session, public_id, receipt.resource_id)
    headers = {"Location": f"/api/v1/users/{public_id}/roles/{receipt.public_id}"}
    return respond(role, status=201, receipt=receipt, headers=headers)


@router.delete("/{publicId}/roles/{rolePublicId}", status_code=204, summary="Take a role back")
async def take_role(public_id: PathId, role_public_id: RoleId, ctx: KeyedContext, idempotency: Idempotent) -> Response:
    """
    Allowed to everybody who could have given the role. Open reviews no longer ask the person; the last Superadmin keeps
    that role.
    """
    operation = Operation.of(ctx, f"DELETE /users/{public_id}/roles", {"role": str(role_public_id)})
    receipt = await idempotency.run(
        operation, assignments.revoke_assignment, ctx, person=public_id, assignment=role_public_id
    )
    return Response(status_code=204, headers={"Idempotent-Replay": "true"} if receipt.repeated else {})


def _import_result(result: people_import.PeopleImport, base: str | None, *, dry_run: bool) -> PeopleImportOut:
    return PeopleImportOut(
        applied=not dry_run,
        invited=[
            InvitedPersonOut(
                username=person.username, display_name=person.display_name, invitation_url=_link(base, person.token)
            )
            for person in result.invitations
        ],
        known=[
            KnownPersonOut(row=person.line, username=person.username, differs=list(person.differs))
            for person in result.known
        ],
    )


def _link(base: str | None, token: str) -> str | None:
    return None if base is None else base + invitations.link_path(token)


async def _read(ctx: RequestContext, db: Database, receipt: Receipt) -> UserOut:
    async with read_after_commit(db) as session:
        return await people.read_person(ctx, session, receipt.resource_id)


async def _show_secret(
    ctx: RequestContext, db: Database, receipt: Receipt, *, status: int = 200, **secrets: str | None
) -> Response:
    """Return the account, with the secrets in the first response only."""
    user = await _read(ctx, db, receipt)
    secret = UserSecretOut(**user.model_dump(), **({} if receipt.repeated else secrets))
    return _respond(secret, receipt, status=status)


def _respond(user: UserOut, receipt: Receipt, *, status: int = 200) -> Response:
    headers = {"ETag": people.etag(user)} | ({"Location": f"/api/v1/users/{user.public_id}"} if status == 201 else {})
    return respond(user, status=status, receipt=receipt, headers=headers)
