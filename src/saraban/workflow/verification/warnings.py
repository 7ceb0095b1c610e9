"""
What a definition alone cannot promise: that those whom a state asks may see the document. Said where it is tried out.

Who really may is asked of each document, when it comes to the state.
"""

from saraban.kit.errors import Text
from saraban.workflow.engine import pending_assignees
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.registers import DRAFT

_PLACED = Text(
    "หน่วยงานที่ขั้นนี้รอ เห็นเอกสารก็ต่อเมื่อเป็นผู้รับ หรือมีส่วนในสัญญาที่เอกสารสังกัด หากไม่ใช่ จะไม่มีผู้ดำเนินการต่อได้",
    "The organizations it is pending with see a document only as recipients or as parties to its contract; otherwise nobody can act.",
)
_UNISSUED = Text(
    "ผู้รับยังไม่เห็นเอกสารที่ไม่เคยพ้นจากสถานะร่าง จึงยังดำเนินการไม่ได้",
    "Recipients do not see a document that has never left draft, so they cannot act here yet.",
)
_NAMED = Text(
    "รอบุคคลเดียวที่ระบุไว้ ซึ่งต้องเป็นผู้ที่เห็นเอกสารนั้น หากไม่ใช่ จะไม่มีผู้ดำเนินการต่อได้",
    "It is pending with one person, who must have access to the document; otherwise nobody can act.",
)
_HELD = Text(
    "รอเฉพาะผู้ถือบทบาทหรือสิทธิ์นี้ที่เห็นเอกสาร หากไม่มี จะไม่มีผู้ดำเนินการต่อได้",
    "It is pending with those who have the role or permission and access to the document; if there are none, nobody can act.",
)


def access_warnings(definition: Definition, state: str) -> tuple[Text, ...]:
    """Tell on what it depends that somebody whom a state asks may see the document; nothing where that is sure."""
    here = definition.state(state)
    if here.terminal:
        return ()
    found = []
    for require in pending_assignees.asking(definition, state):
        if require.user is not None:
            found.append(_NAMED)
        elif pending_assignees.asks_holders(require):
            found.append(_HELD)
        elif "originator" in require.party or "assignee" in require.party:
            return ()  # they see it always
        elif require.party and state == DRAFT:
            found.append(_UNISSUED)
        elif require.organization_roles and not require.party:
            found.append(_PLACED)
        else:
            return ()
    return tuple(dict.fromkeys(found))
