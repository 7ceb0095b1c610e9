"""The account of a series: what became of every sequence, and what explains those that have no number."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from saraban.numbering.register.domain import Gap, GapReason, ledger_lines
from saraban.numbering.series.domain.counter import SequenceRange


@dataclass(frozen=True)
class Number:
    sequence: int


def told(
    sequences: list[int], *, counter: int, gaps: list[Gap] | None = None, after: int = 0
) -> list[tuple[int, int, str]]:
    lines = ledger_lines([Number(one) for one in sequences], after=after, counter=counter, gaps=gaps or [])
    return [(line.first, line.last, line.gap.why if line.gap else "NUMBER") for line in lines]


class TestAccount:
    def test_of_a_series_without_holes_is_its_numbers(self) -> None:
        assert told([1, 2], counter=2) == [(1, 1, "NUMBER"), (2, 2, "NUMBER")]

    def test_names_a_hole_that_nothing_explains(self) -> None:
        assert told([1, 4], counter=4)[1] == (2, 3, "UNEXPLAINED")

    def test_names_what_is_missing_below_the_counter(self) -> None:
        assert told([1], counter=3)[1:] == [(2, 3, "UNEXPLAINED")]

    def test_says_of_what_the_counter_has_not_come_to_that_it_was_not_issued(self) -> None:
        assert told([1, 9], counter=1) == [(1, 1, "NUMBER"), (2, 8, "NOT_ISSUED"), (9, 9, "NUMBER")]

    def test_finds_nothing_missing_above_counter_and_numbers(self) -> None:
        assert told([1], counter=1) == [(1, 1, "NUMBER")]

    def test_of_a_series_that_never_counted_leaves_no_hole_without_a_reason(self) -> None:
        gaps = [Gap(SequenceRange(3, 3), GapReason.BARRED)]

        assert told([1, 5], counter=0, gaps=gaps) == [
            (1, 1, "NUMBER"),
            (2, 2, "NOT_ISSUED"),
            (3, 3, "BARRED"),
            (4, 4, "NOT_ISSUED"),
            (5, 5, "NUMBER"),
        ]

    def test_cuts_a_hole_where_its_reason_changes(self) -> None:
        gaps = [Gap(SequenceRange(3, 4), GapReason.BARRED), Gap(SequenceRange(5, 20), GapReason.KEPT)]

        assert told([1, 9], counter=9, gaps=gaps)[1:-1] == [(2, 2, "UNEXPLAINED"), (3, 4, "BARRED"), (5, 8, "KEPT")]

    def test_takes_the_first_reason_that_covers_a_sequence(self) -> None:
        gaps = [Gap(SequenceRange(2, 2), GapReason.SKIPPED), Gap(SequenceRange(1, 3), GapReason.BARRED)]

        assert [why for *_, why in told([], counter=3, gaps=gaps)] == ["BARRED", "SKIPPED", "BARRED"]

    def test_shows_two_numbers_of_one_sequence(self) -> None:
        assert told([1, 1, 2], counter=2) == [(1, 1, "NUMBER"), (1, 1, "NUMBER"), (2, 2, "NUMBER")]

    @given(
        sequences=st.sets(st.integers(1, 60)),
        counter=st.integers(0, 60),
        stretches=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20))),
    )
    def test_covers_every_sequence_up_to_the_counter_and_the_last_number_exactly_once(
        self, sequences: set[int], counter: int, stretches: list[tuple[int, int]]
    ) -> None:
        gaps = [Gap(SequenceRange(first, first + more), GapReason.SKIPPED) for first, more in stretches]

        lines = told(sorted(sequences), counter=counter, gaps=gaps)

        covered = [sequence for first, last, _ in lines for sequence in range(first, last + 1)]
        assert covered == list(range(1, max(counter, *sequences, 0) + 1))
