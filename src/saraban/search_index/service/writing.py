"""
The process that holds the directory's lock follows the queue of changes.

AUTO_INCREMENT numbers become visible out of order. Changes are therefore read again as far back as a transaction may
stay open: the last seconds in every round, the rest periodically.
"""

import asyncio
import fcntl
import os
import shutil
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, ParamSpec
from weakref import WeakKeyDictionary

import orjson
import structlog
from sqlalchemy.ext.asyncio import AsyncSession
from tantivy import Document, IndexWriter

from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, database_of
from saraban.kit.ids import new_id
from saraban.search_index import repository
from saraban.search_index.repository import Change
from saraban.search_index.service.reading import (
    SCHEMA,
    IndexDamaged,
    IndexFault,
    IndexState,
    SearchIndex,
    attached_index,
    faults_sorted,
    index_of,
    one_of,
    open_folder,
)

log = structlog.get_logger(__name__)
P = ParamSpec("P")
_HEAP: Final = 128_000_000  # bytes of unwritten entries
_RECENT: Final = 5.0  # seconds of changes that every round reads again
_ALL_AFTER: Final = 20.0  # seconds between rounds that read all possibly late changes
_MARGIN: Final = 60.0  # seconds; the nodes of a cluster see each other's rows late
_HEARTBEAT: Final = 60.0  # seconds


class ChangeFollower:
    """
    :param position: every change up to this `id` was indexed
    :param lag: seconds that a transaction may stay open
    """

    def __init__(self, position: int, lag: float) -> None:
        self.position, self.seen = position, set[int]()
        self._lag = lag
        self._marks: deque[tuple[float, int]] = deque([(stopwatch() - lag, position)])
        self._read_all_at, self._reads_all = 0.0, False

    @property
    def newest(self) -> int:
        return self._marks[-1][1]

    def begin(self) -> int:
        """Return the `id` after which the next round reads."""
        now = stopwatch()
        self._reads_all = now - self._read_all_at >= _ALL_AFTER
        if self._reads_all:
            return self.position
        return max((number for at, number in self._marks if at <= now - min(_RECENT, self._lag)), default=self.position)

    def end(self) -> None:
        if self._reads_all:
            self._read_all_at = stopwatch()

    def unseen(self, changes: Iterable[Change]) -> list[Change]:
        return [change for change in changes if change.id not in self.seen]

    def settle(self, changes: Iterable[Change], *, until: float) -> None:
        """:param until: moment of their read"""
        self.seen.update(change.id for change in changes)
        newest = max(self.seen, default=self.position)
        if newest > self._marks[-1][1]:
            self._marks.append((until, newest))
        while len(self._marks) > 1 and self._marks[1][0] <= until - self._lag:
            self._marks.popleft()
        if self._marks[0][0] <= until - self._lag and self._marks[0][1] > self.position:
            self.position = self._marks[0][1]
            self.seen = {number for number in self.seen if number > self.position}


class SearchWriter:
    """Callers of its methods must hold `turn`."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._lock: int | None = None
        self._writer: IndexWriter | None = None
        self._recorded, self._recorded_at = 0, 0.0
        self._must_reopen = self._must_rebuild = False
        self.state = IndexState(new_id(), "", 0, 0)
        self.follower = ChangeFollower(0, 0.0)
        self.may_repeat = False  # the next slice of a build may be committed already
        self.turn = asyncio.Lock()  # held by the writing task

    async def acquire(self, db: Database) -> bool:
        """Return whether this process writes; reset a damaged or outdated index."""
        if self._writer is not None and not self._must_reopen and not self._index.rebuild_request.exists():
            return True
        self.close()
        if not self._take_lock():
            return False
        state = self._index.state()
        if (
            state is None
            or self._must_rebuild
            or self._index.rebuild_request.exists()
            or not (self._index.folder / state.generation / "meta.json").exists()
            or not await self._is_known(db, state)
        ):
            await self._start_rebuild(db, state)
        else:
            try:
                self._open(state, db)
            except IndexFault as fault:
                is_damaged = isinstance(fault, IndexDamaged)
                log.warning("search_index_damaged" if is_damaged else "search_index_refused", reason=str(fault))
                if not is_damaged:
                    self.close()
                    return False
                await self._start_rebuild(db, state)
        return True

    def _take_lock(self) -> bool:
        self._index.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._index.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    async def _is_known(self, db: Database, state: IndexState) -> bool:
        """A restored database does not have the node."""
        async with db.reading() as session:
            return await repository.read_position(session, state.node) in {state.position, state.earlier}

    async def _start_rebuild(self, db: Database, former: IndexState | None) -> None:
        others = [path for path in self._index.folder.parent.iterdir() if path != self._index.folder]  # other versions
        for path in [*others, *self._index.folder.iterdir()]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
        if former is not None:
            await db.transact(repository.remove_node, former.node)
        node = new_id()
        position = await db.transact(repository.add_node, node)
        self._must_rebuild = False
        self._open(IndexState(node, node.hex, position, position, position, (0, 0)), db)
        self.may_repeat = False
        self._index.rebuild_request.unlink(missing_ok=True)

    def _open(self, state: IndexState, db: Database) -> None:
        folder = self._index.folder / state.generation
        folder.mkdir(exist_ok=True)
        with faults_sorted():
            self._writer = open_folder(folder).writer(_HEAP, 1)
        lag = db.longest_transaction + _MARGIN if db.longest_transaction else 0.0
        self.follower = ChangeFollower(state.position, lag)
        self.may_repeat, self._must_reopen, self._recorded = state.build is not None, False, state.position
        self._save(state)

    def _save(self, state: IndexState) -> None:
        draft = self._index.folder / "state.draft"
        draft.write_bytes(orjson.dumps(asdict(state)))
        draft.replace(self._index.folder / "state.json")
        self.state = state

    async def write(self, documents: Sequence[Mapping[str, Any]], *, replaced: Collection[int]) -> None:
        """:param replaced: heads whose former entries are removed"""
        await self._in_thread(self._write, documents, replaced)

    def _write(self, documents: Sequence[Mapping[str, Any]], replaced: Collection[int]) -> None:
        assert self._writer is not None
        if replaced:  # by query, since `delete_documents_by_term` does not match unsigned fields
            self._writer.delete_documents_by_query(one_of("head", replaced))
        for document in documents:
            self._writer.add_document(Document.from_dict(dict(document), SCHEMA))

    async def publish(self, *, build: tuple[int, int] | None = None) -> None:
        """:param build: place where the build continues"""
        await self._in_thread(self._commit)
        self.may_repeat = build is not None  # until the state has the new place
        if build != self.state.build:
            self._save(replace(self.state, build=build))
        self.may_repeat = False

    def _commit(self) -> None:
        assert self._writer is not None
        self._writer.commit()

    async def _in_thread(self, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        task = asyncio.ensure_future(asyncio.to_thread(faults_sorted()(work), *args, **kwargs))
        try:
            await asyncio.shield(task)
        except BaseException as fault:
            self._must_reopen = True  # a partial write must not be committed
            await asyncio.wait([task])  # the thread cannot be cancelled, and needs the lock
            if isinstance(fault, IndexDamaged):
                self._index.request_rebuild()
            raise

    async def read(self, db: Database, *, limit: int) -> list[Change]:
        changes: list[Change] = []
        position = self.follower.begin()
        async with db.reading() as session:
            while len(changes) < limit:
                rows = await repository.changes_after(session, position, limit=limit)
                changes += self.follower.unseen(rows)
                if len(rows) < limit:
                    self.follower.end()
                    break
                position = rows[-1].id
        return changes

    async def record(self, db: Database) -> None:
        """Also show once a minute that the node is alive."""
        position = self.follower.position
        if position != self._recorded or self.follower.newest != self.state.newest:
            self._save(replace(self.state, position=position, earlier=self._recorded, newest=self.follower.newest))
        if position == self._recorded and stopwatch() - self._recorded_at < _HEARTBEAT:
            return
        if not await db.transact(repository.record_position, self.state.node, position):
            self._must_reopen = self._must_rebuild = True  # the node was absent for too long; changes may be deleted
        self._recorded, self._recorded_at = position, stopwatch()

    def close(self) -> None:
        self._writer = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


_writers: WeakKeyDictionary[Database, SearchWriter] = WeakKeyDictionary()


def writer_of(db: Database) -> SearchWriter | None:
    """None without an attached index; the first round takes the lock."""
    index = attached_index(db)
    return _writers.setdefault(db, SearchWriter(index)) if index is not None else None


def release_index(db: Database) -> None:
    if writer := _writers.pop(db, None):
        writer.close()


async def waiting(session: AsyncSession, *, limit: int | None = None) -> list[Change]:
    """Late changes with a smaller `id` are not included."""
    index = index_of(session)
    state = index.state() if index is not None else None
    return await repository.changes_after(session, state.newest if state is not None else 0, limit=limit)


async def unsettled(session: AsyncSession) -> list[Change]:
    """Return all changes that the index may lack; in the writer's process fewer."""
    index, writer = index_of(session), _writers.get(database_of(session))
    state = index.state() if index is not None else None
    if writer is not None and state is not None and writer.state.node == state.node:
        return writer.follower.unseen(await repository.changes_after(session, writer.follower.position))
    return await repository.changes_after(session, state.position if state is not None else 0)
