"""The workflow editor, which checks the text while it is typed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import Scope
from saraban.kit.errors import DomainError
from saraban.kit.http import Idempotent, ReadSession
from saraban.kit.json import JsonObject
from saraban.kit.operation import Operation
from saraban.web.shell.form_state import FormState, error_messages
from saraban.web.shell.forms import CurrentForm, SentForm, new_key, text
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.web.workflows.definitions import MANAGE, ActionSummary, action_summaries
from saraban.workflow import service as workflow
from saraban.workflow.administration.dependencies import Definitions
from saraban.workflow.administration.domain import diagram
from saraban.workflow.administration.domain.definition_text import difference, formatted
from saraban.workflow.administration.schemas import DefinitionIn, DefinitionText
from saraban.workflow.administration.service import versions
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/workflows/new")

_OPERATION: Final = "PAGE /workflows/new"
# The text of an empty editor.
STARTER: Final[JsonObject] = {
    "workflow": "NEW_WORKFLOW",
    "description": {
        "th": "สองขั้นตอน: ส่งเอกสาร แล้วผู้รับรับทราบ",
        "en": "Two steps: a document is sent, and acknowledged by a recipient.",
    },
    "states": [
        {
            "name": "draft",
            "label": {"th": "ฉบับร่าง", "en": "Draft"},
            "initial": True,
            "editable": True,
            "on": {
                "submit": {
                    "to": "sent",
                    "label": {"th": "ส่งเอกสาร", "en": "Submit"},
                    "require": {"party": ["originator"], "permissions": ["correspondence.submit"]},
                }
            },
        },
        {
            "name": "sent",
            "label": {"th": "ส่งแล้ว", "en": "Sent"},
            "on": {
                "acknowledge": {
                    "to": "acknowledged",
                    "label": {"th": "รับทราบ", "en": "Acknowledge"},
                    "require": {"party": ["recipient"], "permissions": ["workflow.action_review"]},
                }
            },
        },
        {"name": "acknowledged", "label": {"th": "รับทราบแล้ว", "en": "Acknowledged"}, "terminal": True},
    ],
}


@dataclass(frozen=True, slots=True)
class DefinitionCheck:
    """
    :param faults: sentence, line or None, and JSON pointer
    :param raw: the parsed text; None if it is no JSON
    """

    faults: tuple[tuple[str, int | None, str], ...] = ()
    raw: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class PublishPreview:
    """:param newest: the previous version; `changes` counts the differences"""

    code: str
    version: int
    newest: int | None
    changes: int | None
    definition: Definition
    ways: Mapping[str, Sequence[ActionSummary]]
    drawing: diagram.Diagram | None


class CheckResultFragment(PageModel, template="workflows/parts/check_result.html"):
    verdict: DefinitionCheck
    empty: bool
    ready: PublishPreview | None


class EditorPage(PageModel, template="workflows/editor.html"):
    text: str
    code: str = ""
    number: int | None = None
    activates: bool = False
    key: str = field(default_factory=new_key)
    verdict: DefinitionCheck | None = None


@router.get("")
async def new(
    page: CurrentPage,
    session: ReadSession,
    code: Annotated[str, Query(max_length=50)] = "",
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    page.caller.require(MANAGE, Scope())
    raw = STARTER
    if code and version is not None:
        row = await workflow.find_definition(session, code=code, version=version)
        raw = {name: value for name, value in row.dsl.items() if name != "version"}
    return page.show(EditorPage(text=formatted(raw), code=code, number=version))


@router.post("/check")
async def check(form: CurrentForm) -> Response:
    """Show every fault with its line, or the effect of publishing. A fault is no error."""
    page, typed = form.page, form.text("text")
    page.caller.require(MANAGE, Scope())
    if typed is None:
        return page.show(CheckResultFragment(verdict=DefinitionCheck(), empty=True, ready=None))
    async with form.db.reading() as session:
        try:
            verdict = await _check_text(form, session, typed)
        except DomainError as error:
            verdict = DefinitionCheck(tuple((message, None, "") for message in error_messages(error, page.language)))
        ready = None if verdict.faults else await _publish_preview(page, session, verdict.raw or {})
    return page.show(CheckResultFragment(verdict=verdict, empty=False, ready=ready))


async def _check_text(form: SentForm, session: AsyncSession, typed: str) -> DefinitionCheck:
    order, language = form.order(DefinitionText, {"text": typed}), form.page.language
    assert order.text is not None
    faults = tuple(
        (fault.text.say(language, fault.values), line, fault.pointer.removeprefix("/text"))
        for fault, line in await workflow.validate_text(session, text=order.text)
    )
    return DefinitionCheck(faults, None if faults else json.loads(order.text))


async def _publish_preview(page: PageRequest, session: AsyncSession, raw: JsonObject) -> PublishPreview:
    definition = dsl.read(raw)  # checked before
    matching = [item for item in await versions.workflows(session) if item.code == definition.code]
    newest = matching[0].versions[0] if matching else None
    changes = None
    if newest is not None:
        row = await workflow.find_definition(session, code=newest.code, version=newest.version)
        changes = len(difference(row.dsl, raw))
    return PublishPreview(
        code=definition.code,
        version=newest.version + 1 if newest else 1,
        newest=newest.version if newest else None,
        changes=changes,
        definition=definition,
        ways={name: list(action_summaries(definition, name)) for name in definition.states},
        drawing=diagram.diagram(definition, language=page.language),
    )


@router.post("")
async def publish(form: CurrentForm, idempotency: Idempotent, definitions: Definitions) -> Response:
    """Save the text as the next version, once per form."""
    page, typed, activates = form.page, form.text("text") or "", form.text("activate") == "1"
    page.caller.require(MANAGE, Scope())
    ctx = form.keyed_context
    async with form.show_on_refusal(_show_again):
        async with form.db.reading() as session:
            verdict = await _check_text(form, session, typed)
        if verdict.faults:
            return page.show(EditorPage(text=typed, activates=activates, verdict=verdict), status=422)
        order = form.order(DefinitionIn, {"dsl": verdict.raw, "activate": activates})
        receipt = await idempotency.run(
            Operation.of(ctx, _OPERATION, order), versions.publish, ctx, raw=order.dsl, activate=order.activate
        )
    async with form.db.reading() as session:
        published = await versions.read(session, public_id=receipt.resource_id)
    await definitions.delete(code=published.code, version=published.version)
    return RedirectResponse(f"/workflows/{published.code}/v{published.version}?done=published", status_code=303)


async def _show_again(page: PageRequest, _session: AsyncSession, state: FormState) -> Response:
    typed, activates = text(state.form, "text") or "", text(state.form, "activate") == "1"
    return page.show(EditorPage(text=typed, activates=activates, state=state))
