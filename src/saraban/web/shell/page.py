"""
Render a page: template, layout and cookies in the reader's language.

English is the source text. `locale/th/LC_MESSAGES/web.po` is read at start, so there is no compiled file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, cast, dataclass_transform
from uuid import UUID
from zoneinfo import ZoneInfo

from babel.messages.pofile import read_po
from fastapi import Depends, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes, pass_context
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import HTMLResponse, Response

import saraban
from saraban.attachments.dependencies import FileWiring
from saraban.documents.circulation.domain import RoutingStatus
from saraban.identity.dependencies import Context as SignedIn
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.imports.domain import ImportState
from saraban.kit.dates import date_in_figures, date_in_words, local_date, parse_date
from saraban.kit.errors import DomainError, NotFound, Text
from saraban.kit.http import Db, Wiring, wiring
from saraban.kit.http import language as chosen_language
from saraban.kit.ids import trace_id
from saraban.notifications import service as notifications
from saraban.numbering.series.domain.states import NumberSource, NumberState, OverflowRule, RangeKind
from saraban.projects import service as projects
from saraban.projects.domain.calendar import DayKind, DaySource
from saraban.projects.service import ProjectRef
from saraban.web.shell import administration, assets, labels
from saraban.web.shell.document_kinds import BY_NAME, KINDS, WebKind
from saraban.web.shell.form_state import NEW_FORM, NO_ERRORS, FormErrors, FormState, form_errors
from saraban.webhooks.domain import OffReason
from saraban.workflow.language.definition import CANCELLED
from saraban.workflow.language.review import BranchStatus
from saraban.workflow.runtime.domain.delegation import DelegationStatus

TEMPLATES: Final = Path(__file__).parents[1] / "templates"
LOCALE: Final = Path(__file__).parents[1] / "locale"
PROJECT_COOKIE: Final = "project"
LANGUAGE_COOKIE: Final = "lang"
Language = Literal["th", "en"]
STATES: Final = (
    *(BranchStatus, DayKind, DaySource, DelegationStatus, ImportState, NumberSource, NumberState, OffReason),
    *(OverflowRule, RangeKind, RoutingStatus),
)
PRODUCT: Final = {"th": "สารบรรณ", "en": "Saraban"}


@dataclass(frozen=True)
class MessageCatalogue:
    """Translations by source text. A missing one stays English; a test finds it."""

    words: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    def gettext(self, text: str) -> str:
        translation = self.words.get(text, text)
        return translation if isinstance(translation, str) else translation[0]

    def ngettext(self, one: str, many: str, count: int) -> str:
        translation = self.words.get(one)
        if translation is None:
            return one if count == 1 else many
        return translation if isinstance(translation, str) else translation[0]


@cache
def catalogue(language: str) -> MessageCatalogue:
    if language == "en":
        return MessageCatalogue()
    with (LOCALE / language / "LC_MESSAGES" / "web.po").open("rb") as file:
        messages = read_po(file, locale=language)
    return MessageCatalogue(
        {_key(message.id): _value(message.string) for message in messages if message.id and message.string}
    )


def _key(identity: str | tuple[str, ...] | list[str]) -> str:
    return identity if isinstance(identity, str) else identity[0]


def _value(text: str | tuple[str, ...] | list[str]) -> str | tuple[str, ...]:
    return text if isinstance(text, str) else tuple(text)


def language_of(request: Request) -> Language:
    return cast("Language", chosen_language(request))


def day_text(day: date | None, language: str) -> str:
    return "–" if day is None else date_in_words(day, language)


def typed_day(value: str, language: str) -> str:
    """Return a date as the reader would type it, or an invalid text unchanged."""
    day = parse_date(value)
    return value if day is None else date_in_figures(day, language)


def clock_text(moment: datetime, language: str, zone: ZoneInfo) -> str:
    """Format a time of day: 14:05 น., or 14:05."""
    return f"{moment.astimezone(zone):%H:%M}{' น.' if language == 'th' else ''}"


def moment_text(moment: datetime | None, language: str, zone: ZoneInfo) -> str:
    if moment is None:
        return "–"
    return f"{day_text(local_date(moment, zone), language)} {clock_text(moment, language, zone)}"


def size_text(size: int) -> str:
    amount, unit = float(size), "B"
    for bigger in ("KB", "MB", "GB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, bigger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"


class _TranslatedEnvironment(Environment):
    """Translates when it compiles a template, so there is one environment per language."""

    texts = MessageCatalogue()

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return _Translator(self.texts).visit(super()._parse(source, name, filename))  # type: ignore[no-any-return]


class _Translator(NodeTransformer):
    """Replaces a translated text by a constant, except `ngettext`, which needs its number."""

    def __init__(self, texts: MessageCatalogue) -> None:
        self._texts = texts

    def visit_Call(self, call: nodes.Call) -> nodes.Node:  # noqa: N802  so jinja calls it
        self.generic_visit(call)
        asks = isinstance(call.node, nodes.Name) and call.node.name in {"_", "gettext"}
        if not asks or len(call.args) != 1 or not isinstance(call.args[0], nodes.Const):
            return call
        text: nodes.Expr = nodes.MarkSafe(nodes.Const(self._texts.gettext(call.args[0].value)))
        values = [nodes.Pair(nodes.Const(argument.key), argument.value) for argument in call.kwargs]
        return nodes.Mod(text, nodes.Dict(values)).set_lineno(call.lineno)


@cache
def environment(language: str) -> Environment:
    result = _TranslatedEnvironment(
        auto_reload=False,  # avoids a check of the file for each template
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
    )
    result.policies["ext.i18n.trimmed"] = True  # like the extraction of the catalogue: a text may have several lines
    result.policies["json.dumps_kwargs"] = {"default": asdict, "ensure_ascii": False}
    texts = result.texts = catalogue(language)
    result.install_gettext_callables(texts.gettext, texts.ngettext, newstyle=True)  # type: ignore[attr-defined]
    result.filters |= {
        "day": partial(day_text, language=language),
        "typed_day": partial(typed_day, language=language),
        "moment": _moment,
        "moment_day": _moment_day,
        "moment_clock": _moment_clock,
        "size": size_text,
        "say": partial(_say, language),
        "series": partial(labels.series_name, language),
        "named": partial(_name_in_language, language),
        "iso": lambda value: value.isoformat() if value else "",
    }
    result.globals |= {
        "language": language,
        "product": PRODUCT,
        "static": assets.address(),
        "version": saraban.__version__,
        "kinds": KINDS,
        "by_name": BY_NAME,
        "words": labels,
        "CANCELLED": CANCELLED,
    }
    result.globals |= {states.__name__: states for states in STATES}
    return result


@pass_context
def _moment(context: Context, value: Any) -> str:
    return moment_text(value, context["language"], context["zone"])


@pass_context
def _moment_day(context: Context, value: datetime) -> str:
    return day_text(local_date(value, context["zone"]), context["language"])


@pass_context
def _moment_clock(context: Context, value: datetime) -> str:
    return clock_text(value, context["language"], context["zone"])


def _say(language: str, label: Any) -> str:
    text = label.get(language) if isinstance(label, Mapping) else getattr(label, language)
    return str(text or "")


def _name_in_language(language: str, item: object, field: str) -> str:
    """Return the name of an organization, project or contract; the English name is optional."""
    english = getattr(item, f"{field}_en", None) if language == "en" else None
    return str(english or getattr(item, field))


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Model:
    template: ClassVar[str]
    fragments: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, template: str = "", fragments: tuple[str, ...] = ()) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
        cls.template, cls.fragments = template or getattr(cls, "template", ""), fragments or cls.fragments


class PageModel(_Model):
    """
    Fields of one page for its template, with `form`, `done` and `faults` of its state.

    Class arguments: the template, and fragments for htmx that use the same fields: next rows, then the list.
    :param faults: if they are not those of `state.error`
    """

    state: FormState = NEW_FORM
    faults: FormErrors = NO_ERRORS


class NotSetUpPage(PageModel, template="shell/setup.html"):
    """Shown before the first account exists; `is_over`: another request has just created it."""

    is_over: bool = False


def render(
    request: Request,
    model: PageModel,
    template: str | None = None,
    *,
    status: int | None = None,
    shell: Mapping[str, object] = MappingProxyType({}),
) -> HTMLResponse:
    """Render a page; without `shell` nobody needs to be signed in."""
    language, state = language_of(request), model.state
    faults = form_errors(state.error, language) if state.error else model.faults
    shared = {
        "request": request,
        "path": request.url.path,
        "zone": zone_of(request),
        "trace": trace_id(),
        "uploads": wiring(request, FileWiring).uploads,
        "form": state.form,
        "done": state.done,
        **shell,
    }
    values = {field.name: getattr(model, field.name) for field in fields(model)} | {"faults": faults}
    text = environment(language).get_template(template or model.template).render(shared | values)
    headers = {"Cache-Control": "no-store", "Vary": "HX-Request", "Content-Language": language}
    response = HTMLResponse(text, status_code=status or faults.status, headers=headers)
    set_retry_after(response, state.error)
    return response


def set_retry_after(response: Response, error: DomainError | None) -> None:
    if error is not None and error.retry_after is not None:
        response.headers["Retry-After"] = str(max(1, round(error.retry_after)))


def zone_of(request: Request) -> ZoneInfo:
    return wiring(request, Wiring).clock.zone


def remember_project(response: Response, project: str) -> None:
    response.set_cookie(PROJECT_COOKIE, project, max_age=30 * 86400, path="/", httponly=True, samesite="lax")


def remember_language(response: Response, language: str) -> None:
    response.set_cookie(LANGUAGE_COOKIE, language, max_age=365 * 86400, samesite="lax", path="/")


def id_of(typed: str | None) -> UUID | None:
    try:
        return UUID(typed or "")
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ProjectChoice:
    place: ProjectRef
    places: Sequence[ProjectRef]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page request of a signed-in caller."""

    request: Request
    context: RequestContext
    language: Language
    unread: int
    projects: tuple[ProjectRef, ...]

    def show(self, model: PageModel, template: str | None = None, *, status: int | None = None) -> HTMLResponse:
        """Render a page or one of its fragments, and remember its project."""
        response = render(self.request, model, template, status=status, shell=self.shell)
        if self.projects and self.project is not None and self.project != self._chosen:
            remember_project(response, str(self.project))
        return response

    def set_project(self, project: UUID) -> None:
        """Show the page's project in the top bar, and keep it for later pages."""
        if any(ref.public_id == project for ref in self.projects):
            self.request.state.project = project

    def show_list(self, model: PageModel, cursor: str | None, *, address: str = "") -> HTMLResponse:
        """
        Render a list, or for htmx its next rows or the list alone.
        :param address: for the address bar, when htmx gets the list
        """
        rows_template, list_template = (*model.fragments, model.template)[:2]
        response = self.show(model, (rows_template if cursor else list_template) if self.is_fragment else None)
        if address and self.is_fragment and not cursor:
            response.headers["HX-Push-Url"] = address
        return response

    async def choose_project(
        self, session: AsyncSession, wanted: UUID | None, permission: str | None = None
    ) -> ProjectChoice:
        """
        Return the wanted project, the current one, or the first.
        :param permission: limits the projects
        :raises NotFound: when there is none
        """
        places = await self.projects_with(session, permission)
        if not places:
            raise NotFound("There is no project that this page could show you.")
        wanted = wanted or self.project
        place = next((ref for ref in places if ref.public_id == wanted), places[0])
        self.set_project(place.public_id)
        return ProjectChoice(place, places)

    async def projects_with(self, session: AsyncSession, permission: str | None) -> list[ProjectRef]:
        refs = self.projects or await projects.projects_of(self.context, session)
        if permission is None:
            return list(refs)
        scopes = [await projects.own_scope(self.context, session, ref.id) for ref in refs]
        return [ref for ref, scope in zip(refs, scopes, strict=True) if self.caller.may(permission, scope)]

    def may(self, permission: str, place: ProjectRef) -> bool:
        return self.caller.may(permission, Scope(project=place.id))

    @property
    def shell(self) -> dict[str, object]:
        return {
            "caller": self.caller,
            "unread": self.unread,
            "may_create": self.may_create,
            "may_see_numbers": self.caller.may_anywhere("numbering.view_counters"),
            "administration": administration.menu_for(self.caller),
            "may_see_formats": self.caller.may_anywhere("numbering.view_formats"),
            "sees_people": self.caller.may("user.view", Scope()),
            "projects": self.projects,
            "project": self.project,
        }

    @property
    def may_create(self) -> list[WebKind]:
        return [kind for kind in KINDS.values() if self.caller.may_anywhere(kind.create)]

    @property
    def project(self) -> UUID | None:
        """The page's project, else the last chosen, else the first. Fragments use the cookie."""
        page_project: UUID | None = getattr(self.request.state, "project", None)
        if page_project is not None or not self.projects:
            return page_project or self._chosen
        chosen = self._chosen
        return chosen if any(ref.public_id == chosen for ref in self.projects) else self.projects[0].public_id

    @property
    def _chosen(self) -> UUID | None:
        return id_of(self.request.cookies.get(PROJECT_COOKIE))

    @property
    def is_fragment(self) -> bool:
        return "hx-request" in self.request.headers and "hx-boosted" not in self.request.headers

    @property
    def caller(self) -> Caller:
        return self.context.caller


async def page_request(request: Request, ctx: SignedIn, db: Db) -> PageRequest:
    """Load the data of the layout, which fragments lack, and the document type names."""
    unread: int = 0
    refs: tuple[ProjectRef, ...] = ()
    names: Mapping[str, Text] = {}
    async with db.reading() as session:
        if "hx-request" not in request.headers:
            unread = await notifications.unread_count(ctx, session)
            refs = await projects.projects_of(ctx, session)
        if getattr(request.scope.get("route"), "names_document_types", True):
            names = await projects.type_names(session)
    labels.TYPE_NAMES.set(names)
    page = PageRequest(request, ctx, language_of(request), unread, refs)
    project = id_of(request.path_params.get("project"))
    if project is not None:
        page.set_project(project)
    return page


CurrentPage = Annotated[PageRequest, Depends(page_request)]
