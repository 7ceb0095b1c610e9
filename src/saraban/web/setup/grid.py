"""
Editable lists of master data. Each row is a form.

With htmx single rows are replaced; without it the whole page is, with the same row open.
"""

import dataclasses
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Depends, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.documents.core import service as documents
from saraban.kit.dates import parse_date
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text
from saraban.kit.http import ReadSession
from saraban.kit.text import control_character
from saraban.projects import service as projects
from saraban.setup.domain.master_kinds import ORGANIZATION, FieldForm, MasterField, MasterKind
from saraban.setup.domain.master_rows import EndingSeries, MasterRow, PrintedCodeChanges, neighbour, put_before
from saraban.setup.schemas.master_data import new_row, row_change
from saraban.setup.service import master_data as setup
from saraban.setup.service import member_rows
from saraban.web.setup.places import APART, CurrentGrid, GridPlace
from saraban.web.shell.form_state import NO_ERRORS, FormErrors, FormState, form_errors
from saraban.web.shell.forms import CurrentForm, SentForm
from saraban.web.shell.labels import COLORS, PARTY_ROLES, RFA_ITEMS
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import ListRoute

router = APIRouter(include_in_schema=False, route_class=ListRoute)

FAMILIES: Final = (
    "/organizations",
    "/master/{kind}",
    "/projects/{project}/setup/{kind}",
    "/projects/{project}/setup/contracts/{contract}/{kind}",
)
ROWS: Final = 50
OFFERED: Final = 20
MOST: Final = 5000  # rows of a list that is put in order
MASTER: Final = Text("ข้อมูลหลัก", "Master data")
SET_UP: Final = Text("ตั้งค่าโครงการ", "set-up")

Query200 = Annotated[str, Query(max_length=200)]
RowWork = Callable[[SentForm, AsyncSession, GridPlace], Awaitable[MasterRow]]


_CHOICES: Final[Mapping[str, Mapping[str, Text]]] = {"role": PARTY_ROLES, "color": COLORS, "items": RFA_ITEMS}


@dataclass(frozen=True, slots=True)
class GridColumn:
    """
    :param choices: for a field with fixed values
    :param is_fixed: set for a new row only
    :param offers: address of suggestions
    """

    field: MasterField
    choices: Mapping[str, Text] = dataclasses.field(default_factory=dict)
    is_fixed: bool = False
    offers: str = ""


@dataclass(frozen=True, slots=True)
class GridHead:
    """
    :param about: purpose of the list
    :param crumbs: addresses and names of the parent pages
    :param closes: False where rows are removed instead
    """

    kind: MasterKind
    url: str
    title: Text
    about: Text
    crumbs: Sequence[tuple[str, Text]]
    columns: Sequence[GridColumn]
    may_add: bool
    may_reorder: bool = False
    closes: bool = True


@dataclass(frozen=True, slots=True)
class GridLine:
    """
    :param ref: names the row in forms; empty for a new one
    :param was: values when the row was opened
    :param theirs: new values of fields that another person changed since
    :param series: series that start again if this is saved
    :param pending: documents that wait for the organization; closing it needs a confirmation
    :param done: the last action on the row
    """

    ref: str = ""
    etag: str = ""
    values: Mapping[str, str] = dataclasses.field(default_factory=dict)
    is_active: bool = True
    is_open: bool = True
    may_change: bool = True
    may_close: bool = False
    faults: FormErrors = NO_ERRORS
    was: str = "{}"
    theirs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    is_stale: bool = False
    series: Sequence[EndingSeries] = ()
    pending: int = 0
    done: str = ""
    has_cursor: bool = False

    @property
    def id(self) -> str:
        return line_id(self.ref)

    @property
    def others(self) -> list[str]:
        """Messages that belong to no cell."""
        return [
            message for name, messages in self.faults.fields.items() if name not in self.values for message in messages
        ]

    @property
    def code(self) -> str:
        return next(iter(self.values.values()), "")


@dataclass(frozen=True, slots=True)
class GridView:
    """
    :param row: the open row
    :param done: the last action, on the row of `code`
    """

    q: str = ""
    closed: bool = False
    cursor: str | None = None
    row: str = ""
    done: str = ""
    code: str = ""

    @property
    def query(self) -> str:
        return urlencode(({"q": self.q} if self.q else {}) | ({"closed": "1"} if self.closed else {}))


class GridPage(
    PageModel, template="setup/grid.html", fragments=("setup/parts/grid_rows.html", "setup/parts/grid_list.html")
):
    head: GridHead
    view: GridView
    lines: Sequence[GridLine]
    new_line: GridLine | None
    next_cursor: str | None


class GridLines(PageModel, template="setup/parts/grid_lines.html"):
    """Rows for htmx: a requested one, or a saved one with the next new row."""

    head: GridHead
    lines: Sequence[GridLine]


class OfferedOrganizations(PageModel, template="setup/parts/offered.html"):
    rows: Sequence[MasterRow]


async def grid_view(
    q: Query200 = "",
    closed: bool = False,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
    row: Query200 = "",
    done: Annotated[str, Query(max_length=20)] = "",
    code: Query200 = "",
) -> GridView:
    text = "" if control_character(q) is not None else q.strip()
    return GridView(text, closed, cursor, row, done, code)


CurrentView = Annotated[GridView, Depends(grid_view)]


async def listing(place: CurrentGrid, view: CurrentView, page: CurrentPage, session: ReadSession) -> Response:
    opened = await _open(place, page, session, view.row) if view.row else None
    return await _show(place, view, page, session, opened)


async def line(
    place: CurrentGrid, page: CurrentPage, session: ReadSession, row: Query200 = "", shut: bool = False
) -> Response:
    if not page.is_fragment:
        return RedirectResponse(place.url + (f"?{urlencode({'row': row})}" if row and not shut else ""), 303)
    head = await grid_head(place, page, session)
    if not row:
        return page.show(GridLines(head=head, lines=[new_line(head, has_cursor=True)]))
    grid_line = line_of(place, page, await _read(place, page, session, row), is_open=not shut)
    return page.show(GridLines(head=head, lines=[replace(grid_line, has_cursor=True)]))


async def save(place: CurrentGrid, form: CurrentForm) -> Response:
    return await _do_with_row(place, form, _save, "saved" if form.text("ref") else "added")


async def close(place: CurrentGrid, form: CurrentForm) -> Response:
    """Close a row or remove a member; an organization with pending documents needs a confirmation."""
    if not form.text("confirm"):
        async with form.db.reading() as session:
            if confirmation := await _confirm_pending(place, form, session):
                return confirmation
    return await _do_with_row(place, form, _close, "removed" if place.has_members else "closed")


async def reopen(place: CurrentGrid, form: CurrentForm) -> Response:
    return await _do_with_row(place, form, _reopen, "reopened")


async def move(place: CurrentGrid, form: CurrentForm) -> Response:
    """Move a row before or after another, or one place up or down."""
    if not place.kind.ordered:
        raise NotFound("This list stands in the order of its codes.")
    await form.db.transact(_move, form, place)
    return Response(status_code=204) if form.page.is_fragment else RedirectResponse(place.url, 303)


async def offers(
    place: CurrentGrid,
    page: CurrentPage,
    session: ReadSession,
    organizationCode: Query200 = "",  # noqa: N803
) -> Response:
    if not place.has_members:
        raise NotFound("Nothing is offered for this list.")
    page.caller.require(place.kind.create, place.scope)
    text = organizationCode.strip()
    organizations = await setup.list_rows(page.context, session, ORGANIZATION, search=text or None, limit=OFFERED)
    return page.show(OfferedOrganizations(rows=organizations.items))


for _base in FAMILIES:
    router.add_api_route(_base, listing, methods=["GET"])
    router.add_api_route(f"{_base}/line", line, methods=["GET"])
    if _base.startswith("/projects"):
        router.add_api_route(f"{_base}/offers", offers, methods=["GET"])
    for _action in (save, close, reopen, move):
        router.add_api_route(f"{_base}/{_action.__name__}", _action, methods=["POST"])


async def grid_head(place: GridPlace, page: PageRequest, session: AsyncSession) -> GridHead:
    kind = place.kind
    columns = []
    for master_field in kind.fields:
        choices = _CHOICES.get(master_field.name, {})
        if master_field.reference is not None and not master_field.choices:
            types = await projects.correspondence_types(session)
            choices = {
                document_type.code: Text(
                    f"{document_type.code} – {document_type.name_th}", f"{document_type.code} – {document_type.name_en}"
                )
                for document_type in types
            }
        address = f"{place.url}/offers" if place.has_members and master_field is kind.code else ""
        columns.append(GridColumn(master_field, choices, is_fixed=master_field.name in place.fixed, offers=address))
    return GridHead(
        kind=kind,
        url=place.url,
        title=kind.plural,
        about=place.about(page.caller),
        crumbs=crumbs_of(place),
        columns=columns,
        may_add=place.may_add(page.caller),
        may_reorder=place.may_reorder(page.caller),
        closes=not place.has_members,
    )


def crumbs_of(place: GridPlace) -> list[tuple[str, Text]]:
    if place.project is None:
        return [("/master", MASTER)] if place.url.startswith("/master") else []
    above = f"/projects/{place.project.public_id}/setup"
    crumbs = [(above, Text(f"{SET_UP.th} {place.project.code}", f"{place.project.code} {SET_UP.en}"))]
    if place.contract is not None:
        crumbs.append((f"{above}#{place.contract.public_id}", Text(place.contract.code, place.contract.code)))
    return crumbs


def as_kept(field: MasterField, typed: str) -> str:
    """Return a typed date in ISO format."""
    day = parse_date(typed) if field.form is FieldForm.DAY else None
    return day.isoformat() if day else typed


def new_line(head: GridHead, *, has_cursor: bool = False) -> GridLine:
    return GridLine(
        values={column.field.name: column.field.default or "" for column in head.columns}, has_cursor=has_cursor
    )


def line_of(place: GridPlace, page: PageRequest, row: MasterRow, *, is_open: bool = False) -> GridLine:
    values = {name: "" if value is None else str(value) for name, value in row.values.items()}
    return GridLine(
        ref=ref_of(row),
        etag=row.etag,
        values=values,
        is_active=row.is_active,
        is_open=is_open,
        may_change=place.may(page.caller, place.kind.change, row),
        may_close=row.code not in row.kind.written and place.may(page.caller, place.kind.close, row),
        was=orjson.dumps(values).decode(),
    )


def ref_of(row: MasterRow) -> str:
    if row.public_id is not None:
        return str(row.public_id)
    return f"{row.code}{APART}{row.within}" if row.within else row.code


def line_id(ref: str) -> str:
    return hashlib.blake2b(ref.encode(), digest_size=6).hexdigest() if ref else "new"


async def _read(place: GridPlace, page: PageRequest, session: AsyncSession, ref: str) -> MasterRow:
    read = member_rows.read if place.has_members else setup.read
    return await read(page.context, session, place.kind, place.address(ref))


async def _open(place: GridPlace, page: PageRequest, session: AsyncSession, ref: str) -> GridLine:
    opened = line_of(place, page, await _read(place, page, session, ref))
    return replace(opened, is_open=opened.may_change, has_cursor=True)


async def _show(
    place: GridPlace, view: GridView, page: PageRequest, session: AsyncSession, opened: GridLine | None = None
) -> Response:
    list_rows = member_rows.list_rows if place.has_members else setup.list_rows
    rows_page = await list_rows(
        page.context,
        session,
        place.kind,
        owner=place.owner,
        search=view.q or None,
        include_closed=view.closed,
        cursor=view.cursor,
        limit=ROWS,
    )
    head = await grid_head(place, page, session)
    lines = [line_of(place, page, row) for row in rows_page.items]
    is_empty = not (lines or view.q or page.is_fragment)
    new = new_line(head, has_cursor=is_empty or view.done == "added") if head.may_add else None
    if opened is not None and not opened.ref:
        new = opened
    elif opened is not None:
        merged = [opened if item.ref == opened.ref else item for item in lines]
        lines = merged if opened in merged else [opened, *lines]
    faults = opened.faults if opened else NO_ERRORS
    model = GridPage(head=head, view=view, lines=lines, new_line=new, next_cursor=rows_page.next_cursor, faults=faults)
    return page.show_list(model, view.cursor, address=place.url + (f"?{view.query}" if view.query else ""))


async def _do_with_row(place: GridPlace, form: SentForm, work: RowWork, done: str) -> Response:
    """Do something with a row; if it is refused, show the row with its values and errors."""
    async with form.show_on_refusal(_show_refusal, place, form):
        row = await form.db.transact(work, form, place)
    if not form.page.is_fragment:
        parameters = urlencode({"done": done, "code": row.code})
        return RedirectResponse(
            f"{place.url}?{parameters}#line-{'new' if done == 'added' else line_id(ref_of(row))}", 303
        )
    async with form.db.reading() as session:
        head = await grid_head(place, form.page, session)
    saved = replace(line_of(place, form.page, row), done=done, has_cursor=done != "added")
    if done == "removed":
        saved = replace(saved, may_change=False, may_close=False)
    return form.page.show(
        GridLines(head=head, lines=[saved, new_line(head, has_cursor=True)] if done == "added" else [saved])
    )


async def _confirm_pending(place: GridPlace, form: SentForm, session: AsyncSession) -> Response | None:
    """Show how many documents wait for the organization; None if there is nothing to confirm."""
    if not place.has_members and place.kind is not ORGANIZATION:
        return None
    row = await _read(place, form.page, session, form.text("ref") or "")
    pending = await documents.pending_documents(
        session, organization_code=row.code, project_id=place.scope.project, contract_id=place.scope.contract
    )
    if not pending:
        return None
    opened = replace(line_of(place, form.page, row, is_open=True), pending=pending, has_cursor=True)
    if not form.page.is_fragment:
        return await _show(place, GridView(), form.page, session, opened)
    return form.page.show(GridLines(head=await grid_head(place, form.page, session), lines=[opened]))


async def _save(form: SentForm, session: AsyncSession, place: GridPlace) -> MasterRow:
    kind, ref = place.kind, form.text("ref")
    typed = {master_field.name: form.text(master_field.name) for master_field in kind.fields}
    # An empty required field is refused; an empty optional one gets its default.
    values = {
        master_field.name: typed[master_field.name] or ("" if master_field.required else None)
        for master_field in kind.fields
    }
    new_values = {name: value for name, value in values.items() if value is not None or not kind.field(name).default}
    if ref is None:
        new = form.order(new_row(kind), new_values)
        create = member_rows.create if place.has_members else setup.create
        return await create(form.context, session, kind, owner=place.owner, new=new)
    changes = {name: value for name, value in new_values.items() if name not in place.fixed}
    row_changes = form.order(row_change(kind), changes | ({"confirmSeries": True} if form.text("confirm") else {}))
    change = member_rows.change if place.has_members else setup.change
    return await change(form.context, session, kind, place.address(ref), wanted=row_changes, if_match=form.text("etag"))


async def _close(form: SentForm, session: AsyncSession, place: GridPlace) -> MasterRow:
    return await _set_active(form, session, place, active=False)


async def _reopen(form: SentForm, session: AsyncSession, place: GridPlace) -> MasterRow:
    return await _set_active(form, session, place, active=True)


async def _set_active(form: SentForm, session: AsyncSession, place: GridPlace, *, active: bool) -> MasterRow:
    address = place.address(form.text("ref") or "")
    work = member_rows.set_active if place.has_members else setup.set_active
    return await work(form.context, session, place.kind, address, active=active, if_match=form.text("etag"))


async def _move(form: SentForm, session: AsyncSession, place: GridPlace) -> None:
    rows_page = await setup.list_rows(
        form.context, session, place.kind, owner=place.owner, include_closed=True, limit=MOST
    )
    refs = [ref_of(row) for row in rows_page.items]
    active_refs = [ref_of(row) for row in rows_page.items if row.is_active]
    before, after = form.text("before"), form.text("after")
    if form.text("step"):
        before = neighbour(active_refs, form.text("ref") or "", up=form.text("step") == "up")
    elif after in refs:
        before = next(iter(refs[refs.index(after) + 1 :]), None)
    order = put_before(refs, form.text("ref") or "", before)
    code_by_ref = {ref_of(row): f"{row.code} {row.within}".strip() for row in rows_page.items}
    await setup.reorder(form.context, session, place.kind, owner=place.owner, codes=[code_by_ref[ref] for ref in order])


async def _show_refusal(
    page: PageRequest, session: AsyncSession, state: FormState, place: GridPlace, form: SentForm
) -> Response:
    ref = form.text("ref") or ""
    typed = {
        master_field.name: as_kept(master_field, form.text(master_field.name) or "")
        for master_field in place.kind.fields
    }
    opened = GridLine(values=typed, faults=form_errors(state.error, page.language), has_cursor=True)
    if ref:
        stored = line_of(place, page, await _read(place, page, session, ref), is_open=True)
        typed |= {name: stored.values[name] for name in place.fixed if name}
        opened = _merge_typed(stored, opened, form, state.error)
    if not page.is_fragment:
        return await _show(place, GridView(), page, session, opened)
    head = await grid_head(place, page, session)
    return page.show(GridLines(head=head, lines=[opened], faults=opened.faults))


def _merge_typed(stored: GridLine, typed: GridLine, form: SentForm, error: DomainError | None) -> GridLine:
    """Keep typed values, and show the stored ones that another person changed meanwhile."""
    stale = error is not None and error.kind is ErrorKind.STALE
    was = _opened_values(form.text("was"))
    series = error.series if isinstance(error, PrintedCodeChanges) else ()
    # Fields that the reader did not change get their stored values.
    merged = {name: stored.values[name] if value == was.get(name) else value for name, value in typed.values.items()}
    theirs = {name: stored.values[name] for name, value in merged.items() if stale and value != stored.values[name]}
    return replace(
        stored,
        values=merged if stale else typed.values,
        etag=stored.etag if stale else form.text("etag") or "",
        was=stored.was if stale else form.text("was") or "{}",
        faults=replace(typed.faults, fields={}) if series else typed.faults,
        theirs=theirs,
        is_stale=stale,
        series=series,
        has_cursor=True,
    )


def _opened_values(sent: str | None) -> Mapping[str, object]:
    try:
        values = orjson.loads(sent or "{}")
    except orjson.JSONDecodeError:
        return {}
    return values if isinstance(values, dict) else {}
