"""
The registers of documents as the workflow knows them: on which workflow each starts where nobody chose one, and what its documents are like.

The registers themselves lie above and say the same of themselves; a test holds the two against each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from saraban.kit.errors import Text
from saraban.projects.domain.master_data import type_name
from saraban.workflow.language.vocabulary import TYPES

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
        name = type_name(code, code)
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
