"""Which sequences a batch gets: the next ones that are neither closed nor taken."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SequenceRange:
    """Sequences `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, sequence: int) -> bool:
        return self.first <= sequence <= self.last


def open_sequences(after: int, *, closed: Sequence[SequenceRange], taken: Collection[int] = ()) -> Iterator[int]:
    """
    Return the sequences above `after` that may be issued, without end.

    :param closed: sorted, not overlapping
    """
    sequence = after + 1
    for stretch in closed:
        while sequence < stretch.first:
            if sequence not in taken:
                yield sequence
            sequence += 1
        sequence = max(sequence, stretch.last + 1)
    while True:
        if sequence not in taken:
            yield sequence
        sequence += 1


def sequence_ranges(sequences: Collection[int]) -> list[SequenceRange]:
    """Fold single sequences into stretches, in order."""
    folded: list[SequenceRange] = []
    for sequence in sorted(sequences):
        if folded and folded[-1].last == sequence - 1:
            folded[-1] = SequenceRange(folded[-1].first, sequence)
        else:
            folded.append(SequenceRange(sequence, sequence))
    return folded
