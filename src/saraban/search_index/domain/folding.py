"""One form for what people take for the same text, and the way back from a place in it to the text as it was written."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from saraban.kit.text import INVISIBLE, unify

THAI_DIGITS: Final = [(chr(ord("๐") + digit), str(digit)) for digit in range(10)]
# Thai has no blanks between words. People put them beside numbers or not, and programs that make PDFs between letters.
_BLANK: Final = rf"[\s\u2800{INVISIBLE.pattern[1:-1]}]"
_THAI_GAP: Final = re.compile(f"(?<=[\u0e01-\u0e4e]){_BLANK}+|(?<!{_BLANK}){_BLANK}++(?=[\u0e01-\u0e4e])")
# Thai vowels above and below and tone marks are no separators, though they are no `\w` either.
_SEPARATORS: Final = re.compile("[^\\w\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]|_")
# What is folded alone gives the same as folded in its text: a letter with its marks, doubled sara e, or a gap.
_CLUSTER: Final = re.compile(
    "(?:[\u0e40]{2}|[\\s\u2800][\\s\u2800\u200b-\u200f\u2060-\u2064\ufeff]*|.)[\u0300-\u036f\u0e31-\u0e3a\u0e47-\u0e4e\uff9e\uff9f]*",
    re.DOTALL,
)


def fold(text: str) -> str:
    """Return the form in which texts are found: `kit.text.unify`, with Thai digits as Arabic ones and no blanks beside Thai letters."""
    if text.isascii():
        return unify(text)
    folded = unify(_THAI_GAP.sub("", text))
    for thai, digit in THAI_DIGITS:  # a translation looks at each character, and takes four times as long
        folded = folded.replace(thai, digit)
    return folded


fold_cached = lru_cache(maxsize=4_096)(fold)  # of what comes again and again: single letters, names


def joined(number: str) -> str:
    """Return a folded number without its separators, as people type it who do not remember them."""
    return _SEPARATORS.sub("", number)


def fold_with_places(text: str) -> tuple[str, list[int]]:
    """Return the folded text, and for each of its characters where in `text` begins what it was made of."""
    folded: list[str] = []
    places: list[int] = []
    origins: list[int] = []
    at = 0
    for gap in _THAI_GAP.finditer(text):
        origins += range(at, gap.start())
        at = gap.end()
    origins += range(at, len(text))
    for found in _CLUSTER.finditer(_THAI_GAP.sub("", text)):
        piece = fold_cached(found[0])
        folded.append(piece)
        places += [origins[found.start()]] * len(piece)
    return "".join(folded), places


def has_letters(word: str) -> bool:
    """Whether there is more to a word than marks that stand on something."""
    return any(unicodedata.category(character)[0] in "LNPS" for character in word)
