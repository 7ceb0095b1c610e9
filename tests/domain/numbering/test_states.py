"""The table of states (ruling N12)."""

import pytest

from saraban.numbering.domain.states import TABLE, State, Who, source_of


class TestTable:
    def test_is_the_rulings(self) -> None:
        steps = {(step.source, step.target) for step in TABLE}

        assert steps == {
            (State.RESERVED, State.CONFIRMED),
            (State.RESERVED, State.CANCELLED),
            (State.RESERVED, State.EXPIRED),
            (State.CONFIRMED, State.VOID),
            (State.CONFIRMED, State.CANCELLED),
        }

    @pytest.mark.parametrize("ended", [State.CANCELLED, State.EXPIRED, State.VOID])
    def test_lets_nothing_out_of_a_state_that_ends(self, ended: State) -> None:
        assert [step for step in TABLE if step.source is ended] == []

    def test_has_one_source_for_each_step_of_each_party(self) -> None:
        assert len({(step.target, step.who) for step in TABLE}) == len(TABLE)

    def test_knows_no_step_that_is_not_written(self) -> None:
        with pytest.raises(KeyError):
            source_of(State.EXPIRED, Who.ADMINISTRATOR)
