"""Audiences, and which revision was current when."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.documents.drawing.domain import AudienceKind, CurrentPeriod, audience_of, next_period

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("contract", "originator", "audience"),
    [
        (None, None, (AudienceKind.PROJECT, 0)),
        (7, None, (AudienceKind.CONTRACT, 7)),
        (7, 3, (AudienceKind.CONTRACT, 7)),
        (None, 3, (AudienceKind.ORGANIZATION, 3)),
    ],
)
def test_a_drawing_concerns_its_contract_else_its_originator_else_everybody(
    contract: int | None, originator: int | None, audience: tuple[AudienceKind, int]
) -> None:
    assert audience_of(contract=contract, originator=originator) == audience


@given(st.lists(st.integers(-5, 5), max_size=20), st.integers(-60, 60))
def test_at_every_moment_the_last_one_begun_is_current(steps: list[int], asked: int) -> None:
    """Against a replay: clocks of servers differ a little, so a revision may say that it is older than the one before it."""
    periods: list[CurrentPeriod] = []
    moment = START
    for step in steps:
        moment += timedelta(minutes=step)
        following = next_period(periods[-1] if periods else None, at=moment)
        if periods:
            periods[-1] = CurrentPeriod(periods[-1].since, following.since)
        periods.append(following)
    at = START + timedelta(minutes=asked)

    begun = [place for place, one in enumerate(periods) if one.since <= at]

    assert next((place for place, period in enumerate(periods) if period.holds(at)), None) == (
        begun[-1] if begun else None
    )
