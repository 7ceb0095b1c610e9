"""
Document registers for workflows: the default workflow, and the facts that conditions can read.

The packages of the registers repeat these facts, and tests compare the two. `document` and `actor` have no other
names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject
from saraban.projects.domain.master_data import shipped_type_name

PRIORITIES = ("URGENT", "HIGH", "MEDIUM", "LOW")
KINDS = ("correspondence", "rfa", "transmittal", "circulation")
# Document types of a kind. Conditions cannot read the RFA type.
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
# Facts that only some kinds have.
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
# Stored with a step, these names would look like evidence of the actor and their permissions.
_RESERVED = frozenset(
    {"roles", "permissions", "actor", "actorpublicid", "userid", "userpublicid", "onbehalfof", "onbehalfofpublicid"}
)
TOP = ("state", "comment", "responseCode", "context", "document", "payload", "actor")


def reserved(name: str) -> bool:
    """Return whether clients must not send a value of this name."""
    return name.casefold() in _RESERVED


def unsayable(path: str) -> bool:
    """Return whether a path reads such a value."""
    top, *below = path.removeprefix("context.").split(".")
    return top == "payload" and bool(below) and reserved(below[0])


def of_a_document(kind: str | None, type_code: str | None = None) -> dict[str, Json]:
    """Return the schema of documents of a kind and type; None stands for any kind."""
    if kind is None:
        return dict(OF_A_DOCUMENT)
    properties = {name: schema for name, schema in DOCUMENT.items() if kind in OF_SOME.get(name, KINDS)}
    properties |= {"kind": {"const": kind}, "documentType": {"enum": [type_code] if type_code else list(TYPES[kind])}}
    return {**OF_A_DOCUMENT, "properties": properties}


DRAFT: Final = "draft"


@dataclass(frozen=True, slots=True)
class Register:
    """
    :param name: in audit actions, events and addresses
    :param code: default workflow
    :param types: document types with their own assignments; empty for a single type
    :param codes: default workflows of some types
    :param type_code: the type that this object is limited to; None for all
    :param by_rfa_type: documents differ by RFA types instead of document types
    :param needs: non-final states that the register's services require
    :param open: states that its documents show while in progress
    :param ends: final states that its documents show
    :param parties: values of `party`
    :param between: documents are sent from organization to organization
    :param answered: documents show a response code, so every final state needs an outcome
    """

    name: str
    code: str
    says: Text
    types: tuple[str, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()
    type_code: str | None = None
    by_rfa_type: bool = False
    needs: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    parties: frozenset[str] = frozenset({"originator", "recipient"})
    between: bool = True
    answered: bool = False

    def of_type(self, code: str | None) -> "Register":
        """Return the register limited to a document type; an RFA type changes nothing."""
        if not code or code not in self.types:
            return self
        name = shipped_type_name(code)
        says = Text(f"{self.says.th} ({name.th})", f"{self.says.en} ({name.en})")
        return replace(self, type_code=code, says=says, code=dict(self.codes).get(code, self.code))

    @property
    def by_type(self) -> "tuple[Register, ...]":
        """The register once per document type with its own assignment."""
        return tuple(self.of_type(code) for code in self.types) if self.types and not self.type_code else (self,)


CORRESPONDENCE: Final = Register(
    "correspondence",
    "CORRESPONDENCE_FLOW_V1",
    Text("หนังสือรับ–ส่ง", "Correspondence"),
    types=TYPES["correspondence"],
    codes=(("RFI", "RFI_FLOW_V1"),),
    open=frozenset({DRAFT, "in_review", "awaiting_response", "responded"}),
    ends=frozenset({"approved", "acknowledged", "rejected", "revision_requested", "closed"}),
)
RFA: Final = Register(
    "rfa",
    "RFA_APPROVAL",
    Text("คำขออนุมัติ (RFA)", "RFAs"),
    by_rfa_type=True,
    answered=True,
    open=frozenset({DRAFT, "pending_review", "pending_approval"}),
    ends=frozenset({"approved", "rejected", "revision_requested"}),
)
TRANSMITTAL: Final = Register(
    "transmittal",
    "TRANSMITTAL_FLOW_V1",
    Text("ใบนำส่ง", "Transmittals"),
    open=frozenset({DRAFT, "submitted"}),
    ends=frozenset({"completed", "returned"}),
)
CIRCULATION: Final = Register(
    "circulation",
    "CIRCULATION_FLOW_V1",
    Text("ใบเวียน", "Circulations"),
    needs=frozenset({"routing"}),
    open=frozenset({DRAFT, "routing"}),
    ends=frozenset({"completed"}),
    parties=frozenset({"originator", "assignee"}),
    between=False,
)
REGISTERS: Final[Mapping[str, Register]] = MappingProxyType(
    {register.name: register for register in (CORRESPONDENCE, RFA, TRANSMITTAL, CIRCULATION)}
)


def starting_on(code: str) -> list[Register]:
    """Return the registers, possibly limited to a type, with this default workflow."""
    by_kind = [register for register in REGISTERS.values() if register.code == code]
    return by_kind + [
        register.of_type(type_code)
        for register in REGISTERS.values()
        for type_code, default_code in register.codes
        if default_code == code
    ]


@dataclass(frozen=True, slots=True)
class Matter:
    """
    A new document, for the choice of its workflow.
    :param type_code: document type, or the RFA type of an RFA
    """

    kind: str
    project: int
    type_code: str
