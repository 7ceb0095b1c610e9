"""
Facts under which an action can really be taken: made of the values that a condition wants, and tried on the engine itself.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Grant, Scope
from saraban.kit.errors import DomainError
from saraban.workflow.domain import engine
from saraban.workflow.domain.definition import Definition, State, Transition
from saraban.workflow.domain.engine import Facts
from saraban.workflow.domain.schema import sample
from saraban.workflow.domain.subject import SubjectFacts
from saraban.workflow.domain.vocabulary import reserved

_ACTOR, _SOMEBODY_ELSE = 1, 2
_HERE = frozenset({1})  # the one organization there is
SOMEBODY = UUID("00000000-0000-4000-8000-000000000001")
_EXAMPLES = 4


def opened(
    definition: Definition,
    state: State,
    step: Transition,
    code: str | None,
    given: Mapping[str, Any],
    *,
    stated: Collection[str] | None = None,
) -> Facts | None:
    """
    Return facts with the values that are given under which the engine lets the action pass, or None.

    What the schema needs beside those values is added, from its own `examples` where they agree.

    :param stated: the values that can have come with the steps before; None when that can be any
    """
    for context, payload in _ways(definition, step, given):
        if any(reserved(name) for values in (payload, context.get("payload", {})) for name in values):
            continue
        if stated is not None and not context.get("payload", {}).keys() <= set(stated):
            continue
        facts = _facts(step, code, given, context, payload)
        schema = definition.context_schema
        if schema is not None and schema.problems(context):
            continue
        try:
            engine.advance(definition, state.name, step.action, facts)
        except DomainError:
            continue
        return facts
    return None


def _ways(
    definition: Definition, step: Transition, given: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What it remembers and what comes with the action, with ever more beside the values that are given."""
    before = given.get("context")
    before = before if isinstance(before, Mapping) else {}
    known, sent = before.get("payload"), given.get("payload")
    known = known if isinstance(known, Mapping) else {}
    sent = sent if isinstance(sent, Mapping) else {}
    yield _pair(known, sent)
    raw = definition.context_schema.raw if definition.context_schema else {}
    inside, _ = sample.place({**raw, "type": "object"}, ["payload"])
    if not inside or not (known or sent):
        return

    def filled(value: Mapping[str, Any]) -> dict[str, Any]:
        return dict(sample.whole(value, inside, raw)) if value else {}

    yield _pair(filled(known), filled(sent))
    yield _pair(filled({**known, **sent}), sent)
    yield _pair(filled({**sent, **known}), sent)
    taken = {name: value for name, value in filled(sent).items() if step.takes(name)}
    yield _pair({name: value for name, value in filled({**sent, **known}).items() if name not in sent}, taken)
    for one in _examples(inside):
        yield _pair(known and _over(one, known), sent and _over(one, sent))
        yield _pair(_over(_over(one, sent), known), sent)


def _pair(known: Mapping[str, Any], sent: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return ({"payload": dict(known)} if known else {}), dict(sent)


def _examples(inside: Sequence[Any]) -> list[Mapping[str, Any]]:
    said = [one for each in inside if isinstance(each, Mapping) for one in each.get("examples", ())]
    return [one for one in said if isinstance(one, Mapping)][:_EXAMPLES]


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(below)
    for name, value in above.items():
        beneath = made.get(name)
        both = isinstance(beneath, Mapping) and isinstance(value, Mapping)
        made[name] = _over(beneath, value) if both else value  # type: ignore[arg-type]
    return made


def _facts(
    step: Transition, code: str | None, given: Mapping[str, Any], context: Mapping[str, Any], payload: Mapping[str, Any]
) -> Facts:
    actor = given.get("actor")
    actor = actor if isinstance(actor, Mapping) else {}
    document = given.get("document")
    document = document if isinstance(document, Mapping) else {}
    submits = actor.get("isSubmitter", False) is True
    assigned = actor.get("isAssignee", "assignee" in step.require.party) is True
    comment = given.get("comment")
    subject = SubjectFacts(
        entity_id="",
        scope=Scope(_HERE),
        originator_organization_id=_ACTOR,
        recipient_organization_ids=_HERE,
        parties=dict.fromkeys(step.require.organization_roles, _HERE),
        submitter_user_id=_ACTOR if submits else _SOMEBODY_ELSE,
        assignee_user_ids=_HERE if assigned else frozenset(),
        kind=str(document.get("kind", "correspondence")),
        public_id=SOMEBODY,
        number=str(document.get("number", "1")),
        title=str(document.get("title", "1")),
        due_date=_day(document.get("dueDate")),
        priority=document.get("priority"),
        context={name: value for name, value in document.items() if value is not None},
    )
    return Facts(
        caller=_caller(step, actor),
        subject=subject,
        comment=comment if isinstance(comment, str) else "." if _needs_comment(step, code) else None,
        payload=payload,
        context=context,
        with_files=step.attachments_required,
        response_code=code,
    )


def _needs_comment(step: Transition, code: str | None) -> bool:
    return step.comment_required or (code is not None and step.responses[code].comment_required)


def _caller(step: Transition, actor: Mapping[str, Any]) -> Caller:
    usual = sorted(step.require.roles)[:1] or ["somebody"]
    roles = actor.get("roles", usual)
    names = [each for each in roles if isinstance(each, str)] if isinstance(roles, list) else []
    return Caller(
        user_id=_ACTOR,
        public_id=_person(actor.get("publicId")) or step.require.user or SOMEBODY,
        username="",
        display_name="",
        organization_id=_ACTOR,
        organization_ids=_HERE,
        grants=tuple(Grant(name, step.require.permissions) for name in names),
    )


def _person(value: Any) -> UUID | None:
    try:
        return UUID(value)
    except (ValueError, TypeError, AttributeError):
        return None


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value)
    except (ValueError, TypeError):
        return None
