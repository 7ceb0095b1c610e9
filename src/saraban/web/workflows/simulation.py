"""Pages to test a version: simulate steps, or replay finished documents. Nothing is saved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.domain.context import Scope
from saraban.identity.service.roles import role_texts
from saraban.kit.dates import read_date
from saraban.kit.errors import DomainError, FieldProblem, Invalid, Text, invalid
from saraban.kit.http import ReadSession
from saraban.kit.schema import Payload, Schema
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import KINDS
from saraban.web.shell.form_state import EMPTY_FORM, FormState, FormValues, error_messages
from saraban.web.shell.forms import CurrentForm, SentForm, has_own_page, number_or_text, read_json, text
from saraban.web.shell.labels import PRIORITIES
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.web.workflows.definitions import MANAGE, Code, Version
from saraban.workflow import service as workflow
from saraban.workflow.administration.domain import definition_text
from saraban.workflow.administration.schemas import ReplayIn, SimulatedActionIn
from saraban.workflow.administration.service import versions
from saraban.workflow.engine import step_data
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.schema import payload_fields
from saraban.workflow.runtime.dependencies import RegisteredSubjects

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/workflows/{code}/v{version}")

MOST: Final = 25
_FIELDS = ("what", "party", "organization", "role", "writer", "rights", "comment", "payload", "files")
# Asked even if no condition reads them.
ALWAYS: Final = ("priority", "dueDate")
NAMES: Final[dict[str, Text]] = {
    "priority": Text("ความเร่งด่วนของเอกสาร", "Priority of the document"),
    "dueDate": Text("กำหนดตอบ", "Due date"),
    "kind": Text("ทะเบียน", "Register"),
    "documentType": Text("รหัสประเภทเอกสาร", "Document type code"),
    "number": Text("เลขที่เอกสาร", "Document number"),
    "title": Text("เรื่อง", "Subject"),
    "projectCode": Text("รหัสโครงการ", "Project code"),
    "originatorCode": Text("รหัสองค์กรผู้ส่ง", "Originator code"),
    "revision": Text("ฉบับที่ (Rev.)", "Rev."),
    "discipline": Text("รหัสสาขางาน", "Discipline code"),
    "openRoutings": Text("จำนวนคำตอบที่ยังขาด", "Answers still missing"),
}
CHOICES: Final[dict[str, dict[str, Text]]] = {
    "priority": {code: name for code, (name, _) in PRIORITIES.items()},
    "kind": {kind.name: kind.plural for kind in KINDS.values()},
}
NO_OBJECT: Final = Text("ต้องเป็นออบเจกต์ เช่น {example}", "This must be an object, such as {example}.")
AT_LINE: Final = Text("บรรทัดที่ {line} ({place}): ", "Line {line} ({place}): ")
_EXAMPLES: Final = {"document": '{"discipline": "STR"}', "context": '{"payload": {"amount": 5}}'}


@dataclass(frozen=True, slots=True)
class SimulationChoice:
    """:param value: action, response code and branch, separated by `|`"""

    value: str
    label: str


class SimulationPage(PageModel, template="workflows/simulation.html"):
    definition: Definition
    number: int
    rows: Sequence[Mapping[str, str]]
    facts: Mapping[str, str]
    asked: Sequence[tuple[str, Text, Mapping[str, Text] | None]]
    told: Sequence[Any]
    choices: Sequence[tuple[str, Sequence[SimulationChoice]]]
    takes: Mapping[str, Sequence[str]]
    names: Mapping[str, str]
    roles: Sequence[tuple[str, Text]]
    organizations: Mapping[str, Text]


class ReplayPage(PageModel, template="workflows/replay.html"):
    definition: Definition
    number: int
    limit: int | str
    found: workflow.ReplayReport | None
    before: int


@router.get("/rehearsal")
async def rehearsal(code: Code, version: Version, page: CurrentPage, session: ReadSession) -> Response:
    page.caller.require(MANAGE, Scope())
    definition = await _definition(session, code, version)
    return await _show(page, session, definition, version, [_first(definition)], typed_facts(EMPTY_FORM))


@router.post("/rehearsal")
async def play(code: Code, version: Version, form: CurrentForm) -> Response:
    """Show the result of each step; a refused step keeps the state."""
    page = form.page
    page.caller.require(MANAGE, Scope())
    async with form.db.reading() as session:
        definition = await _definition(session, code, version)
        rows, facts = list(_rows(form.values)), typed_facts(form.values)
        try:
            simulated = simulated_facts(form, definition, facts)
            tries = [_simulation_step(form, definition, row, index) for index, row in enumerate(rows)]
            played = workflow.simulate(definition, tries, document=simulated.document, context=simulated.context)
        except DomainError as error:
            if has_own_page(error):
                raise
            return await _show(page, session, definition, version, rows, facts, error=error)
        steps = [(row, result, _refusal(result, page.language)) for row, result in zip(rows, played, strict=True)]
        return await _show(page, session, definition, version, rows, facts, steps)


async def _definition(session: AsyncSession, code: str, version: int) -> Definition:
    return await versions.version(session, code=code, version=version)


def _rows(form: FormValues) -> Iterator[dict[str, str]]:
    for index in range(MOST):
        row = {name: text(form, f"{name}-{index}") or "" for name in _FIELDS}
        if row["what"]:
            yield row


def _first(definition: Definition) -> dict[str, str]:
    actions = list(definition.states[definition.initial].on)
    return dict.fromkeys(_FIELDS, "") | {
        "what": f"{actions[0]}||" if actions else "",
        "party": "originator",
        "organization": PartyRole.CONTRACTOR,
        "writer": "1",
    }


def _simulation_step(
    form: SentForm, definition: Definition, row: Mapping[str, str], index: int
) -> workflow.SimulationStep:
    action, response, branch = (*row["what"].split("|"), "", "", "")[:3]
    seat = _seat(definition, branch)
    actor = {
        "roles": [role for role in (row["role"], seat.get("role")) if role],
        "permissions": [] if row["rights"] == "none" else sorted(permissions_of(definition)),
        "party": [row["party"]] if row["party"] else [],
        "organizationRoles": [row["organization"]] if row["organization"] else [],
        "isSubmitter": row["writer"] == "1",
        "isAssignee": row["party"] == "recipient",
        "userPublicId": seat.get("user"),
        "teams": [seat["team"]] if "team" in seat else [],
        "disciplines": [seat["discipline"]] if "discipline" in seat else [],
    }
    order = {
        "actor": actor,
        "action": action,
        "comment": row["comment"] or None,
        "payload": _payload(row["payload"], index),
        "withFiles": row["files"] == "1",
        "responseCode": response or None,
        "branch": branch or None,
    }
    return form.order(SimulatedActionIn, order).simulation_step()


def _payload(typed: str, index: int) -> Any:
    if not typed:
        return {}
    value, fault = read_json(typed, f"/payload-{index}")
    if fault is not None:
        th, en = "ขั้นที่ {step}: ไม่ใช่ JSON", "Step {step}: not valid JSON."
        raise invalid(fault.pointer, fault.code, th, en, step=index + 1)
    if not isinstance(value, dict):
        th, en = "ขั้นที่ {step}: ต้องเป็นออบเจกต์ เช่น {example}", "Step {step}: this must be an object, such as {example}."
        raise invalid(f"/payload-{index}", "type", th, en, step=index + 1, example='{"amount": 5}')
    return value


def permissions_of(definition: Definition) -> frozenset[str]:
    steps = [step for state in definition.states.values() for step in state.on.values()]
    return frozenset(name for step in steps for name in step.require.permissions)


def _seat(definition: Definition, branch: str) -> dict[str, str]:
    """Assume that the actor belongs to the branch: a simulation tests the path, not the members."""
    reviews = [state.review for state in definition.states.values() if state.review and branch in state.review.branches]
    return {review.branches[branch].assignee.kind: review.branches[branch].assignee.name for review in reviews[:1]}


def _refusal(result: workflow.SimulationResult, language: str) -> str:
    return " ".join(error_messages(result.refusal, language)) if result.refusal else ""


async def _show(
    page: PageRequest,
    session: AsyncSession,
    definition: Definition,
    version: int,
    rows: Sequence[Mapping[str, str]],
    facts: Mapping[str, str],
    steps: Sequence[Any] = (),
    error: DomainError | None = None,
) -> Response:
    """:param told: typed steps, each with its result and refusal"""
    blank = dict.fromkeys(_FIELDS, "")
    choices = simulation_choices(definition, page.language)
    texts = await role_texts(session)
    return page.show(
        SimulationPage(
            definition=definition,
            number=version,
            rows=[*rows, blank] if steps and len(rows) < MOST else list(rows) or [blank],
            facts=facts,
            asked=[(name, NAMES[name], CHOICES.get(name)) for name in facts_read(definition)],
            told=steps,
            choices=choices,
            takes=values_taken(definition, page.language),
            names={choice.value: choice.label for _, choices_of_state in choices for choice in choices_of_state},
            roles=[(name, texts[name]) for name in await versions.role_names(session)],
            organizations=labels.PARTY_ROLES,
            state=FormState(error=error),
        )
    )


def values_taken(definition: Definition, language: str) -> dict[str, list[str]]:
    """Return the values of each choice as `name (label)`."""
    schema = definition.context_schema
    fields = payload_fields(schema.raw) if schema is not None else ()
    label_by_name = {
        value_field.name: f"{value_field.name} ({value_field.label.say(language)})"
        if value_field.label
        else value_field.name
        for value_field in fields
    }
    steps = [step for state in definition.states.values() for step in state.on.values()]
    return {
        f"{step.action}|{code or ''}|": [label_by_name[name] for name in label_by_name if step.takes(name)]
        for step in steps
        for code, _ in step.outcomes
    }


def simulation_choices(definition: Definition, language: str) -> list[tuple[str, list[SimulationChoice]]]:
    choices = []
    for state in definition.states.values():
        state_choices = [
            SimulationChoice(f"{step.action}|{code or ''}|", " ".join(filter(None, (step.label.say(language), code))))
            for step in state.on.values()
            for code, _ in step.outcomes
        ]
        for branch in state.review.branches.values() if state.review else ():
            state_choices += [
                SimulationChoice(
                    f"{code}||{branch.name}", f"{branch.label.say(language)}: {answer.label.say(language)}"
                )
                for code, answer in (state.review.answers.items() if state.review else ())
            ]
        if state_choices:
            choices.append((state.label.say(language), state_choices))
    return choices


def _replayed_before(form: SentForm) -> int:
    """Return the number of documents replayed before, for display only."""
    count = number_or_text(form.text("before") or "")
    return count if isinstance(count, int) else 0


@router.get("/replay")
async def replaying(code: Code, version: Version, page: CurrentPage, session: ReadSession) -> Response:
    page.caller.require(MANAGE, Scope())
    definition = await _definition(session, code, version)
    return page.show(ReplayPage(definition=definition, number=version, limit=200, found=None, before=0))


@router.post("/replay")
async def replay(code: Code, version: Version, form: CurrentForm, subjects: RegisteredSubjects) -> Response:
    """Show which finished documents would take another path, from which step, and why."""
    page, typed, after = form.page, form.text("limit") or "", form.text("after")
    page.caller.require(MANAGE, Scope())
    report, fault = None, None
    async with form.db.reading() as session:
        definition = await _definition(session, code, version)
        try:
            order = form.order(ReplayIn, {"limit": number_or_text(typed), "after": after})
            report = await workflow.replay(
                session, subjects=subjects, code=code, version=version, limit=order.limit, after=order.after
            )
        except DomainError as error:
            if has_own_page(error):
                raise
            fault = error
    return page.show(
        ReplayPage(
            definition=definition,
            number=version,
            limit=typed,
            found=report,
            before=_replayed_before(form) if after else 0,
            state=FormState(error=fault),
        )
    )


class SimulatedFacts(Schema):
    """Values of `document.<name>` and `context.<name>` in conditions."""

    document: Payload
    context: Payload


def facts_read(definition: Definition) -> list[str]:
    """Name the facts that conditions read, and the usual ones."""
    paths = {
        tuple(path.split(".")[:2])
        for state in definition.states.values()
        for step in state.on.values()
        for path in (step.condition.logic.variables if step.condition else ())
    }
    everything = ("*",) in paths or ("document",) in paths
    return [name for name in NAMES if everything or name in ALWAYS or ("document", name) in paths]


def typed_facts(form: FormValues) -> dict[str, str]:
    return {name: text(form, name) or "" for name in (*NAMES, "document", "context")}


def simulated_facts(form: SentForm, definition: Definition, typed: Mapping[str, str]) -> SimulatedFacts:
    """
    Read the typed facts; a field overrides the JSON text.
    :raises Invalid: for a text that is no JSON object, or that the schema refuses, with its line
    """
    document, context = _object(typed, "document"), _object(typed, "context")
    typed_values = dict(_typed_values(definition, typed))
    facts = form.order(SimulatedFacts, {"document": document | typed_values, "context": context})
    try:
        step_data.check_context(definition, facts.context)
    except Invalid as fault:
        raise Invalid(
            fault.detail, fields=[_add_line(problem, typed["context"] or "{}") for problem in fault.fields]
        ) from fault
    return facts


def _typed_values(definition: Definition, typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name in facts_read(definition):
        value = typed.get(name, "")
        if name == "dueDate" and value:
            yield name, read_date(value, "/dueDate").isoformat()
        elif value:
            yield name, number_or_text(value) if name == "openRoutings" else value


def _object(typed: Mapping[str, str], name: str) -> dict[str, Any]:
    if not typed.get(name):
        return {}
    value, fault = read_json(typed[name], f"/{name}")
    if fault is None and not isinstance(value, dict):
        fault = FieldProblem(f"/{name}", "type", NO_OBJECT, {"example": _EXAMPLES[name]})
    if fault is not None:
        raise Invalid(f"{fault.pointer}: this is no JSON object.", fields=[fault])
    result: dict[str, Any] = value
    return result


def _add_line(fault: FieldProblem, typed: str) -> FieldProblem:
    """Add the line and the part to a fault of the context."""
    inside = fault.pointer.removeprefix("/context")
    words = Text(AT_LINE.th + fault.text.th, AT_LINE.en + fault.text.en)
    values = {
        **fault.values,
        "line": definition_text.read(typed).line(inside),
        "place": inside.removeprefix("/") or "{ }",
    }
    return FieldProblem("/context", fault.code, words, values)
