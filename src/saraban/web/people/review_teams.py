"""Review teams of a project: who is in them and for which discipline, for those who keep them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.service import OrganizationMember
from saraban.kit.errors import NotFound, Text, invalid
from saraban.kit.http import ReadSession
from saraban.kit.schema import Schema, SingleLine
from saraban.projects import service as projects
from saraban.projects.domain.master_data import ProjectRef
from saraban.projects.schemas import CodeSummary, ReviewTeamIn, ReviewTeamOut, TeamMemberIn
from saraban.web.people.my_tasks import PeopleOptions
from saraban.web.shell.forms import (
    CurrentForm,
    FormState,
    FormValues,
    SentForm,
    form_errors,
    project_in,
    submit,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/review-teams")

HOME: Final = "/review-teams"
MANAGE: Final = "project.edit"
PATTERN: Final = "^[A-Z0-9][A-Z0-9_-]*$"
ROLES: Final = {"REVIEWER": Text("ผู้พิจารณา", "Reviewer"), "LEAD": Text("หัวหน้าทีม", "Lead")}

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
    return await _list(page, session, project, FormState(done=done))


@router.get("/people")
async def people(
    page: CurrentPage, session: ReadSession, project: UUID, q: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """The choices of the form that fit what was typed."""
    found = await projects.participants(page.context, session, project_public_id=project, search=q)
    return page.show(PeopleOptions(people=found, chosen=""))


@router.post("")
async def create(form: CurrentForm) -> Response:
    return await submit(form, _create, _list_again)


@router.get("/{code}")
async def show(
    code: Code, page: CurrentPage, session: ReadSession, project: Project = None, done: Done = ""
) -> Response:
    """One team, and the forms to change it."""
    return await _show(page, session, code, project, FormState(done=done))


@router.post("/{code}")
async def save(code: Code, form: CurrentForm) -> Response:
    """What it is called, and whether it is asked."""
    return await submit(form, partial(_save, code), partial(_show_again, code))


@router.post("/{code}/remove")
async def remove(code: Code, form: CurrentForm) -> Response:
    return await submit(form, partial(_remove, code), partial(_show_again, code))


@router.post("/{code}/members")
async def place(code: Code, form: CurrentForm) -> Response:
    """Put somebody into the team, or change the place of who is in it."""
    return await submit(form, partial(_place, code), partial(_show_again, code))


@router.post("/{code}/members/remove")
async def take_out(code: Code, form: CurrentForm) -> Response:
    return await submit(form, partial(_take_out, code), partial(_show_again, code))


async def _create(form: SentForm, session: AsyncSession) -> str:
    code = (form.text("code") or "").upper()
    named = form.order(NewTeam, {**_names(form), "code": code})
    order = ReviewTeamIn(name_th=named.name_th, name_en=named.name_en)
    await projects.save_team(
        form.context, session, project_public_id=form.project, code=named.code, order=order, new=True
    )
    return _team(form, code, "made")


async def _save(code: str, form: SentForm, session: AsyncSession) -> str:
    order = form.order(ReviewTeamIn, {**_names(form), "isActive": form.text("isActive") is not None})
    await projects.save_team(form.context, session, project_public_id=form.project, code=code, order=order, new=False)
    return _team(form, code, "saved")


async def _remove(code: str, form: SentForm, session: AsyncSession) -> str:
    await projects.remove_team(form.context, session, project_public_id=form.project, code=code)
    return f"{HOME}?project={form.project}&done=removed"


async def _place(code: str, form: SentForm, session: AsyncSession) -> str:
    member = form.order(NewTeamMember, form.filled("userPublicId", "disciplineCode", "role"))
    try:
        await projects.save_member(
            form.context,
            session,
            project_public_id=form.project,
            code=code,
            user_public_id=member.user_public_id,
            order=TeamMemberIn(discipline_code=member.discipline_code, role=member.role),
        )
    except NotFound as error:
        # Of the person; when it is the team that is gone, the page that is shown again says so.
        th, en = "ไม่มีบุคคลนี้ในโครงการแล้ว", "This person is no longer in the project."
        raise invalid("/userPublicId", "unknown", th, en) from error
    return _team(form, code, "placed")


async def _take_out(code: str, form: SentForm, session: AsyncSession) -> str:
    member = form.order(TeamMemberRef, {"userPublicId": form.text("userPublicId") or ""})
    await projects.remove_member(
        form.context, session, project_public_id=form.project, code=code, user_public_id=member.user_public_id
    )
    return _team(form, code, "out")


def _names(form: SentForm) -> dict[str, object]:
    return {name: form.text(name) or "" for name in ("nameTh", "nameEn")}


def _team(form: SentForm, code: str, done: str) -> str:
    return f"{HOME}/{code}?project={form.project}&done={done}"


async def _list_again(page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    return await _list(page, session, project_in(state.form), state)


async def _show_again(code: str, page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    return await _show(page, session, code, project_in(state.form), state)


async def _list(page: PageRequest, session: AsyncSession, project: UUID | None, state: FormState) -> Response:
    chosen = await page.choose_project(session, project)
    here = chosen.place.public_id
    return page.show(
        ReviewTeamsPage(
            place=chosen.place,
            places=chosen.places,
            teams=await projects.review_teams(page.context, session, project_public_id=here),
            form=state.form,
            done=state.done,
            may_manage=page.may(MANAGE, chosen.place),
            faults=form_errors(state.error, page.language),
        )
    )


async def _show(
    page: PageRequest, session: AsyncSession, code: str, project: UUID | None, state: FormState
) -> Response:
    place = (await page.choose_project(session, project)).place
    ctx, project_id = page.context, place.public_id
    teams = await projects.review_teams(ctx, session, project_public_id=project_id)
    team = next((one for one in teams if one.code == code), None)
    if team is None:
        raise NotFound(f"The project has no review team {code}.")
    # A discipline stands in each contract of the project; it is chosen once.
    disciplines = {one.code: one for one in await projects.disciplines(ctx, session, project_public_id=project_id)}
    may_manage = page.may(MANAGE, place)
    return page.show(
        ReviewTeamPage(
            place=place,
            team=team,
            people=await projects.participants(ctx, session, project_public_id=project_id) if may_manage else (),
            disciplines=disciplines,
            roles=ROLES,
            form=state.form,
            done=state.done,
            may_manage=may_manage,
            faults=form_errors(state.error, page.language),
        )
    )
