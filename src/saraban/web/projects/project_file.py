"""Download a project file; upload one, review its differences, and apply exactly these."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, Depends, Path, Request
from starlette.datastructures import UploadFile
from starlette.responses import Response

from saraban.identity.dependencies import IdentityWiring
from saraban.identity.domain.context import EVERYTHING, Scope
from saraban.identity.service import Invitation
from saraban.kit.errors import DomainError, Forbidden, Invalid, NotFound, Text
from saraban.kit.http import Db, ReadSession, wiring
from saraban.projects.service import ProjectRef
from saraban.setup import service as setup
from saraban.setup.domain.comparison import ChangeType, Difference
from saraban.setup.domain.master_kinds import FILE_LISTS
from saraban.setup.domain.project_yaml import LARGEST, read_file
from saraban.web.shell.form_state import form_errors
from saraban.web.shell.forms import text
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/projects")

MOST_ROWS: Final = 1000
ROOM: Final = 64 * 1024  # for the other parts of the form
CHANGES: Final[Mapping[str, tuple[Text, str]]] = {
    ChangeType.ADD: (Text("เพิ่ม", "Add"), "green"),
    ChangeType.CHANGE: (Text("แก้ไข", "Change"), "blue"),
    ChangeType.CLOSE: (Text("ปิดหรือนำออก", "Close or remove"), "red"),
    ChangeType.KEEP: (Text("คงไว้ เพราะมีการใช้งาน", "Keep, in use"), "grey"),
    ChangeType.CONFLICT: (Text("ขัดกับข้อมูลร่วม", "Conflict"), "orange"),
}
SECTIONS: Final[Mapping[str, Text]] = {
    "organizations": Text("องค์กร", "Organization"),
    "correspondenceTypes": Text("ประเภทเอกสาร", "Document type"),
    "project": Text("โครงการ", "Project"),
    "members": Text("องค์กรในโครงการ", "Member"),
    "contracts": Text("สัญญา", "Contract"),
    "parties": Text("คู่สัญญา", "Party"),
    "numberFormats": Text("รูปแบบเลขที่", "Number format"),
    "assignments": Text("กระบวนงานของเอกสาร", "Workflow assignment"),
    "calendar": Text("ปฏิทิน", "Calendar"),
    "days": Text("วัน", "Day"),
    "drawingRegisters": Text("ทะเบียนแบบ", "Register of drawings"),
    "reviewTeams": Text("ทีมพิจารณา", "Review team"),
    "people": Text("ผู้ใช้งาน", "Person"),
    "roles": Text("บทบาท", "Role"),
    **{
        name: Text(kind.singular.th, kind.singular.en[:1].upper() + kind.singular.en[1:])
        for name, kind in FILE_LISTS.items()
    },
}
_TEAM_MEMBER: Final = Text("ผู้พิจารณา", "Reviewer")

Place = Annotated[str, Path(max_length=60)]


class FileFault(NamedTuple):
    line: object
    key: str
    says: str


class ChangeRow(NamedTuple):
    change: str
    parts: Sequence[tuple[Text, str]]
    before: str
    after: str


class ProjectFilePage(PageModel, template="projects/project_file.html"):
    """:param rows: None before a file was compared"""

    place: ProjectRef | None
    address: str
    may_apply: bool
    content: str = ""
    prune: bool = False
    update_shared: bool = False
    rows: Sequence[ChangeRow] | None = None
    count: int = 0
    digest: str = ""
    conflicts: bool = False
    applied: bool = False
    invitations: Sequence[Invitation] = ()
    links_base: str = ""
    file_faults: Sequence[FileFault] = ()
    changes: Mapping[str, tuple[Text, str]]


class SentProjectFile(NamedTuple):
    """An uploaded file, or the text of one that was compared."""

    content: str
    prune: bool
    update_shared: bool
    shown: str | None


async def _read_sent(request: Request) -> SentProjectFile:
    async with request.form(max_files=1, max_fields=10, max_part_size=LARGEST + ROOM) as form:
        chosen, typed = form.get("file"), form.get("content")
        content = typed.replace("\r\n", "\n") if isinstance(typed, str) else ""
        if isinstance(chosen, UploadFile) and chosen.filename:
            content = (await chosen.read()).decode("utf-8", "surrogateescape")
        return SentProjectFile(
            content, text(form, "prune") == "1", text(form, "updateShared") == "1", text(form, "shown")
        )


Sent = Annotated[SentProjectFile, Depends(_read_sent)]


@router.get("/file")
async def any_project(page: CurrentPage) -> Response:
    page.caller.require(EVERYTHING, Scope())
    return page.show(_page(page, None))


@router.post("/file")
async def look_or_apply_any(page: CurrentPage, db: Db, sent: Sent) -> Response:
    page.caller.require(EVERYTHING, Scope())
    return await _answer(page, db, None, sent)


@router.get("/{place}/file")
async def show(place: Place, page: CurrentPage, session: ReadSession) -> Response:
    return page.show(_page(page, await _find_managed(page, session, place)))


@router.get("/{place}/file/download")
async def download(place: Place, page: CurrentPage, session: ReadSession) -> Response:
    project = await _find_managed(page, session, place)
    content = await setup.export(page.context, session, code=project.code)
    headers = {"Content-Disposition": 'attachment; filename="project.yaml"', "Cache-Control": "no-store"}
    return Response(content, media_type="application/yaml; charset=utf-8", headers=headers)


@router.post("/{place}/file")
async def look_or_apply(place: Place, page: CurrentPage, db: Db, sent: Sent) -> Response:
    """Compare a file; with the digest of the shown differences, apply it."""
    async with db.reading() as session:
        project = await _find_managed(page, session, place)
    return await _answer(page, db, project, sent)


async def _find_managed(page: PageRequest, session: ReadSession, place: str) -> ProjectRef:
    """
    :raises NotFound: when the caller sees no such project
    :raises Forbidden: when the caller does not manage it
    """
    public_id = id_of(place)
    refs = await page.projects_with(session, None)
    project = next((ref for ref in refs if public_id == ref.public_id or place == ref.code), None)
    if project is None:
        raise NotFound(f"There is no project {place}.")
    if not page.may(setup.MANAGE, project):
        raise Forbidden(f"The permission {setup.MANAGE} is needed here.")
    page.set_project(project.public_id)
    return project


async def _answer(page: PageRequest, db: Db, project: ProjectRef | None, sent: SentProjectFile) -> Response:
    model = _page(page, project, sent)
    try:
        applied = await _reconcile(page, db, project, sent, dry_run=sent.shown is None)
    except setup.ProjectChangedMeanwhile as error:
        applied = await _reconcile(page, db, project, sent, dry_run=True)
        return page.show(_add_differences(replace(model, faults=form_errors(error, page.language)), applied))
    except DomainError as error:
        if not isinstance(error, Invalid | setup.ProjectConflict):
            raise
        faults = form_errors(error, page.language)
        listed = [_fault(fault.pointer, fault.values, fault.text, page.language) for fault in error.fields]
        return page.show(replace(model, faults=replace(faults, fields={}), file_faults=listed))
    return page.show(_add_differences(model, applied))


async def _reconcile(
    page: PageRequest, db: Db, project: ProjectRef | None, sent: SentProjectFile, *, dry_run: bool
) -> setup.AppliedFile:
    """:raises Invalid: also for a file of another project"""
    content = sent.content.encode("utf-8", "surrogateescape")
    page.caller.require(EVERYTHING, Scope())
    parsed = read_file(content)
    if project is not None and parsed.file.project.code != project.code:
        th, en = "ไฟล์นี้เป็นของโครงการ {value}", "This file is of the project {value}."
        fault = parsed.fault(("project", "code"), "differs", th, en, value=parsed.file.project.code)
        raise Invalid("The file is of another project.", fields=[fault])
    return await db.transact(
        setup.apply,
        page.context,
        content=content,
        prune=sent.prune,
        update_shared=sent.update_shared,
        dry_run=dry_run,
        shown=None if dry_run else sent.shown,
    )


def _page(page: PageRequest, project: ProjectRef | None, sent: SentProjectFile | None = None) -> ProjectFilePage:
    values = sent or SentProjectFile("", prune=False, update_shared=False, shown=None)
    return ProjectFilePage(
        place=project,
        address=f"/projects/{project.public_id}/file" if project else "/projects/file",
        may_apply=page.caller.may(EVERYTHING, Scope()),
        content=values.content.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        prune=values.prune,
        update_shared=values.update_shared,
        changes=CHANGES,
        links_base=wiring(page.request, IdentityWiring).links.base(page.request),
    )


def _add_differences(model: ProjectFilePage, applied: setup.AppliedFile) -> ProjectFilePage:
    return replace(
        model,
        rows=[_row(difference) for difference in applied.differences[:MOST_ROWS]],
        count=len(applied.differences),
        digest=applied.digest,
        conflicts=any(difference.what is ChangeType.CONFLICT for difference in applied.differences),
        applied=applied.applied,
        invitations=applied.invitations,
    )


def _row(difference: Difference) -> ChangeRow:
    after = None if difference.what is ChangeType.KEEP else difference.after
    return ChangeRow(
        difference.what.value, _parts(difference.path), _values_text(difference.before), _values_text(after)
    )


def _parts(path: Sequence[str]) -> list[tuple[Text, str]]:
    parts: list[tuple[Text, str]] = []
    rest = list(path)
    while rest:
        kind = rest.pop(0)
        is_seat = kind == "members" and bool(parts)
        code = rest.pop(0) if rest and kind not in {"project", "calendar"} else ""
        parts.append((_TEAM_MEMBER if is_seat else SECTIONS[kind], code))
    return parts


def _values_text(values: Mapping[str, object] | None) -> str:
    return ", ".join(f"{name}: {_value_text(value)}" for name, value in (values or {}).items())


def _value_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return "–" if value is None else str(value)


def _fault(pointer: str, values: Mapping[str, object], words: Text, language: str) -> FileFault:
    message = words.say(language, values)
    return FileFault(
        values.get("line", "–"), pointer.strip("/").replace("/", " › "), message.partition(": ")[2] or message
    )
