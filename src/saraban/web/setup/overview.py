"""Overview of the lists of a project, with what is missing, and of the installation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from saraban.kit.errors import Text
from saraban.kit.http import ReadSession
from saraban.setup.domain.master_kinds import CONTRACT, DISCIPLINE, KINDS, RFA_TYPE, Owner
from saraban.setup.domain.master_rows import MasterRow
from saraban.setup.service import master_data as setup
from saraban.setup.service.member_rows import MEMBER, PARTY
from saraban.web.setup.grid import MASTER
from saraban.web.setup.places import ABOUT, DRAWINGS, LISTS, owners
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

# Lists that a project needs, with the missing step.
NEEDED: Final[Mapping[str, Text]] = {
    MEMBER.name: Text("ระบุองค์กรที่รับส่งเอกสาร", "Say which organizations send and receive documents."),
    CONTRACT.name: Text("สร้างสัญญาแรก", "Create the first contract."),
    PARTY.name: Text("ระบุคู่สัญญา", "Say who the parties are."),
    DISCIPLINE.name: Text("ระบุสาขางาน", "List the disciplines."),
    RFA_TYPE.name: Text("ระบุประเภท RFA", "List the RFA types."),
}


@dataclass(frozen=True, slots=True)
class SetupList:
    url: str
    title: Text
    about: Text
    count: int
    missing: Text | None = None


class SetupOverviewPage(PageModel, template="setup/overview.html"):
    place: MasterRow
    lists: Sequence[SetupList]
    contracts: Sequence[tuple[MasterRow, Sequence[SetupList]]]
    drawings: Sequence[SetupList]


class MasterPage(PageModel, template="setup/master.html"):
    title: Text
    lists: Sequence[SetupList]


@router.get("/project-setup")
async def of_chosen_project(page: CurrentPage, session: ReadSession) -> Response:
    chosen = await page.choose_project(session, None)
    return RedirectResponse(f"/projects/{chosen.place.public_id}/setup", status_code=303)


@router.get("/projects/{project}/setup")
async def of_project(page: CurrentPage, session: ReadSession, request: Request) -> Response:
    project, _ = await owners(page.context, session, request.path_params)
    counted = [kind for kind in KINDS if kind.owner is not Owner.INSTALLATION]
    counts = await setup.open_counts(page.context, session, counted, project_public_id=project.public_id)
    contracts = await setup.list_rows(page.context, session, CONTRACT, owner=project.public_id, limit=100)
    home = f"/projects/{project.public_id}/setup/"
    lists = _setup_lists(Owner.PROJECT, home, counts, project.key)
    return page.show(
        SetupOverviewPage(
            place=project,
            lists=[item for item in lists if "drawing" not in item.title.en],
            contracts=[
                (item, _setup_lists(Owner.CONTRACT, f"{home}contracts/{item.public_id}/", counts, item.key))
                for item in contracts.items
            ],
            drawings=[item for item in lists if "drawing" in item.title.en],
        )
    )


@router.get("/master")
async def of_installation(page: CurrentPage, session: ReadSession) -> Response:
    kinds = [kind for kind in LISTS.values() if kind.owner is Owner.INSTALLATION]
    counts = await setup.open_counts(page.context, session, kinds)
    return page.show(MasterPage(title=MASTER, lists=_setup_lists(Owner.INSTALLATION, "/master/", counts, 0)))


def _setup_lists(owner: Owner, home: str, counts: Mapping[tuple[str, int], int], key: int) -> list[SetupList]:
    lists = []
    for (list_owner, path), kind in LISTS.items():
        if list_owner is owner:
            count = counts.get((kind.name, key), 0)
            missing = None if count else NEEDED.get(kind.name)
            lists.append(SetupList(home + path, kind.plural, ABOUT.get(kind.name, DRAWINGS), count, missing))
    return lists
