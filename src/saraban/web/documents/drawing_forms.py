"""Pages to register up to a hundred drawings with their files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.documents.core.dependencies import Documents
from saraban.documents.core.schemas import CodeAnswer
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import CREATE, KINDS, DrawingKind
from saraban.documents.drawing.schemas import NewDrawing
from saraban.identity import service as identity
from saraban.kit.errors import DomainError, FieldProblem, Invalid, NotFound, Text, required
from saraban.kit.http import ReadSession
from saraban.kit.text import fold
from saraban.numbering.issue.dependencies import limit_issuing
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary, ContractSummary, PartySummary, ProjectDetail
from saraban.projects.service import ProjectRef
from saraban.web.documents.rfa_items import FIELDS, numbers_typed, unknown_number
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.forms import CurrentForm, SentForm, Shown, uploaded
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/drawings")

MOST_LINES: Final = 100
MOST_DERIVED: Final = 100
_MOST_NAMED: Final = 10
_WITH_REVISION: Final = re.compile(r"(.+?)(?<!\s)\s++Rev\.?\s*(\S+)", re.IGNORECASE)
_SHARED_FIELDS: Final = (
    *("contractPublicId", "originatorOrganizationPublicId", "disciplineCode", "categoryCode", "subCategoryCode"),
    *("volumeCode", "scale", "sheetSize", "zone"),
)
_REVISION_FIELDS: Final = ("date", "statusCode")
_TOO_MANY: Final = Text("ลงทะเบียนได้ครั้งละไม่เกิน {most} แบบ", "At most {most} drawings can be registered at once.")
_ONE_NUMBER: Final = Text(
    "ออกเลขที่จากรูปแบบได้ครั้งละ 1 แบบ ระบุชื่อแบบเพียงบรรทัดเดียว",
    "A number is issued for one drawing at a time: give its title on one line.",
)
_TOO_MANY_DERIVED: Final = Text("ระบุได้ไม่เกิน {most} แบบ", "At most {most} drawings can be named here.")
_STRAY: Final = Text(
    "ชื่อไฟล์ “{file}” ไม่ขึ้นต้นด้วยเลขที่แบบในรายการ", "The name of “{file}” begins with no drawing number of the list."
)


@dataclass(frozen=True, slots=True)
class DrawingLine:
    """A typed or pasted line."""

    line: int
    number: str
    title: str = ""
    title_en: str = ""
    label: str = ""


def typed_lines(typed: str) -> Iterator[DrawingLine]:
    """Columns are separated by tabs; without tabs the number ends at the first blank."""
    for place, line in enumerate(typed.splitlines(), 1):
        if line.strip():
            cells = line.split("\t") if "\t" in line else line.split(maxsplit=1)
            yield DrawingLine(place, *(cell.strip() for cell in cells[:4]))


def files_by_number(numbers: Sequence[str], files: Sequence[tuple[str, str]]) -> tuple[dict[str, list[str]], list[str]]:
    """
    Assign each file to the longest drawing number that its name begins with.
    :param files: public ids and names
    :returns: public ids by number, and the names without a drawing
    """
    ids_by_number: dict[str, list[str]] = {}
    strays = []
    for public_id, name in files:
        stem = fold(PurePath(name).stem).casefold()
        matching_numbers = [
            number for number in numbers if re.match(re.escape(_file_name_form(number)) + r"(?![0-9a-zก-๙])", stem)
        ]
        if matching_numbers:
            ids_by_number.setdefault(max(matching_numbers, key=len), []).append(public_id)
        else:
            strays.append(name)
    return ids_by_number, strays


def _file_name_form(number: str) -> str:
    return re.sub(r"[/\\:]", "-", fold(number)).casefold()


class NewDrawingsPage(PageModel, template="documents/drawing_form.html"):
    register: DrawingKind
    place: ProjectRef
    own: Sequence[PartySummary]
    originator: str
    contract: str
    contracts: Sequence[ContractSummary]
    disciplines: Sequence[CodeSummary]
    lists: Mapping[str, Sequence[CodeAnswer]]
    files: Sequence[tuple[str, str]]
    file_kinds: str


def register_named(name: str) -> DrawingKind:
    """:raises NotFound:"""
    if name not in KINDS:
        raise NotFound(f"There is no register of {name} drawings.")
    return KINDS[name]


@router.get("/{name}/new")
async def new(page: CurrentPage, session: ReadSession, state: Shown, name: str) -> Response:
    page.caller.require_somewhere(CREATE)
    kind = register_named(name)
    place = (await page.choose_project(session, None)).place
    detail, organizations = await own_organizations(page, session, place.public_id)
    form = state.form
    originator, contract = _chosen(form, organizations, detail.contracts)
    model = NewDrawingsPage(
        register=kind,
        place=place,
        own=organizations or detail.organizations,
        originator=originator,
        contract=contract,
        contracts=detail.contracts,
        disciplines=await projects.disciplines(page.context, session, project_public_id=place.public_id),
        lists=await drawings.classifications(page.context, session, kind, project_public_id=place.public_id),
        state=state,
        files=uploaded(form),
        file_kinds=detail.file_kinds or "",
    )
    return page.show(model)


async def own_organizations(
    page: PageRequest, session: AsyncSession, project: UUID
) -> tuple[ProjectDetail, list[PartySummary]]:
    """Return a project, and the caller's organizations in it, the main one first."""
    detail = await projects.read_project(page.context, session, public_id=project)
    profile = await identity.profile(page.context, session)
    organizations = (
        [profile.organization, *profile.organizations] if profile.organization else list(profile.organizations)
    )
    members = {organization.public_id: organization for organization in detail.organizations}
    own_by_id = {
        organization.public_id: members[organization.public_id]
        for organization in organizations
        if organization.public_id in members
    }
    return detail, list(own_by_id.values())


def _chosen(
    form: FormValues, own_parties: Sequence[PartySummary], contracts: Sequence[ContractSummary]
) -> tuple[str, str]:
    """Return originator and contract: chosen, or the caller's own and its only contract."""
    if "lines" in form:
        return str(form.get("originatorOrganizationPublicId", "")), str(form.get("contractPublicId", ""))
    if not own_parties:
        return "", ""
    first = own_parties[0].public_id
    of_party = [contract for contract in contracts if any(party.public_id == first for party in contract.organizations)]
    return str(first), str(of_party[0].public_id) if len(of_party) == 1 else ""


@router.post("/{name}/new")
async def create(name: str, form: CurrentForm, services: Documents) -> Response:
    """Register all lines or none."""
    kind = register_named(name)
    async with form.show_on_refusal(new, name):
        if not form.text("issuesNumber"):
            return RedirectResponse(await form.db.transact(_register, form, kind), 303)
        async with form.db.reading() as session:
            order = _single(form, await derived_from(kind, form, session))
        await limit_issuing(form.page.request)
        receipt = await form.once(drawings.create, services, kind, order)
    return RedirectResponse(f"/drawings/{kind.path}/{receipt.resource_id}", 303)


def _single(form: SentForm, derived: Sequence[str]) -> NewDrawing:
    """
    Return the one drawing that gets the format's next number.
    :raises Invalid: for several lines
    """
    lines = [item for item in (form.text("lines") or "").splitlines() if item.strip()]
    if len(lines) > 1:
        raise Invalid(fields=[FieldProblem("/lines", "too_long", _ONE_NUMBER)])
    title, title_en, label = [*(cell.strip() for cell in "".join(lines).split("\t")), "", ""][:3]
    line = DrawingLine(1, "", title, title_en, label)
    files = [public_id for public_id, _ in uploaded(form.values)]
    payload = {
        "projectPublicId": str(form.project),
        **form.filled(*_SHARED_FIELDS),
        **_line_payload(form, line, files, derived),
    }
    try:
        return form.order(NewDrawing, payload)
    except Invalid as error:
        error.fields = tuple(
            replace(item, pointer="/lines") if item.pointer in {"/title", "/titleEn", "/revision/label"} else item
            for item in error.fields
        )
        raise


async def _register(form: SentForm, session: AsyncSession, kind: DrawingKind) -> str:
    """
    :returns: the address of the register
    :raises Invalid: naming the lines and files
    """
    lines = list(typed_lines(form.text("lines") or ""))
    if not lines:
        raise required("/lines")
    if len(lines) > MOST_LINES:
        raise Invalid(fields=[FieldProblem("/lines", "too_long", _TOO_MANY, {"most": MOST_LINES})])
    numbers = [item.number for item in lines]
    attached, strays = files_by_number(numbers, uploaded(form.values))
    if strays:
        raise Invalid(
            fields=[FieldProblem("/attachmentPublicIds", "unknown", _STRAY, {"file": item}) for item in strays]
        )
    shared = {"projectPublicId": str(form.project), **form.filled(*_SHARED_FIELDS)}
    derived = await derived_from(kind, form, session)
    for line in lines:
        try:
            order = form.order(NewDrawing, shared | _line_payload(form, line, attached.get(line.number, []), derived))
            await drawings.register(form.context, session, kind, order)
        except DomainError as error:
            error.fields = tuple(_at_line(item, line) for item in error.fields)
            raise
    return f"/drawings/{kind.path}?{urlencode({'registered': chr(10).join(numbers)})}"


async def derived_from(kind: DrawingKind, form: SentForm, session: AsyncSession) -> list[str]:
    """
    Return the ids of the source drawings: contract drawings, or shop drawing revisions.

    Without a revision in the line it is the current one.
    :raises Invalid: naming the lines with unknown numbers
    """
    if kind.derives_from is None:
        return []
    other = KINDS[kind.derives_from]
    lines = numbers_typed(form.values, other)
    if len(lines) > MOST_DERIVED:
        problem = FieldProblem(f"/{FIELDS[other]}", "too_long", _TOO_MANY_DERIVED, {"most": MOST_DERIVED})
        raise Invalid(fields=[problem])
    typed = {item: _parse_revision(other, item) for item in lines}
    revisions = await drawings.revisions_by_number(
        form.context, session, other, project=form.project, wanted=list(typed.values())
    )
    if faults := [unknown_number(other, item, line) for item, line in lines.items() if typed[item] not in revisions]:
        raise Invalid("A number is in no register.", fields=faults[:_MOST_NAMED])
    chosen = [revisions[item].head if other.whole else revisions[item].revision for item in typed.values()]
    return list(dict.fromkeys(str(item.public_id) for item in chosen))


def _parse_revision(kind: DrawingKind, typed: str) -> drawings.NumberedRevision:
    match = None if kind.whole else _WITH_REVISION.fullmatch(typed)
    return drawings.NumberedRevision(*match.groups()) if match else drawings.NumberedRevision(typed)


def _line_payload(form: SentForm, line: DrawingLine, files: Sequence[str], derived: Sequence[str]) -> dict[str, object]:
    """Return the fields of one line; an empty title becomes the number."""
    values = {"drawingNumber": line.number, "title": line.title or line.number, "titleEn": line.title_en}
    revision = {
        "label": line.label,
        **form.filled(*_REVISION_FIELDS),
        "attachmentPublicIds": list(files),
        "derivedFromPublicIds": list(derived),
    }
    return {
        **{name: value for name, value in values.items() if value},
        "revision": {name: value for name, value in revision.items() if value},
    }


def _at_line(problem: FieldProblem, line: DrawingLine) -> FieldProblem:
    """Add the line to the message, unless the field is shared by all lines."""
    name = problem.pointer.removeprefix("/").partition("/")[0]
    inner = problem.pointer.removeprefix("/revision/")
    if name in _SHARED_FIELDS or inner in _REVISION_FIELDS:
        return replace(problem, pointer=f"/{inner}") if name == "revision" else problem
    words = Text(f"บรรทัดที่ {{line}}: {problem.text.th}", f"Line {{line}}: {problem.text.en}")
    return FieldProblem("/lines", problem.code, words, {**problem.values, "line": line.line})
