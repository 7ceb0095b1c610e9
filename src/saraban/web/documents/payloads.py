"""What forms say, as the request that the same service takes from the API: documents, replies, and the data of a step."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import ImmutableMultiDict

from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.kit.dates import parse_date
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.web.shell.document_kinds import WebKind
from saraban.web.shell.forms import FormValues, number_or_text, read_json, text, texts
from saraban.workflow.engine.step_data import same
from saraban.workflow.language.schema.fields import Field, figure, written
from saraban.workflow.language.subject import Value
from saraban.workflow.runtime.service.step_data import StepData

Form = FormValues

# The dates of a document, and what one that came from outside bears.
DATES = ("documentDate", "senderNumber", "senderDate", "receivedDate")
_PLAIN = (
    "projectPublicId",
    "originatorOrganizationPublicId",
    "contractPublicId",
    "subject",
    "body",
    "remarks",
    *DATES,
    "dueDate",
    "priority",
)
STEP_PREFIX: Final = "payload."
TAKES: Final = "takes"  # names what a form asks for: it may be another action's by the time that it is sent again
# A dialog is no place for more; what has so many is sent by a program.
MOST_STEP_FIELDS: Final = 60
TICKED: Final = "true"
_MOST_KEPT: Final = 100_000
_EXAMPLES: Final = {
    "date-time": "2026-11-21T14:30:00+07:00",
    "time": "14:30:00+07:00",
    "duration": "P3D",
    "email": "name@example.com",
    "uri": "https://example.com",
}
CREATE_LETTERS: Final = "correspondence.create"
_BEGINS: Final = Text("อ้างถึง ", "Re: ")
_LONGEST: Final = 500


def payload_of(kind: WebKind, form: Form) -> dict[str, object]:
    """Return the JSON body of the request; what was left empty is left out."""
    if kind.is_sheet:
        return _sheet(form)
    found: dict[str, object] = {name: value for name in _PLAIN if (value := text(form, name)) is not None}
    found["attachmentPublicIds"] = texts(form, "attachment")
    for ask, name in (("rfa_type", "rfaTypeCode"), ("discipline", "disciplineCode"), ("sub_type", "subTypeCode")):
        value = text(form, name)
        if ask in kind.asks and value:
            found[name] = value
    if kind.types:
        found["correspondenceTypeCode"] = text(form, "correspondenceTypeCode") or kind.type_code
    if "recipients" in kind.asks:
        found["recipients"] = _recipients(form)
        found["referencePublicIds"] = texts(form, "reference")
    if "purpose" in kind.asks:
        found["purpose"] = text(form, "purpose") or "FOR_INFORMATION"
    if "items" in kind.asks:
        found["items"] = [_item(form, one) for one in texts(form, "item")]
    return found


def changes_of(kind: WebKind, form: Form) -> dict[str, object]:
    """Give what the form of a draft says of all that can change in it; what was left empty is taken away."""
    plain = ("subject", "remarks", "priority", kind.due_field, *(() if kind.is_sheet else ("body", *DATES)))
    found: dict[str, object] = {name: text(form, name) for name in plain}
    whole = payload_of(kind, form)
    stands = {
        "to": ("recipients",),
        "purpose": ("purpose",),
        "picks": ("items" if "items" in kind.asks else "referencePublicIds",),
    }
    lists = [name for field, names in stands.items() if field in form for name in names]
    lists += ["assignees"] if any(name.startswith("part-") for name in form) else []
    return found | {name: whole[name] for name in lists if name in whole}


def form_of(kind: WebKind, document: Any) -> Form:
    """Give the form of a draft as it stands."""
    found: list[tuple[str, Any]] = [
        ("subject", document.subject),
        ("remarks", document.remarks),
        ("priority", document.priority),
    ]
    found.append((kind.due_field, document.due_date))
    if kind.is_sheet:
        for one in document.assignees:
            if one.user is not None:
                found += [(f"part-{one.user.public_id}", one.kind), (f"due-{one.user.public_id}", one.due_date)]
    else:
        found += _said(document)
    return ImmutableMultiDict([(name, _typed(value)) for name, value in found])


def _said(document: Any) -> list[tuple[str, Any]]:
    found = [
        ("body", document.body),
        ("senderNumber", document.sender_number),
        ("documentDate", document.document_date),
    ]
    found += [("senderDate", document.sender_date), ("receivedDate", document.received_date)]
    fields = ["to"]
    for one in document.recipients:
        found.append(("cc" if one.recipient_type == "CC" else fields[-1], one.public_id))
        fields += ["alsoTo"] if one.recipient_type == "TO" else []
    for one in document.references:
        found += [("reference", one.public_id), ("referenceLabel", f"{one.document_number} {one.subject}")]
    found.append(("purpose", getattr(document, "purpose", None)))
    for one in getattr(document, "items", ()):
        at = one.document_public_id
        found += [("item", at), ("itemLabel", f"{one.document_number} {one.subject}")]
        found += [(f"copies-{at}", one.quantity), (f"note-{at}", one.remarks)]
    return found


def _typed(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value)


def _item(form: Form, document: str) -> dict[str, object]:
    found: dict[str, object] = {"documentPublicId": document}
    copies, note = text(form, f"copies-{document}"), text(form, f"note-{document}")
    return found | ({"quantity": number_or_text(copies)} if copies else {}) | ({"remarks": note} if note else {})


def _recipients(form: Form) -> list[dict[str, str]]:
    """The main recipient first; who is chosen twice is kept at the first place."""
    found: dict[str, str] = {}
    for kind, values in (("TO", texts(form, "to")), ("TO", texts(form, "alsoTo")), ("CC", texts(form, "cc"))):
        for value in values:
            found.setdefault(value, kind)
    return [{"organizationPublicId": one, "recipientType": kind} for one, kind in found.items()]


def _sheet(form: Form) -> dict[str, object]:
    plain = (
        "projectPublicId",
        "organizationPublicId",
        "correspondencePublicId",
        "subject",
        "remarks",
        "deadlineDate",
        "priority",
    )
    found: dict[str, object] = {name: value for name in plain if (value := text(form, name)) is not None}
    found["assignees"] = [
        {"userPublicId": name.removeprefix("part-"), "kind": part}
        | ({"dueDate": due} if (due := text(form, name.replace("part-", "due-", 1))) else {})
        for name, part in form.items()
        if name.startswith("part-") and part
    ]
    found["attachmentPublicIds"] = texts(form, "attachment")
    return found


@dataclass(frozen=True, slots=True)
class StepField:
    """One field as the page shows it: with what was typed, before that what the document remembers."""

    field: Field
    typed: str

    @property
    def name(self) -> str:
        return STEP_PREFIX + self.field.name

    @property
    def at(self) -> str:
        """How its faults are found: of a long name they have the beginning."""
        return field_id(self.field.name)

    @property
    def label(self) -> Text:
        return self.field.label or Text(self.field.name, self.field.name)

    @property
    def pattern(self) -> str:
        """For the browser, as far as it reads it as the server does; it knows whole matches only."""
        told = self.field.pattern
        plain = told is not None and not any(part in told for part in ("(?", "\\p", "\\P", "[[", "&&"))
        return f".*(?:{told}).*" if plain else ""

    @property
    def example(self) -> str:
        return _EXAMPLES.get(self.field.format or "", "")


@dataclass(frozen=True, slots=True)
class StepForm:
    """
    What the form of one action asks for.

    :param stated: what came before, for who decides about it, asked again or not
    :param judged: a condition reads it, so that it must come now
    :param folded: what came before still counts, and nothing asks for it anew
    :param too_many: nothing is asked, because there are too many to be shown
    """

    rows: Sequence[StepField] = ()
    stated: Sequence[Value] = ()
    judged: bool = False
    remembered: str = ""
    folded: bool = False
    too_many: bool = False

    @property
    def names(self) -> list[str]:
        return [row.at for row in self.rows]

    @property
    def takes(self) -> str:
        return json.dumps([row.field.name for row in self.rows], ensure_ascii=False)


def step_form(values: StepData, form: Mapping[str, Any], action: str) -> StepForm:
    """Return the fields of an action's form, filled in as they were when it was refused."""
    offered = values.of(action)
    if len(offered) > MOST_STEP_FIELDS:
        return StepForm(stated=values.stated, too_many=True)
    again = form.get("action") == action
    rows = [StepField(one, _shown(one, values.remembered, form if again else None)) for one in offered]
    judged = action in values.judged
    return StepForm(
        rows,
        values.stated,
        judged,
        json.dumps(dict(values.remembered), ensure_ascii=False) if values.remembered else "",
        folded=not judged and any(one.name in values.remembered for one in offered),
    )


def payload_of_step(values: StepData, form: Any) -> dict[str, Any]:
    """
    Return the payload that a form stands for, and nothing where it says what the document remembers anyway.

    It depends on nothing but the form and the definition, so that a form that is sent twice says the same twice.

    :raises Invalid: at each value that is no JSON where it must be, or does not fit the schema
    """
    asked_for = _sent(form, TAKES)
    offered = [one for one in values.fields if isinstance(asked_for, list) and one.name in asked_for]
    if not offered or len(offered) > MOST_STEP_FIELDS:
        return {}
    given, wrong = _typed_field(offered, form)
    if wrong:
        raise Invalid(f"{wrong[0].pointer}: this is no JSON.", fields=wrong)
    remembered = _sent(form, "remembered")
    judged, before = form.get("judged") == "1", remembered if isinstance(remembered, dict) else {}
    payload = (_changed if values.merges else _whole)(offered, given, before, judged=judged)
    if payload or judged:
        values.check(payload)
    return payload


def _changed(
    offered: Sequence[Field], given: Mapping[str, Any], before: Mapping[str, Any], *, judged: bool
) -> dict[str, Any]:
    """What is new; all of it for a condition. What was emptied is taken back, and a box that was not ticked says no."""
    boxes = {one.name: False for one in offered if one.kind == "boolean" and one.name not in given}
    emptied = [one.name for one in offered if one.name not in {**given, **boxes} and before.get(one.name) is not None]
    now = {**given, **{name: no for name, no in boxes.items() if name in before}, **dict.fromkeys(emptied)}
    new = {name: value for name, value in now.items() if name not in before or not same(before[name], value)}
    payload = {name: value for name, value in now.items() if judged or name in new}
    return payload | {name: no for name, no in boxes.items() if name not in before} if new or judged else {}


def _whole(
    offered: Sequence[Field], given: Mapping[str, Any], before: Mapping[str, Any], *, judged: bool
) -> dict[str, Any]:
    """All values, as versions want them in which a payload replaces the one before."""
    names = {one.name for one in offered}
    # No field can say null, except in JSON; an empty one leaves it as it was.
    rest = {name: value for name, value in before.items() if name not in names or value is None}
    boxes = {one.name: False for one in offered if one.kind == "boolean" and one.name not in given}
    payload = {**rest, **given, **(boxes if given or before or judged else {})}
    same_as_before = {**before, **{name: False for name in boxes if before and name not in before}}
    return {} if not judged and payload == same_as_before else payload


def field_id(name: str) -> str:
    return STEP_PREFIX + name[:60]


def _shown(one: Field, remembered: Mapping[str, Any], form: Mapping[str, Any] | None) -> str:
    if form is not None:
        return str(form.get(STEP_PREFIX + one.name, ""))
    value, as_json = remembered.get(one.name), one.kind in {"choice", "json"}
    if one.name not in remembered or (value is None and not as_json):
        return ""
    return json.dumps(value, ensure_ascii=False) if as_json else written(value)


def _typed_field(fields: Sequence[Field], form: Any) -> tuple[dict[str, Any], list[FieldProblem]]:
    found: dict[str, object] = {}
    wrong: list[FieldProblem] = []
    for one, typed in _filled(fields, form):
        match one.kind:
            case "number" | "integer":
                found[one.name] = figure(typed)
            case "boolean":
                found[one.name] = typed == TICKED
            case "choice" | "json":
                value, fault = read_json(typed, f"/payload/{_escaped(one.name)}")
                found[one.name] = value
                wrong += [fault] if fault else []
            case "date":
                day = parse_date(typed)
                found[one.name] = day.isoformat() if day else typed
            case _:
                found[one.name] = typed
    return found, wrong


def _filled(fields: Sequence[Field], form: Any) -> Iterator[tuple[Field, str]]:
    for one in fields:
        typed = text(form, STEP_PREFIX + one.name)
        if typed is not None:
            yield one, typed


def _escaped(name: str) -> str:
    return name[:60].replace("~", "~0").replace("/", "~1")


def _sent(form: Any, name: str) -> Any:
    """What the page itself put into the form as JSON; nobody types it, so what cannot be read is nothing."""
    typed = form.get(name)
    if not isinstance(typed, str) or len(typed) > _MOST_KEPT:
        return None
    return read_json(typed, "")[0]


async def replying_organization(ctx: RequestContext, session: AsyncSession, document: Any) -> UUID | None:
    """Give the organization that would reply: the first that received it and for which the reader writes."""
    issued = getattr(document, "issued_at", None) is not None and document.cancelled_at is None
    if not issued or not ctx.caller.may_anywhere(CREATE_LETTERS):
        return None
    profile = await identity.profile(ctx, session)
    mine = {one.public_id for one in profile.organizations}
    return next((one.public_id for one in document.recipients if one.public_id in mine), None)


def reply_form(document: Any, replying_organization: UUID, language: str) -> list[tuple[str, str]]:
    """Give the fields of a new letter that answers a document."""
    found = [
        ("projectPublicId", str(document.project.public_id)),
        ("contractPublicId", str(document.contract.public_id) if document.contract else ""),
        ("originatorOrganizationPublicId", str(replying_organization)),
        ("to", str(document.originator.public_id)),
        ("correspondenceTypeCode", "MEMO" if document.document_type == "MEMO" else "LETTER"),
        ("subject", reply_subject(document.subject, language)),
        ("reference", str(document.public_id)),
        ("referenceLabel", f"{document.document_number} {document.subject}"),
    ]
    return found + ([("disciplineCode", document.discipline.code)] if document.discipline else [])


def reply_subject(subject: str, language: str) -> str:
    """Say once what it refers to, in the language of the writer; an answer to an answer says it no second time."""
    known = subject.startswith((_BEGINS.th, _BEGINS.en))
    return (subject if known else _BEGINS.say(language) + subject)[:_LONGEST]
