"""The piece of a text in which what was looked for stands, with marks around it."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from saraban.search_index.domain.folding import fold, fold_with_places

AROUND: Final = 60


class Piece(NamedTuple):
    text: str
    is_marked: bool


def snippet(text: str, words: Sequence[str], *, around: int = AROUND) -> list[Piece]:
    """
    Return the part of a text around the first of the words, empty where none of them stands in it.

    :param words: folded
    :param around: characters that are shown before and behind the first mark
    """
    said = fold(text)
    if not any(word in said for word in words):  # true of most texts: their places take ten times as long
        return []
    folded, places = fold_with_places(text)
    ends = [*places[1:], len(text)]
    marks = sorted(_ranges(folded, words))
    if not marks:
        return []
    start = max(0, marks[0][0] - around)
    stop = min(len(folded), marks[0][1] + around)
    found, at = [Piece("…", is_marked=False)] if start else [], places[start] if folded else 0
    for first, last in marks:
        if first >= stop:
            break
        begin = places[first]
        end = begin + len(text[begin : _behind(places, ends, last - 1)].rstrip())
        if begin < at:
            continue
        found += [Piece(text[at:begin], is_marked=False), Piece(text[begin:end], is_marked=True)]
        at = end
    rest = text[at : max(at, _behind(places, ends, stop - 1))]
    found.append(Piece(rest + ("…" if stop < len(folded) else ""), is_marked=False))
    return [piece for piece in found if piece.text]


def _behind(places: Sequence[int], ends: Sequence[int], last: int) -> int:
    """Return where what became the folded character `last` ends: one character of a text may have become several."""
    while last + 1 < len(places) and places[last + 1] == places[last]:
        last += 1
    return ends[last]


def _ranges(folded: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    for word in words:
        at = folded.find(word)
        while at >= 0:
            yield at, at + len(word)
            at = folded.find(word, at + len(word))
