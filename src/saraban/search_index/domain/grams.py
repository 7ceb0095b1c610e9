"""Trigrams of texts; a shorter word is a term of a separate field."""

from functools import lru_cache
from typing import Final

GRAM: Final = 3
END: Final = "\x02"  # around each part of a text; a folded text contains no control characters
_BLANK: Final = "\x01"  # the index separates trigrams by blanks
_PIECE: Final = 50_000  # characters; a trigram takes eighty bytes while its piece is joined


def grams(text: str) -> str:
    text = f"{END}{text}{END}{END}".replace(" ", _BLANK)
    last = len(text) - GRAM + 1
    if last <= _PIECE:
        return " ".join([text[place : place + GRAM] for place in range(last)])
    pieces = [range(start, min(start + _PIECE, last)) for start in range(0, last, _PIECE)]
    return " ".join([" ".join([text[place : place + GRAM] for place in piece]) for piece in pieces])


def short_grams(grams_of_text: str) -> str:
    """Return the distinct single characters and pairs of trigrams."""
    shorts = {gram[:size] for gram in set(grams_of_text.split(" ")) for size in (1, 2)}
    return " ".join(short for short in shorts if END not in short)


grams_cached: Final = lru_cache(maxsize=4_096)(grams)  # for names, which many documents contain


def marked(word: str) -> str:
    """Replace blanks as in trigrams."""
    return word.replace(" ", _BLANK)


def phrase_of(word: str) -> list[tuple[int, str]]:
    """Return the fewest trigrams, with positions, that cover the word."""
    places = sorted({*range(0, len(word) - GRAM + 1, GRAM), len(word) - GRAM})
    return [(place, word[place : place + GRAM]) for place in places]
