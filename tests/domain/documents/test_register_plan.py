"""By which keys a register is read, along which index, and where its pages end."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest

from saraban.documents.circulation import domain as circulation
from saraban.documents.core.domain import Reach, ReaderKind
from saraban.documents.core.domain.registers import (
    FEW,
    Index,
    NarrowRow,
    Order,
    Places,
    ReaderKey,
    Sort,
    choose,
    keys_of,
    merged,
    sized,
)
from saraban.documents.core.service.registers import RegisterCursor, sort_text, sort_value
from saraban.kit.errors import Invalid
from saraban.kit.ids import new_id
from saraban.kit.pagination import list_mark

PLACES = Places((1, 2), {10: 1, 20: 2})
PROJECT, CONTRACT, ORGANIZATION = ReaderKind
NOBODY = frozenset[int]()


def reach(
    *,
    everything: bool = False,
    projects: tuple[int, ...] = (),
    contracts: tuple[int, ...] = (),
    organizations: tuple[int, ...] = (),
    member_of: tuple[int, ...] = (),
) -> Reach:
    return Reach(everything, *map(frozenset, (projects, contracts, organizations, member_of)))


class TestKeys:
    @pytest.mark.parametrize(
        ("held", "keys"),
        [
            (reach(), []),
            (reach(member_of=(7,)), [ReaderKey(1, CONTRACT, 10), ReaderKey(2, CONTRACT, 20)]),
            (reach(everything=True, organizations=(7,)), [ReaderKey(1, PROJECT), ReaderKey(2, PROJECT)]),
            (
                reach(projects=(1,), organizations=(7,)),
                [ReaderKey(1, PROJECT), ReaderKey(2, ORGANIZATION, 7), ReaderKey(2, CONTRACT, 20)],
            ),
            (
                reach(contracts=(10,), organizations=(7,), member_of=(7, 8)),
                [
                    ReaderKey(1, ORGANIZATION, 7),
                    ReaderKey(1, CONTRACT, 10),
                    ReaderKey(1, ORGANIZATION, 8, written_in=10),
                    ReaderKey(2, ORGANIZATION, 7),
                    ReaderKey(2, CONTRACT, 20),
                ],
            ),
        ],
    )
    def test_are_those_of_the_places_where_something_is_open(self, held: Reach, keys: list[ReaderKey]) -> None:
        places = PLACES if held != reach() else Places((1, 2), {})

        assert keys_of(held, places) == keys

    def test_of_sheets_are_organizations_or_whole_projects(self) -> None:
        held = circulation.CirculationReach(
            everything=False, organizations=frozenset({7}), projects=frozenset({2}), member_of=frozenset({7, 8})
        )

        assert circulation.keys_of(held, PLACES) == [
            ReaderKey(1, ORGANIZATION, 7),
            ReaderKey(2, ORGANIZATION, 7),
            ReaderKey(2, ORGANIZATION, 8),
        ]
        everything = circulation.CirculationReach(
            everything=True, organizations=NOBODY, projects=NOBODY, member_of=NOBODY
        )
        assert circulation.keys_of(everything, PLACES) == [ReaderKey(1, PROJECT), ReaderKey(2, PROJECT)]


NEWEST = Order.of("-created")
NUMBER = Order.of("number")


class TestIndex:
    @pytest.mark.parametrize(
        ("order", "given", "sizes", "expected"),
        [
            (NEWEST, set(), {}, Index.CREATED),
            (NUMBER, set(), {}, Index.NUMBER),
            (NEWEST, {Index.CREATED}, {}, Index.CREATED),
            (NEWEST, {Index.STATUS}, {}, Index.STATUS),
            (NEWEST, {Index.STATUS, Index.CREATED}, {}, Index.STATUS),
            (Order.of("due"), {Index.DUE}, {}, Index.DUE),
            (Order.of("-status"), {Index.STATUS}, {}, Index.STATUS),
            (NEWEST, {Index.DUE}, {Index.DUE: 3}, Index.DUE),
            (NEWEST, {Index.DUE}, {Index.DUE: FEW + 1}, Index.CREATED),
            (NUMBER, {Index.STATUS}, {Index.STATUS: 3}, Index.STATUS),
            (NUMBER, {Index.STATUS}, {Index.STATUS: FEW + 1}, Index.NUMBER),
            (NEWEST, {Index.STATUS, Index.TYPE}, {Index.STATUS: FEW + 1, Index.TYPE: 5}, Index.TYPE),
            (NEWEST, {Index.STATUS, Index.TYPE}, {Index.STATUS: FEW + 1, Index.TYPE: FEW + 1}, Index.STATUS),
            (NEWEST, {Index.MINE}, {}, Index.CREATED),
            (NEWEST, {Index.MINE}, {Index.MINE: 0}, Index.MINE),
        ],
    )
    def test_is_that_of_few_rows_or_of_the_order(
        self, order: Order, given: set[Index], sizes: dict[Index, int], expected: Index
    ) -> None:
        assert choose(order, given, sizes) is expected

    def test_needs_no_sizes_where_it_is_in_the_order_asked_for(self) -> None:
        assert sized(NEWEST, {Index.STATUS, Index.CREATED}) == frozenset()
        assert sized(Order.of("due"), {Index.DUE}) == frozenset()
        assert sized(NUMBER, {Index.CREATED}) == {Index.CREATED}
        assert sized(NEWEST, {Index.STATUS, Index.TYPE}) == {Index.STATUS, Index.TYPE}


NOW = datetime(2026, 3, 2, 9, 30, 15, 123456, tzinfo=UTC)


class TestMerging:
    @pytest.mark.parametrize("descending", [True, False])
    def test_gives_each_document_once_in_order(self, descending: bool) -> None:
        rows = [NarrowRow(key, key, NOW + timedelta(days=key % 3), f"ก-{key % 2}") for key in range(20)]
        ordered = sorted(rows, key=lambda row: (row.value, row.created_at, row.document_id), reverse=descending)
        parts = [row for left in range(3) for row in ordered if row.document_id % 3 != left]

        assert merged(parts, descending=descending, limit=7) == ordered[:7]
        assert merged(parts, descending=descending, limit=50) == ordered


BOUND = list_mark("rfa", "{}")


class TestCursor:
    @pytest.mark.parametrize(("value", "count"), [("", None), ("คคง.-สคฉ.3-0001-2569", 0), ("ก" * 255, 10_001)])
    def test_comes_back_as_it_was(self, value: str, count: int | None) -> None:
        cursor = RegisterCursor(NOW, new_id(), value, count)

        assert RegisterCursor.decode(cursor.encode(BOUND), BOUND) == cursor
        assert len(cursor.encode(BOUND)) <= 1_200

    def test_of_another_list_is_refused(self) -> None:
        text = RegisterCursor(NOW, new_id()).encode(list_mark("rfa", "other filters"))

        with pytest.raises(Invalid) as refusal:
            RegisterCursor.decode(text, BOUND)
        assert [(field.pointer, field.code) for field in refusal.value.fields] == [("query:cursor", "malformed")]

    @pytest.mark.parametrize(
        "text", ["", "x", "\x00", "ก", "A" * 64, "////", RegisterCursor(NOW, UUID(int=1)).encode(BOUND) + "\n"]
    )
    def test_that_is_none_is_refused(self, text: str) -> None:
        with pytest.raises(Invalid) as refusal:
            RegisterCursor.decode(text, BOUND)
        assert [(field.pointer, field.code) for field in refusal.value.fields] == [("query:cursor", "malformed")]

    @pytest.mark.parametrize(
        ("sort", "value"),
        [
            (Sort.CREATED, None),
            (Sort.NUMBER, "คคง.-0001"),
            (Sort.DATE, date(2026, 3, 2)),
            (Sort.DUE, NOW),
            (Sort.STATUS, 4),
        ],
    )
    def test_names_what_a_row_is_sorted_by(self, sort: Sort, value: str | int | date | None) -> None:
        text = sort_text(sort, value, {4: "DRAFT"})

        assert sort_value(sort, text, {"DRAFT": 4}) == value

    @pytest.mark.parametrize(
        ("sort", "text"),
        [(Sort.DATE, "0000-01-01"), (Sort.DUE, "soon"), (Sort.STATUS, "NONE"), (Sort.NUMBER, "a\x00b")],
    )
    def test_that_somebody_made_up_is_refused(self, sort: Sort, text: str) -> None:
        with pytest.raises(Invalid):
            sort_value(sort, text, {})
