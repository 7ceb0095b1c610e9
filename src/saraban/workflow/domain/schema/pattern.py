"""
Makes a text that a pattern takes, for the patterns that people write: letters, classes, groups and repetitions.

What it makes is a proposal: whoever wants to be sure asks the pattern itself.
"""

from collections.abc import Iterator

_CLASSES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t", "r": "\r"}
_PROPERTIES = {"L": "a", "Ll": "a", "Lu": "A", "N": "1", "Nd": "1", "P": "-", "Z": " ", "Thai": "ก", "Latin": "a"}
_OTHERS = "aA1 -_ก.\n"
_MOST = 300


def texts(pattern: str, *, shortest: int = 0) -> Iterator[str]:
    """Propose texts, the shortest first."""
    for more in dict.fromkeys((0, 1, 2, shortest)):
        try:
            yield _Maker(pattern, more).whole()[:_MOST]
        except (IndexError, ValueError):
            return


class _Maker:
    """:param more: how much oftener than needed a part is repeated that may be"""

    def __init__(self, pattern: str, more: int) -> None:
        self._text, self._at, self._more = pattern, 0, more

    def whole(self) -> str:
        made = ""
        while self._at < len(self._text):
            made += self._choice()
            self._at += 1  # over a bracket that nothing opened
        return made

    def _choice(self) -> str:
        """The first of the alternatives, up to the end of the group."""
        first = self._sequence()
        while self._at < len(self._text) and self._text[self._at] == "|":
            self._at += 1
            self._sequence()
        return first

    def _sequence(self) -> str:
        made = ""
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            one = self._one()
            made += one * self._times()
        return made

    def _one(self) -> str:
        mark = self._text[self._at]
        self._at += 1
        if mark == "(":
            return self._group()
        if mark == "[":
            return self._set()
        if mark == "\\":
            return self._escape()
        return {".": "a", "^": "", "$": ""}.get(mark, mark)

    def _group(self) -> str:
        if self._text[self._at] == "?":
            self._at += 1
            while self._text[self._at] not in ":>)":
                self._at += 1
            self._at += self._text[self._at] != ")"
        made = self._choice()
        self._at += 1
        return made

    def _set(self) -> str:
        denied = self._text[self._at] == "^"
        self._at += denied
        taken: list[str] = []
        while self._text[self._at] != "]" or not taken:
            mark = self._text[self._at]
            self._at += 1
            if mark == "[" and self._text[self._at] == ":":
                self._at = self._text.index("]", self._at) + 1
                taken.append("a")
                continue
            first = self._escape() if mark == "\\" else mark
            if self._text[self._at] == "-" and self._text[self._at + 1] != "]":
                last = self._text[self._at + 1]
                self._at += 2
                taken += [first, *(each for each in _OTHERS if first <= each <= last), last]
            else:
                taken.append(first)
        self._at += 1
        return next(each for each in _OTHERS if each not in taken) if denied else taken[0]

    def _escape(self) -> str:
        mark = self._text[self._at]
        self._at += 1
        if mark in "pP":
            name = self._text[self._at]
            self._at += 1
            if name == "{":
                end = self._text.index("}", self._at)
                name, self._at = self._text[self._at : end].rpartition("=")[2], end + 1
            return _PROPERTIES.get(name, "a") if mark == "p" else "-"
        return "" if mark in "bBAz" else _CLASSES.get(mark, mark)

    def _times(self) -> int:
        mark = self._text[self._at : self._at + 1]
        if not mark or mark not in "*+?{":
            return 1
        self._at += 1
        least, most = {"*": (0, _MOST), "+": (1, _MOST), "?": (0, 1)}.get(mark, (1, 1))
        if mark == "{":
            end = self._text.index("}", self._at)
            low, comma, high = self._text[self._at : end].partition(",")
            least = int(low or 0)
            most, self._at = (int(high) if high else _MOST) if comma else least, end + 1
        if self._text[self._at : self._at + 1] in ("?", "+"):
            self._at += 1
        return min(least + self._more, max(most, least), _MOST)
