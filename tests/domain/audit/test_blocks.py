"""The two digests and the canonical form, against values computed by hand as `docs/audit.md` says."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from saraban.audit.domain.journals import (
    ACTIONS,
    JOURNALS,
    START,
    BlockHeader,
    BlockKind,
    RowDigest,
    canonical_line,
    digest_of_row,
    from_export,
    head_digest,
    pack,
    rows_digest,
    to_export,
    unpack,
    utc_text,
    with_digest,
    years_before,
)

AT = datetime(2026, 11, 21, 3, 4, 5, 678901, tzinfo=UTC)
ID = "0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c"
VALUES = (ID, AT, "rfa.create", "INFO", None, "rfa", "x", '{"a":"ขาดแบบ"}', "203.0.113.9", None, None)


def header(**changes: object) -> BlockHeader:
    facts: dict[str, object] = {
        "journal": "deeds",
        "number": 1,
        "kind": "SEAL",
        "row_count": 1,
        "rows_digest": "a" * 64,
        "previous_head": START,
        "first_at": AT,
        "last_at": AT,
        "sealed_at": AT,
    }
    return BlockHeader(**(facts | changes))  # type: ignore[arg-type]


class TestLine:
    def test_is_the_same_whatever_the_database_gives(self) -> None:
        on_mariadb = canonical_line(ACTIONS, VALUES)
        on_sqlite = canonical_line(ACTIONS, (ID.replace("-", ""), "2026-11-21 03:04:05.678901", *VALUES[2:]))

        assert on_mariadb == on_sqlite
        assert on_mariadb.decode().startswith(
            '{"type":"row","journal":"deeds","publicId":"' + ID + '","createdAt":"2026-11-21T03:04:05.678901Z",'
        )
        assert json.loads(on_mariadb)["details"] == '{"a":"ขาดแบบ"}'

    @pytest.mark.parametrize("place", range(len(VALUES)))
    def test_changes_with_every_column(self, place: int) -> None:
        changed = [*VALUES]
        changed[place] = "0" * 32 if place in {0, 4} else "2020-01-01 00:00:00" if place == 1 else "other"

        assert (
            digest_of_row(canonical_line(ACTIONS, changed)).digest
            != digest_of_row(canonical_line(ACTIONS, VALUES)).digest
        )

    def test_tells_keys_as_public_ids_alone(self) -> None:
        for journal in JOURNALS:
            keys = [field for field in journal.fields if field.column.endswith("_id") and field.kind == "plain"]
            assert [field.name for field in keys if field.column not in {"entity_id", "request_id"}] == []
            assert journal.key not in {field.column for field in journal.fields}

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (AT, "2026-11-21T03:04:05.678901Z"),
            (AT.replace(microsecond=0), "2026-11-21T03:04:05.000000Z"),
            (AT.astimezone(timezone(timedelta(hours=7))), "2026-11-21T03:04:05.678901Z"),
            (AT.replace(tzinfo=None), "2026-11-21T03:04:05.678901Z"),
            ("2026-11-21 03:04:05", "2026-11-21T03:04:05.000000Z"),
            ("no time", "no time"),
        ],
    )
    def test_has_moments_in_one_form(self, given: datetime | str, expected: str) -> None:
        assert utc_text(given) == expected


class TestDigests:
    def test_are_what_the_page_says(self) -> None:
        line = b'{"type":"row","publicId":"a","createdAt":"b"}'
        mark = digest_of_row(line)
        text = f"a {hashlib.sha256(line).hexdigest()}\n"

        assert rows_digest([mark]) == hashlib.sha256(text.encode()).hexdigest()
        at = "2026-11-21T03:04:05.678901Z"
        facts = f"saraban-audit-1\ndeeds\n1\nSEAL\n1\n{'a' * 64}\n{'0' * 64}\n{at}\n{at}\n{at}\n-\n-"
        assert head_digest(header()) == hashlib.sha256(facts.encode()).hexdigest()

    @pytest.mark.parametrize(
        "changes",
        [
            *(
                {"journal": "numbers"},
                {"number": 2},
                {"kind": BlockKind.PURGE},
                {"row_count": 2},
                {"rows_digest": "b" * 64},
            ),
            *(
                {"previous_head": "c" * 64},
                {"first_at": AT - timedelta(microseconds=1)},
                {"sealed_at": AT.replace(year=2025)},
            ),
            *({"last_at": AT + timedelta(days=1)}, {"purged_first": 1}, {"purged_last": 1}),
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_a_head_covers_every_fact(self, changes: dict[str, object]) -> None:
        assert head_digest(header(**changes)) != head_digest(header())

    def test_a_list_comes_back_from_its_bytes(self) -> None:
        marks = [RowDigest(ID, "ab" * 32), RowDigest(ID[::-1].replace("-", "")[:8] + ID[8:], "cd" * 32)]

        assert unpack(pack(marks)) == marks

    def test_a_header_comes_back_from_the_export(self) -> None:
        whole = with_digest(header(purged_first=1, purged_last=4, kind=BlockKind.PURGE))

        assert from_export(json.loads(json.dumps(to_export(whole, [RowDigest(ID, "ab" * 32)])))) == (
            whole,
            [RowDigest(ID, "ab" * 32)],
        )


def test_the_years_before_a_leap_day_end_on_the_28th() -> None:
    assert years_before(datetime(2028, 2, 29, tzinfo=UTC), 7) == datetime(2021, 2, 28, tzinfo=UTC)
