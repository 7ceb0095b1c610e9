"""A page of a register reads as many rows of the index of reach as it shows, in every order and for every filter with an index."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import ReaderKind, RegisterCode
from saraban.documents.core.domain.registers import Index, NarrowRow, Order, ReaderKey, Sort, choose, merged
from saraban.documents.core.models import DocumentReach, DocumentRecipient
from saraban.documents.core.repository import registers
from saraban.documents.core.repository.register_filters import DOCUMENTS
from saraban.documents.core.repository.registers import After, Ask
from saraban.kit.db import Database, table_of
from saraban.kit.text import sort_key
from tests.statement_count import rows_read

ROWS, PAGE = 3_000, 25
MORNING = datetime(2026, 3, 2, 9, tzinfo=UTC)
KEY = ReaderKey(1, ReaderKind.ORGANIZATION, 7)
HOME = {"home_organizations": [7], "home_contracts": [-1], "home_member_of": [7]}
FILTERS: list[dict[str, Any]] = [
    {},
    {"statuses": [1, 2]},
    {"types": [3]},
    {"disciplines": [5]},
    {"created_from": MORNING - timedelta(hours=40), "created_until": MORNING - timedelta(hours=1)},
]


def reach_row(place: int) -> dict[str, Any]:
    return {
        "project_id": 1,
        "reader_kind": int(ReaderKind.ORGANIZATION),
        "reader_id": 7 if place % 3 else 8,
        "kind": int(RegisterCode.RFA),
        "created_at": MORNING - timedelta(minutes=place % 1_000),
        "document_id": place,
        "revision_id": place,
        "is_draft": False,
        "behind": place % 50 == 0,
        "is_open": place % 4 != 0,
        "status": place % 5,
        "type_id": place % 7,
        "discipline_id": place % 11,
        "contract_id": 0,
        "originator_id": 7 + place % 2,
        "author_id": 1,
        "document_date": date(2026, 1, 1) + timedelta(days=place % 90),
        "due_date": MORNING + timedelta(days=place % 40),
        "document_number": (number := f"ผรม.-{place % 700:04}"),
        "number_sort": sort_key(number),
    }


# As the filters and orders are in words.
LIMITS = {
    "statuses": lambda row, asked: row["status"] in asked,
    "types": lambda row, asked: row["type_id"] in asked,
    "disciplines": lambda row, asked: row["discipline_id"] in asked,
    "created_from": lambda row, asked: row["created_at"] >= asked,
    "created_until": lambda row, asked: row["created_at"] < asked,
}
COLUMNS = {Sort.NUMBER: "document_number", Sort.DATE: "document_date", Sort.DUE: "due_date", Sort.STATUS: "status"}


def place_of(order: Order, row: dict[str, Any]) -> tuple[Any, ...]:
    column = COLUMNS.get(order.sort)
    return ((row[column],) if column else ()) + (row["created_at"], row["document_id"])


def expected(order: Order, asked: dict[str, Any]) -> list[int]:
    rows = [row for row in map(reach_row, range(1, ROWS + 1)) if row["reader_id"] == 7]
    rows = [row for row in rows if not (row["behind"] and row["originator_id"] == 7)]
    rows = [row for row in rows if all(LIMITS[name](row, value) for name, value in asked.items())]
    return [row["document_id"] for row in sorted(rows, key=lambda row: place_of(order, row), reverse=order.descending)]


async def plans(session: AsyncSession, ask: Ask, index: Index, after: After | None) -> str:
    """What SQLite says of how it reads a page."""
    told = []
    for statement, values in registers.page_statements(ask, index, after=after, most=PAGE):
        text = statement.params(values).compile(session.get_bind(), compile_kwargs={"literal_binds": True})
        told += [str(row) for row in await session.execute(sa.text(f"EXPLAIN QUERY PLAN {text}".replace(":", "\\:")))]
    return "\n".join(told)


@pytest.mark.parametrize("text", [sign + sort for sort in Sort for sign in ("", "-")])
@pytest.mark.sampled("--created", "mariadb-status", "mariadb--status")
async def test_pages_are_read_along_an_index(any_db: Database, text: str) -> None:
    order = Order.of(text)
    async with any_db.writing() as session:
        await session.execute(sa.insert(table_of(DocumentReach)), [reach_row(place) for place in range(1, ROWS + 1)])
    async with any_db.reading() as session:
        for asked in FILTERS:
            ask = Ask(DOCUMENTS, RegisterCode.RFA, order, asked, [KEY], HOME)
            index = choose(order, ask.filters, {})
            seen: list[int] = []
            after: After | None = None
            for _ in range(3):
                before = 0 if any_db.is_sqlite else await rows_read(session)
                statements = registers.page_statements(ask, index, after=after, most=PAGE)
                found = await registers.narrow_rows(session, statements)
                if not any_db.is_sqlite:
                    read = await rows_read(session) - before
                    assert read < 40 * PAGE, (asked, read)
                # Sorted by what it is filtered by, SQLite sorts the rows of each status behind the first page.
                elif index is Index(order.sort) and not (order.sort is Sort.STATUS and asked):
                    assert "TEMP B-TREE" not in await plans(session, ask, index, after), asked
                rows: list[NarrowRow] = merged(found, descending=order.descending, limit=PAGE)
                seen += [row.document_id for row in rows]
                if rows:
                    after = After(rows[-1].value, rows[-1].created_at, rows[-1].document_id)
            assert seen == expected(order, asked)[: 3 * PAGE], asked


async def test_a_page_of_a_party_reads_no_list_of_all_that_it_received(mariadb: Database) -> None:
    """One who sees more than is counted finds a page of it long before."""
    received = [
        {"correspondence_id": place, "recipient_organization_id": 9, "recipient_type": "TO", "position": 0}
        for place in range(1, ROWS + 1)
    ]
    async with mariadb.writing() as session:
        await session.execute(sa.text("SET FOREIGN_KEY_CHECKS = 0"))
        await session.execute(sa.insert(table_of(DocumentReach)), [reach_row(place) for place in range(1, ROWS + 1)])
        await session.execute(sa.insert(table_of(DocumentRecipient)), received)
        await session.execute(sa.text("SET FOREIGN_KEY_CHECKS = 1"))
    ask = Ask(DOCUMENTS, RegisterCode.RFA, Order.of("-created"), {"party": 9}, [KEY], HOME)
    async with mariadb.reading() as session:
        before = await rows_read(session)
        statements = registers.page_statements(ask, Index.CREATED, after=None, most=PAGE, many=True)
        page = await registers.narrow_rows(session, statements)
        assert await rows_read(session) - before < 40 * PAGE
        assert [row.document_id for row in page] == expected(ask.order, {})[:PAGE]


@pytest.mark.parametrize("text", ["status", "-due"])
async def test_a_page_among_many_of_one_value_begins_at_its_cursor(mariadb: Database, text: str) -> None:
    order, far = Order.of(text), 350
    async with mariadb.writing() as session:
        rows = [reach_row(place) | {"due_date": MORNING} for place in range(1, ROWS + 1)]
        await session.execute(sa.insert(table_of(DocumentReach)), rows)
    documents = expected(Order.of("status"), {}) if text == "status" else expected(Order.of("-created"), {})
    last = rows[documents[far - 1] - 1]
    after = After(last[COLUMNS[order.sort]], last["created_at"], last["document_id"])
    ask = Ask(DOCUMENTS, RegisterCode.RFA, order, {}, [KEY], HOME)
    async with mariadb.reading() as session:
        before = await rows_read(session)
        statements = registers.page_statements(ask, Index(order.sort), after=after, most=PAGE)
        rows = await registers.narrow_rows(session, statements)
        assert await rows_read(session) - before < 6 * PAGE
    found = merged(rows, descending=order.descending, limit=PAGE)
    assert [row.document_id for row in found] == documents[far : far + PAGE]
