"""API of log-in, sessions, the caller's profile, and the register of organizations."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, status

from saraban.identity import service
from saraban.identity.dependencies import DEVICE_COOKIE, Attempts, Context, Throttle, Tokens, count_refresh
from saraban.identity.schemas import (
    LogIn,
    OrganizationSearch,
    OrganizationSummary,
    PasswordChange,
    Profile,
    RefreshRequest,
    SessionOut,
    TokenPair,
)
from saraban.identity.service import people
from saraban.kit.http import Address, Db, Now, PageCursor, PageLimit, PathId, ReadSession, async_dependency
from saraban.kit.schema import Items, PageOut

router = APIRouter()


def device(request: Request, address: Address) -> service.Device:
    return service.Device(address, request.headers.get("user-agent", ""), request.cookies.get(DEVICE_COOKIE, ""))


KeepCurrent = Annotated[bool, Query(alias="keepCurrent", description="Keep the session of this request.")]
CallersDevice = Annotated[service.Device, Depends(async_dependency(device))]


@router.post("/auth/login", tags=["Auth"], summary="Log in")
async def log_in(body: LogIn, db: Db, tokens: Tokens, throttle: Throttle, device: CallersDevice) -> TokenPair:
    """
    Open a session with user name and password.

    After repeated failures an address has to wait: 429 `LOGIN_THROTTLED` with `Retry-After`. Failures from other
    addresses delay the response by at most 4 seconds. A browser in which the account has logged in before is counted
    separately. A server that checks too many passwords at once returns 503 `PASSWORDS_BUSY`.
    """
    opened = await service.log_in(
        db, issuer=tokens, throttle=throttle, username=body.username, password=body.password, device=device
    )
    return TokenPair.model_validate(opened, from_attributes=True)


@router.post("/auth/refresh", tags=["Auth"], summary="Exchange the refresh token")
async def refresh(body: RefreshRequest, request: Request, db: Db, tokens: Tokens, device: CallersDevice) -> TokenPair:
    """
    Return a new pair of tokens. A refresh token can be exchanged once. Presented again within 30 seconds it returns the
    same refresh token and a new access token; later it ends the whole session. A session also ends at its idle limit
    and its absolute limit.
    """
    await count_refresh(request, body.refresh_token)
    opened = await service.refresh(db, issuer=tokens, refresh_token=body.refresh_token, device=device)
    return TokenPair.model_validate(opened, from_attributes=True)


@router.post("/auth/logout", tags=["Auth"], summary="Log out on this device", status_code=status.HTTP_204_NO_CONTENT)
async def log_out(body: RefreshRequest, db: Db, address: Address, clock: Now) -> None:
    """
    End the session of that refresh token at once, with its access tokens; other devices stay signed in. Repeating it is
    no error.
    """
    await db.transact(service.log_out, body.refresh_token, address=address, now=clock.now())


@router.post("/auth/password", tags=["Auth"], summary="Change the own password", status_code=status.HTTP_204_NO_CONTENT)
async def change_password(body: PasswordChange, ctx: Context, db: Db, attempts: Attempts, clock: Now) -> None:
    """Replace the caller's own password, given the current one, and end the caller's other sessions."""
    await service.change_password(
        ctx,
        db,
        limiter=attempts,
        current=body.current_password,
        new=body.new_password,
        refresh_token=body.refresh_token,
        clock=clock,
    )


@router.get("/auth/sessions", tags=["Auth"], summary="List the own sessions")
async def list_sessions(ctx: Context, session: ReadSession) -> Items[SessionOut]:
    """The caller's open sessions, the latest used first."""
    return Items[SessionOut](items=await people.open_sessions(ctx, session, ctx.caller.public_id) or [])


@router.delete("/auth/sessions", tags=["Auth"], summary="End the own sessions", status_code=status.HTTP_204_NO_CONTENT)
async def end_sessions(ctx: Context, db: Db, keep_current: KeepCurrent = False) -> None:
    """End every session of the caller at once, with its access tokens."""
    await db.transact(people.end_own_sessions, ctx, keep_current=keep_current)


@router.delete(
    "/auth/sessions/{publicId}", tags=["Auth"], summary="End a session", status_code=status.HTTP_204_NO_CONTENT
)
async def end_session(public_id: PathId, ctx: Context, db: Db) -> None:
    """End a session of the caller at once, with its access tokens."""
    await db.transact(people.end_own_session, ctx, public_id)


@router.get("/auth/me", tags=["Auth"], summary="Who am I, and what may I do")
async def me(ctx: Context, session: ReadSession) -> Profile:
    """The signed-in user with their organizations, their roles and where these count, and the permissions they give."""
    return await service.profile(ctx, session)


@router.get("/organizations", tags=["Organizations"], summary="List organizations")
async def list_organizations(
    ctx: Context,
    session: ReadSession,
    wanted: Annotated[OrganizationSearch, Query()],
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> PageOut[OrganizationSummary]:
    """The register of organizations, newest first. Closed ones are shown only to readers with `organization.view`."""
    return await service.list_organizations(ctx, session, wanted, cursor=cursor, limit=limit)
