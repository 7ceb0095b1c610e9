"""Requests of searches."""

from datetime import date

import pytest

from saraban.search.schemas import SearchAsked


class TestSearchAsked:
    @pytest.mark.parametrize("typed", ["1/11/2569", "2026-11-01", "1 พ.ย. 2569"])
    def test_takes_days_as_people_type_them(self, typed: str) -> None:
        asked = SearchAsked.model_validate({"q": "เสาเข็ม", "from": typed, "until": typed})

        assert asked.since == asked.until == date(2026, 11, 1)
