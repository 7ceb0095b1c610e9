"""Exports project files, and reads the shipped ones."""

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
    Return the YAML of a project, without service accounts and global roles.

    Addresses are personal: a caller who cannot view all accounts gets no people.

    :raises NotFound, Forbidden:
    """
    project = await repository.project(session, code=fold(code))
    if project is None or not project.is_active:
        raise NotFound(f"There is no project {code}.")
    ctx.caller.require(MANAGE, Scope(project=project.id))
    data = await current_project.read_project(session, project)
    sees_people = ctx.caller.may(VIEW, Scope())
    people = await current_project.project_people(session, project, data) if sees_people else []
    shared = await current_project.read_shared(session, codes=_organization_codes(data, people), usernames=())
    used = {part["type"] for part in _parts_with_type(data) if "type" in part}
    used -= {shipped.code for shipped in CORRESPONDENCE_TYPES}
    types = [row for row in shared["correspondenceTypes"] if row["code"] in used]
    more = {"correspondenceTypes": types} if types else {}
    of_people = {"people": people} if sees_people else {}
    return yaml_text({"organizations": shared["organizations"], **more, **data, **of_people})


def _organization_codes(data: Data, people: list[Data]) -> set[str]:
    parties = [party for contract in data["contracts"] for party in contract["parties"]]
    parts = [*data["members"], *parties, *people]
    places = {role["place"] for person in people for role in person["roles"] if role["level"] == "Organization"}
    return {part["organization"] for part in parts if "organization" in part} | places


def _parts_with_type(data: Data) -> list[Data]:
    sub_types = [sub_type for contract in data["contracts"] for sub_type in contract["subTypes"]]
    return [*data["numberFormats"], *sub_types]


TEMPLATES: Final = ("thai-public-works", "building", "iso19650")
_FOLDER: Final = Path(__file__).parents[1] / "templates"


def template(name: str) -> str:
    """:raises Invalid:"""
    if name not in TEMPLATES:
        raise unknown("/NAME", name)
    return _text(name)


def demo() -> bytes:
    return _text("demo").encode()


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.yaml").read_text("utf-8")
