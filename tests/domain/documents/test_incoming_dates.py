"""The dates of what came from outside."""

from datetime import date

import pytest

from saraban.documents.core.domain import date_faults

TODAY, EARLIER, TOMORROW = date(2026, 11, 22), date(2026, 11, 20), date(2026, 11, 23)


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        ({}, {}),
        ({"sent": EARLIER, "received": TODAY}, {}),
        ({"sent": TODAY, "received": TODAY}, {}),
        ({"sent": TODAY, "received": EARLIER}, {"receivedDate": "before_sender"}),
        ({"received": TOMORROW}, {"receivedDate": "too_late"}),
        ({"sent": TOMORROW, "received": TODAY}, {"senderDate": "too_late", "receivedDate": "before_sender"}),
        ({"document": TOMORROW}, {}),
        ({"document": date(2569, 11, 22)}, {"documentDate": "too_late"}),
    ],
)
def test_are_held_against_each_other_and_against_today(dates: dict[str, date], expected: dict[str, str]) -> None:
    given = {"document": None, "sent": None, "received": None} | dates

    assert date_faults(**given, today=TODAY) == expected
