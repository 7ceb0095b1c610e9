"""
The texts of project files: one written from a project, which changes nothing where it comes from and makes the same elsewhere;
and those that ship, templates to begin with and the demo project.
"""

from pathlib import Path
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.service.people import VIEW
from saraban.kit.errors import NotFound, unknown
from saraban.kit.text import fold
from saraban.projects.domain.master_data import CORRESPONDENCE_TYPES
from saraban.setup.domain.new_project import Data
from saraban.setup.domain.project_yaml import yaml_text
from saraban.setup.repository import project_contents as repository
from saraban.setup.service import current_project

MANAGE = "project.edit"


async def export(ctx: RequestContext, session: AsyncSession, *, code: str) -> str:
    """
    Give the YAML text of a project.

    People are in it who have a role in the project, its contracts or organizations, or a place in a team; accounts of
    programs and roles that count everywhere are not. It has no people, whose addresses are personal, for a caller who
    may not see everybody's account.

    :raises NotFound: when there is none of this code
    :raises Forbidden: when the caller does not manage it
    """
    project = await repository.project(session, code=fold(code))
    if project is None or not project.is_active:
        raise NotFound(f"There is no project {code}.")
    ctx.caller.require(MANAGE, Scope(project=project.id))
    data = await current_project.read_project(session, project)
    sees_people = ctx.caller.may(VIEW, Scope())
    people = await current_project.people_of(session, project, data) if sees_people else []
    shared = await current_project.read_shared(session, codes=_organizations(data, people), usernames=())
    used = {one["type"] for one in _typed(data) if "type" in one} - {one.code for one in CORRESPONDENCE_TYPES}
    types = [one for one in shared["correspondenceTypes"] if one["code"] in used]
    more = {"correspondenceTypes": types} if types else {}
    of_people = {"people": people} if sees_people else {}
    return yaml_text({"organizations": shared["organizations"], **more, **data, **of_people})


def _organizations(data: Data, people: list[Data]) -> set[str]:
    parties = [party for contract in data["contracts"] for party in contract["parties"]]
    named = [*data["members"], *parties, *people]
    places = {role["place"] for one in people for role in one["roles"] if role["level"] == "Organization"}
    return {one["organization"] for one in named if "organization" in one} | places


def _typed(data: Data) -> list[Data]:
    sub_types = [one for contract in data["contracts"] for one in contract["subTypes"]]
    return [*data["numberFormats"], *sub_types]


TEMPLATES: Final = ("thai-public-works", "building", "iso19650")
_FOLDER: Final = Path(__file__).parents[1] / "templates"


def template(name: str) -> str:
    """:raises Invalid: when there is none of this name"""
    if name not in TEMPLATES:
        raise unknown("/NAME", name)
    return _text(name)


def demo() -> bytes:
    return _text("demo").encode()


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.yaml").read_text("utf-8")
