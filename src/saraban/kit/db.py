"""
Database sessions, faults, and the column types with equal behaviour on both databases.

SQLite runs in WAL with `synchronous=FULL`; writers begin `IMMEDIATE`, because the default loses concurrent
increments. MariaDB runs at READ COMMITTED (REQ-LCK-10).
"""

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from time import monotonic
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast, overload
from uuid import UUID

import orjson
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, declared_attr, mapped_column
from sqlalchemy.schema import SchemaItem

from saraban.kit.admission import LOCK_WAIT_SECONDS, slot_released
from saraban.kit.connections import (
    configure_sqlite,
    mariadb_arguments,
    replace_closed,
    with_driver,
)
from saraban.kit.departure import refuse_departed
from saraban.kit.ids import new_id
from saraban.kit.json import Json, JsonObject
from saraban.kit.reconnection import LOCK_WAIT, NOT_EXECUTED, CommitLost, Reconnection, error_number, is_lost

T = TypeVar("T")
Command = TypeVar("Command")
P = ParamSpec("P")

_ATTEMPTS = 3
_POOL_WAIT = 20.0  # seconds
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(sa.TypeDecorator[datetime]):
    """Aware UTC in Python, naive UTC with microseconds in the database."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(self, value: datetime | None, _dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a datetime without a zone must not reach the database")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


def Code(length: int) -> sa.String:  # noqa: N802  it reads as a type in a mapping
    """Text that compares byte by byte: `a` is not `A`, and `'A '` is not `'A'` (REQ-IDN-05)."""
    binary = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_nopad_bin")
    return sa.String(length).with_variant(binary, "mysql", "mariadb")


_JSON = sa.JSON(none_as_null=True)


class Base(DeclarativeBase):
    """The migrations create the tables."""

    metadata = sa.MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: UtcDateTime(),
        UUID: sa.Uuid(),
        dict[str, Json]: _JSON,
        list[Json]: _JSON,
        dict[str, str]: _JSON,
        dict[str, int]: _JSON,
        dict[str, JsonObject]: _JSON,
        list[str]: _JSON,
        list[int]: _JSON,
        list[dict[str, str]]: _JSON,
    }


AnyRow = sa.Row[*tuple[Any, ...]]
AnySelect = sa.Select[*tuple[Any, ...]]
SessionOrConnection = AsyncSession | AsyncConnection
TableArguments = tuple[SchemaItem, ...]


class HasPublicId:
    """The `uuid` column (REQ-IDN-03), the only id that leaves the process, as `publicId`."""

    @declared_attr
    @classmethod
    def public_id(cls) -> Mapped[UUID]:
        return mapped_column("uuid", sa.Uuid(), default=new_id, comment="UUID Public Identifier (ADR-019)")

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index(cls.__tablename__)  # type: ignore[attr-defined]


def public_id_index(table: str, *more: SchemaItem, unique: bool = True) -> TableArguments:
    """Return `__table_args__` with the index of REQ-IDN-04."""
    return (sa.Index(f"idx_{table}_uuid", "uuid", unique=unique), *more)


class DatabaseFault(StrEnum):
    COLLISION = "collision"  # deadlock, snapshot, certification: roll back and run the use case again
    LOCK_WAIT = "lock_wait"  # a lock was held by another for too long: the same, but it has cost its time already
    CONNECTION = "connection"  # it was lost, or its node of a cluster accepts no work
    COMMIT = "commit"  # it was lost during COMMIT, whose outcome is unknown
    POOL = "pool"  # no connection became free in time
    FULL = "full"  # no room on the disk: nothing was written, and it works again when there is some


_RETRIED = {DatabaseFault.COLLISION, DatabaseFault.LOCK_WAIT, DatabaseFault.POOL}
_FULL = {1021, 1114}
# `ioerr_shmsize`: SQLite cannot extend the file that its readers share.
_NO_ROOM = ("database or disk is full", "no space left on device", "errcode: 28", "got error 28", "ioerr_shmsize")
_COLLISIONS = {1020, 1213, 1412}  # the last: a table was altered after the snapshot began


def database_fault(error: BaseException) -> DatabaseFault | None:
    """Return the expected fault of a statement, or None for a bug or a violated constraint."""
    if isinstance(error, PoolTimeout):
        return DatabaseFault.POOL
    if isinstance(error, CommitLost):
        return DatabaseFault.COMMIT
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DatabaseFault.FULL
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError | PermissionError):
        return DatabaseFault.CONNECTION
    if isinstance(error, IntegrityError | DataError) or not isinstance(error, DBAPIError):
        return None
    number = error_number(error)
    if number == LOCK_WAIT:
        return DatabaseFault.LOCK_WAIT
    if number in _COLLISIONS:
        return DatabaseFault.COLLISION
    text = f"{error.orig} {getattr(error.orig, 'sqlite_errorname', '')}".lower()
    if number in _FULL or any(words in text for words in _NO_ROOM):
        return DatabaseFault.FULL
    if "database is locked" in text or "database table is locked" in text:
        return DatabaseFault.LOCK_WAIT
    return DatabaseFault.CONNECTION if error.connection_invalidated or is_lost(error) else None


def violates_constraint(error: IntegrityError, *names: str) -> bool:
    """:param names: of unique constraints or columns (`table.column`)"""
    return any(name in str(error.orig) for name in names)


class Database:
    """
    `commit_listener` is called after commits with `notify_after_commit`.
    :param url: `sqlite:///path` or `mysql://user:password@host:port/name`, without a driver
    :param read_timeout: seconds until a silent MariaDB connection is lost (REQ-NUM-09), on both sides
    :param transaction_seconds: limit of a transaction on MariaDB
    :param sync_wait: `wsrep_sync_wait`: which statements wait for the other nodes' writes
    :param reconnection: for reads, and for transactions before COMMIT
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        pool_timeout: float = 2.0,
        read_timeout: float = 15.0,
        transaction_seconds: float = 60.0,
        echo: bool = False,
        sync_wait: int = 0,
        reconnection: Reconnection | None = None,
    ) -> None:
        self.reconnection = reconnection or Reconnection()
        self.url = with_driver(make_url(url))
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.commit_listener: Callable[[], None] | None = None
        self._transaction_seconds = None if self.is_sqlite else transaction_seconds
        # The client's limit, then the server's, then five seconds for a COMMIT.
        self.longest_transaction = 0.0 if self.is_sqlite else transaction_seconds + read_timeout + 5.0
        self._writer = asyncio.Lock()
        self._pool_limit = 2 * pool_size
        options: dict[str, Any] = {
            "pool_size": pool_size,
            "max_overflow": pool_size,
            "pool_timeout": 30.0 if self.is_sqlite else pool_timeout,
            "echo": echo,
            "hide_parameters": True,  # logged errors must not contain values: a user may type a password as a name
            # Every session ends with its own commit or rollback; another costs a round trip.
            "pool_reset_on_return": None,
            "json_serializer": lambda value: orjson.dumps(value).decode(),
            "json_deserializer": orjson.loads,
            "execution_options": {_DATABASE: self},
        }
        if not self.is_sqlite:
            options |= {
                "isolation_level": "READ COMMITTED",
                "pool_recycle": 1800,
                "pool_pre_ping": False,
                "connect_args": mariadb_arguments(read_timeout, sync_wait),
            }
        self.engine = create_async_engine(self.url, **options)
        self._writing_engine = self.engine.execution_options(saraban_writes=True, saraban_notify=self._notify)
        if not self.is_sqlite:
            # Writers have a short pool timeout, for the allocator's back-off. Readers must wait, not fail.
            options |= {
                "isolation_level": "AUTOCOMMIT",
                "skip_autocommit_rollback": True,
                "pool_timeout": _POOL_WAIT,
            }
            options["connect_args"] = mariadb_arguments(read_timeout, sync_wait, self.reconnection)
        self.reading_engine = self.engine if self.is_sqlite else create_async_engine(self.url, **options)
        self._configure()

    def _configure(self) -> None:
        if self.is_sqlite:
            configure_sqlite(self.engine.sync_engine)
            return
        for engine in (self.engine, self.reading_engine):
            replace_closed(engine.sync_engine)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        """
        Open a session for reads, which takes its connection at the first statement.

        On MariaDB there is no transaction: each statement sees the latest commits, and a write fails. On SQLite all
        statements see one moment, and writes are rolled back. To compare several statements use `snapshot`.
        """
        refuse_departed()
        async with AsyncSession(self.reading_engine, expire_on_commit=False) as session:
            yield session

    @asynccontextmanager
    async def snapshot(self, level: str = "REPEATABLE READ") -> AsyncIterator[AsyncSession]:
        """
        Open a session whose reads all see the moment of the first.

        :param level: on MariaDB; at READ UNCOMMITTED it sees uncommitted rows too
        """
        engine = self.engine if self.is_sqlite else self.engine.execution_options(isolation_level=level)
        async with AsyncSession(engine, expire_on_commit=False) as session:
            await _acquire_connection(session)
            yield session

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncSession]:
        """Commit at the end of the block. On SQLite, writers of a process queue for the file."""
        if not self.is_sqlite:
            async with self._transaction() as session:
                yield session
            return
        with slot_released(after=LOCK_WAIT_SECONDS):
            await self._writer.acquire()
        try:
            async with self._transaction() as session:
                yield session
        finally:
            self._writer.release()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncSession]:
        refuse_departed()
        session = AsyncSession(self._writing_engine, expire_on_commit=False)
        try:
            async with _time_limit(self._transaction_seconds) as sent:
                yield session
                if session.new or session.dirty or session.deleted:
                    await session.flush()  # a connection lost here has committed nothing
                sent.set()
                await _commit(session)
        except BaseException:
            await asyncio.shield(asyncio.ensure_future(_roll_back(session)))  # a second cancellation must wait
            raise
        session.sync_session.close()  # the commit returned the connection, so this does not wait

    def _notify(self) -> None:
        if self.commit_listener is not None:
            self.commit_listener()

    @overload
    async def transact(self, work: Callable[[AsyncSession], Awaitable[T]], /) -> T: ...

    @overload
    async def transact(
        self,
        work: Callable[Concatenate[Command, AsyncSession, P], Awaitable[T]],
        command: Command,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T: ...

    async def transact(self, work: Callable[..., Awaitable[Any]], /, *command: Any, **kwargs: Any) -> Any:
        """
        Call `work(command, session, …)`, or `work(session)`, in a transaction and commit it.

        The work runs again after a collision, without a free connection, and after a connection lost before COMMIT.
        :raises CommitLost: when the result of COMMIT is unknown (REQ-NUM-09)
        """
        return await self.repeat(self.transact_once, work, *command, **kwargs)

    async def transact_once(self, work: Callable[..., Awaitable[Any]], /, *command: Any, **kwargs: Any) -> Any:
        async with self.writing() as session:
            return await work(*command[:1], session, *command[1:], **kwargs)

    async def repeat(self, attempt: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the attempt, again after a collision or a lost connection."""
        return await self.reconnection.run(_try_again, attempt, *args, **kwargs)

    async def ping(self) -> None:
        async with self.engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))

    async def close(self) -> None:
        for engine in {self.engine, self.reading_engine}:
            await engine.dispose()

    def pool_status(self) -> Mapping[str, int]:
        """Return the state of the fuller of the two pools, which have equal sizes."""
        pools: list[Any] = [self.engine.pool, self.reading_engine.pool]
        pool = max(pools, key=lambda candidate: candidate.checkedout())
        overflow = max(pool.overflow(), 0)
        return {"size": pool.size(), "in_use": pool.checkedout(), "overflow": overflow, "limit": self._pool_limit}


async def _try_again(attempt: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
    for count in range(1, _ATTEMPTS):
        try:
            return await attempt(*args, **kwargs)
        except Exception as error:
            if database_fault(error) not in _RETRIED:
                raise
            with slot_released():
                await asyncio.sleep(0.02 * count)
    return await attempt(*args, **kwargs)


async def _roll_back(session: AsyncSession) -> None:
    """After a rollback an added row is new again, so another attempt inserts it."""
    with suppress(SQLAlchemyError, OSError):  # a broken connection cannot be rolled back
        await session.rollback()
    await session.close()


async def _commit(session: AsyncSession) -> None:
    with slot_released(after=LOCK_WAIT_SECONDS):  # a COMMIT waits while a cluster expels a node
        await session.commit()


@asynccontextmanager
async def _time_limit(seconds: float | None) -> AsyncIterator[asyncio.Event]:
    """:raises CommitLost: for a timeout or a lost connection after the block has set the event"""
    sent = asyncio.Event()
    try:
        async with asyncio.timeout(seconds):  # its error counts as a lost connection
            yield sent
    except Exception as error:
        lost = sent.is_set() and database_fault(error) is DatabaseFault.CONNECTION
        if lost and error_number(error) not in NOT_EXECUTED:
            raise CommitLost from error
        raise


async def _acquire_connection(session: AsyncSession) -> None:
    """Wait up to `_POOL_WAIT` seconds: the pool's timeout is short, for the number allocator."""
    until = monotonic() + _POOL_WAIT
    while True:
        refuse_departed()
        try:
            await session.connection()
        except PoolTimeout:
            if monotonic() > until:
                raise
        else:
            return


_DATABASE = "saraban_database"


def database_of(session: AsyncSession) -> Database:
    return session.get_bind().get_execution_options()[_DATABASE]  # type: ignore[no-any-return]


async def database_now(session: AsyncSession) -> datetime:
    """Expiries use the database's clock, whichever server asks (REQ-NUM-13)."""
    if session.get_bind().dialect.name == "sqlite":
        text = await session.scalar(sa.text("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"))
        return datetime.fromisoformat(str(text)).replace(tzinfo=UTC)
    moment: datetime = (await session.execute(sa.text("SELECT UTC_TIMESTAMP(6)"))).scalar_one()
    return moment.replace(tzinfo=UTC)


def notify_after_commit(session: AsyncSession) -> None:
    if not event.contains(session.sync_session, "after_commit", _notify_committed):
        event.listen(session.sync_session, "after_commit", _notify_committed)


def _notify_committed(session: Session) -> None:
    notify: Callable[[], None] | None = session.get_bind().get_execution_options().get("saraban_notify")
    if notify is not None:  # read-only sessions have none
        notify()


def table_of(model: type[Base]) -> sa.Table:
    """For Core statements, which cost a third of ORM statements."""
    return cast("sa.Table", model.__table__)
