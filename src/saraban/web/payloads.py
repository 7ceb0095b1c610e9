"""What the fields of a form are called in the request that the same service takes from the API."""

from typing import Any

from starlette.datastructures import ImmutableMultiDict

from saraban.web.forms import text, texts
from saraban.web.kinds import WebKind

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
    """This will give the JSON body of the request; what was left empty is left out."""
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
        found["items"] = [{"documentPublicId": one} for one in texts(form, "item")]
    return found


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
