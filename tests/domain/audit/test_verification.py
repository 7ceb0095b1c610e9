"""What each kind of tampering is called, and which row is named; no database."""

from datetime import UTC, datetime

import pytest

from saraban.audit.domain.journals import START, BlockHeader, BlockKind, RowDigest, rows_digest, with_digest
from saraban.audit.domain.verification import FindingKind, JournalVerification, heads_of

OLD = datetime(2015, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def marks(text: str) -> list[RowDigest]:
    """`ab` is two rows; `a!` is the row a, changed."""
    found: list[RowDigest] = []
    for letter in text:
        if letter == "!":
            found[-1] = RowDigest(found[-1].public_id, "changed")
        else:
            found.append(RowDigest(letter, f"digest of {letter}"))
    return found


def chain(
    *blocks: str, purge: tuple[int, int] | None = None, at: datetime = OLD
) -> list[tuple[BlockHeader, list[RowDigest] | None]]:
    made: list[tuple[BlockHeader, list[RowDigest] | None]] = []
    head = START
    for number, text in enumerate(blocks, 1):
        listed = marks(text)
        header = with_digest(
            BlockHeader("deeds", number, BlockKind.SEAL, len(listed), rows_digest(listed), head, at, at, NOW)
        )
        made.append((header, listed))
        head = header.head
    if purge:
        number = len(made) + 1
        made.append(
            (
                with_digest(
                    BlockHeader("deeds", number, BlockKind.PURGE, 0, rows_digest([]), head, at, at, NOW, *purge)
                ),
                None,
            )
        )
    return made


def examined(
    blocks: list[tuple[BlockHeader, list[RowDigest] | None]], *rows: str, heads: list[tuple[int, str]] | None = None
) -> JournalVerification:
    examination = JournalVerification("deeds", iter(heads) if heads is not None else None)
    for (header, listed), text in zip(blocks, rows, strict=True):
        examination.block(header, listed=listed, rows=marks(text))
    examination.finish()
    return examination


def named(examination: JournalVerification) -> list[tuple[FindingKind, int | None, str | None]]:
    return [(finding.what, finding.block, finding.public_id) for finding in examination.findings]


class TestRows:
    @pytest.mark.parametrize(
        ("there", "expected"),
        [
            ("abc", []),
            ("ab!c", [(FindingKind.CHANGED, 2, "b")]),
            ("a!b!c", [(FindingKind.CHANGED, 2, "a")]),
            ("bc", [(FindingKind.REMOVED, 2, "a")]),
            ("ac", [(FindingKind.REMOVED, 2, "b")]),
            ("ab", [(FindingKind.REMOVED, 2, "c")]),
            ("", [(FindingKind.REMOVED, 2, "a")]),
            ("xabc", [(FindingKind.INSERTED, 2, "x")]),
            ("axbc", [(FindingKind.INSERTED, 2, "x")]),
            ("abcx", [(FindingKind.INSERTED, 2, "x")]),
            ("aabc", [(FindingKind.INSERTED, 2, "a")]),
            ("axc", [(FindingKind.REMOVED, 2, "b")]),
            ("acb", [(FindingKind.MOVED, 2, "c")]),
        ],
    )
    def test_the_first_that_is_wrong_is_named(self, there: str, expected: list[tuple[FindingKind, int, str]]) -> None:
        assert named(examined(chain("z", "abc", "y"), "z", there, "y")) == expected


class TestBlocks:
    def test_one_that_is_gone_is_missed(self) -> None:
        first, _, third = chain("a", "b", "c")

        assert named(examined([first, third], "a", "c")) == [(FindingKind.BLOCK_REMOVED, 2, None)]

    def test_one_that_was_rewritten_with_its_rows_breaks_the_next(self) -> None:
        first, _, third = chain("a", "b", "c")
        _, forged, _ = chain("a", "b!", "c")

        assert named(examined([first, forged, third], "a", "b!", "c")) == [(FindingKind.BLOCK_CHANGED, 3, None)]

    def test_a_list_that_was_changed_with_its_row_does_not_help(self) -> None:
        ((header, _),) = chain("ab")

        assert named(examined([(header, marks("ab!"))], "ab!")) == [(FindingKind.BLOCK_CHANGED, 1, None)]

    def test_a_tail_that_was_cut_off_is_missed_by_the_head_file(self) -> None:
        blocks = chain("a", "b", "c")
        heads = [(header.number, header.head) for header, _ in blocks]

        assert named(examined(blocks, "a", "b", "c", heads=[*heads, heads[1], heads[2]])) == []
        assert named(examined(blocks[:1], "a", heads=heads)) == [(FindingKind.TAIL_CUT, 2, None)]
        assert named(examined(chain("a", "x", "c"), "a", "x", "c", heads=heads))[0] == (FindingKind.OTHER_HEAD, 2, None)

    def test_a_head_file_may_begin_later_and_end_earlier(self) -> None:
        blocks = chain("a", "b", "c")

        assert named(examined(blocks, "a", "b", "c", heads=[(2, blocks[1][0].head)])) == []


class TestLawfulDeletion:
    def test_is_accepted_and_counted(self) -> None:
        (one, _), (two, _), three, purge = chain("a", "b", "c", purge=(1, 2))
        examination = examined([(one, None), (two, None), three, purge], "", "", "c", "")

        assert (named(examination), examination.purged) == ([], 2)

    def test_is_not_what_nobody_wrote_down(self) -> None:
        (one, _), (two, _), three, purge = chain("a", "b", "c", purge=(1, 1))

        assert named(examined([(one, None), (two, None), three, purge], "", "", "c", "")) == [
            (FindingKind.ROWS_GONE, 2, None)
        ]

    def test_covers_only_rows_of_seven_years(self) -> None:
        (one, _), two, purge = chain("a", "b", purge=(1, 1), at=datetime(2019, 1, 2, tzinfo=UTC))

        assert (FindingKind.PURGED_EARLY, 3, None) in named(examined([(one, None), two, purge], "", "b", ""))

    def test_lets_nothing_take_the_place_of_what_went(self) -> None:
        (one, _), two, purge = chain("a", "b", purge=(1, 1))

        assert named(examined([(one, None), two, purge], "x", "b", "")) == [(FindingKind.INSERTED, 1, "x")]


def test_a_head_file_is_read_line_by_line() -> None:
    one, two = "a" * 64, "b" * 64
    lines = [
        f"2026Z deeds 1 {one}\n",
        f"2026Z numbers 1 {two}\n",
        "torn\n",
        f"2026Z deeds x {one}\n",
        "2026Z deeds 2 bb\n",
    ]

    assert list(heads_of("deeds", [*lines, f"2026Z deeds 2 {two}\n"])) == [(1, one), (2, two)]
