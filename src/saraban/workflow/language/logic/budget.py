"""What a rule may cost: its size when it is compiled, and its steps, texts and lists when it is evaluated."""

from dataclasses import dataclass

from saraban.kit.errors import Text


@dataclass(frozen=True, slots=True)
class Limits:
    """
    :param depth: levels of objects and lists in a rule
    :param parts: values in a rule, of any kind
    :param characters: length of all its texts together
    :param arguments: values of one operator
    :param steps: parts evaluated in one run; each round of a loop costs its body
    :param text: length of a text that `cat` makes
    :param items: length of a list that `merge` makes
    """

    depth: int = 64
    parts: int = 1_000
    characters: int = 50_000
    arguments: int = 100
    steps: int = 20_000
    text: int = 10_000
    items: int = 10_000


STEPS = Text("การตรวจเงื่อนไขใช้ขั้นตอนมากเกินกำหนด", "Evaluating the condition takes too many steps.")
NESTING = Text("ข้อมูลที่เงื่อนไขอ่านซ้อนลึกเกินกำหนด", "What the condition reads is too deeply nested.")
LENGTH = Text("เงื่อนไขสร้างข้อความยาวเกินกำหนด", "The condition makes a text that is too long.")
ITEMS = Text("เงื่อนไขสร้างรายการยาวเกินกำหนด", "The condition makes a list that is too long.")


class BudgetExceeded(Exception):
    """Evaluating was stopped; whoever asked decides what that means. `text` says why, for people."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


class Budget:
    """What is left for one evaluation."""

    __slots__ = ("_left", "limits")

    def __init__(self, limits: Limits, spent: int) -> None:
        self.limits = limits
        self._left = limits.steps
        self.spend(spent)

    @property
    def spent(self) -> int:
        return self.limits.steps - self._left

    def spend(self, steps: int) -> None:
        """
        Take steps from what is left.

        :raises BudgetExceeded: when there are not as many
        """
        self._left -= steps
        if self._left < 0:
            raise BudgetExceeded(STEPS)
