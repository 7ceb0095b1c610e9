"""A project's review teams."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import RedirectResponse, Response

from saraban.identity.service import OrganizationMember
from saraban.kit.errors import NotFound, Text, invalid
from saraban.kit.http import ReadSession
from saraban.kit.schema import Schema, SingleLine
from saraban.projects import service as projects
from saraban.projects.domain.master_data import ProjectRef
from saraban.projects.schemas import CodeSummary, ReviewTeamIn, ReviewTeamOut, TeamMemberIn
from saraban.web.people.my_tasks import PeopleOptions
from saraban.web.shell.forms import CurrentForm, SentForm, Shown, project_in
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/review-teams")

HOME: Final = "/review-teams"
MANAGE: Final = "project.edit"
PATTERN: Final = "^[A-Z0-9][A-Z0-9_-]*$"
ROLES: Final = {"REVIEWER": Text("ผู้พิจารณา", "Reviewer"), "LEAD": Text("หัวหน้าทีม", "Lead")}

Code = Annotated[str, Path(max_length=50, pattern=PATTERN)]
Project = Annotated[UUID | None, Query()]


class NewTeam(ReviewTeamIn):
    code: Annotated[str, SingleLine(50), Field(pattern=PATTERN)]


class NewTeamMember(TeamMemberIn):
    user_public_id: UUID


class TeamMemberRef(Schema):
    user_public_id: UUID


class ReviewTeamsPage(PageModel, template="people/review_teams.html"):
    place: ProjectRef
    places: Sequence[ProjectRef]
    teams: Sequence[ReviewTeamOut]
    may_manage: bool


class ReviewTeamPage(PageModel, template="people/review_team.html"):
    place: ProjectRef
    team: ReviewTeamOut
    people: Sequence[OrganizationMember]
    disciplines: Mapping[str, CodeSummary]
    roles: Mapping[str, Text]
    may_manage: bool


@router.get("/people")
async def people(
    page: CurrentPage, session: ReadSession, project: UUID, q: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    members = await projects.participants(page.context, session, project_public_id=project, search=q)
    return page.show(PeopleOptions(people=members, chosen=""))


@router.post("")
async def create(form: CurrentForm) -> Response:
    async with form.show_on_refusal(listing):
        team = form.order(NewTeam, {**_names(form), "code": (form.text("code") or "").upper()})
        order = ReviewTeamIn(name_th=team.name_th, name_en=team.name_en)
        await form.transact(projects.save_team, project_public_id=form.project, code=team.code, order=order, new=True)
    return _to_team(form, team.code, "made")


@router.post("/{code}")
async def save(code: Code, form: CurrentForm) -> Response:
    async with form.show_on_refusal(show, code):
        order = form.order(ReviewTeamIn, {**_names(form), "isActive": form.text("isActive") is not None})
        await form.transact(projects.save_team, project_public_id=form.project, code=code, order=order, new=False)
    return _to_team(form, code, "saved")


@router.post("/{code}/remove")
async def remove(code: Code, form: CurrentForm) -> Response:
    async with form.show_on_refusal(show, code):
        await form.transact(projects.remove_team, project_public_id=form.project, code=code)
    return RedirectResponse(f"{HOME}?project={form.project}&done=removed", 303)


@router.post("/{code}/members")
async def place(code: Code, form: CurrentForm) -> Response:
    async with form.show_on_refusal(show, code):
        member = form.order(NewTeamMember, form.filled("userPublicId", "disciplineCode", "role"))
        order = TeamMemberIn(discipline_code=member.discipline_code, role=member.role)
        member_key = {"project_public_id": form.project, "user_public_id": member.user_public_id}
        try:
            await form.transact(projects.save_member, code=code, order=order, **member_key)
        except NotFound as error:
            # The person; if the team is missing, the page shown again reports it.
            th, en = "ไม่มีบุคคลนี้ในโครงการแล้ว", "This person is no longer in the project."
            raise invalid("/userPublicId", "unknown", th, en) from error
    return _to_team(form, code, "placed")


@router.post("/{code}/members/remove")
async def take_out(code: Code, form: CurrentForm) -> Response:
    async with form.show_on_refusal(show, code):
        person = form.order(TeamMemberRef, {"userPublicId": form.text("userPublicId") or ""}).user_public_id
        await form.transact(projects.remove_member, project_public_id=form.project, code=code, user_public_id=person)
    return _to_team(form, code, "out")


def _names(form: SentForm) -> dict[str, object]:
    return {name: form.text(name) or "" for name in ("nameTh", "nameEn")}


def _to_team(form: SentForm, code: str, done: str) -> Response:
    return RedirectResponse(f"{HOME}/{code}?project={form.project}&done={done}", 303)


@router.get("")
async def listing(page: CurrentPage, session: ReadSession, state: Shown, project: Project = None) -> Response:
    chosen = await page.choose_project(session, project_in(state.form) if state.error else project)
    project_id = chosen.place.public_id
    return page.show(
        ReviewTeamsPage(
            place=chosen.place,
            places=chosen.places,
            teams=await projects.review_teams(page.context, session, project_public_id=project_id),
            state=state,
            may_manage=page.may(MANAGE, chosen.place),
        )
    )


@router.get("/{code}")
async def show(page: CurrentPage, session: ReadSession, state: Shown, code: Code, project: Project = None) -> Response:
    place = (await page.choose_project(session, project_in(state.form) if state.error else project)).place
    ctx, project_id = page.context, place.public_id
    teams = await projects.review_teams(ctx, session, project_public_id=project_id)
    team = next((item for item in teams if item.code == code), None)
    if team is None:
        raise NotFound(f"The project has no review team {code}.")
    # Several contracts may have the same discipline.
    disciplines = {item.code: item for item in await projects.disciplines(ctx, session, project_public_id=project_id)}
    may_manage = page.may(MANAGE, place)
    return page.show(
        ReviewTeamPage(
            place=place,
            team=team,
            people=await projects.participants(ctx, session, project_public_id=project_id) if may_manage else (),
            disciplines=disciplines,
            roles=ROLES,
            state=state,
            may_manage=may_manage,
        )
    )
