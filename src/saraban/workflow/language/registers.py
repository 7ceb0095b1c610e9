"""
The registers of documents as the workflow knows them: on which workflow each starts where nobody chose one, what its documents are
like, and what a condition can read of one when an action is taken.

The registers themselves lie above and say the same of themselves; tests hold the two against each other. `document` and `actor` are
closed: a name that is not here is never there.
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


DRAFT: Final = "draft"


@dataclass(frozen=True, slots=True)
class Register:
    """
    :param name: the word for it in audit actions, events and addresses
    :param code: the workflow that its documents start on where nobody chose another
    :param types: the document types it keeps, of which each can have a choice of its own; empty where there is one only
    :param codes: of some of those types, the workflow that they start on instead of `code`
    :param type_code: the one document type that is meant of them; None for all
    :param by_rfa_type: its documents differ by the RFA types of the contracts instead
    :param needs: states that its own verbs ask for, and that are no ends
    :param open: names of states by which its documents show that they are under way
    :param ends: names of states by which its documents show that they are finished
    :param parties: who there is in it to be asked by `party`
    :param between: its documents go from one organization to another, which have parts in the contract
    :param answered: its documents show an answer with a code, so that every end has to mean something
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
        """Return the register as far as it keeps documents of one type; an RFA's type is none of those."""
        if not code or code not in self.types:
            return self
        name = shipped_type_name(code)
        says = Text(f"{self.says.th} ({name.th})", f"{self.says.en} ({name.en})")
        return replace(self, type_code=code, says=says, code=dict(self.codes).get(code, self.code))

    @property
    def by_type(self) -> "tuple[Register, ...]":
        """The register once for each document type of which there is one of its own: a document's type never changes."""
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
    {one.name: one for one in (CORRESPONDENCE, RFA, TRANSMITTAL, CIRCULATION)}
)


def starting_on(code: str) -> list[Register]:
    """Return the registers, whole or as far as they keep one type, that start on a workflow where nobody chose another."""
    whole = [one for one in REGISTERS.values() if one.code == code]
    return whole + [one.of_type(type_code) for one in REGISTERS.values() for type_code, own in one.codes if own == code]


@dataclass(frozen=True, slots=True)
class Matter:
    """
    A document that starts, as far as it decides on which workflow.

    :param type_code: its document type, of an RFA the RFA type
    """

    kind: str
    project: int
    type_code: str
