"""
The index of search, as rows hold it: for each three characters that follow one another, the entries whose text has them.

Entries have numbers, and 65,536 of them make a chunk. A posting holds those of one chunk: their places in it, two bytes each, or
a bitmap where that is shorter. It may name entries that have the characters no more: whoever searches compares the texts.
"""

import asyncio
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    Places = array[int]  # of 16 bits, in order, each once
else:
    Places = array

CHUNK: Final = 65_536
GRAM: Final = 3
END: Final = "\n"  # of each part of a text
TURN: Final = 10_000  # characters
_BITMAP: Final = CHUNK // 8  # bytes
_ONE: Final = ord("1")
_DENSE: Final = _BITMAP // 2  # places that take as many bytes


def grams_of_word(word: str) -> set[str]:
    return {word[place : place + GRAM] for place in range(len(word) - GRAM + 1)}


async def by_gram(texts: Mapping[int, str]) -> dict[str, Places | list[Places]]:
    """
    Return the places of entries by what their texts have, of one chunk, to be `joined`.

    Names stand in thousands of texts: what they have is looked at once. The event loop gets a turn after `TURN` characters.
    """
    holders: dict[str, Places] = defaultdict(partial(array, "H"))
    for place in sorted(texts):
        for part in dict.fromkeys(texts[place].split(END)):
            holders[part].append(place)
    found: dict[str, Places | list[Places]] = {}
    left = TURN
    for part, places in holders.items():
        said = part + END
        for start in range(0, len(said) - GRAM + 1, TURN):
            piece = said[start : start + TURN + GRAM - 1]
            for gram in grams_of_word(piece):
                several = found.setdefault(gram, places)
                if isinstance(several, list):
                    several += [places] if several[-1] is not places else []
                elif several is not places:
                    found[gram] = [several, places]
            left -= len(piece)
            if left <= 0:
                left = TURN
                await asyncio.sleep(0)
    return found


def joined(several: Places | list[Places]) -> Places:
    return array("H", sorted(set[int]().union(*several))) if isinstance(several, list) else several


def packed(places: Places) -> bytes:
    """:param places: in order, each once"""
    if len(places) < _DENSE:
        return places.tobytes()
    return _bitmap(places)


def _bitmap(places: Sequence[int]) -> bytes:
    digits = bytearray(b"0") * CHUNK  # of a number, the last place first: a third of the time of setting bits
    for place in places:
        digits[~place] = _ONE
    return int(digits, 2).to_bytes(_BITMAP, "little")


def merged(posting: bytes, places: Places) -> bytes:
    if len(posting) == _BITMAP:
        return (int.from_bytes(posting, "little") | int.from_bytes(_bitmap(places), "little")).to_bytes(
            _BITMAP, "little"
        )
    held = array("H", posting)
    if not held or places[0] > held[-1]:
        held.extend(places)
        return packed(held)
    return packed(array("H", sorted({*held, *places})))


def size(posting_bytes: int) -> int:
    """Return how many entries a posting of so many bytes has; of a bitmap at least."""
    return posting_bytes // 2


def bits(posting: bytes) -> int:
    """Return a posting as a number, one bit for each place."""
    return int.from_bytes(posting if len(posting) == _BITMAP else _bitmap(array("H", posting)), "little")


def in_all(postings: Collection[bytes]) -> int:
    return reduce(and_, map(bits, postings))


def in_any(postings: Collection[bytes]) -> int:
    return reduce(or_, map(bits, postings), 0)


def newest_first(found: int) -> Iterator[int]:
    """Give the places of a number of bits, the last one first."""
    while found:
        place = found.bit_length() - 1
        yield place
        found ^= 1 << place
