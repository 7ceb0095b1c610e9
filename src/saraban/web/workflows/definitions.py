"""Pages of workflows and their versions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.catalogue import permission_words, role_words
from saraban.identity.domain.context import Scope
from saraban.kit.db import Database
from saraban.kit.errors import FieldProblem, Text
from saraban.kit.http import Db, ReadSession
from saraban.web.shell import labels
from saraban.web.shell.forms import Shown
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.web.workflows.workflow_assignment import assignment_label, rfa_types_named
from saraban.workflow import service as workflow
from saraban.workflow.administration.dependencies import Definitions
from saraban.workflow.administration.domain import diagram
from saraban.workflow.administration.domain.definition_text import DefinitionChange, difference, formatted
from saraban.workflow.administration.schemas import AssignedKindOut
from saraban.workflow.administration.service import versions, workflow_assignment
from saraban.workflow.administration.service.workflow_assignment import AssignedKinds
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition, Require, Transition
from saraban.workflow.language.review import FELL, LABELS
from saraban.workflow.language.schema import payload_fields

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/workflows")

VIEW, MANAGE = "workflow.view_definitions", "workflow.manage_definitions"
Code = Annotated[str, Path(max_length=50, pattern="^[A-Z][A-Z0-9_]*$")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]
_LONGEST = 400

PARTIES: Final[dict[str, Text]] = {
    "originator": Text("ผู้ส่ง", "Originator"),
    "recipient": Text("ผู้รับ", "Recipient"),
    "assignee": Text("ผู้รับเวียน", "Assignee"),
}
_NOT_WRITER = Text("ไม่ใช่ผู้จัดทำเอกสาร", "Not the person who created it")
_ONE_PERSON = Text("บุคคลที่ระบุไว้", "One named person")
_ANYBODY = Text("ทุกคนที่เปิดดูเอกสารได้", "Anyone with access to the document")
_CODE = Text("รหัสคำตอบ", "Response code")
_COMMENT = Text("ความเห็น", "Comment")
_FILE = Text("ไฟล์แนบ", "File")
_CONDITION = Text("เงื่อนไขเป็นจริง", "Condition met")
_ANSWERS = Text("คำตอบของผู้พิจารณา", "Answers of the reviewers")


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """
    An action of a state, or the result of a review.
    :param ends: possible next states with their response codes
    :param needs: required input and conditions
    """

    label: Text
    ends: tuple[tuple[str, str], ...]
    who: tuple[Text, ...]
    needs: tuple[Text, ...]


class DefinitionsPage(PageModel, template="workflows/definitions.html"):
    workflows: Sequence[versions.WorkflowVersions]
    starters: Mapping[str, AssignedKinds]
    words_of_starter: Callable[[AssignedKindOut], Text]
    may_manage: bool


class DefinitionVersionPage(PageModel, template="workflows/definition.html"):
    workflow: versions.WorkflowVersions
    line: versions.VersionSummary
    definition: Definition
    text: str
    ways: Mapping[str, Sequence[ActionSummary]]
    drawing: diagram.Diagram | None
    mermaid: str
    before: int | None
    changes: Sequence[tuple[DefinitionChange, str, str]]
    starters: AssignedKinds
    words_of_starter: Callable[[AssignedKindOut], Text]
    under_way: int
    may_manage: bool
    refused: Sequence[FieldProblem]


@router.get("")
async def listing(page: CurrentPage, session: ReadSession) -> Response:
    page.caller.require_somewhere(VIEW)
    workflows = await versions.workflows(session)
    starters = await workflow_assignment.assigned_kinds(page.context, session)
    return page.show(
        DefinitionsPage(
            workflows=workflows,
            starters=starters,
            words_of_starter=await _assignment_labels(page, session, *starters.values()),
            may_manage=page.caller.may(MANAGE, Scope()),
        )
    )


@router.get("/{code}/v{version}")
async def show(
    code: Code,
    version: Version,
    page: CurrentPage,
    session: ReadSession,
    state: Shown,
    against: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    page.caller.require_somewhere(VIEW)
    may_manage = page.caller.may(MANAGE, Scope())
    workflow_versions = await versions.workflow(session, code=code)
    row = await workflow.find_definition(session, code=code, version=version)
    line = next(item for item in workflow_versions.versions if item.version == version)
    older = [item.version for item in workflow_versions.versions if item.version < version]
    before = against if against is not None else next(iter(older), None)
    previous = await workflow.find_definition(session, code=code, version=before) if before else None
    changes = difference(previous.dsl, row.dsl) if previous else []
    definition = dsl.read(row.dsl)
    starters = (await workflow_assignment.assigned_kinds(page.context, session)).get(code, AssignedKinds())
    return page.show(
        DefinitionVersionPage(
            workflow=workflow_versions,
            line=line,
            definition=definition,
            text=formatted(row.dsl),
            ways={name: list(action_summaries(definition, name)) for name in definition.states},
            drawing=diagram.diagram(definition, language=page.language),
            mermaid=diagram.mermaid(definition, language=page.language),
            before=before,
            changes=[(item, abbreviated(item.before), abbreviated(item.after)) for item in changes],
            starters=starters,
            words_of_starter=await _assignment_labels(page, session, starters),
            under_way=await versions.running_on(session, public_id=row.public_id),
            state=state,
            may_manage=may_manage,
            refused=await workflow.refused_today(session, code=code, version=version) if may_manage else (),
        )
    )


@router.post("/{code}/v{version}/activate")
async def activate(code: Code, version: Version, page: CurrentPage, db: Db, definitions: Definitions) -> Response:
    return await _switch(page, db, definitions, code, version, is_active=True)


@router.post("/{code}/v{version}/deactivate")
async def deactivate(code: Code, version: Version, page: CurrentPage, db: Db, definitions: Definitions) -> Response:
    """New documents start on no version; running ones continue."""
    return await _switch(page, db, definitions, code, version, is_active=False)


async def _switch(
    page: PageRequest, db: Database, definitions: Definitions, code: str, version: int, *, is_active: bool
) -> Response:
    page.caller.require(MANAGE, Scope())
    await db.transact(workflow.set_active, page.context, code=code, version=version, is_active=is_active)
    await definitions.delete(code=code)
    done = "activated" if is_active else "deactivated"
    return RedirectResponse(f"/workflows/{code}/v{version}?done={done}", status_code=303)


async def _assignment_labels(
    page: PageRequest, session: AsyncSession, *groups: AssignedKinds
) -> Callable[[AssignedKindOut], Text]:
    """Return a function that labels assignments, with the projects' names of RFA types."""
    type_names = await rfa_types_named(page.context, session, [kind for starters in groups for kind in starters.seen])
    return partial(assignment_label, rfa_types=type_names)


def action_summaries(definition: Definition, state: str) -> Iterator[ActionSummary]:
    state_definition = definition.states[state]
    for step in state_definition.on.values():
        ends = tuple((to, ", ".join(code for code, end in step.outcomes if code and end == to)) for to in step.targets)
        requirements = (*_needs(step), *_values(definition, step))
        yield ActionSummary(step.label, ends, tuple(_who(step.require)) or (_ANYBODY,), requirements)
    if state_definition.review is not None:
        asked = tuple(branch.label for branch in state_definition.review.branches.values())
        for verdict, to in state_definition.review.then.items():
            yield ActionSummary(LABELS[FELL[verdict]], ((to, ""),), asked, (_ANSWERS,))


def _needs(step: Transition) -> Iterator[Text]:
    codes = [code for code, response in step.responses.items() if response.comment_required]
    always = step.comment_required or (bool(codes) and len(codes) == len(step.responses))
    some = ", ".join(codes)
    conditional_words = (
        (_CODE, bool(step.responses) and step.usual is None),
        (_COMMENT, always),
        (Text(f"{_COMMENT.th} เมื่อตอบ {some}", f"{_COMMENT.en} with {some}"), bool(codes) and not always),
        (_FILE, step.attachments_required),
        (_CONDITION, step.condition is not None),
    )
    yield from (words for words, holds in conditional_words if holds)


def _values(definition: Definition, step: Transition) -> Iterator[Text]:
    """Describe the values that the action's `fields` accept."""
    schema = definition.context_schema
    labels = (
        {item.name: item.label for item in payload_fields(schema.raw)} if schema is not None and step.fields else {}
    )
    names = [labels.get(name) or Text(name, name) for name in step.fields or ()]
    if names:
        yield Text(
            f"ระบุได้: {', '.join(item.th for item in names)}", f"May state: {', '.join(item.en for item in names)}"
        )


def _who(require: Require) -> Iterator[Text]:
    for names_by_party, names in ((PARTIES, require.party), (labels.PARTY_ROLES, require.organization_roles)):
        if names:
            yield _either([names_by_party[name] for name in names_by_party if name in names])
    if require.roles:
        role = _either([role_words(name) for name in sorted(require.roles)])
        yield Text(f"บทบาท{role.th}", f"Role {role.en}")
    if require.permissions:
        right = _either([permission_words(name) for name in sorted(require.permissions)])
        yield Text(f"สิทธิ์ “{right.th}”", f"Permission “{right.en}”")
    if require.user is not None:
        yield _ONE_PERSON
    if require.not_submitter:
        yield _NOT_WRITER


def _either(texts: list[Text]) -> Text:
    return Text(" หรือ ".join(text.th for text in texts), " or ".join(text.en for text in texts))


def abbreviated(value: Any) -> str:
    if value is None:
        return ""
    text = formatted(value, room=10**9) if isinstance(value, Mapping | list) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
