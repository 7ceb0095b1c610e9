"""The checker of histories itself: what it must find and what it must let pass."""

from tests.linearizability import Seen, out_of_order


class TestOutOfOrder:
    def test_lets_draws_that_overlap_have_their_numbers_in_any_order(self) -> None:
        assert out_of_order([Seen(0, 10, 2), Seen(1, 9, 1), Seen(2, 8, 3)]) == []

    def test_finds_a_lower_number_after_a_higher_one_was_told(self) -> None:
        late = Seen(2, 3, 4)

        assert out_of_order([Seen(0, 1, 5), late, Seen(2.5, 4, 6)]) == [(late, 5)]

    def test_finds_a_number_that_was_given_twice(self) -> None:
        again = Seen(2, 3, 1)

        assert out_of_order([Seen(0, 1, 1), again]) == [(again, 1)]
