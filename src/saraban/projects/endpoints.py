"""API of projects: parties, contracts, codes, working days and review teams."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from saraban.identity.dependencies import Context
from saraban.kit.clock import local_date
from saraban.kit.http import Db, PageCursor, PageLimit, PathId, ReadSession
from saraban.kit.schema import Day, PageOut, ShortList, SingleLine
from saraban.projects import service
from saraban.projects.schemas import (
    CalendarDay,
    CalendarYear,
    CodeSummary,
    ContractSummary,
    NewCalendarDay,
    PartySummary,
    ProjectSummary,
    ReviewTeamIn,
    ReviewTeamOut,
    SubTypeSummary,
    TeamMemberIn,
    WeekendIn,
)

router = APIRouter()

Contract = Annotated[UUID | None, Query(alias="contractPublicId", description="Only those of this contract.")]

Closed = Annotated[bool, Query(alias="includeClosed", description="Those that are closed, too.")]

TeamCode = Annotated[
    str, Path(max_length=50, pattern="^[A-Z0-9][A-Z0-9_-]*$", description="Code of a review team.", examples=["DESIGN"])
]
MemberId = Annotated[UUID, Path(alias="userPublicId", description="Public id of the person.")]

DayOf = Annotated[Day, Path(description="The day.", examples=["2026-12-07"])]


@router.get("/projects", tags=["Projects"], summary="List projects")
async def list_projects(
    ctx: Context,
    session: ReadSession,
    search: Annotated[
        Annotated[str, SingleLine(100)] | None, Query(description="Part of the code or the name.", examples=["C2"])
    ] = None,
    include_closed: Closed = False,
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> PageOut[ProjectSummary]:
    """The projects you take part in, newest first."""
    return await service.list_projects(
        ctx, session, search=search, include_closed=include_closed, cursor=cursor, limit=limit
    )


@router.get("/projects/{publicId}/organizations", tags=["Projects"], summary="List a project's organizations")
async def organizations(ctx: Context, session: ReadSession, public_id: PathId) -> ShortList[PartySummary]:
    """The organizations that take part in the project, with their roles."""
    return ShortList[PartySummary](items=await service.organizations(ctx, session, project_public_id=public_id))


@router.get("/projects/{publicId}/contracts", tags=["Projects"], summary="List a project's contracts")
async def contracts(
    ctx: Context, session: ReadSession, public_id: PathId, include_closed: Closed = False
) -> ShortList[ContractSummary]:
    """The contracts of the project with their parties."""
    items = await service.contracts(ctx, session, project_public_id=public_id, include_closed=include_closed)
    return ShortList[ContractSummary](items=items)


@router.get("/projects/{publicId}/disciplines", tags=["Projects"], summary="List disciplines")
async def disciplines(
    ctx: Context, session: ReadSession, public_id: PathId, contract: Contract = None
) -> ShortList[CodeSummary]:
    """
    The disciplines of the project's contracts. If several contracts have the same code, requests that use it must name
    the contract.
    """
    items = await service.disciplines(ctx, session, project_public_id=public_id, contract_public_id=contract)
    return ShortList[CodeSummary](items=items)


@router.get("/projects/{publicId}/rfa-types", tags=["Projects"], summary="List RFA types")
async def rfa_types(
    ctx: Context, session: ReadSession, public_id: PathId, contract: Contract = None
) -> ShortList[CodeSummary]:
    """The RFA types of the project's contracts."""
    items = await service.rfa_types(ctx, session, project_public_id=public_id, contract_public_id=contract)
    return ShortList[CodeSummary](items=items)


@router.get("/projects/{publicId}/sub-types", tags=["Projects"], summary="List sub types")
async def sub_types(
    ctx: Context,
    session: ReadSession,
    public_id: PathId,
    contract: Contract = None,
    type_code: Annotated[
        Annotated[str, SingleLine(50)] | None, Query(alias="typeCode", description="Only those of this document type.")
    ] = None,
) -> ShortList[SubTypeSummary]:
    """The sub types of the project's contracts, with the number that documents print."""
    items = await service.sub_types(
        ctx, session, project_public_id=public_id, contract_public_id=contract, type_code=type_code
    )
    return ShortList[SubTypeSummary](items=items)


@router.get("/projects/{publicId}/calendar", tags=["Projects"], summary="Read a year of a project's working days")
async def calendar(
    ctx: Context,
    session: ReadSession,
    public_id: PathId,
    year: Annotated[int | None, Query(ge=1900, le=2200, description="A.D.; the present year if left out.")] = None,
) -> CalendarYear:
    """The weekend, the public holidays, and the days on which the project differs from them."""
    requested_year = year or local_date(ctx.now, ctx.zone).year
    return await service.read_calendar(ctx, session, project_public_id=public_id, year=requested_year)


@router.put("/projects/{publicId}/calendar/weekend", status_code=204, tags=["Projects"], summary="Set the weekend")
async def set_weekend(body: WeekendIn, ctx: Context, db: Db, public_id: PathId) -> None:
    """Due dates and reminders that are calculated from now on follow it."""
    await db.transact(service.set_weekend, ctx, project_public_id=public_id, weekend=body.weekend)


@router.put("/projects/{publicId}/calendar/days/{day}", tags=["Projects"], summary="Make a day off, or one to work on")
async def add_day(body: NewCalendarDay, ctx: Context, db: Db, public_id: PathId, day: DayOf) -> CalendarDay:
    """The project's previous entry for that day is replaced, so that sending it again changes nothing."""
    return await db.transact(service.add_day, ctx, project_public_id=public_id, day=day, order=body)


@router.delete(
    "/projects/{publicId}/calendar/days/{day}", status_code=204, tags=["Projects"], summary="Take a day back"
)
async def remove_day(ctx: Context, db: Db, public_id: PathId, day: DayOf) -> None:
    """Weekend and public holidays decide about the day again."""
    await db.transact(service.remove_day, ctx, project_public_id=public_id, day=day)


@router.get("/projects/{publicId}/review-teams", tags=["Projects"], summary="List a project's review teams")
async def review_teams(ctx: Context, session: ReadSession, public_id: PathId) -> ShortList[ReviewTeamOut]:
    """The teams of parallel reviews, with their members."""
    return ShortList[ReviewTeamOut](items=await service.review_teams(ctx, session, project_public_id=public_id))


@router.put("/projects/{publicId}/review-teams/{code}", tags=["Projects"], summary="Make or change a review team")
async def save_review_team(
    body: ReviewTeamIn, ctx: Context, db: Db, public_id: PathId, code: TeamCode
) -> ReviewTeamOut:
    """Sending it again changes nothing. Open reviews then wait for the present members of the team."""
    return await db.transact(service.save_team, ctx, project_public_id=public_id, code=code, order=body)


@router.delete(
    "/projects/{publicId}/review-teams/{code}", status_code=204, tags=["Projects"], summary="Remove a review team"
)
async def remove_review_team(ctx: Context, db: Db, public_id: PathId, code: TeamCode) -> None:
    """Responses of its members stay. A review that still needs the team waits until the team exists again."""
    await db.transact(service.remove_team, ctx, project_public_id=public_id, code=code)


@router.put(
    "/projects/{publicId}/review-teams/{code}/members/{userPublicId}",
    tags=["Projects"],
    summary="Put somebody into a review team",
)
async def save_team_member(
    body: TeamMemberIn, ctx: Context, db: Db, public_id: PathId, code: TeamCode, user_public_id: MemberId
) -> ReviewTeamOut:
    """The person must take part in the project, and a discipline must be one of the project's."""
    return await db.transact(
        service.save_member, ctx, project_public_id=public_id, code=code, user_public_id=user_public_id, order=body
    )


@router.delete(
    "/projects/{publicId}/review-teams/{code}/members/{userPublicId}",
    status_code=204,
    tags=["Projects"],
    summary="Take somebody out of a review team",
)
async def remove_team_member(ctx: Context, db: Db, public_id: PathId, code: TeamCode, user_public_id: MemberId) -> None:
    """Open reviews no longer ask that person, unless another team does."""
    await db.transact(service.remove_member, ctx, project_public_id=public_id, code=code, user_public_id=user_public_id)
