"""Conditions of a definition: a compiled rule, what it reads, and what is said when it does not hold."""

from dataclasses import dataclass

from saraban.kit.errors import Text
from saraban.kit.json import JsonObject
from saraban.workflow.language import logic

# What the client sends with an action; such a condition cannot be judged before the action is taken.
SENT = frozenset({"payload", "comment", "responseCode", "*"})


@dataclass(frozen=True, slots=True)
class Condition:
    """
    :param message: said when it does not hold; `{name}` places are filled from `document`
    """

    logic: logic.Compiled
    message: Text | None = None

    @property
    def reads_payload(self) -> bool:
        """Whether it asks what the client sends, so that it cannot be judged before."""
        return not names(self.logic).isdisjoint(SENT)

    def holds(self, facts: JsonObject) -> bool:
        """Return whether the condition is met; a rule that would take too long on these facts is not."""
        try:
            return logic.truthy(self.logic.evaluate(facts))
        except logic.BudgetExceeded:
            return False


def names(rule: logic.Compiled) -> frozenset[str]:
    """Return the top-level names that a rule reads; `*` stands for any."""
    return frozenset(path.partition(".")[0] for path in rule.variables)
