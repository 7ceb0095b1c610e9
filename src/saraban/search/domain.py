"""Snippets of texts with marked matches."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from saraban.search_index.domain.folding import fold, fold_with_places

AROUND: Final = 60


class Piece(NamedTuple):
    text: str
    is_marked: bool


def snippet(text: str, words: Sequence[str], *, around: int = AROUND) -> list[Piece]:
    """
    :param words: folded
    :param around: characters before and after the first match
    :returns: empty without a match
    """
    folded_text = fold(text)
    if not any(word in folded_text for word in words):  # most texts have no match, and positions take ten times as long
        return []
    folded, places = fold_with_places(text)
    ends = [*places[1:], len(text)]
    marks = sorted(_find_ranges(folded, words))
    if not marks:
        return []
    start = max(0, marks[0][0] - around)
    stop = min(len(folded), marks[0][1] + around)
    pieces, position = [Piece("…", is_marked=False)] if start else [], places[start] if folded else 0
    for first, last in marks:
        if first >= stop:
            break
        begin = places[first]
        end = begin + len(text[begin : _end_of_cluster(places, ends, last - 1)].rstrip())
        if begin < position:
            continue
        pieces += [Piece(text[position:begin], is_marked=False), Piece(text[begin:end], is_marked=True)]
        position = end
    rest = text[position : max(position, _end_of_cluster(places, ends, stop - 1))]
    pieces.append(Piece(rest + ("…" if stop < len(folded) else ""), is_marked=False))
    return [piece for piece in pieces if piece.text]


def _end_of_cluster(places: Sequence[int], ends: Sequence[int], last: int) -> int:
    """One source character can fold to several."""
    while last + 1 < len(places) and places[last + 1] == places[last]:
        last += 1
    return ends[last]


def _find_ranges(folded: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    for word in words:
        start = folded.find(word)
        while start >= 0:
            yield start, start + len(word)
            start = folded.find(word, start + len(word))
