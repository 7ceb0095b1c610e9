"""
Run the examples of a definition, which show that a condition can be met.

Missing facts are ordinary ones, and the actor meets `require` without being a Super Admin.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from functools import lru_cache
from typing import Final
from uuid import UUID

from saraban.identity.domain.context import Caller, Grant, Scope
from saraban.kit.errors import DomainError, FieldProblem, Text
from saraban.kit.json import Json, JsonObject, as_list, as_object, as_text
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import ConditionNotMet, Facts, Step
from saraban.workflow.language import schema
from saraban.workflow.language.definition import Definition, Transition, TransitionExample
from saraban.workflow.language.registers import ASSIGNING, KINDS, TYPES, of_a_document, reserved
from saraban.workflow.language.schema import ContextSchema
from saraban.workflow.language.subject import SubjectFacts

_ACTOR, _SOMEBODY_ELSE = 1, 2
_ONLY_ORGANIZATION: Final = frozenset({1})  # the one organization there is
_SOMEBODY: Final = UUID("00000000-0000-4000-8000-000000000001")
_USUAL: Final[JsonObject] = {
    "number": "1",
    "title": "1",
    "priority": "MEDIUM",
    "projectPublicId": str(_SOMEBODY),
    "projectCode": "1",
    "originatorCode": "1",
}
NOT_HELD: Final = Text(
    "เงื่อนไขของการดำเนินการไม่เป็นจริงกับตัวอย่างนี้", "The condition of the action does not hold with this example."
)
NOT_STATED: Final = Text(
    "ก่อนถึงสถานะนี้ไม่มีการดำเนินการใดระบุ “{name}” ได้", "No action on a way to this state can have stated “{name}”."
)
NEVER_SENT: Final = Text("ผู้ใช้ส่งค่าชื่อ “{name}” ไม่ได้", "No client may send a value of the name “{name}”.")
PAYLOAD_ALONE: Final = Text("context มีเฉพาะ payload", "There is nothing but `payload` in a context.")


def problems(
    definition: Definition,
    example: TransitionExample,
    *,
    stated: Collection[str] | None,
    kind: str | None = None,
    type_code: str | None = None,
) -> tuple[FieldProblem, ...]:
    """
    Return why the engine refuses an example.
    :param stated: values that earlier steps can have stated; None for any
    """
    document, misfits = document_of(as_object(example.facts.get("document")), kind, type_code)
    context = as_object(example.facts.get("context"))
    faults = [*misfits, *_impossible_values(example, stated)]
    if definition.context_schema is not None:
        faults += _relocate("/facts/context", definition.context_schema.problems(dict(context)))
    if faults:
        return tuple(faults)
    try:
        play(definition, example, document)
    except ConditionNotMet:
        return (FieldProblem("", "example_refused", NOT_HELD),)
    except DomainError as refusal:
        return tuple(_relocate("/facts", refusal.fields)) or (
            FieldProblem("", "example_refused", _refusal_text(refusal.words)),
        )
    return ()


def play(definition: Definition, example: TransitionExample, document: JsonObject) -> Step:
    """:raises DomainError: like `engine.advance`"""
    step = definition.states[example.state].on[example.action]
    return decisions.advance(definition, example.state, example.action, _facts(step, example.facts, document))


def _refusal_text(reason: Text) -> Text:
    return Text(f"ดำเนินการตามตัวอย่างนี้ไม่ได้: {reason.th}", f"The engine refuses this example: {reason.en}")


def _impossible_values(example: TransitionExample, stated: Collection[str] | None) -> Iterable[FieldProblem]:
    """Report values that no client can send, or that no earlier step can state."""
    context = as_object(example.facts.get("context"))
    before = context.get("payload", {})
    if context.keys() - {"payload"} or not isinstance(before, Mapping):
        yield FieldProblem("/facts/context", "unknown_name", PAYLOAD_ALONE)
        return
    for at, names in (("/facts/context/payload", before), ("/facts/payload", as_object(example.facts.get("payload")))):
        for name in names:
            if reserved(name):
                yield FieldProblem(at, "unknown_name", NEVER_SENT, {"name": name[:100]})
    for name in before if stated is not None else ():
        if name not in (stated or ()):
            yield FieldProblem("/facts/context/payload", "unknown_name", NOT_STATED, {"name": name[:100]})


def document_of(
    facts: JsonObject, kind: str | None, type_code: str | None
) -> tuple[dict[str, Json], list[FieldProblem]]:
    if kind is not None:
        names = as_object(of_a_document(kind, type_code)["properties"]).keys() - {"kind", "documentType"}
        return _complete_document({name: value for name, value in facts.items() if name in names}, kind, type_code), []
    kinds = [kind for kind in KINDS if kind == facts.get("kind")] or KINDS
    tried = [
        (complete, _schema(candidate).problems(complete))
        for candidate in kinds
        for complete in [_complete_document(facts, candidate, None)]
    ]
    document, faults = next((result for result in tried if not result[1]), tried[0])
    return document, _relocate("/facts/document", faults)


def _complete_document(facts: JsonObject, kind: str, type_code: str | None) -> dict[str, Json]:
    type_facts = {"kind": kind, "documentType": type_code or TYPES[kind][0]}
    return {**_USUAL, **({"openRoutings": 0} if kind in ASSIGNING else {}), **type_facts, **facts}


@lru_cache(maxsize=len(KINDS))
def _schema(kind: str) -> ContextSchema:
    return schema.read(of_a_document(kind))


def _relocate(at: str, faults: Iterable[FieldProblem]) -> list[FieldProblem]:
    return [FieldProblem(at + fault.pointer, fault.code, fault.text, fault.values) for fault in faults]


def _facts(step: Transition, facts: JsonObject, document: JsonObject) -> Facts:
    actor, code = as_object(facts.get("actor")), as_text(facts.get("responseCode"))
    assigned = document["kind"] in ASSIGNING and actor.get("isAssignee", "assignee" in step.require.party)
    subject = SubjectFacts(
        entity_id="",
        scope=Scope(_ONLY_ORGANIZATION),
        originator_organization_id=_ACTOR,
        recipient_organization_ids=_ONLY_ORGANIZATION,
        parties=dict.fromkeys(step.require.organization_roles, _ONLY_ORGANIZATION),
        submitter_user_id=_ACTOR if actor.get("isSubmitter") else _SOMEBODY_ELSE,
        assignee_user_ids=_ONLY_ORGANIZATION if assigned else frozenset(),
        kind=str(document["kind"]),
        public_id=_SOMEBODY,
        number=str(document["number"]),
        title=str(document["title"]),
        due_date=date.fromisoformat(str(document["dueDate"])) if document.get("dueDate") else None,
        priority=str(document["priority"]),
        context=dict(document),
    )
    response = step.responses.get(code or "")
    needs_comment = step.comment_required or (response is not None and response.comment_required)
    return Facts(
        caller=_caller(step, actor),
        subject=subject,
        comment=as_text(facts.get("comment", "." if needs_comment else None)),
        payload=as_object(facts.get("payload")),
        context=as_object(facts.get("context")),
        with_files=step.attachments_required,
        response_code=code,
    )


def _caller(step: Transition, actor: JsonObject) -> Caller:
    roles = as_list(actor.get("roles")) or sorted(step.require.roles)[:1] or ["somebody"]
    public_id = UUID(str(actor["publicId"])) if "publicId" in actor else step.require.user or _SOMEBODY
    return Caller(
        user_id=_ACTOR,
        public_id=public_id,
        username="",
        display_name="",
        organization_id=_ACTOR,
        organization_ids=_ONLY_ORGANIZATION,
        grants=tuple(Grant(str(name), step.require.permissions) for name in roles),
    )
