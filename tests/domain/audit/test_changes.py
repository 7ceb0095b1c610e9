"""What the details of an audit row say, in the shapes in which features write them; never an integer key, never a secret."""

from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from saraban.audit.domain.changes import (
    HIDDEN,
    LONGEST,
    FieldChange,
    changes_in,
    field_changes,
    set_fields,
    shown_details,
)

Row = tuple[str, object, object]


@pytest.mark.parametrize(
    ("details", "changes", "facts"),
    [
        ({}, [], {}),
        ({"username": "somchai"}, [], {"username": "somchai"}),
        (
            {"documentNumber": "คคง.-0001", "changes": {"subject": {"old": "a", "new": "b"}}},
            [("subject", "a", "b")],
            {"documentNumber": "คคง.-0001"},
        ),
        (
            {"from": "draft", "to": "approved", "action": "approve"},
            [("status", "draft", "approved")],
            {"action": "approve"},
        ),
        (
            {"before": {"code": "STR", "nameTh": "ก"}, "after": {"code": "STR", "nameTh": "ข"}, "reason": "x"},
            [("nameTh", "ก", "ข")],
            {"reason": "x"},
        ),
        ({"before": None, "after": {"code": "STR"}}, [("code", None, "STR")], {}),
        ({"role": "ผู้ตรวจ", "after": {"scope": "Project"}}, [("scope", None, "Project")], {"role": "ผู้ตรวจ"}),
        ({"before": {"code": "STR"}, "after": None}, [("code", "STR", None)], {}),
        ({"migrated": {"before": 1, "after": 2}}, [("migrated", 1, 2)], {}),
        (
            {"changes": [{"path": "/contracts/C2", "change": "edit", "before": {"name": "a"}, "after": {"name": "b"}}]},
            [("contracts/C2 · name", "a", "b")],
            {},
        ),
        ({"before": [3, 1]}, [], {"before": [3, 1]}),
        ({"fields": ["subject"], "empty": {}}, [], {"fields": ["subject"], "empty": {}}),
    ],
)
def test_changes_are_found_in_every_shape(details: dict[str, Any], changes: list[Row], facts: dict[str, Any]) -> None:
    found, rest = changes_in(details)

    assert found == [FieldChange(*one) for one in changes]
    assert rest == facts


def test_integer_keys_and_secrets_are_never_shown() -> None:
    details = {
        "userId": 7,
        "project_id": 3,
        "id": 1,
        "secret": "whsec_abc",
        "values": [{"passwordHash": "$argon2", "contractId": 4, "kept": 1}],
        "publicId": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10",
        "isActive": True,
        "size": 12,
    }

    assert shown_details(details) == {
        "secret": HIDDEN,
        "values": [{"passwordHash": HIDDEN, "kept": 1}],
        "publicId": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10",
        "isActive": True,
        "size": 12,
    }


class TestFieldChanges:
    def test_keeps_what_is_different_only(self) -> None:
        before = {"subject": "a", "priority": "LOW", "documentDate": None}
        after = {"subject": "b", "priority": "LOW", "documentDate": date(2026, 3, 2)}

        assert field_changes(before, after) == {
            "subject": {"old": "a", "new": "b"},
            "documentDate": {"old": None, "new": "2026-03-02"},
        }

    def test_cuts_long_texts(self) -> None:
        (kept,) = field_changes({"body": "ก" * 1000}, {"body": None}).values()

        assert kept == {"old": "ก" * (LONGEST - 1) + "…", "new": None}
        assert len(kept["old"]) == LONGEST


class TestSetFields:
    def test_reads_the_old_values_before_it_sets_any(self) -> None:
        row = SimpleNamespace(scale="1:100", member_role="LEAD", zone=None)

        changes = set_fields(
            row, {"scale": "1:50", "member_role": "REVIEWER", "zone": None}, named={"member_role": "role"}
        )

        assert changes == {"scale": {"old": "1:100", "new": "1:50"}, "role": {"old": "LEAD", "new": "REVIEWER"}}
        assert (row.scale, row.member_role, row.zone) == ("1:50", "REVIEWER", None)
