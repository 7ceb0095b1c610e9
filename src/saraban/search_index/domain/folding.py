"""Folding of texts, and positions in the original."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from saraban.kit.text import INVISIBLE, unify

THAI_DIGITS: Final = [(chr(ord("๐") + digit), str(digit)) for digit in range(10)]
# Thai has no blanks between words. Writers use them at will beside numbers; PDF programs insert them between letters.
_BLANK: Final = rf"[\s\u2800{INVISIBLE.pattern[1:-1]}]"
_THAI_GAP: Final = re.compile(f"(?<=[\u0e01-\u0e4e]){_BLANK}+|(?<!{_BLANK}){_BLANK}++(?=[\u0e01-\u0e4e])")
# Thai vowel and tone marks are no separators, although they do not match `\w`.
_SEPARATORS: Final = re.compile("[^\\w\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]|_")
# A unit that folds alone as it does in its text: a letter with its marks, doubled sara e, or a gap.
_CLUSTER: Final = re.compile(
    "(?:[\u0e40]{2}|[\\s\u2800][\\s\u2800\u200b-\u200f\u2060-\u2064\ufeff]*|.)[\u0300-\u036f\u0e31-\u0e3a\u0e47-\u0e4e\uff9e\uff9f]*",
    re.DOTALL,
)


def fold(text: str) -> str:
    """`kit.text.unify`, with Arabic digits and without blanks beside Thai letters."""
    if text.isascii():
        return unify(text)
    folded = unify(_THAI_GAP.sub("", text))
    for thai, digit in THAI_DIGITS:  # `str.translate` takes four times as long
        folded = folded.replace(thai, digit)
    return folded


fold_cached = lru_cache(maxsize=4_096)(fold)  # for repeated texts: single letters, names


def joined(number: str) -> str:
    """Remove separators, for users who do not remember them."""
    return _SEPARATORS.sub("", number)


def fold_with_places(text: str) -> tuple[str, list[int]]:
    """Return the folded text with the source position of each character."""
    folded: list[str] = []
    places: list[int] = []
    origins: list[int] = []
    end = 0
    for gap in _THAI_GAP.finditer(text):
        origins += range(end, gap.start())
        end = gap.end()
    origins += range(end, len(text))
    for cluster in _CLUSTER.finditer(_THAI_GAP.sub("", text)):
        piece = fold_cached(cluster[0])
        folded.append(piece)
        places += [origins[cluster.start()]] * len(piece)
    return "".join(folded), places


def has_letters(word: str) -> bool:
    """False for combining marks alone."""
    return any(unicodedata.category(character)[0] in "LNPS" for character in word)
