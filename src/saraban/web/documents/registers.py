"""The registers as pages show them: search, filters, rows that go on; the address always says what is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as core
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.errors import NotFound
from saraban.kit.http import ReadSession
from saraban.kit.pagination import Page
from saraban.kit.schema import Day
from saraban.kit.text import control_character
from saraban.web.shell.document_kinds import KINDS, WebKind
from saraban.web.shell.forms import id_of
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute
from saraban.workflow.language.definition import CANCELLED

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25
SOON = timedelta(days=7)
SORTS: Final = frozenset({"number", "status", "due", "created"})  # the columns that can be sorted by
_FIRST: Final = "-created"
_DAY: Final = TypeAdapter[date](Day)


@dataclass(frozen=True, slots=True)
class DocumentRegister:
    """A register with what pages say of it, and the kind of its documents, which the verbs of `documents.core` take."""

    web: WebKind
    kind: core.AnyKind


DOCUMENT_REGISTERS: Final = {
    path: DocumentRegister(KINDS[path], kind)
    for path, kind in (
        ("correspondences", CORRESPONDENCE),
        ("rfas", rfas.RFA),
        ("transmittals", transmittals.TRANSMITTAL),
        ("circulations", circulations.CIRCULATION),
    )
}


def register_at(path: str) -> DocumentRegister:
    """
    :raises NotFound: when there is no such register
    """
    found = DOCUMENT_REGISTERS.get(path)
    if found is None:
        raise NotFound(f"There is no register {path}.")
    return found


@dataclass(frozen=True, slots=True)
class DocumentSummaryRow:
    """A document as a row of a register."""

    public_id: UUID
    url: str
    number: str
    subject: str
    sender: str
    receivers: tuple[str, ...]
    state: str
    state_label: Any
    priority: str
    due_date: date | None
    is_overdue: bool
    created_at: datetime
    type_code: str
    outcome: str | None = None


class RegisterFilters(BaseModel):
    """What the address bar says; unknown values count as not given, because links live longer than lists."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    q: str = Field("", max_length=200)
    state: str = Field("", max_length=50)
    type: str = Field("", max_length=50)
    project: str = Field("", max_length=40)
    mine: str = Field("", max_length=5)
    pending: str = Field("", max_length=5)
    due: str = Field("", max_length=10)
    since: str = Field("", alias="from", max_length=40)
    until: str = Field("", max_length=40)
    sort: str = Field("", max_length=10)

    def search(
        self, ctx: RequestContext, web: WebKind, project: UUID | None, *, cursor: str | None
    ) -> core.RegisterQuery:
        today = local_date(ctx.now, ctx.zone)
        soon = self.due == "soon"
        since, until = _day(self.since), _day(self.until)
        if since is not None and until is not None:
            since, until = min(since, until), max(since, until)
        return core.RegisterQuery(
            text=self.text or None,
            status=self.state if self.state in web.states else None,
            type=self.type if self.type in web.types else None,
            project=id_of(self.project) or project,
            mine=self.mine == "1",
            pending_with_me=self.pending == "1",
            overdue=self.due == "overdue",
            due_from=today if soon else None,
            due_until=today + SOON if soon else None,
            since=since,
            until=until,
            sort=self.order,
            cursor=cursor,
            limit=ROWS,
        )

    @property
    def text(self) -> str:
        return "" if control_character(self.q) is not None else self.q.strip()

    @property
    def order(self) -> Any:  # one of those that a register knows
        return self.sort if self.sort.removeprefix("-") in SORTS else _FIRST

    @property
    def is_narrowed(self) -> bool:
        return bool(self._address(sort=""))

    @property
    def query(self) -> str:
        """The filters as an address, without what was left open."""
        return self._address()

    def sorted_by(self, name: str) -> str:
        """Return the same address in the order of a column; in the other direction where it is in that order."""
        turned = {name: f"-{name}", f"-{name}": name}
        wanted = turned.get(self.order, f"-{name}" if name == "created" else name)
        return self._address(sort="" if wanted == _FIRST else wanted)

    def direction(self, name: str) -> str | None:
        """Return how a column is sorted, in the words of `aria-sort`."""
        return {name: "ascending", f"-{name}": "descending"}.get(self.order)

    def _address(self, **other: str) -> str:
        said = self.model_dump(by_alias=True) | {"q": self.text} | other
        return urlencode({name: value for name, value in said.items() if value})


def _day(typed: str) -> date | None:
    """Return a day that was typed in either era, None for what is none."""
    try:
        return _DAY.validate_python(typed, context={"typed": True}) if typed else None
    except ValidationError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPage(PageModel):
    template: ClassVar[str] = "documents/register.html"
    fragments: ClassVar[tuple[str, ...]] = ("documents/parts/register_rows.html", "documents/parts/register_list.html")

    kind: WebKind
    lines: Sequence[DocumentSummaryRow]
    next_cursor: str | None
    asked: RegisterFilters


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocumentsFragment(PageModel):
    template: ClassVar[str] = "documents/parts/found.html"

    found: Sequence[DocumentSummaryRow]
    text: str


RegisterPlace = Annotated[str | None, Query(max_length=1_100)]
CurrentFilters = Annotated[RegisterFilters, Query()]


async def show(
    page: CurrentPage, session: ReadSession, asked: CurrentFilters, cursor: RegisterPlace = None
) -> Response:
    """The register that the address names."""
    register = register_at(page.request.url.path.strip("/"))
    web = register.web
    page.caller.require_somewhere("document.view")
    search = asked.search(page.context, web, page.project, cursor=cursor)
    found = await rows(page.context, session, register, search)
    response = page.show_list(
        RegisterPage(kind=web, lines=found.items, next_cursor=found.next_cursor, asked=asked), cursor
    )
    if page.is_fragment and not cursor:
        response.headers["HX-Push-Url"] = web.url + (f"?{asked.query}" if asked.query else "")
    return response


for _path in DOCUMENT_REGISTERS:
    router.add_api_route(f"/{_path}", show, methods=["GET"], name=f"register-{_path}")


async def rows(
    ctx: RequestContext, session: AsyncSession, register: DocumentRegister, search: core.RegisterQuery
) -> Page[DocumentSummaryRow]:
    page = await core.listing(ctx, session, register.kind, search=search)
    return Page([_row(register.web, item) for item in page.items], page.next_cursor)


def _row(web: WebKind, found: Any) -> DocumentSummaryRow:
    item, state = found.data, state_of(found)
    recipients = getattr(item, "recipients", ())
    return DocumentSummaryRow(
        public_id=item.public_id,
        url=f"{web.url}/{item.public_id}",
        number=item.document_number,
        subject=item.subject,
        sender=item.originator.organization_code,
        receivers=tuple(one.organization_code for one in recipients if one.recipient_type == "TO"),
        state=state,
        state_label=None if state == CANCELLED.name else found.workflow.state_label,
        priority=item.priority,
        due_date=item.due_date,
        is_overdue=item.is_overdue,
        created_at=item.created_at,
        type_code=item.document_type,
        outcome=found.workflow.outcome if found.workflow else None,
    )


def state_of(found: Any) -> str:
    """Say the code of the state that a page shows: a cancelled document has no other one."""
    if found.data.cancelled_at is not None or found.workflow is None:
        return CANCELLED.name
    return str(found.workflow.current_state)


async def documents_to_pick(
    ctx: RequestContext, session: AsyncSession, *, text: str, limit: int = 8
) -> list[DocumentSummaryRow]:
    """Return documents of the general registers whose number or subject contains `text`, for a picker."""
    found: list[DocumentSummaryRow] = []
    for register in DOCUMENT_REGISTERS.values():
        if not register.web.is_sheet:
            page = await rows(ctx, session, register, core.RegisterQuery(text=text, limit=limit))
            found.extend(page.items)
    return found[: limit * 2]


@router.get("/find")
async def find(page: CurrentPage, session: ReadSession, find: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Documents to choose from while a form is filled in."""
    text = "" if control_character(find) is not None else find.strip()
    found = await documents_to_pick(page.context, session, text=text) if text else []
    return page.show(FoundDocumentsFragment(found=found, text=text))
