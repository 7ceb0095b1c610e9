"""
Can two formats of one project print the same number? (REQ-FMT-11: saving such a format warns and names the other.)

Each template is read as a small automaton over characters, tokens standing for the codes they can print; the two meet
when some text is accepted by both.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.template import Template, TemplateText, TemplateToken

_DIGIT = "\0digit"
_LETTER = "\0letter"
_DIGITS = frozenset("0123456789")
_DIGITS_OF = {tokens.YY_BE: 2, tokens.YY_AD: 2, tokens.MONTH: 2}
_MOST_PAIRS = 200_000


@dataclass(frozen=True, slots=True)
class TemplateShape:
    """
    A template with what its tokens can print.

    :param codes: token name to the codes it may print; a token that is missing prints anything
    """

    template: Template
    codes: Mapping[str, frozenset[str]]


class _Automaton:
    """States are integers; `edges[state]` lists (character class, next state); the last state accepts."""

    def __init__(self, shape: TemplateShape) -> None:
        self.edges: list[list[tuple[str, int]]] = [[]]
        for part in shape.template.parts:
            self._append(part, shape.codes)

    @property
    def accepting(self) -> int:
        return len(self.edges) - 1

    def _append(self, part: TemplateText | TemplateToken, codes: Mapping[str, frozenset[str]]) -> None:
        if isinstance(part, TemplateText):
            self._words([part.text])
        elif part.name == tokens.SEQ:
            self._repeat(_DIGIT, least=part.width)
        elif part.name in tokens.PERIODS:
            self._repeat(_DIGIT, least=_DIGITS_OF.get(part.name, 4), loops=False)
        elif part.name == tokens.REV:
            self._repeat(_LETTER, least=1)
        else:
            self._words(codes.get(part.name) or [""])

    def _words(self, words: Iterable[str]) -> None:
        start, ends = self.accepting, []
        for word in words:
            state = start
            for character in word:
                self.edges.append([])
                self.edges[state].append((character, len(self.edges) - 1))
                state = len(self.edges) - 1
            ends.append(state)
        self.edges.append([])
        for end in ends:
            self.edges[end].append(("", self.accepting))

    def _repeat(self, character: str, *, least: int, loops: bool = True) -> None:
        for _ in range(least):
            self.edges[self.accepting].append((character, len(self.edges)))
            self.edges.append([])
        if loops:
            self.edges[self.accepting].append((character, self.accepting))


def can_collide(one: TemplateShape, other: TemplateShape) -> bool:
    """Return whether some number could be printed by both; formats too big to compare count as meeting."""
    left, right = _Automaton(one), _Automaton(other)
    seen = {(0, 0)}
    queue = deque(seen)
    while queue:
        a, b = queue.popleft()
        if a == left.accepting and b == right.accepting:
            return True
        for pair in _moves(left.edges[a], right.edges[b], a, b):
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
        if len(seen) > _MOST_PAIRS:
            return True
    return False


def _moves(left: list[tuple[str, int]], right: list[tuple[str, int]], a: int, b: int) -> Iterable[tuple[int, int]]:
    for x, to in left:
        if x == "":
            yield to, b
    for y, to in right:
        if y == "":
            yield a, to
    for x, to_a in left:
        for y, to_b in right:
            if x and y and _overlap(x, y):
                yield to_a, to_b


def _overlap(x: str, y: str) -> bool:
    if x == y:
        return True
    if _DIGIT in {x, y}:
        other = y if x == _DIGIT else x
        return other in _DIGITS
    if _LETTER in {x, y}:
        other = y if x == _LETTER else x
        return "A" <= other <= "Z"
    return False
