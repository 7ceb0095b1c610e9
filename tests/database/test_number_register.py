"""The books against each other on each database: what was torn is named, what is in order is not."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.bootstrap import carriers
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.ids import new_id
from saraban.kit.pagination import Page
from saraban.kit.sheet_columns import SheetRow
from saraban.numbering import service as numbering
from saraban.numbering.imports.service.legacy_import import SourceFile, import_at_terminal
from saraban.numbering.register.repository import consistency, search
from saraban.numbering.register.schemas import SeriesOut
from saraban.numbering.register.service import consistency_check
from saraban.numbering.series.models import LedgerEntry, NumberAudit, NumberCounter, NumberRendering
from tests.factories.contexts import context
from tests.numbering_world import BANGKOK, DOCUMENTS, NOW, WRITTEN, Documents, World, check_accounts, world_of

REASON = "A reason that is long enough."

pytestmark = [
    pytest.mark.servers,
    pytest.mark.sampled(
        *(
            "sqlite",
            "taken_out",
            "without_its_audit",
            "issued_twice_since",
            "whose_number",
            "second_look",
            "as_one_moment",
        ),
        *("in_order_have", "the last", "listed_among"),
    ),
]


@pytest_asyncio.fixture
async def world(any_demo_url: str) -> AsyncIterator[World]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield await world_of(db)
    await db.close()


async def check(
    world: World, *registers: numbering.NumberedDocuments, db: Database | None = None
) -> list[tuple[str, str, str]]:
    found = numbering.check_consistency(db or world.db, carriers=registers or carriers())
    return [(one.what.value, one.about, one.detail) async for one in found]


async def tear(world: World, *statements: Any) -> None:
    """What somebody with the database's password can do."""
    async with world.db.engine.begin() as connection:  # the session would refuse to touch the audit
        for statement in statements:
            await connection.execute(statement)


async def three(world: World) -> list[numbering.Issued]:
    allocator = world.allocator()
    return [await world.take(allocator, world.letter()) for _ in range(3)]


async def stated(world: World, *sequences: int, **more: Any) -> list[numbering.Issued]:
    plan = await world.plan(world.letter(**more))
    return [
        await world.db.transact(
            lambda session, sequence=sequence: numbering.issue_manually(
                context(caller=world.caller, key=None, address=""),
                session,
                plan=plan,
                statement=numbering.ManualNumber(None, sequence),
                reason=REASON,
                moves_counter=False,
                confirmed_jump=None,
                token=new_id(),
            )
        )
        for sequence in sequences
    ]


async def set_back(world: World, to: int) -> None:
    await world.db.transact(
        lambda session: numbering.reset_counter(
            context(caller=world.caller, key=None, now=NOW, address=""),
            session,
            project_public_id=world.project,
            series="คคง.-ผรม.1-{SEQ}-2569",
            to=to,
            reason=REASON,
        )
    )


async def listed(world: World, **more: Any) -> Page[SeriesOut]:
    async with world.db.reading() as session:
        return await numbering.list_series(context(world.caller), session, project_public_id=world.project, **more)


async def accounted(world: World, series: str, **more: Any) -> numbering.SeriesLedger:
    async with world.db.reading() as session:
        return await numbering.series_ledger(
            context(world.caller), session, project_public_id=world.project, series=series, **more
        )


def told(account: numbering.SeriesLedger) -> list[tuple[int, int, str]]:
    return [(line.first, line.last, line.gap.why.value if line.gap else "NUMBER") for line in account.lines]


class TestBooks:
    async def test_that_are_in_order_have_no_discrepancies(self, world: World) -> None:
        allocator = world.allocator()
        await three(world)
        reserved = await world.take(allocator, world.letter(), lasts=timedelta(minutes=5))
        await world.db.transact(
            lambda session: numbering.cancel_reservation(
                context(caller=world.caller, now=NOW, address=""), session, token=reserved.public_id, reason=REASON
            )
        )
        await world.take(allocator, world.rfa())

        assert await check(world) == []

    async def test_name_a_number_that_was_taken_out(self, world: World) -> None:
        _, second, _ = await three(world)
        await tear(
            world,
            sa.delete(NumberRendering).where(NumberRendering.document_number == second.number),
            sa.delete(LedgerEntry).where(LedgerEntry.public_id == second.public_id),
        )

        found = await check(world)

        assert ("HOLE", "คคง.-ผรม.1-{SEQ}-2569", "2") in found
        assert ("LEDGER_MISSING", second.number, "GENERATE") in found
        assert len(found) == 2

    async def test_name_a_hole_at_the_end(self, world: World) -> None:
        await three(world)
        await tear(world, sa.update(NumberCounter).values(last_number=9))

        assert await check(world) == [("HOLE", "คคง.-ผรม.1-{SEQ}-2569", "4-9")]

    async def test_name_a_counter_that_was_set_back_behind_the_audit(self, world: World) -> None:
        *_, third = await three(world)
        await tear(world, sa.update(NumberCounter).values(last_number=2))

        assert await check(world) == [("COUNTER_BEHIND", third.number, "counter 2")]

    async def test_name_a_counter_that_is_gone(self, world: World) -> None:
        await three(world)
        await tear(world, sa.delete(NumberCounter))

        assert await check(world) == [("COUNTER_MISSING", "คคง.-ผรม.1-{SEQ}-2569", "")]

    @pytest.mark.parametrize(
        ("column", "value", "wrong"),
        [
            ("document_number", "คคง.-ผรม.1-0007-2569", {"AUDIT_DIFFERS", "RENDERING_MISSING", "PRINTS_DIFFERENTLY"}),
            ("base_number", "คคง.-ผรม.1-0007-2569", {"PRINTS_DIFFERENTLY"}),
            ("document_number_status", "VOID", {"STATE_DIFFERS"}),
            ("format_template", "{SEQ:4}", {"PRINTS_DIFFERENTLY"}),
            ("source", "OVERRIDE", {"AUDIT_MISSING"}),
        ],
    )
    async def test_name_a_number_that_was_changed(self, world: World, column: str, value: str, wrong: set[str]) -> None:
        _, second, _ = await three(world)
        change = sa.update(LedgerEntry).where(LedgerEntry.public_id == second.public_id)
        await tear(world, change.values({column: value}))

        assert {what for what, _, _ in await check(world)} == wrong

    async def test_name_a_number_without_its_audit(self, world: World) -> None:
        first, *_ = await three(world)
        await tear(world, sa.delete(NumberAudit).where(NumberAudit.reservation_uuid == first.public_id))

        assert await check(world) == [("AUDIT_MISSING", first.number, "GENERATE / RESERVE")]

    @pytest.mark.parametrize(
        ("column", "value"), [("series", "another"), ("sequence_number", 9), ("generated_number", "another")]
    )
    async def test_name_a_number_of_which_the_audit_says_another_thing(
        self, world: World, column: str, value: Any
    ) -> None:
        _, second, _ = await three(world)
        change = sa.update(NumberAudit).where(NumberAudit.reservation_uuid == second.public_id)
        await tear(world, change.values({column: value}))

        assert [(what, about) for what, about, _ in await check(world)] == [("AUDIT_DIFFERS", second.number)]

    async def test_name_a_number_that_only_the_audit_has_cancelled(self, world: World) -> None:
        _, second, third = await three(world)
        change = sa.update(NumberAudit).where(NumberAudit.reservation_uuid == third.public_id)
        cancelled = {"operation": "CANCEL", "generated_number": second.number}
        await tear(world, change.values(reservation_uuid=second.public_id, **cancelled))

        assert await check(world) == [
            ("STATE_DIFFERS", second.number, "ledger CONFIRMED, audit CANCELLED"),
            ("AUDIT_MISSING", third.number, "GENERATE / RESERVE"),
        ]

    async def test_name_a_number_that_was_printed_as_another(self, world: World) -> None:
        first, *_ = await three(world)
        change = sa.update(NumberRendering).where(NumberRendering.document_number == first.number)
        await tear(world, change.values(document_number="another"))

        assert await check(world) == [("RENDERING_MISSING", first.number, "")]

    async def test_name_a_number_that_its_format_does_not_print_although_all_records_agree(self, world: World) -> None:
        first, *_ = await three(world)
        await tear(
            world,
            sa.update(LedgerEntry).where(LedgerEntry.public_id == first.public_id).values(document_number="another"),
            sa.update(NumberAudit)
            .where(NumberAudit.reservation_uuid == first.public_id)
            .values(generated_number="another"),
            sa.update(NumberRendering)
            .where(NumberRendering.document_number == first.number)
            .values(document_number="another"),
        )

        assert await check(world) == [("PRINTS_DIFFERENTLY", "another", first.number)]

    @pytest.mark.parametrize("page", [1000, 2])
    @pytest.mark.parametrize(("moved", "to", "counter"), [(2, 2, 2), (1, 3, 3)], ids=["the last", "beside a hole"])
    async def test_name_a_sequence_that_was_issued_twice(
        self, world: World, monkeypatch: pytest.MonkeyPatch, page: int, moved: int, to: int, counter: int
    ) -> None:
        monkeypatch.setattr(consistency_check, "PAGE", page)
        numbers = await three(world)
        change = sa.update(LedgerEntry).where(LedgerEntry.public_id == numbers[moved].public_id)
        await tear(world, change.values(sequence_number=to), sa.update(NumberCounter).values(last_number=counter))

        assert [what for what, _, _ in await check(world)].count("ISSUED_TWICE") == 1

    async def test_name_what_was_drawn_from_a_counter_that_says_nothing_was(self, world: World) -> None:
        numbers = await three(world)
        await tear(world, sa.update(NumberCounter).values(last_number=0))

        assert await check(world) == [("COUNTER_BEHIND", one.number, "counter 0") for one in numbers]

    async def test_name_a_series_of_which_all_is_gone(self, world: World) -> None:
        numbers = await three(world)
        await tear(world, sa.delete(NumberRendering), sa.delete(LedgerEntry))

        assert await check(world) == [
            ("HOLE", "คคง.-ผรม.1-{SEQ}-2569", "1-3"),
            *(("LEDGER_MISSING", one.number, "GENERATE") for one in numbers),
        ]

    @pytest.mark.parametrize("column", ["replaced_by_uuid", "replaces_uuid"])
    async def test_name_a_replacement_that_is_linked_one_way(self, world: World, column: str) -> None:
        first, second, _ = await three(world)
        change = sa.update(LedgerEntry).where(LedgerEntry.public_id == first.public_id)
        await tear(world, change.values({column: second.public_id}))

        assert await check(world) == [("LINK_BROKEN", first.number, str(second.public_id))]

    async def test_see_numbers_drawn_meanwhile_as_one_moment(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Numbers drawn after the first rows were read are no discrepancies."""
        await three(world)
        allocator, read = world.allocator(), consistency.last_number

        async def meanwhile(*given: Any) -> int | None:
            last = await read(*given)
            await world.take(allocator, world.letter())
            return last

        monkeypatch.setattr(consistency, "last_number", meanwhile)

        assert await check(world) == []


class TestWhileOthersWork:
    async def test_what_is_right_at_a_second_look_is_not_told(self, world: World) -> None:
        holder = numbering.Holder("letter", new_id())
        number = await world.draw(world.allocator(), world.letter(), holder=holder)
        await tear(world, sa.delete(DOCUMENTS))
        looks: list[int] = []

        class Late(Database):
            """One that has the document from the second snapshot on."""

            @asynccontextmanager
            async def snapshot(self) -> AsyncIterator[AsyncSession]:
                looks.append(len(looks))
                if looks[1:] == [1]:
                    await world.db.transact(lambda session: Documents().write(session, holder, number))
                async with super().snapshot() as session:
                    yield session

        db = Late(world.db.engine.url.render_as_string(hide_password=False))

        assert await check(world, WRITTEN, db=db) == []
        assert len(looks) == 2
        await db.close()

    async def test_an_online_change_of_a_table_does_not_wait_for_the_end(
        self, mariadb_demo_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(consistency_check, "SNAPSHOT_SECONDS", 0.2)
        db = Database(mariadb_demo_url)
        world = await world_of(db)
        await three(world)
        reading, altered = asyncio.Event(), asyncio.Event()

        async def endless(_session: Any, *, above: int, limit: int) -> tuple[list[Any], int, int | None]:
            """Rows of the audit that end when the table has been changed, or are never going to be."""
            reading.set()
            await asyncio.sleep(0.02)
            return [], 0, None if altered.is_set() or above > 1000 * limit else above + limit

        monkeypatch.setattr(consistency, "orphaned_operations", endless)
        checking = asyncio.ensure_future(check(world))
        await reading.wait()
        async with db.engine.begin() as connection:
            await connection.execute(
                sa.text("ALTER TABLE document_number_reservations ADD COLUMN more INT, ALGORITHM=INPLACE, LOCK=NONE")
            )
        ended = checking.done()
        altered.set()

        assert await checking == []
        assert not ended
        await db.close()


class TestDocuments:
    async def test_whose_number_is_not_theirs_are_named(self, world: World) -> None:
        """The register says what a document carries; the ledger must say the same of the number."""
        first, second, _ = await three(world)
        mine, yours, gone, unknown = (new_id() for _ in range(4))
        carried = ((mine, first.public_id), (yours, second.public_id), (gone, None))
        written = [
            sa.insert(DOCUMENTS).values(public_id=public_id, number=number, printed="?", cancelled=False)
            for public_id, number in carried
        ]
        held = [
            sa.update(LedgerEntry)
            .where(LedgerEntry.public_id == number.public_id)
            .values(holder_kind="correspondence", holder_public_id=holder)
            for holder, number in ((mine, first), (unknown, second))
        ]
        await tear(world, *written, *held)

        assert await check(world, WRITTEN) == [
            ("HOLDER_DIFFERS", first.number, "?"),
            ("HOLDER_MISSING", second.number, str(unknown)),
            ("DOCUMENT_WITHOUT_NUMBER", "?", str(yours)),  # it names a number of somebody else's
            ("DOCUMENT_WITHOUT_NUMBER", "?", str(gone)),  # and this one has none at all
        ]


class TestSeriesWithoutCounter:
    """Numbers that were only imported or stated by hand: nothing was ever drawn there."""

    async def test_is_in_order(self, world: World) -> None:
        await stated(world, 1, 5)

        assert await check(world) == []

    async def test_is_walked(self, world: World) -> None:
        first, fifth = await stated(world, 1, 5)
        changed = sa.update(LedgerEntry).where(LedgerEntry.public_id == first.public_id)
        await tear(
            world,
            changed.values(document_number_status="VOID"),
            sa.delete(NumberAudit).where(NumberAudit.reservation_uuid == fifth.public_id),
            sa.delete(NumberRendering).where(NumberRendering.document_number == fifth.number),
        )

        assert await check(world) == [
            ("STATE_DIFFERS", first.number, "ledger VOID, audit CONFIRMED"),
            ("AUDIT_MISSING", fifth.number, "OVERRIDE"),
            ("RENDERING_MISSING", fifth.number, ""),
        ]

    async def test_is_walked_however_many_there_are(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(consistency_check, "PAGE", 2)
        numbers = [
            (await stated(world, 3, recipient=recipient))[0].number for recipient in ("ผรม.1", "ผรม.2", "สคฉ.3", "กทท.")
        ]
        await tear(world, sa.delete(NumberRendering))

        assert sorted(about for _, about, _ in await check(world)) == sorted(numbers)

    async def test_ends_where_many_have_one_sequence(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """As those of an old register have whose last digits are the year."""
        await stated(world, 1, 2, 3)
        await tear(world, sa.update(LedgerEntry).values(sequence_number=2567))
        whole = await check(world)
        monkeypatch.setattr(consistency_check, "PAGE", 2)

        async with asyncio.timeout(20):
            assert await check(world) == whole

    async def test_is_missed_where_numbers_were_drawn(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(consistency_check, "PAGE", 2)
        allocator = world.allocator()
        for recipient in ("ผรม.1", "ผรม.2", "สคฉ.3"):
            for _ in range(3):
                await world.take(allocator, world.letter(recipient=recipient))
        lost = sa.delete(LedgerEntry).where(LedgerEntry.document_number == "คคง.-สคฉ.3-0002-2569")
        await tear(world, sa.delete(NumberCounter), sa.delete(NumberRendering), lost)

        found = [(what, about) for what, about, _ in await check(world) if what != "RENDERING_MISSING"]

        assert found == [
            *(("COUNTER_MISSING", f"คคง.-{name}-{{SEQ}}-2569") for name in ("ผรม.1", "ผรม.2", "สคฉ.3")),
            ("HOLE", "คคง.-สคฉ.3-{SEQ}-2569"),
            ("LEDGER_MISSING", "คคง.-สคฉ.3-0002-2569"),
        ]

    async def test_is_listed_among_the_others(self, world: World) -> None:
        """By name, in pages, and by a part of the name."""
        allocator = world.allocator()
        await world.take(allocator, world.letter(recipient="ผรม.2"))
        for recipient in ("ผรม.1", "สคฉ.3"):
            await stated(world, 1, 5, recipient=recipient)

        names = []
        cursor = None
        while True:
            page = await listed(world, cursor=cursor, limit=1)
            names += [
                (row.series, row.last_number, row.highest_number, row.document_type, row.year) for row in page.items
            ]
            if (cursor := page.next_cursor) is None:
                break

        assert names == [
            ("คคง.-ผรม.1-{SEQ}-2569", 0, 5, "LETTER", 2026),
            ("คคง.-ผรม.2-{SEQ}-2569", 1, 1, "LETTER", 2026),
            ("คคง.-สคฉ.3-{SEQ}-2569", 0, 5, "LETTER", 2026),
        ]
        assert [row.series for row in (await listed(world, text="สคฉ.3")).items] == ["คคง.-สคฉ.3-{SEQ}-2569"]

    async def test_is_listed_behind_more_names_than_one_look(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(search, "_NAMES_PER_READ", 1)
        allocator = world.allocator()
        for recipient in ("ผรม.1", "ผรม.2"):
            await world.take(allocator, world.letter(recipient=recipient))
        await stated(world, 9, recipient="สคฉ.3")

        assert [row.highest_number for row in (await listed(world)).items] == [1, 1, 9]

    async def test_leaves_no_hole_without_a_reason(self, world: World) -> None:
        await stated(world, 1, 5)

        account = await accounted(world, "คคง.-ผรม.1-{SEQ}-2569")

        assert (account.counter, told(account)) == (
            0,
            [(1, 1, "NUMBER"), (2, 4, "NOT_ISSUED"), (5, 5, "NUMBER")],
        )

    async def test_of_nobody_is_none(self, world: World) -> None:
        with pytest.raises(NotFound):
            await accounted(world, "คคง.-ผรม.1-{SEQ}-2569")


class TestReset:
    """Set back once, a series is still looked at: only what was issued before may stand above its counter."""

    async def test_excuses_what_was_issued_before(self, world: World) -> None:
        await three(world)
        await set_back(world, 1)

        assert await check(world) == []

    async def test_does_not_excuse_what_was_issued_since(self, world: World) -> None:
        await three(world)
        await set_back(world, 1)
        fourth = await world.take(world.allocator(), world.letter())
        await tear(world, sa.update(NumberCounter).values(last_number=2))

        assert await check(world) == [("COUNTER_BEHIND", fourth.number, "counter 2")]

    async def test_does_not_excuse_a_sequence_issued_twice_since(self, world: World) -> None:
        await three(world)
        await set_back(world, 1)
        allocator = world.allocator()
        fourth, fifth = [await world.take(allocator, world.letter()) for _ in range(2)]
        again = sa.update(LedgerEntry).where(LedgerEntry.public_id == fifth.public_id)
        await tear(world, again.values(sequence_number=fourth.sequence))

        assert ("ISSUED_TWICE", fifth.number, fourth.number) in await check(world)

    async def test_frees_a_sequence_that_prints_otherwise_now(self, world: World) -> None:
        await three(world)
        wanted = numbering.FormatDraft(
            template="{ORIGINATOR}-{RECIPIENT}-{SEQ:3}-{YEAR:B.E.}",
            reason=REASON,
        )
        await world.db.transact(
            lambda session: numbering.save_format(
                context(caller=world.caller, now=NOW, address=""),
                session,
                numbering.FormatTarget(world.project, "LETTER"),
                wanted=wanted,
            )
        )
        await set_back(world, 0)

        again = await world.take(world.allocator(), world.letter())

        assert again.number == "คคง.-ผรม.1-001-2569"
        assert await check(world) == []


class TestChecksOfTests:
    """What the tests of faults end with must itself be able to find something."""

    @pytest.mark.parametrize(
        "tear_up",
        [
            sa.delete(DOCUMENTS),
            sa.update(DOCUMENTS).values(printed="another"),
            sa.update(DOCUMENTS).values(number=new_id()),
            sa.update(DOCUMENTS).values(cancelled=True),
        ],
        ids=["gone", "prints another", "names another", "cancelled"],
    )
    async def test_compare_numbers_with_the_documents_that_hold_them(self, world: World, tear_up: Any) -> None:
        await world.draw(world.allocator(), world.letter(), holder=numbering.Holder("letter", new_id()))
        await check_accounts(world)

        await tear(world, tear_up)

        with pytest.raises(AssertionError, match=r"HOLDER|DOCUMENT|document"):
            await check_accounts(world)


class TestMemory:
    """A million numbers take as long as they take, but no more room than a thousand."""

    @pytest.mark.slow
    @pytest.mark.sampled("sqlite")
    async def test_does_not_grow_with_the_numbers(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(consistency_check, "PAGE", 50)
        await many(world, 1, 200)
        few = await peak(world)
        await many(world, 201, 1000)

        assert await peak(world) < 2 * few


async def many(world: World, first: int, last: int) -> None:
    """In a series that counts, and in one that does not."""
    allocator, plan = world.allocator(), await world.plan(world.letter())
    draws = (
        allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
        for _ in range(first, last + 1)
    )
    await asyncio.gather(*draws)
    numbers = (f"คคง.-ผรม.2-{sequence:04}-2569" for sequence in range(first, last + 1))
    _, turn = await import_at_terminal(
        context(caller=world.caller, now=NOW, zone=BANGKOK),
        world.db,
        project_public_id=world.project,
        rows=(
            SheetRow(line, {"number": number, "type": "LETTER", "originator": "คคง.", "recipient": "ผรม.2"})
            for line, number in enumerate(numbers, 2)
        ),
        file=SourceFile("old.csv", f"{first:064}"),
    )
    assert turn.refused() == 0


async def peak(world: World) -> int:
    """Bytes that a check of the books takes at most, once everything that is kept between checks is there."""
    assert await check(world) == []
    thresholds = gc.get_threshold()
    gc.collect()
    gc.set_threshold(200, 2, 2)  # what is garbage counts until it is collected, and must not wait for other tests'
    tracemalloc.start()
    try:
        await check(world)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*thresholds)


class TestAccount:
    async def test_explains_what_ranges_leave_out(self, world: World) -> None:
        allocator = world.allocator()
        await world.take(allocator, world.letter())
        plan = await world.plan(world.letter())
        rows = [
            await world.db.transact(
                lambda session, first=first, last=last, kind=kind: numbering.create_range(
                    context(caller=world.caller, address=""),
                    session,
                    plan,
                    numbering.RangeDraft(numbering.RangeKind(kind), first, last, reason=REASON),
                )
            )
            for first, last, kind in ((2, 3, "KEPT"), (5, 6, "BARRED"), (8, 20, "BARRED"))
        ]
        await world.take(allocator, world.letter(range_public_id=rows[0].range.public_id))
        for _ in range(2):
            await world.take(allocator, world.letter())  # 4, 7
        for row in rows[1:]:
            await world.db.transact(
                lambda session, row=row: numbering.release_range(
                    context(caller=world.caller, now=NOW, address=""),
                    session,
                    public_id=row.range.public_id,
                    reason=REASON,
                )
            )
        await world.take(allocator, world.letter())  # 8: released before the counter came to it

        assert told(await accounted(world, plan.series)) == [
            (1, 1, "NUMBER"),
            (2, 2, "NUMBER"),
            (3, 3, "KEPT"),
            (4, 4, "NUMBER"),
            (5, 6, "BARRED"),
            (7, 7, "NUMBER"),
            (8, 8, "NUMBER"),
        ]
        assert await check(world) == []
