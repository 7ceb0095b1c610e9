"""What publishing asks of the ends of a workflow: what each means is said where it can be, and where registers show it."""

from collections.abc import Mapping

from saraban.projects.domain.master_data import RFA_APPROVE_CODES
from saraban.workflow.language.definition import ENDS, Definition
from saraban.workflow.language.faults import Faults, below
from saraban.workflow.language.outcome import BY_NAME, OUTCOMES, WORDS, Outcome

APPROVE_CODES = {offer.code: offer.says for offer in RFA_APPROVE_CODES}
GOOD = frozenset({"approved", "approved_with_comments"})
BAD = frozenset({"revise_resubmit", "rejected", "withdrawn"})
# What an end may say of itself beside a name that has always meant something; `completed` says neither yes nor no.
_YES: tuple[Outcome, ...] = ("approved", "approved_with_comments")
_NO: tuple[Outcome, ...] = ("revise_resubmit", "rejected")
_SAME: Mapping[Outcome | None, tuple[Outcome, ...]] = {**dict.fromkeys(_YES, _YES), **dict.fromkeys(_NO, _NO)}
_CONTRARY = {"1": BAD, "3": GOOD, "4": GOOD}  # by the first digit of the code; 5 says neither


def check(definition: Definition, found: Faults) -> None:
    """Refuse an `outcome` where nothing ends, and one that an end cannot have."""
    for index, state in enumerate(definition.states.values()):
        at, can = f"/states/{index}/outcome", _SAME.get(BY_NAME.get(state.name))
        if state.outcome is not None and not state.terminal:
            th, en = "ระบุผลได้เฉพาะสถานะสุดท้าย", "Only a terminal state has an outcome."
            found.add(at, "outcome_before_end", th, en)
        elif state.outcome is not None and state.name in ENDS and state.outcome != BY_NAME.get(state.name):
            th = "“{name}” มีความหมายแน่นอนอยู่แล้ว จึงกำหนดผลนี้ไม่ได้"
            en = "What “{name}” means is settled: it cannot have this outcome."
            found.add(at, "reserved_outcome", th, en, name=state.name)
        elif state.outcome is not None and can is not None and state.outcome not in can:
            th = "ชื่อ “{name}” บอกผลอยู่แล้ว outcome จึงเป็นได้เฉพาะ {choices} หากต้องการผลอื่น ให้ใช้ชื่อสถานะอื่น"
            en = "The name “{name}” says already what it means: `outcome` can be {choices}. For another one use another name."
            found.add(at, "outcome_contradicts", th, en, name=state.name, choices=", ".join(can))


def check_said(definition: Definition, found: Faults) -> None:
    """Refuse an end of which neither a word nor its name says what it means, for a register that shows it."""
    for index, state in enumerate(definition.states.values()):
        if state.terminal and state.means is None and state.name not in ENDS:
            th = "ทะเบียนต้องรู้ว่าจบที่ “{name}” แล้วมีผลอย่างไร กรุณาระบุ outcome เป็นหนึ่งใน {choices}"
            en = "The register has to know what it means to end in “{name}”: say `outcome`, one of {choices}."
            found.add(f"/states/{index}", "outcome_needed", th, en, name=state.name, choices=", ".join(OUTCOMES))


def check_codes(definition: Definition, found: Faults) -> None:
    """Refuse approve codes that lead to an end which means the contrary, for a register that shows both."""
    for index, state in enumerate(definition.states.values()):
        for action, step in state.on.items():
            for code, response in step.responses.items():
                means = definition.states[response.to].means
                if means is None or code not in APPROVE_CODES:
                    continue
                if means in _CONTRARY.get(code[0], ()):
                    at = below(below(f"/states/{index}/on", action) + "/responses", code)
                    th = f"รหัส {{answer}} ({APPROVE_CODES[code].th}) ขัดกับผลของ “{{name}}” คือ {WORDS[means].th}"
                    en = f"The code {{answer}} ({APPROVE_CODES[code].en}) contradicts what it means to end in “{{name}}”: {WORDS[means].en}."
                    found.add(at, "code_contradicts", th, en, answer=code, name=response.to)
