"""
The registers of documents as the workflow knows them: on which workflow each starts where nobody chose one, and what a
workflow must be like so that documents of the register can run on it.

The registers themselves lie above and say the same of themselves; a test holds the two against each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from saraban.kit.errors import FieldProblem, Text
from saraban.projects.domain.master_data import type_name
from saraban.workflow.domain import ends, reachability
from saraban.workflow.domain.definition import Definition, Require
from saraban.workflow.domain.faults import Faults
from saraban.workflow.domain.vocabulary import OF_SOME, TYPES

DRAFT: Final = "draft"
_TYPED: Final = frozenset({"*", "document", "document.documentType"})  # what conditions read of the document's type
_TELLING: Final = _TYPED | {"document.kind", "actor", "actor.isAssignee", *(f"document.{name}" for name in OF_SOME)}


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
    """Give the registers, whole or as far as they keep one type, that start on a workflow where nobody chose another."""
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


def misfits(
    definition: Definition, registers: Sequence[Register], *, root: str = "/dsl", published: bool = False
) -> tuple[FieldProblem, ...]:
    """
    Return why documents of these registers could not run on a definition, each fault at its place.

    :param registers: the same one can stand there for several of its document types
    :param published: it was accepted before definitions said what their ends mean, which registers then read out of names
    """
    found = Faults(root)
    for register in {one.name: one for one in registers}.values():
        _begins(definition, register, found)
        _states(definition, register, found)
        _people(definition, register, found)
    for register in () if published else registers:
        _leads_on(definition, register, found)
    if not published and any(register.answered for register in registers):
        ends.check_said(definition, found)
        ends.check_codes(definition, found)
    return tuple(found.problems)


def _begins(definition: Definition, register: Register, found: Faults) -> None:
    if definition.initial != DRAFT:
        at = f"/states/{list(definition.states).index(definition.initial)}/name"
        th = f"{register.says.th}เริ่มจากสถานะ “{DRAFT}” แต่สถานะแรกของกระบวนงานนี้คือ “{{name}}”"
        en = f"{register.says.en} begin in the state “{DRAFT}”; the first state of this workflow is “{{name}}”."
        found.add(at, "register_start", th, en, name=definition.initial)


def _states(definition: Definition, register: Register, found: Faults) -> None:
    for name in sorted(register.needs - definition.states.keys()):
        th = f"{register.says.th}ต้องมีสถานะ “{{name}}” ซึ่งเป็นสถานะที่ผู้เกี่ยวข้องตอบ"
        en = f"{register.says.en} are answered in the state “{{name}}”, which this workflow does not have."
        found.add("/states", "register_state", th, en, name=name)
    for index, state in enumerate(definition.states.values()):
        if state.name in register.open and state.terminal:
            th = f"{register.says.th}ที่อยู่ในสถานะ “{{name}}” แสดงว่ากำลังดำเนินการ สถานะสุดท้ายต้องใช้ชื่ออื่น"
            en = f"{register.says.en} in the state “{{name}}” show that they are under way: an end needs another name."
            found.add(f"/states/{index}/name", "register_open", th, en, name=state.name)
        if state.name in register.ends and not state.terminal:
            th = f"{register.says.th}ที่อยู่ในสถานะ “{{name}}” แสดงว่าเสร็จแล้ว สถานะที่ยังต้องดำเนินการต่อต้องใช้ชื่ออื่น"
            en = f"{register.says.en} in the state “{{name}}” show that they are finished: a state with a next step needs another name."
            found.add(f"/states/{index}/name", "register_end", th, en, name=state.name)


def _leads_on(definition: Definition, register: Register, found: Faults) -> None:
    """Conditions may read what documents of this register do not have, or ask for those of another one."""
    steps = [step for state in definition.states.values() for step in state.on.values()]
    read = frozenset[str]().union(*(step.condition.logic.variables for step in steps if step.condition))
    several = register.by_type if read & _TYPED else (register,)
    for one in several if read & _TELLING else ():
        if _stuck(definition, one, found):
            return  # one type says enough


def _stuck(definition: Definition, register: Register, found: Faults) -> bool:
    exits = reachability.examine(definition, Faults(""), kind=register.name, type_code=register.type_code)
    places = list(definition.states)
    stuck = reachability.stuck(definition, exits)
    for name, example in stuck.items():
        th = f"{register.says.th}ที่อยู่ในสถานะ “{{name}}” ไปถึงสถานะสุดท้ายไม่ได้ ไม่มีตัวอย่างใดใน examples ที่ทำให้เงื่อนไขเป็นจริง เช่น {{example}}"
        en = f"{register.says.en} cannot come from the state “{{name}}” to an end: no entry of `examples` opens its condition for them, such as {{example}}."
        found.add(f"/states/{places.index(name)}", "register_exit", th, en, name=name, example=example)
    return bool(stuck)


def _people(definition: Definition, register: Register, found: Faults) -> None:
    for index, state in enumerate(definition.states.values()):
        for action, step in state.on.items():
            for key, names in _nobody(step.require, register):
                at = f"{found.below(f'/states/{index}/on', action)}/require/{key}"
                th = f"{register.says.th}ไม่มี {{names}} จึงไม่มีใครดำเนินการนี้ได้เลย"
                en = f"{register.says.en} have no {{names}}, so nobody could ever take this action."
                found.add(at, "register_nobody", th, en, names=", ".join(sorted(names)))


def _nobody(require: Require, register: Register) -> list[tuple[str, frozenset[str]]]:
    found = []
    if require.party and not require.party & register.parties:
        found.append(("party", require.party))
    if require.organization_roles and not register.between:
        found.append(("organizationRoles", require.organization_roles))
    return found
