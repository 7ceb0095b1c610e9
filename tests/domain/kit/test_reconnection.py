"""What a fault of the database means, and when work is repeated after it."""

import asyncio
from typing import Any

import pytest
from asyncmy.errors import OperationalError as DriverError
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError

from saraban.kit import reconnection
from saraban.kit.db import DatabaseFault, database_fault
from saraban.kit.reconnection import CommitLost, Reconnection, is_lost


class TestFault:
    @pytest.mark.parametrize(
        ("number", "fault"),
        [
            (2013, DatabaseFault.CONNECTION),
            (1047, DatabaseFault.CONNECTION),  # a node of Galera without its cluster
            (1290, DatabaseFault.CONNECTION),  # read_only
            (1836, DatabaseFault.CONNECTION),  # innodb_read_only
            (1180, DatabaseFault.CONNECTION),  # a node that lost its cluster in COMMIT
            (1213, DatabaseFault.COLLISION),  # also a certification that failed
            (1205, DatabaseFault.LOCK_WAIT),  # also a read that waited for its cluster in vain
            (1064, None),
        ],
    )
    def test_is_known_by_its_number(self, number: int, fault: DatabaseFault | None) -> None:
        assert database_fault(OperationalError("UPDATE", {}, Exception(number, "what the server says"))) is fault

    def test_is_not_read_from_a_users_text(self) -> None:
        assert (
            database_fault(DataError("", {}, Exception(1366, "Incorrect string value: 'database is locked'"))) is None
        )

    def test_of_a_lost_commit_is_its_own(self) -> None:
        assert database_fault(CommitLost()) is DatabaseFault.COMMIT

    @pytest.mark.parametrize(
        ("error", "lost"),
        [
            (IntegrityError("", {}, Exception(1062, "Duplicate entry 'Lost connection' for key 'code'")), False),
            (OperationalError("", {}, Exception(1644, "not connected")), False),
            (OperationalError("", {}, Exception(2013, "no answer")), True),
            (OperationalError("", {}, Exception(0, "Not connected")), True),
            (DriverError("Lost connection to MySQL server"), True),
        ],
    )
    def test_of_a_server_is_not_searched_for_words(self, error: DBAPIError | DriverError, *, lost: bool) -> None:
        assert is_lost(error) is lost


class TestReconnection:
    @pytest.fixture
    def slept(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        pauses: list[float] = []
        now = [0.0]

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            now[0] += seconds

        monkeypatch.setattr(reconnection, "monotonic", lambda: now[0])
        monkeypatch.setattr(asyncio, "sleep", sleep)
        monkeypatch.setattr(self, "pass_seconds", lambda seconds: now.__setitem__(0, now[0] + seconds), raising=False)
        return pauses

    @staticmethod
    def failing(times: int, error: Exception) -> Any:
        left = [times]

        async def attempt() -> str:
            left[0] -= 1
            if left[0] >= 0:
                raise error
            return "done"

        return attempt

    @pytest.mark.parametrize("error", [DriverError(2003, "no"), OperationalError("", {}, Exception(1047, "no"))])
    async def test_repeats_at_once_and_after_one_two_and_four_seconds(
        self, slept: list[float], error: Exception
    ) -> None:
        heard: list[int] = []

        assert await Reconnection(listener=heard.append).run(self.failing(4, error)) == "done"
        assert (slept, heard) == ([0, 1, 2, 4], [1, 2, 3, 4])
        with pytest.raises(type(error)):
            await Reconnection().run(self.failing(5, error))

    @pytest.mark.parametrize("error", [OperationalError("", {}, Exception(1213, "no")), CommitLost(), TimeoutError()])
    async def test_repeats_nothing_else(self, slept: list[float], error: Exception) -> None:
        with pytest.raises(type(error)):
            await Reconnection().run(self.failing(1, error))
        assert slept == []

    async def test_begins_no_attempt_after_its_pauses_are_over(self, slept: list[float]) -> None:
        async def silent() -> None:
            self.pass_seconds(5)  # type: ignore[attr-defined]
            raise DriverError(2013, "no answer")

        with pytest.raises(DriverError):
            await Reconnection().run(silent)
        assert slept == [0, 1]

    async def test_of_none_is_none(self, slept: list[float]) -> None:
        with pytest.raises(DriverError):
            await Reconnection(retries=0).run(self.failing(1, DriverError(2003, "no")))
        assert slept == []
