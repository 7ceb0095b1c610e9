"""What each kind of tampering is called, and which row is named; no database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from saraban.audit.domain.journals import (
    START,
    BlockHeader,
    BlockKind,
    RowDigest,
    rows_digest,
    with_digest,
)
from saraban.audit.domain.verification import FindingKind, HeadLine, JournalVerification, Trust, heads_of
from saraban.kit.signatures import Signer

OLD = datetime(2015, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIGNER, STRANGER = Signer("s" * 32, purpose="audit"), Signer("t" * 32, purpose="audit")
TRUST = Trust(NOW, frozenset({SIGNER.public_key}))


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
            BlockHeader("deeds", number, BlockKind.SEAL, len(listed), rows_digest(listed), head, at, at, at)
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
    blocks: list[tuple[BlockHeader, list[RowDigest] | None]],
    *rows: str,
    heads: list[HeadLine] | None = None,
    trust: Trust = TRUST,
) -> JournalVerification:
    examination = JournalVerification("deeds", trust, iter(heads) if heads is not None else None)
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
        heads = [HeadLine(header.number, header.head) for header, _ in blocks]

        assert named(examined(blocks, "a", "b", "c", heads=[*heads, heads[1], heads[2]])) == []
        assert named(examined(blocks[:1], "a", heads=heads)) == [(FindingKind.TAIL_CUT, 2, None)]
        assert named(examined(chain("a", "x", "c"), "a", "x", "c", heads=heads))[0] == (FindingKind.OTHER_HEAD, 2, None)

    def test_a_head_file_may_begin_later_and_end_earlier(self) -> None:
        blocks = chain("a", "b", "c")

        assert named(examined(blocks, "a", "b", "c", heads=[HeadLine(2, blocks[1][0].head)])) == []


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


class TestForgedDeletion:
    """Blocks of today, whose rows and lists are gone, and a `PURGE` block with a correctly computed head."""

    TODAY = NOW - timedelta(hours=1)

    def forged(self, **dates: datetime) -> list[tuple[FindingKind, int | None]]:
        (one, _), two = chain("a", "b", at=self.TODAY)
        purge = BlockHeader("deeds", 3, BlockKind.PURGE, 1, rows_digest([]), two[0].head, OLD, OLD, NOW, 1, 1)
        blocks = [(one, None), two, (with_digest(replace(purge, **dates)), None)]  # type: ignore[arg-type]
        return [(finding.what, finding.block) for finding in examined(blocks, "", "b", "").findings]

    def test_is_not_lawful_because_it_is_dated_later(self) -> None:
        later = datetime(2040, 1, 1, tzinfo=UTC)

        assert self.forged(sealed_at=later, first_at=self.TODAY, last_at=self.TODAY) == [
            (FindingKind.ROWS_GONE, 1),
            (FindingKind.SEALED_IN_FUTURE, 3),
            (FindingKind.PURGED_EARLY, 3),
        ]

    def test_is_not_lawful_because_it_calls_the_rows_old(self) -> None:
        assert self.forged() == [(FindingKind.ROWS_GONE, 1), (FindingKind.PURGED_EARLY, 3)]

    def test_is_not_lawful_because_the_rows_are_dated_back(self) -> None:
        """Their block was sealed an hour ago, whatever its rows say of themselves."""
        (one, _), two = chain("a", "b", at=OLD)
        one = with_digest(replace(one, sealed_at=self.TODAY))
        two = with_digest(replace(two[0], sealed_at=self.TODAY, previous_head=one.head)), two[1]
        purge = with_digest(
            BlockHeader("deeds", 3, BlockKind.PURGE, 1, rows_digest([]), two[0].head, OLD, OLD, NOW, 1, 1)
        )

        assert named(examined([(one, None), two, (purge, None)], "", "b", "")) == [
            (FindingKind.ROWS_GONE, 1, None),
            (FindingKind.PURGED_EARLY, 3, None),
        ]


def signed(*signers: Signer | None) -> list[tuple[BlockHeader, list[RowDigest] | None]]:
    return [
        (header if signer is None else with_digest(header, signer), listed)
        for signer, (header, listed) in zip(signers, chain(*"abcdef"[: len(signers)]), strict=True)
    ]


class TestSignatures:
    def findings(
        self, blocks: list[tuple[BlockHeader, list[RowDigest] | None]], trust: Trust = TRUST, **options: list[HeadLine]
    ) -> list[tuple[FindingKind, int | None]]:
        examination = examined(blocks, *"abcdef"[: len(blocks)], trust=trust, **options)
        return [(finding.what, finding.block) for finding in examination.findings]

    def test_begin_at_any_block_and_then_never_end(self) -> None:
        assert self.findings(signed(None, None, SIGNER, SIGNER)) == []
        assert self.findings(signed(None, SIGNER, None)) == [(FindingKind.UNSIGNED, 3)]

    def test_that_were_removed_are_missed_by_the_head_file(self) -> None:
        blocks = signed(None, None)
        heads = [HeadLine(1, blocks[0][0].head), HeadLine(2, blocks[1][0].head, is_signed=True)]

        assert self.findings(blocks, heads=heads) == [(FindingKind.UNSIGNED, 2)]

    def test_of_other_heads_are_wrong(self) -> None:
        (one, _), (two, listed) = signed(SIGNER, SIGNER)
        for signature in (one.signature, "00" * 64, "no hex"):
            wrong = replace(two, signature=signature)
            assert self.findings([(one, marks("a")), (wrong, listed)]) == [(FindingKind.WRONG_SIGNATURE, 2)]

    def test_by_a_foreign_key_are_not_believed(self) -> None:
        assert self.findings(signed(SIGNER, STRANGER)) == [(FindingKind.UNKNOWN_KEY, 2)]

    def test_by_a_key_that_only_the_blocks_state_prove_nothing_and_say_so(self) -> None:
        examination = examined(signed(SIGNER), "a", trust=Trust(NOW))

        assert (examination.findings, examination.unproven_keys) == ([], {SIGNER.public_key})

    def test_are_expected_where_a_key_is_stated(self) -> None:
        stated = Trust(NOW, frozenset({SIGNER.public_key}), expects_signatures=True)

        assert self.findings(signed(None, SIGNER), stated) == []
        assert self.findings(signed(None), stated) == [(FindingKind.NO_SIGNATURES, None)]


class TestSealTimes:
    def findings(self, *moments: datetime, signer: Signer | None = None) -> list[tuple[FindingKind, int | None]]:
        blocks, head = [], START
        for number, (header, listed) in enumerate(chain(*"abcdef"[: len(moments)])):
            dated = with_digest(replace(header, previous_head=head, sealed_at=moments[number]))
            head = dated.head
            blocks.append((dated if signer is None else with_digest(dated, signer), listed))
        examination = examined(blocks, *"abcdef"[: len(moments)])
        return [(finding.what, finding.block) for finding in examination.findings]

    def test_are_never_later_than_now(self) -> None:
        assert self.findings(NOW, NOW + timedelta(minutes=4)) == []
        assert self.findings(NOW, NOW + timedelta(minutes=6)) == [(FindingKind.SEALED_IN_FUTURE, 2)]
        assert self.findings(datetime.max.replace(tzinfo=UTC)) == [(FindingKind.SEALED_IN_FUTURE, 1)]

    def test_never_go_back(self) -> None:
        second = timedelta(seconds=1)

        assert self.findings(NOW - second, NOW, NOW, signer=SIGNER) == []
        assert self.findings(NOW, NOW - second, signer=SIGNER) == [(FindingKind.SEALED_BACKWARDS, 2)]

    def test_of_unsigned_blocks_go_back_by_minutes_at_most(self) -> None:
        """Before seal times were monotonic, two servers sealed by two clocks."""
        assert self.findings(NOW, NOW - timedelta(minutes=4)) == []
        assert self.findings(NOW, NOW - timedelta(minutes=6)) == [(FindingKind.SEALED_BACKWARDS, 2)]


def test_a_head_file_is_read_line_by_line() -> None:
    one, two = "a" * 64, "b" * 64
    lines = [
        f"2026Z deeds 1 {one}\n",
        f"2026Z numbers 1 {two}\n",
        "torn\n",
        f"2026Z deeds x {one}\n",
        "2026Z deeds 2 bb\n",
    ]

    assert list(heads_of("deeds", [*lines, f"2026Z deeds 2 {two} ab cd\n"])) == [(1, one, False), (2, two, True)]
