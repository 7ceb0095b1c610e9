"""The index of search on both databases: what is written meanwhile, by two at once and after a kill is found all the same."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from datetime import datetime, time, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.documents.core.domain import NO_DUE, ReaderKind
from saraban.documents.core.models import DocumentReach, DocumentRevision
from saraban.identity import service as identity
from saraban.identity.models import Organization, User
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.search.repository import texts
from saraban.search.repository.texts import SearchSource
from saraban.search.service import indexing
from saraban.search.service.indexing import compare, index_next, rebuild
from saraban.search.service.search import SearchQuestion, search
from saraban.search_index import service as search_index
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.models import SearchEntry, SearchFileText, SearchPending, SearchPosting
from tests.factories.contexts import context
from tests.servers import MariaDb

pytestmark = pytest.mark.sampled("mariadb")


@pytest_asyncio.fixture
async def db(any_documents_url: str) -> AsyncIterator[Database]:
    db = Database(any_documents_url)
    yield db
    await db.close()


async def count(db: Database, model: type) -> int:
    async with db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(model)) or 0)


async def found(db: Database, text: str, kinds: Sequence[SearchKind] = tuple(SearchKind)) -> set[str]:
    async with db.reading() as session:
        caller = await identity.find_caller(session, username="admin")
        assert caller is not None
        answer = await search(context(caller), session, SearchQuestion(text, kinds, limit=200))
    return {one.number for one in answer.items}


BANGKOK = ZoneInfo("Asia/Bangkok")
WRITTEN = (SearchKind.CORRESPONDENCE, SearchKind.RFA, SearchKind.TRANSMITTAL)
ORIGINATOR = sa.select(Organization.id).where(Organization.organization_code == "ผรม.2").scalar_subquery()


async def by_condition(db: Database, condition: sa.ColumnElement[bool]) -> set[str]:
    """Return the numbers of documents of which who sees a whole project is shown a revision for which it holds."""
    async with db.reading() as session:
        statement = (
            sa.select(DocumentRevision.correspondence_number)
            .join(DocumentReach, DocumentReach.revision_id == DocumentRevision.id)
            .where(
                DocumentReach.reader_kind == ReaderKind.PROJECT, DocumentReach.kind < SearchKind.CIRCULATION, condition
            )
        )
        return set(await session.scalars(statement))


async def by_reading(db: Database, text: str) -> set[str]:
    async with db.reading() as session:
        revision = DocumentRevision
        statement = sa.select(revision.correspondence_number).where(
            revision.subject.contains(text), revision.is_current
        )
        return set(await session.scalars(statement))


def copied(db: Database, server: MariaDb | None, folder: Path) -> str:
    """Return the address of a database made of a backup, as operations takes them."""
    url = db.engine.url
    if server is not None:
        return server.create("restored", statements=server.dump(str(url.database)))
    with closing(sqlite3.connect(str(url.database))) as source, closing(sqlite3.connect(folder / "copy.db")) as target:
        source.backup(target)
    return f"sqlite:///{folder / 'copy.db'}"


async def work_off(db: Database) -> None:
    while await index_next(db, most=7):
        pass


class TestIndex:
    async def test_finds_what_reading_everything_finds(self, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("saraban.search.service.search.FEW", 0)  # along the postings
        await rebuild(db)

        for text in ("อนุมัติ", "นุมัต", "ท่า", "ขอ", "ไฟฟ้า"):
            wanted = await by_reading(db, text)
            assert wanted <= await found(db, text), text
        assert await found(db, "ฎฐฑฒ") == set()
        assert [one async for one in compare(db)] == []

    async def test_keeps_to_conditions(self, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        """Along the postings, among the newest, and where few are left."""
        await rebuild(db)
        row = DocumentReach
        async with db.reading() as session:
            dues = await session.scalars(sa.select(row.due_date).where(row.due_date < NO_DUE).order_by(row.due_date))
            days = [at.astimezone(BANGKOK).date() for at in dues]
            newest = await session.scalar(sa.select(sa.func.max(row.created_at)))
        day, year = days[len(days) // 2], newest.astimezone(BANGKOK).year
        begins = datetime.combine(day, time(), BANGKOK)
        of_year = row.created_at >= datetime(year, 1, 1, tzinfo=BANGKOK)

        conditions = (
            ("type:rfa", row.kind == int(SearchKind.RFA)),
            ("from:ผรม.2", row.originator_id == ORIGINATOR),
            (f"due:<{day}", row.due_date < begins + timedelta(days=1)),
            (f"due:>{day}", sa.and_(row.due_date >= begins, row.due_date < NO_DUE)),
            (f"year:{year} type:rfa", sa.and_(row.kind == int(SearchKind.RFA), of_year)),
        )
        for few, many in ((0, 2_000), (0, 0), (5_000, 0)):
            monkeypatch.setattr("saraban.search.service.search.FEW", few)
            monkeypatch.setattr("saraban.search.service.search.NEWEST", many)
            for text, condition in conditions:
                wanted = await by_condition(db, condition)
                assert await found(db, text, WRITTEN) == wanted, text
                assert wanted, text
            for text in ("it's {0}", "%s {words_0}", "a\\' OR 1=1", ":words_0", "{}"):  # as statements have them
                assert await found(db, text) == set(), text

    async def test_keeps_as_much_of_all_files_as_a_statement_takes(self, db: Database) -> None:
        source = SearchSource(SearchKind.RFA, 999_999, 1, new_id(), 1, subject="สมุดรายการ", numbers=["A-1"])
        entry = indexing.entry_of(source, ["ขอ" * 1_000_000] * 2)
        async with db.writing() as session:
            await search_index.write(session, SearchKind.RFA, [source.head_id], [entry])

        async with db.reading() as session:
            kept = sa.select(sa.func.char_length(SearchFileText.text)).join(
                SearchEntry, SearchEntry.id == SearchFileText.entry_id
            )
            assert await session.scalar(kept.where(SearchEntry.head_id == source.head_id)) == indexing.MOST_IN_FILES

    async def test_is_whole_after_a_kill_and_with_two_at_once(
        self, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await db.transact(partial(search_index.begin_anew, everything=texts.everything()))
        waits = await count(db, SearchPending)

        async def killed(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as during:
            during.setattr(indexing.index, "post", killed)
            with pytest.raises(KeyboardInterrupt):
                await index_next(db, most=5)
        # What was read stays, and is found without postings until the next round makes them.
        assert (await count(db, SearchPending), await count(db, SearchEntry), await count(db, SearchPosting)) == (
            waits - 5,
            5,
            0,
        )

        await asyncio.gather(work_off(db), work_off(db))

        assert await count(db, SearchPending) == 0
        assert await count(db, SearchPosting) > 0
        assert [one async for one in compare(db)] == []

    @pytest.mark.sampled("sqlite")
    async def test_says_what_is_missing_and_what_is_stale(self, db: Database) -> None:
        await rebuild(db)
        async with db.writing() as session:
            lost, stale = (await session.scalars(sa.select(SearchEntry.id).order_by(SearchEntry.id).limit(2))).all()
            await session.execute(sa.delete(SearchEntry).where(SearchEntry.id == lost))
            await session.execute(sa.update(SearchEntry).where(SearchEntry.id == stale).values(text="อื่น\n"))
            await session.commit()

        assert len([one async for one in compare(db)]) == 2
        await rebuild(db)
        assert [one async for one in compare(db)] == []

    @pytest.mark.sampled("sqlite")
    async def test_of_a_backup_is_brought_up_to_date_by_the_worker(
        self, db: Database, request: pytest.FixtureRequest, tmp_path: Path
    ) -> None:
        """A backup holds index and queue as they stood together, of whatever was half done."""
        await db.transact(partial(search_index.begin_anew, everything=texts.everything()))
        await index_next(db, most=5)
        waits = await count(db, SearchPending)
        server = request.getfixturevalue("mariadb_server") if not db.is_sqlite else None
        copy = Database(copied(db, server, tmp_path))
        await work_off(db)

        try:
            assert await count(copy, SearchPending) == waits > 0
            await work_off(copy)
            assert [one async for one in compare(copy)] == []
            assert await found(copy, "อนุมัติ") == await found(db, "อนุมัติ") != set()
        finally:
            await copy.close()
            if server is not None:
                server.drop("restored")


async def renamed(db: Database, named: type[Organization | User], key: int) -> str:
    """Give an organization or a person another name and return that."""
    name = f"ชื่อใหม่{named.__name__}{key}ๆ"
    async with db.writing() as session:
        row = await session.get_one(named, key)
        if isinstance(row, Organization):
            row.organization_name = name
            await search_index.queue_renamed(session, organizations=[row.public_id])
        else:
            row.last_name = name
            await search_index.queue_renamed(session, people=[row.public_id])
        await session.commit()
    return name


class TestNames:
    @pytest.mark.sampled("sqlite")
    async def test_of_organizations_and_people_lead_to_what_bears_them(self, db: Database) -> None:
        await rebuild(db)
        async with db.reading() as session:
            keys = [(Organization, key) for key in await session.scalars(sa.select(Organization.id).limit(1))]
            writers = sa.select(User.user_id).where(User.username == "dc.contractor")
            keys += [(User, key) for key in await session.scalars(writers)]

        for named, key in keys:
            name = await renamed(db, named, key)
            assert [one async for one in compare(db)] == [], name  # what waits is no difference
            await work_off(db)
            assert [one async for one in compare(db)] == [], name

    @pytest.mark.sampled("sqlite")
    async def test_lead_there_after_a_kill(self, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        await rebuild(db)
        name = await renamed(db, Organization, 1)

        async def killed(*_: object) -> None:
            raise KeyboardInterrupt

        for step in ("settle", "write"):  # as the name gives way to its documents, then as these are read
            with monkeypatch.context() as during:
                during.setattr(indexing.index, step, killed)
                with pytest.raises(KeyboardInterrupt):
                    await work_off(db)
            assert [one async for one in compare(db)] == []
        await work_off(db)

        assert [one async for one in compare(db)] == []
        assert len(await found(db, name)) > 0
