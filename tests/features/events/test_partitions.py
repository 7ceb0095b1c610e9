"""Years ahead of the calendar."""

from datetime import UTC, datetime

import pytest

from saraban.kit.db import Database
from saraban.worker.partitions import Partition, ensure_partitions, missing_years, reorganize_statement

BY_DATE = [
    Partition("p2026", "RANGE COLUMNS", "`created_at`", "'2027-01-01'"),
    Partition("p_max", "RANGE COLUMNS", "`created_at`", "MAXVALUE"),
]
BY_YEAR = [
    Partition("p2026", "RANGE", "year(`created_at`)", "2027"),
    Partition("p_max", "RANGE", "year(`created_at`)", "MAXVALUE"),
]
BY_DAY = [
    Partition("p2026", "RANGE", "to_days(`created_at`)", "740347"),
    Partition("p_max", "RANGE", "to_days(`created_at`)", "MAXVALUE"),
]


class TestMissingYears:
    @pytest.mark.parametrize("partitions", [BY_DATE, BY_YEAR, BY_DAY])
    @pytest.mark.parametrize(
        ("year", "missing"), [(2025, []), (2026, [2027]), (2027, [2027, 2028]), (2030, [2030, 2031])]
    )
    def test_looks_one_year_ahead(self, partitions: list[Partition], year: int, missing: list[int]) -> None:
        assert missing_years(partitions, year=year) == missing

    def test_leaves_a_table_without_partitions_alone(self) -> None:
        assert missing_years([], year=2026) == []


class TestStatement:
    @pytest.mark.parametrize(
        ("partitions", "bounds"),
        [
            (BY_DATE, ("('2028-01-01')", "(MAXVALUE)")),
            (BY_YEAR, ("(2028)", "MAXVALUE")),
            (BY_DAY, ("(TO_DAYS('2028-01-01'))", "MAXVALUE")),
        ],
    )
    def test_cuts_years_off_the_open_end(self, partitions: list[Partition], bounds: tuple[str, str]) -> None:
        assert reorganize_statement("notifications", partitions, years=[2027]) == (
            "ALTER TABLE notifications REORGANIZE PARTITION p_max INTO "
            f"(PARTITION p2027 VALUES LESS THAN {bounds[0]}, PARTITION p_max VALUES LESS THAN {bounds[1]})"
        )


class TestEnsurePartitions:
    async def test_has_nothing_to_do_on_sqlite(self, db: Database) -> None:
        now = datetime(2031, 1, 1, tzinfo=UTC)

        assert await db.transact(ensure_partitions, now) == []
