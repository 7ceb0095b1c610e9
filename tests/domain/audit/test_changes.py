"""What the details of an audit row say, in the shapes in which features write them; never an integer key, never a secret."""

from typing import Any

import pytest

from saraban.audit.domain.changes import HIDDEN, FieldChange, changes_in, shown_details

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
