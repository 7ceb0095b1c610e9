"""The table of states (REQ-NUM-12)."""

import pytest

from saraban.numbering.issue.domain import TRANSITIONS, NumberActor, required_state
from saraban.numbering.series.domain.states import NumberState


class TestTable:
    def test_is_that_of_the_requirement(self) -> None:
        steps = {(source, target) for (target, _), source in TRANSITIONS.items()}

        assert steps == {
            (NumberState.RESERVED, NumberState.CONFIRMED),
            (NumberState.RESERVED, NumberState.CANCELLED),
            (NumberState.RESERVED, NumberState.EXPIRED),
            (NumberState.CONFIRMED, NumberState.VOID),
            (NumberState.CONFIRMED, NumberState.CANCELLED),
        }

    @pytest.mark.parametrize("ended", [NumberState.CANCELLED, NumberState.EXPIRED, NumberState.VOID])
    def test_lets_nothing_out_of_a_state_that_ends(self, ended: NumberState) -> None:
        assert ended not in TRANSITIONS.values()

    def test_knows_no_step_that_is_not_written(self) -> None:
        with pytest.raises(KeyError):
            required_state(NumberState.EXPIRED, NumberActor.ADMINISTRATOR)
