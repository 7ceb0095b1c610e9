"""
What a condition can read when an action is taken: the words, and the values that they can have.

`document` and `actor` are closed: a name that is not here is never there. What documents say of themselves is held against
this by a test.
"""

from collections.abc import Mapping
from types import MappingProxyType

from saraban.kit.json import Json, JsonObject

PRIORITIES = ("URGENT", "HIGH", "MEDIUM", "LOW")
KINDS = ("correspondence", "rfa", "transmittal", "circulation")
# The document types that a kind keeps; of an RFA the RFA type is another thing, which conditions do not read.
TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "correspondence": ("LETTER", "MEMO", "RFI", "EMAIL", "INSTRUCTION", "MOM", "NOTICE", "OTHER"),
        "rfa": ("RFA",),
        "transmittal": ("TRANSMITTAL",),
        "circulation": ("CIRCULATION",),
    }
)
ALL_TYPES = tuple(code for codes in TYPES.values() for code in codes)
ASSIGNING = frozenset({"circulation"})  # whose documents have assignees
_TEXT: JsonObject = {"type": "string", "minLength": 1}
_CODE: JsonObject = {"type": ["string", "null"], "minLength": 1}
_ID: JsonObject = {"type": "string", "format": "uuid"}
DOCUMENT: Mapping[str, JsonObject] = MappingProxyType(
    {
        "kind": {"enum": list(KINDS)},
        "number": _TEXT,
        "title": _TEXT,
        "priority": {"enum": list(PRIORITIES)},
        "dueDate": {"type": ["string", "null"], "format": "date"},
        "documentType": {"enum": list(ALL_TYPES)},
        "projectPublicId": _ID,
        "projectCode": _TEXT,
        "originatorCode": _TEXT,
        "revision": _CODE,
        "discipline": _CODE,
        "openRoutings": {"type": "integer", "minimum": 0},
    }
)
ALWAYS = ("kind", "number", "title", "priority", "documentType", "projectPublicId", "projectCode", "originatorCode")
# What documents of these kinds alone say of themselves.
OF_SOME: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "revision": frozenset(KINDS) - {"circulation"},
        "discipline": frozenset(KINDS) - {"circulation"},
        "openRoutings": frozenset({"circulation"}),
    }
)
OF_A_DOCUMENT: JsonObject = MappingProxyType(
    {"type": "object", "properties": dict(DOCUMENT), "required": list(ALWAYS), "additionalProperties": False}
)
ACTOR = ("publicId", "roles", "isSubmitter", "isAssignee")
# Kept with the step, these would pass for evidence of who acted and with which right.
_RESERVED = frozenset(
    {"roles", "permissions", "actor", "actorpublicid", "userid", "userpublicid", "onbehalfof", "onbehalfofpublicid"}
)
TOP = ("state", "comment", "responseCode", "context", "document", "payload", "actor")


def reserved(name: str) -> bool:
    """Whether no client may send a value of this name."""
    return name.casefold() in _RESERVED


def unsayable(path: str) -> bool:
    """Whether a path reads a value that no client may send."""
    top, *below = path.removeprefix("context.").split(".")
    return top == "payload" and bool(below) and reserved(below[0])


def of_a_document(kind: str | None, type_code: str | None = None) -> dict[str, Json]:
    """Return what documents of a kind, and of one of its types, or of any say of themselves."""
    if kind is None:
        return dict(OF_A_DOCUMENT)
    own = {name: one for name, one in DOCUMENT.items() if kind in OF_SOME.get(name, KINDS)}
    own |= {"kind": {"const": kind}, "documentType": {"enum": [type_code] if type_code else list(TYPES[kind])}}
    return {**OF_A_DOCUMENT, "properties": own}
