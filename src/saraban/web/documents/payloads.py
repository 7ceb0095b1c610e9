"""What the fields of a form are called in the request that the same service takes from the API."""

from datetime import date
from typing import Any

from starlette.datastructures import ImmutableMultiDict

from saraban.web.shell.document_kinds import WebKind
from saraban.web.shell.forms import number_or_text, text, texts

Form = ImmutableMultiDict[str, Any]

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


def payload_of(kind: WebKind, form: Form) -> dict[str, Any]:
    """Return the JSON body of the request; what was left empty is left out."""
    if kind.is_sheet:
        return _sheet(form)
    found: dict[str, Any] = {name: value for name in _PLAIN if (value := text(form, name)) is not None}
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


def changes_of(kind: WebKind, form: Form) -> dict[str, Any]:
    """Give what the form of a draft says of all that can change in it; what was left empty is taken away."""
    plain = ("subject", "remarks", "priority", kind.due_field, *(() if kind.is_sheet else ("body", *DATES)))
    found: dict[str, Any] = {name: text(form, name) for name in plain}
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


def _item(form: Form, document: str) -> dict[str, Any]:
    found: dict[str, Any] = {"documentPublicId": document}
    copies, note = text(form, f"copies-{document}"), text(form, f"note-{document}")
    return found | ({"quantity": number_or_text(copies)} if copies else {}) | ({"remarks": note} if note else {})


def _recipients(form: Form) -> list[dict[str, str]]:
    """The main recipient first; who is chosen twice is kept at the first place."""
    found: dict[str, str] = {}
    for kind, values in (("TO", texts(form, "to")), ("TO", texts(form, "alsoTo")), ("CC", texts(form, "cc"))):
        for value in values:
            found.setdefault(value, kind)
    return [{"organizationPublicId": one, "recipientType": kind} for one, kind in found.items()]


def _sheet(form: Form) -> dict[str, Any]:
    plain = (
        "projectPublicId",
        "organizationPublicId",
        "correspondencePublicId",
        "subject",
        "remarks",
        "deadlineDate",
        "priority",
    )
    found: dict[str, Any] = {name: value for name in plain if (value := text(form, name)) is not None}
    found["assignees"] = [
        {"userPublicId": name.removeprefix("part-"), "kind": part}
        | ({"dueDate": due} if (due := text(form, name.replace("part-", "due-", 1))) else {})
        for name, part in form.items()
        if name.startswith("part-") and part
    ]
    found["attachmentPublicIds"] = texts(form, "attachment")
    return found
