"""The index of search on both databases: what is written meanwhile, by several nodes and after a kill is found all the same."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, time, timedelta
from pathlib import Path
from uuid import UUID
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
from saraban.search.repository.reach import EntryFacts
from saraban.search.repository.texts import SearchSource
from saraban.search.service import indexing
from saraban.search.service.indexing import compare, index_next, rebuild
from saraban.search.service.search import SearchQuestion, search
from saraban.search_index import repository
from saraban.search_index import service as search_index
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.models import SearchChange, SearchNode
from saraban.search_index.service import SearchWriter, attach_index, release_index
from tests.factories.contexts import context

pytestmark = pytest.mark.sampled("mariadb")


@pytest_asyncio.fixture
async def db(any_documents_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    db = Database(any_documents_url)
    attach_index(db, tmp_path / "search")
    yield db
    release_index(db)
    await db.close()


@pytest_asyncio.fixture
async def other(any_documents_url: str) -> AsyncIterator[Database]:
    """Another process on the same database."""
    db = Database(any_documents_url)
    yield db
    release_index(db)
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


async def work_off(db: Database) -> None:
    while await index_next(db):
        pass


class TestIndex:
    async def test_finds_what_reading_everything_finds(self, db: Database) -> None:
        await rebuild(db)

        for text in ("อนุมัติ", "นุมัต", "ท่า", "ขอ", "ไฟฟ้า"):
            wanted = await by_reading(db, text)
            assert wanted <= await found(db, text), text
        assert await found(db, "ฎฐฑฒ") == set()
        assert [one async for one in compare(db)] == []

    async def test_keeps_to_conditions(self, db: Database) -> None:
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
        for text, condition in conditions:
            wanted = await by_condition(db, condition)
            assert await found(db, text, WRITTEN) == wanted, text
            assert wanted, text
        for text in ("it's {0}", "%s {words_0}", "a\\' OR 1=1", ":words_0", "{}"):
            assert await found(db, text) == set(), text

    @pytest.mark.sampled("sqlite")
    async def test_says_what_is_missing_and_what_is_stale(self, db: Database) -> None:
        await rebuild(db)
        async with db.writing() as session:  # nobody notes it
            keys = (await session.scalars(sa.select(DocumentRevision.id).order_by(DocumentRevision.id).limit(1))).all()
            await session.execute(
                sa.update(DocumentRevision).where(DocumentRevision.id.in_(keys)).values(subject="อื่นฮฬ")
            )
            await session.commit()

        assert len([one async for one in compare(db)]) == 1
        await rebuild(db)
        assert [one async for one in compare(db)] == []
        assert len(await found(db, "อื่นฮฬ")) == 1


class TestFailures:
    @pytest.mark.parametrize("step", ["_write", "_commit", "_save", "record"])
    @pytest.mark.sampled("mariadb", "sqlite-_commit")
    async def test_leave_nothing_out(self, db: Database, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
        monkeypatch.setattr(indexing, "BUILT", 5)
        monkeypatch.setattr(indexing, "BATCH", 5)
        await index_next(db)

        async def killed_in_loop(*_: object, **__: object) -> None:
            raise RuntimeError

        def killed(*_: object, **__: object) -> None:
            raise RuntimeError

        with monkeypatch.context() as during:
            during.setattr(SearchWriter, step, killed_in_loop if step == "record" else killed)
            with pytest.raises(RuntimeError):
                await index_next(db)
        await work_off(db)
        assert [one async for one in compare(db)] == []

        if step == "_save":
            return
        name = await renamed(db, Organization, 1)
        with monkeypatch.context() as during:
            during.setattr(SearchWriter, step, killed_in_loop if step == "record" else killed)
            with pytest.raises(RuntimeError):
                await work_off(db)
        await work_off(db)
        assert [one async for one in compare(db)] == []
        assert len(await found(db, name)) > 0

    @pytest.mark.parametrize("damage", ["no state", "no index", "another version"])
    @pytest.mark.sampled("sqlite")
    async def test_have_the_index_built_again(self, db: Database, damage: str) -> None:
        await rebuild(db)
        index = search_index.attached_index(db)
        assert index is not None
        state = index.state()
        assert state is not None
        release_index(db)
        if damage == "no state":
            (index.folder / "state.json").unlink()
        elif damage == "no index":
            (index.folder / state.generation / "meta.json").write_text("{")
        else:
            (index.folder / "state.json").write_text("{}")

        assert not index.is_complete
        await work_off(db)

        assert index.is_complete
        assert [one async for one in compare(db)] == []

    @pytest.mark.sampled("sqlite")
    async def test_of_a_node_that_the_database_does_not_know_have_the_index_built_again(self, db: Database) -> None:
        """The database was restored, or the node was away for too long."""
        await rebuild(db)
        release_index(db)
        async with db.writing() as session:
            await session.execute(sa.delete(SearchNode))
            await session.execute(sa.delete(SearchChange))
            await session.execute(sa.update(DocumentRevision).values(subject="คืนฮฬ"))
            await session.commit()

        await work_off(db)

        assert [one async for one in compare(db)] == []
        assert len(await found(db, "คืนฮฬ")) > 0


class TestProcesses:
    async def test_of_one_node_take_turns(self, db: Database, other: Database, tmp_path: Path) -> None:
        await rebuild(db)
        attach_index(other, tmp_path / "search")
        name = await renamed(db, Organization, 1)

        assert await index_next(other) is False  # the lock is held
        release_index(db)
        await work_off(other)

        assert len(await found(db, name)) > 0
        assert [one async for one in compare(other)] == []

    async def test_of_two_nodes_each_read_every_change(self, db: Database, other: Database, tmp_path: Path) -> None:
        attach_index(other, tmp_path / "other")
        await rebuild(db)
        await rebuild(other)
        name = await renamed(db, Organization, 1)
        await work_off(db)
        kept = await count(db, SearchChange)
        await work_off(other)

        assert kept > 0
        assert await found(db, name) == await found(other, name) != set()
        if db.is_sqlite:  # on MariaDB changes are read again for as long as a transaction may stay open
            await renamed(db, Organization, 2)
            await work_off(db)
            await work_off(other)
            assert await count(db, SearchChange) == 0

    async def test_that_are_away_hold_back_no_change(self, db: Database, other: Database, tmp_path: Path) -> None:
        attach_index(other, tmp_path / "other")
        await rebuild(db)
        await rebuild(other)
        release_index(other)
        async with db.writing() as session:
            gone = sa.update(SearchNode).where(SearchNode.id != node_of(db))
            await session.execute(gone.values(seen_at=datetime(2020, 1, 1, tzinfo=BANGKOK)))
            await session.commit()
        name = await renamed(db, Organization, 1)
        await work_off(db)
        async with db.writing() as session:
            assert await repository.record_position(node_of(db), session, 1)
            await session.commit()
        nodes = await count(db, SearchNode)
        await work_off(other)

        assert nodes == 1
        assert len(await found(other, name)) > 0

    async def test_read_a_change_that_becomes_visible_behind_a_later_one(self, db: Database) -> None:
        await rebuild(db)
        async with db.reading() as session:
            first = await session.scalar(sa.select(Organization.public_id).order_by(Organization.id))
        late = SearchChange.__table__
        async with db.writing() as session:
            await session.execute(sa.insert(late).values(id=1_001, kind=21, head_uuid=new_id()))
            await session.commit()
        await work_off(db)
        if db.is_sqlite:  # one transaction writes after the other
            return
        async with db.writing() as session:
            row = await session.get_one(Organization, 1)
            row.organization_name = "ชื่อช้าฮฬ"
            await session.execute(sa.insert(late).values(id=1_000, kind=21, head_uuid=first))
            await session.commit()
        await work_off(db)

        assert len(await found(db, "ชื่อช้าฮฬ")) > 0


def node_of(db: Database) -> UUID:
    index = search_index.attached_index(db)
    assert index is not None
    state = index.state()
    assert state is not None
    return state.node


def test_a_document_keeps_so_many_characters_of_its_files() -> None:
    source = SearchSource(SearchKind.RFA, 9, 1, new_id(), 1, subject="สมุดรายการ", numbers=["A-1"])
    facts = EntryFacts(datetime(2026, 1, 1, tzinfo=BANGKOK), 1)
    document = indexing.document_of(indexing.Entry(source, facts, ["ขอ" * 1_000_000] * 2))

    assert document["text"].count(" ") + 1 - len("สมุดรายการ") - 1 - 2 == indexing.MOST_IN_FILES


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
