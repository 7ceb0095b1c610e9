"""Review teams of a project: who is in them and for which discipline, for those who keep them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.domain.context import Scope
from saraban.identity.service import OrganizationMember
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, NotFound, Text, invalid
from saraban.kit.http import Db, ReadSession
from saraban.kit.schema import Schema, SingleLine
from saraban.projects import service as projects
from saraban.projects.domain.reference import ProjectRef
from saraban.projects.schemas import CodeSummary, ReviewTeamIn, ReviewTeamOut, TeamMemberIn
from saraban.web.people.my_tasks import PeopleOptions
from saraban.web.shell.forms import (
    EMPTY_FORM,
    FormValues,
    Work,
    form_errors,
    project_in,
    read_form,
    submit,
    text,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/review-teams")

HOME: Final = "/review-teams"
MANAGE: Final = "project.edit"
PATTERN: Final = "^[A-Z0-9][A-Z0-9_-]*$"
ROLES: Final = {"REVIEWER": Text("ผู้ตรวจ", "Reviewer"), "LEAD": Text("หัวหน้าทีม", "Lead")}

Code = Annotated[str, Path(max_length=50, pattern=PATTERN)]
Project = Annotated[UUID | None, Query()]
Done = Annotated[str, Query(max_length=20)]


class NewTeam(ReviewTeamIn):
    """A team with the code that workflows name it by."""

    code: Annotated[str, SingleLine(50), Field(pattern=PATTERN)]


class NewTeamMember(TeamMemberIn):
    """Somebody with a place in a team."""

    user_public_id: UUID


class TeamMemberRef(Schema):
    user_public_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewTeamsPage(PageModel):
    template: ClassVar[str] = "people/review_teams.html"

    place: ProjectRef
    places: Sequence[ProjectRef]
    teams: Sequence[ReviewTeamOut]
    form: FormValues
    done: str
    may_manage: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewTeamPage(PageModel):
    template: ClassVar[str] = "people/review_team.html"

    place: ProjectRef
    team: ReviewTeamOut
    people: Sequence[OrganizationMember]
    disciplines: Mapping[str, CodeSummary]
    roles: Mapping[str, Text]
    form: FormValues
    done: str
    may_manage: bool


@router.get("")
async def listing(page: CurrentPage, session: ReadSession, project: Project = None, done: Done = "") -> Response:
    """The teams of the chosen project, and the form for a new one."""
    return await _list(page, session, project=project or page.project, done=done)


@router.get("/people")
async def people(
    page: CurrentPage, session: ReadSession, project: UUID, q: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """The choices of the form that fit what was typed."""
    found = await projects.participants(page.context, session, project_public_id=project, search=q)
    return page.show(PeopleOptions(people=found, chosen=""))


@router.post("")
async def create(page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)
    project = project_in(form)
    code = (text(form, "code") or "").upper()

    async def work(session: AsyncSession) -> None:
        order: NewTeam = validated(request, NewTeam, {**_names(form), "code": code})
        await projects.save_team(
            page.context,
            session,
            project_public_id=project,
            code=order.code,
            order=ReviewTeamIn(name_th=order.name_th, name_en=order.name_en),
            new=True,
        )

    async def again(session: AsyncSession, error: DomainError) -> Response:
        return await _list(page, session, project=project, form=form, error=error)

    return await submit(db, work, again, f"{HOME}/{code}?project={project}&done=made")


@router.get("/{code}")
async def show(
    code: Code, page: CurrentPage, session: ReadSession, project: Project = None, done: Done = ""
) -> Response:
    """One team, and the forms to change it."""
    return await _show(page, session, project=project or page.project, code=code, done=done)


@router.post("/{code}")
async def save(code: Code, page: CurrentPage, db: Db, request: Request) -> Response:
    """What it is called, and whether it is asked."""
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        active = text(form, "isActive") is not None
        order: ReviewTeamIn = validated(request, ReviewTeamIn, {**_names(form), "isActive": active})
        await projects.save_team(
            page.context,
            session,
            project_public_id=project_in(form),
            code=code,
            order=order,
            new=False,
        )

    return await _changed(page, db, form, code, work, "saved")


@router.post("/{code}/remove")
async def remove(code: Code, page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)
    project = project_in(form)

    async def work(session: AsyncSession) -> None:
        await projects.remove_team(
            page.context,
            session,
            project_public_id=project,
            code=code,
        )

    return await _changed(page, db, form, code, work, "removed", back=f"{HOME}?project={project}&done=removed")


@router.post("/{code}/members")
async def place(code: Code, page: CurrentPage, db: Db, request: Request) -> Response:
    """Puts somebody into the team, or changes the place of who is in it."""
    form = await read_form(request)
    project = project_in(form)

    async def work(session: AsyncSession) -> None:
        names = ("userPublicId", "disciplineCode", "role")
        typed = {name: value for name in names if (value := text(form, name))}
        order: NewTeamMember = validated(request, NewTeamMember, typed)
        try:
            await projects.save_member(
                page.context,
                session,
                project_public_id=project,
                code=code,
                user_public_id=order.user_public_id,
                order=TeamMemberIn(discipline_code=order.discipline_code, role=order.role),
            )
        except NotFound as error:
            # Of the person; when it is the team that is gone, the page that is shown again says so.
            th, en = "ไม่มีบุคคลนี้ในโครงการแล้ว", "This person is no longer in the project."
            raise invalid("/userPublicId", "unknown", th, en) from error

    return await _changed(page, db, form, code, work, "placed")


@router.post("/{code}/members/remove")
async def take_out(code: Code, page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        order: TeamMemberRef = validated(request, TeamMemberRef, {"userPublicId": text(form, "userPublicId") or ""})
        await projects.remove_member(
            page.context,
            session,
            project_public_id=project_in(form),
            code=code,
            user_public_id=order.user_public_id,
        )

    return await _changed(page, db, form, code, work, "out")


def _names(form: FormValues) -> dict[str, object]:
    return {name: text(form, name) or "" for name in ("nameTh", "nameEn")}


async def _changed(
    page: PageRequest, db: Database, form: FormValues, code: str, work: Work, done: str, back: str = ""
) -> Response:
    """Back to the team."""
    project = project_in(form)

    async def again(session: AsyncSession, error: DomainError) -> Response:
        return await _show(page, session, project=project, code=code, form=form, error=error)

    return await submit(db, work, again, back or f"{HOME}/{code}?project={project}&done={done}")


async def _place(page: PageRequest, session: AsyncSession, project: UUID | None) -> tuple[ProjectRef, list[ProjectRef]]:
    places = list(page.projects or await projects.projects_of(page.context, session))
    if not places:
        raise NotFound("There is no project whose teams you may see.")
    return next((one for one in places if one.public_id == project), places[0]), places


async def _list(
    page: PageRequest,
    session: AsyncSession,
    *,
    project: UUID | None,
    done: str = "",
    form: FormValues = EMPTY_FORM,
    error: DomainError | None = None,
) -> Response:
    here, places = await _place(page, session, project)
    return page.show(
        ReviewTeamsPage(
            place=here,
            places=places,
            teams=await projects.review_teams(page.context, session, project_public_id=here.public_id),
            form=form,
            done=done,
            may_manage=page.caller.may(MANAGE, Scope(project=here.id)),
            faults=form_errors(error, page.language),
        )
    )


async def _show(
    page: PageRequest,
    session: AsyncSession,
    *,
    project: UUID | None,
    code: str,
    done: str = "",
    form: FormValues = EMPTY_FORM,
    error: DomainError | None = None,
) -> Response:
    here, _ = await _place(page, session, project)
    ctx, project_id = page.context, here.public_id
    teams = await projects.review_teams(ctx, session, project_public_id=project_id)
    team = next((one for one in teams if one.code == code), None)
    if team is None:
        raise NotFound(f"The project has no review team {code}.")
    # A discipline stands in each contract of the project; it is chosen once.
    disciplines = {one.code: one for one in await projects.disciplines(ctx, session, project_public_id=project_id)}
    may_manage = page.caller.may(MANAGE, Scope(project=here.id))
    return page.show(
        ReviewTeamPage(
            place=here,
            team=team,
            people=await projects.participants(ctx, session, project_public_id=project_id) if may_manage else (),
            disciplines=disciplines,
            roles=ROLES,
            form=form,
            done=done,
            may_manage=may_manage,
            faults=form_errors(error, page.language),
        )
    )
