"""
What an end of a workflow means, whatever it is called: registers show it, and need no name of a state for that.

A definition says it with the word `outcome`; of ends that have always had the same name, the name says it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from saraban.kit.errors import Text

Outcome = Literal["approved", "approved_with_comments", "revise_resubmit", "rejected", "closed", "withdrawn"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
WORDS: Final[Mapping[str, Text]] = MappingProxyType(
    {
        "approved": Text("อนุมัติ", "Approved"),
        "approved_with_comments": Text("อนุมัติโดยมีความเห็น", "Approved with comments"),
        "revise_resubmit": Text("ให้แก้ไขแล้วส่งใหม่", "Revise and resubmit"),
        "rejected": Text("ไม่อนุมัติ", "Rejected"),
        "closed": Text("ปิดเรื่อง", "Closed"),
        "withdrawn": Text("ถอนเรื่อง", "Withdrawn"),
    }
)
# For versions that were published before there was the word, and for those that need none beside the name.
BY_NAME: Final[Mapping[str, Outcome]] = MappingProxyType(
    {
        "approved": "approved",
        "approved_as_noted": "approved_with_comments",
        "revision_requested": "revise_resubmit",
        "returned": "revise_resubmit",
        "rejected": "rejected",
        "completed": "closed",
        "cancelled": "withdrawn",
    }
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """
    What a definition says of a step, beside the names that it gives to things.

    :param outcome: what it means to have ended with it, None where it goes on or no word says it
    :param asks: the role of the organizations that the state reached waits for, or `recipient`
    :param decided_by: the role of the organizations that take such a step
    """

    outcome: Outcome | None = None
    asks: str | None = None
    decided_by: str | None = None


NOTHING = Meaning()
