"""What the audit trail keeps of an edit."""

from datetime import date

from saraban.audit.domain.changes import LONGEST, field_changes


class TestChanged:
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
