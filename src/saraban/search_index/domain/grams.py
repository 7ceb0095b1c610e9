"""
How a text is split for the index: into each three characters that follow one another.

A word of three characters or more is a phrase of its trigrams, a shorter word the beginning of a trigram.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

GRAM: Final = 3
END: Final = "\x02"  # around each part of a text; a folded text contains no control characters
_BLANK: Final = "\x01"  # the index separates trigrams by blanks
_PIECE: Final = 50_000  # characters; a trigram takes eighty bytes while its piece is joined
_SHORT: Final = 200


def grams_of(parts: Iterable[str]) -> str:
    """Return the trigrams of folded texts, separated by blanks; no trigram joins two texts."""
    return " ".join(_cached(part) if len(part) <= _SHORT else _grams(part) for part in parts)


def _grams(part: str) -> str:
    text = f"{END}{part}{END}{END}".replace(" ", _BLANK)
    return " ".join(
        " ".join([text[place : place + GRAM] for place in range(start, min(start + _PIECE, len(text) - GRAM + 1))])
        for start in range(0, len(text) - GRAM + 1, _PIECE)
    )


_cached: Final = lru_cache(maxsize=4_096)(_grams)


def marked(word: str) -> str:
    """Return a folded word as trigrams contain it."""
    return word.replace(" ", _BLANK)


def phrase_of(word: str) -> list[tuple[int, str]]:
    """Return the fewest trigrams that contain each character of a marked word, with their places."""
    places = sorted({*range(0, len(word) - GRAM + 1, GRAM), len(word) - GRAM})
    return [(place, word[place : place + GRAM]) for place in places]
