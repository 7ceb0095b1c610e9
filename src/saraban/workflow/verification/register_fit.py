"""Check that the documents of a register can run on a workflow and show its outcomes."""

from collections.abc import Sequence
from typing import Final

from saraban.kit.errors import FieldProblem
from saraban.projects.domain.master_data import RFA_APPROVE_CODES
from saraban.workflow.language.definition import ENDS, Definition, Require
from saraban.workflow.language.faults import Faults, below
from saraban.workflow.language.outcome import OUTCOMES, WORDS
from saraban.workflow.language.registers import DRAFT, OF_SOME, Register
from saraban.workflow.verification import reachability

APPROVE_CODES = {offer.code: offer.says for offer in RFA_APPROVE_CODES}
GOOD = frozenset({"approved", "approved_with_comments"})
BAD = frozenset({"revise_resubmit", "rejected", "withdrawn"})
_CONTRARY = {"1": BAD, "3": GOOD, "4": GOOD}  # by the first digit; 5 is neutral
_TYPE_PATHS: Final = frozenset({"*", "document", "document.documentType"})  # paths that depend on the document's type
_REGISTER_PATHS: Final = _TYPE_PATHS | {
    "document.kind",
    "actor",
    "actor.isAssignee",
    *(f"document.{name}" for name in OF_SOME),
}


def misfits(
    definition: Definition, registers: Sequence[Register], *, root: str = "/dsl", published: bool = False
) -> tuple[FieldProblem, ...]:
    """
    :param registers: may contain a register once per document type
    :param published: skip the checks of outcomes, which older versions lack
    """
    faults = Faults(root)
    for register in {item.name: item for item in registers}.values():
        _check_start(definition, register, faults)
        _check_state_names(definition, register, faults)
        _check_people(definition, register, faults)
    for register in () if published else registers:
        _check_exits(definition, register, faults)
    if not published and any(register.answered for register in registers):
        _check_outcomes(definition, faults)
        _check_codes(definition, faults)
    return tuple(faults.problems)


def _check_start(definition: Definition, register: Register, faults: Faults) -> None:
    if definition.initial != DRAFT:
        at = f"/states/{list(definition.states).index(definition.initial)}/name"
        th = f"{register.says.th}เริ่มจากสถานะ “{DRAFT}” แต่สถานะแรกของกระบวนงานนี้คือ “{{name}}”"
        en = f"{register.says.en} begin in the state “{DRAFT}”; the first state of this workflow is “{{name}}”."
        faults.add(at, "register_start", th, en, name=definition.initial)


def _check_state_names(definition: Definition, register: Register, faults: Faults) -> None:
    for name in sorted(register.needs - definition.states.keys()):
        th = f"{register.says.th}ต้องมีสถานะ “{{name}}” ซึ่งเป็นสถานะที่ผู้เกี่ยวข้องตอบ"
        en = f"{register.says.en} are answered in the state “{{name}}”, which this workflow does not have."
        faults.add("/states", "register_state", th, en, name=name)
    for index, state in enumerate(definition.states.values()):
        if state.name in register.open and state.terminal:
            th = f"{register.says.th}ที่อยู่ในสถานะ “{{name}}” แสดงว่ากำลังดำเนินการ สถานะสุดท้ายต้องใช้ชื่ออื่น"
            en = f"{register.says.en} in the state “{{name}}” show that they are under way: an end needs another name."
            faults.add(f"/states/{index}/name", "register_open", th, en, name=state.name)
        if state.name in register.ends and not state.terminal:
            th = f"{register.says.th}ที่อยู่ในสถานะ “{{name}}” แสดงว่าเสร็จแล้ว สถานะที่ยังต้องดำเนินการต่อต้องใช้ชื่ออื่น"
            en = f"{register.says.en} in the state “{{name}}” show that they are finished: a state with a next step needs another name."
            faults.add(f"/states/{index}/name", "register_end", th, en, name=state.name)


def _check_exits(definition: Definition, register: Register, faults: Faults) -> None:
    """Conditions may read facts that these documents lack."""
    paths = frozenset[str]().union(
        *(step.condition.logic.variables for _, _, step in definition.steps if step.condition)
    )
    registers_by_type = register.by_type if paths & _TYPE_PATHS else (register,)
    for limited in registers_by_type if paths & _REGISTER_PATHS else ():
        if _report_stuck(definition, limited, faults):
            return  # report one type only


def _report_stuck(definition: Definition, register: Register, faults: Faults) -> bool:
    exits = reachability.examine(definition, Faults(""), kind=register.name, type_code=register.type_code)
    places = list(definition.states)
    stuck = reachability.stuck(definition, exits)
    for name, example in stuck.items():
        th = f"{register.says.th}ที่อยู่ในสถานะ “{{name}}” ไปถึงสถานะสุดท้ายไม่ได้ ไม่มีตัวอย่างใดใน examples ที่ทำให้เงื่อนไขเป็นจริง เช่น {{example}}"
        en = f"{register.says.en} cannot come from the state “{{name}}” to an end: no entry of `examples` opens its condition for them, such as {{example}}."
        faults.add(f"/states/{places.index(name)}", "register_exit", th, en, name=name, example=example)
    return bool(stuck)


def _check_people(definition: Definition, register: Register, faults: Faults) -> None:
    for at, _, step in definition.steps:
        for key, names in _impossible_requirements(step.require, register):
            th = f"{register.says.th}ไม่มี {{names}} จึงไม่มีใครดำเนินการนี้ได้เลย"
            en = f"{register.says.en} have no {{names}}, so nobody could ever take this action."
            faults.add(f"{at}/require/{key}", "register_nobody", th, en, names=", ".join(sorted(names)))


def _impossible_requirements(require: Require, register: Register) -> list[tuple[str, frozenset[str]]]:
    impossible = []
    if require.party and not require.party & register.parties:
        impossible.append(("party", require.party))
    if require.organization_roles and not register.between:
        impossible.append(("organizationRoles", require.organization_roles))
    return impossible


def _check_outcomes(definition: Definition, faults: Faults) -> None:
    """The register shows the outcome of every final state."""
    for index, state in enumerate(definition.states.values()):
        if state.terminal and state.means is None and state.name not in ENDS:
            th = "ทะเบียนต้องรู้ว่าจบที่ “{name}” แล้วมีผลอย่างไร กรุณาระบุ outcome เป็นหนึ่งใน {choices}"
            en = "The register has to know what it means to end in “{name}”: say `outcome`, one of {choices}."
            faults.add(f"/states/{index}", "outcome_needed", th, en, name=state.name, choices=", ".join(OUTCOMES))


def _check_codes(definition: Definition, faults: Faults) -> None:
    """The register shows both code and outcome, so they must not contradict."""
    for at, _, step in definition.steps:
        for code, response in step.responses.items():
            means = definition.states[response.to].means
            if means is not None and code in APPROVE_CODES and means in _CONTRARY.get(code[0], ()):
                th = f"รหัส {{answer}} ({APPROVE_CODES[code].th}) ขัดกับผลของ “{{name}}” คือ {WORDS[means].th}"
                en = f"The code {{answer}} ({APPROVE_CODES[code].en}) contradicts what it means to end in “{{name}}”: {WORDS[means].en}."
                faults.add(below(f"{at}/responses", code), "code_contradicts", th, en, answer=code, name=response.to)
