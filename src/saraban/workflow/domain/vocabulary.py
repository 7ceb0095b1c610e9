"""
What a condition can read when an action is taken, as one JSON Schema: the words, and the values that they can have.

`document` and `actor` are closed: a name that is not here is never there. What documents say of themselves is held against
this by a test.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from saraban.workflow.domain.definition import Definition, State, Transition
from saraban.workflow.domain.schema import sample

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
_ASSIGNING = frozenset({"circulation"})  # whose documents have assignees
_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_CODE: Mapping[str, Any] = {"type": ["string", "null"], "minLength": 1}
_ID: Mapping[str, Any] = {"type": "string", "format": "uuid"}
DOCUMENT: Mapping[str, Mapping[str, Any]] = MappingProxyType(
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
OF_A_DOCUMENT: Mapping[str, Any] = MappingProxyType(
    {"type": "object", "properties": dict(DOCUMENT), "required": list(ALWAYS), "additionalProperties": False}
)
ACTOR = ("publicId", "roles", "isSubmitter", "isAssignee")
# Kept with the step, these would pass for evidence of who acted and with which right.
_RESERVED = frozenset(
    {"roles", "permissions", "actor", "actorpublicid", "userid", "userpublicid", "onbehalfof", "onbehalfofpublicid"}
)
TOP = ("state", "comment", "responseCode", "context", "document", "payload", "actor")
# What a schema says of several values together; what it refers to stands beside it already.
_TOGETHER = frozenset(
    {"required", "minProperties", "dependentRequired", "dependentSchemas", "$ref", "allOf", "anyOf", "oneOf"}
)


@dataclass(frozen=True, slots=True)
class Place:
    """
    What can stand at a path.

    :param schemas: all of which a value meets; none where anything can stand there
    :param always: there is a value; otherwise it can be missing, which a condition reads as null
    """

    schemas: Sequence[Any]
    always: bool

    @property
    def never(self) -> bool:
        """Whether nothing can ever stand there."""
        return False in self.schemas

    @property
    def choices(self) -> list[Any] | None:
        """The values that it can have, where they are few and known."""
        for one in self.schemas:
            if isinstance(one, Mapping) and "const" in one:
                return [one["const"]]
            if isinstance(one, Mapping) and "enum" in one:
                return list(one["enum"])
        return None


@dataclass(frozen=True, slots=True)
class World:
    """:param raw: the schema of all facts together"""

    raw: Mapping[str, Any]

    def at(self, path: str) -> Place:
        if unsayable(path):
            return Place([False], always=False)
        schemas, always = sample.place(self.raw, path.split("."))
        return Place(schemas, always)


def reserved(name: str) -> bool:
    """Whether no client may send a value of this name."""
    return name.casefold() in _RESERVED


def unsayable(path: str) -> bool:
    """Whether a path reads a value that no client may send."""
    top, *below = path.removeprefix("context.").split(".")
    return top == "payload" and bool(below) and reserved(below[0])


def world(
    definition: Definition,
    state: State,
    step: Transition,
    code: str | None,
    *,
    roles: Collection[str] | None,
    stated: Collection[str] | None,
    kind: str | None = None,
    type_code: str | None = None,
) -> World:
    """
    Return what can be read when an action is taken with a response code, by somebody who may take it.

    A Super Admin, who may without having a role, does not count: a step that waits for him alone waits for nobody.

    :param roles: all that there are; None when that is not known
    :param stated: the values that can have come with the steps before; None when that can be any
    :param kind: of the documents; None for those of any
    :param type_code: their document type; None for any of the kind
    """
    require = step.require
    has_roles: dict[str, Any] = {
        "type": "array",
        "items": {"type": "string", **({"enum": sorted(roles)} if roles is not None else {})},
    }
    if require.roles:
        has_roles["contains"] = {"enum": sorted(require.roles)}
    if require.permissions or require.roles:
        has_roles["minItems"] = 1
    actor = {
        "publicId": _ID,
        "roles": has_roles,
        "isSubmitter": {"const": False} if require.not_submitter else {"type": "boolean"},
        "isAssignee": _assignee(step, kind),
    }
    needs_comment = step.comment_required or (code is not None and step.responses[code].comment_required)
    comment = {"type": "string", "minLength": 1, "pattern": r"\S"} if needs_comment else {"type": ["string", "null"]}
    context = _context(definition, stated)
    properties = {
        "state": {"const": state.name},
        "comment": comment,
        "responseCode": {"const": code},
        "document": of_a_document(kind, type_code),
        "actor": _closed(actor),
        "context": context,
        "payload": _payload(definition, step),
    }
    top = _closed(properties)
    defs = definition.context_schema.raw.get("$defs", {}) if definition.context_schema else {}
    return World({**top, "$defs": defs, "required": [*(["comment"] if needs_comment else []), *_given()]})


def _assignee(step: Transition, kind: str | None) -> dict[str, Any]:
    if kind is not None and kind not in _ASSIGNING:
        return {"const": False}
    return {"const": True} if step.require.party == {"assignee"} else {"type": "boolean"}


def of_a_document(kind: str | None, type_code: str | None = None) -> dict[str, Any]:
    """Return what documents of a kind, and of one of its types, or of any say of themselves."""
    if kind is None:
        return dict(OF_A_DOCUMENT)
    own = {name: one for name, one in DOCUMENT.items() if kind in OF_SOME.get(name, KINDS)}
    own |= {"kind": {"const": kind}, "documentType": {"enum": [type_code] if type_code else list(TYPES[kind])}}
    return {**OF_A_DOCUMENT, "properties": own}


def _given() -> list[str]:
    return ["state", "responseCode", "document", "actor", "context", "payload"]


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _context(definition: Definition, stated: Collection[str] | None) -> dict[str, Any]:
    """What steps have put there: instances start with nothing, and steps bring nothing but their payload."""
    payload: dict[str, Any] | bool = {"type": "object"}
    if stated is not None:
        names: dict[str, Any] = {name: {} for name in sorted(stated)}
        payload = {"type": "object", "properties": names, "additionalProperties": False} if names else False
    own: dict[str, Any] = {"type": "object", "properties": {"payload": payload}, "additionalProperties": False}
    return own | ({"allOf": [definition.context_schema.raw]} if definition.context_schema else {})


def _payload(definition: Definition, step: Transition) -> dict[str, Any]:
    """Each value alone meets the schema; what is needed beside it may have come before."""
    raw = definition.context_schema.raw if definition.context_schema else {}
    inside, _ = sample.place({**raw, "type": "object"}, ["payload"])
    made: dict[str, Any] = {"type": "object", "allOf": [_loosened(one) for one in inside]}
    if step.fields is not None:
        made |= {"properties": {name: {} for name in step.fields}, "additionalProperties": False}
    return made


def _loosened(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    return {key: value for key, value in schema.items() if key not in _TOGETHER}
