"""
`Idempotency-Key`: a request sent twice has one effect and one result (REQ-NUM-10).

One statement claims the key in its own transaction, so a second request learns at once that the first still runs. The
receipt is stored in the transaction of the work. The process renews its short lease (database clock) while the work
lasts; if the process dies, the key is free within seconds. If another request takes the key over, the first is rolled
back at the end.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar, overload
from uuid import UUID

import orjson
import sqlalchemy as sa
import structlog
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code, Database, database_fault, table_of
from saraban.kit.departure import refuse_departed
from saraban.kit.error_text import error_text
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text
from saraban.kit.fastlane import FastStatement, Packet, run_alone
from saraban.kit.ids import new_id
from saraban.kit.operation import NAME_LENGTH, OUTCOME_LENGTH, Operation, Receipt
from saraban.kit.reconnection import CommitLost

log = structlog.get_logger(__name__)
Command = TypeVar("Command")
P = ParamSpec("P")
_RELEASE_WAIT_SECONDS = 1.0  # seconds
LEASE = 4.0  # seconds, by the database's clock
_RENEWAL_SECONDS = 1.0  # three renewals may fail before the lease ends
KEPT = timedelta(hours=24)
_SQLITE_MOMENT = "'%Y-%m-%d %H:%M:%f000'"


class IdempotencyKey(Base):
    """`completed_at` is null while the first request still runs."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (
        sa.Index("idx_idempotency_keys_user_key", "user_uuid", "idempotency_key", unique=True),
        sa.Index("idx_idempotency_keys_expires", "expires_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    user_uuid: Mapped[UUID]
    idempotency_key: Mapped[str] = mapped_column(Code(128))
    operation: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    payload_hash: Mapped[str] = mapped_column(sa.String(64))
    claim: Mapped[UUID]
    locked_until: Mapped[datetime]
    resource_kind: Mapped[str | None] = mapped_column(sa.String(40))
    resource_uuid: Mapped[UUID | None]
    outcome: Mapped[str | None] = mapped_column(sa.String(OUTCOME_LENGTH))
    completed_at: Mapped[datetime | None]
    expires_at: Mapped[datetime]


class KeyReused(DomainError):
    """The key was used before for a request with another method, address or body."""

    kind, code = ErrorKind.INVALID, "IDEMPOTENCY_KEY_REUSED"
    says = Text("Idempotency-Key นี้เคยใช้กับคำขออื่นแล้ว", "This Idempotency-Key was used before for a different request.")
    recovery = (Text("ส่งคำขอใหม่ด้วย key ใหม่", "Send the new request with a new key."),)


class KeyInUse(DomainError):
    """The first request with this key has not finished yet."""

    kind, code = ErrorKind.CONFLICT, "IDEMPOTENCY_KEY_IN_USE"
    says = Text("คำขอเดียวกันนี้กำลังดำเนินการอยู่", "The same request is still being worked on.")
    recovery = (Text("รอสักครู่แล้วส่งคำขอเดิมอีกครั้ง", "Wait a moment and send the same request again."),)


_KEYS = table_of(IdempotencyKey)
_UNIQUE = (_KEYS.c.user_uuid, _KEYS.c.idempotency_key)
_RETURNED = ("id", "claim", "payload_hash", "resource_kind", "resource_uuid", "outcome", "completed_at")


class Claim:
    """
    The right to do the work of one operation.
    :param row: None without a key
    :param receipt: of an earlier request that did the work
    """

    def __init__(self, db: Database, operation: Operation) -> None:
        self._db, self._operation = db, operation
        self.id = new_id()
        self.row: int | None = None
        self.receipt: Receipt | None = None

    async def take(self) -> None:
        """
        Claim a key that is new, expired or abandoned, or read the receipt of finished work.

        A request with another payload claims a lapsed key too: nothing of the first one is saved.
        Each claim has a new id, so after an unknown COMMIT no node of a cluster can complete the first.

        :raises KeyReused: when the key belongs to another operation or payload
        :raises KeyInUse: when the first request still runs
        """
        operation, before = self._operation, self.id
        self.id = new_id()
        ((row, claim, payload_hash, kind, public_id, outcome, completed_at),) = await run_alone(
            self._db,
            _claim_statement(self._db.is_sqlite),
            user=operation.user,
            key=operation.key,
            new_claim=self.id,
            old_claim=before,
            name=operation.name,
            hash=operation.payload_hash,
            lease=_duration(LEASE, on_sqlite=self._db.is_sqlite),
            until=operation.now + KEPT,
            now=operation.now,
        )
        if claim == self.id:
            self.row = row
        elif payload_hash != operation.payload_hash:
            raise KeyReused(fields=[FieldProblem("header:Idempotency-Key", "reused", KeyReused.says)])
        elif completed_at is None:
            raise KeyInUse(retry_after=1)
        else:
            self.receipt = Receipt(kind, public_id, orjson.loads(outcome), repeated=True)

    async def find_committed(self) -> Receipt | None:
        """
        Return the receipt if a COMMIT without a response succeeded; None allows a repeat.
        :raises KeyInUse: when another request took the key over
        :raises CommitLost: when there is no key, or the database is still unavailable
        """
        if self.row is None:
            raise CommitLost
        try:
            await self.take()
        except DBAPIError as error:
            raise CommitLost from error
        return replace(self.receipt, repeated=False) if self.receipt is not None else None

    async def complete(self, session: AsyncSession, receipt: Receipt) -> None:
        """
        Store the receipt as the last statement of the work's transaction.
        :raises KeyInUse: when another request took the key over: roll the work back
        """
        packet = Packet(session)
        self.queue_receipt(packet, receipt, refusal=KeyInUse(retry_after=1))
        await packet.send()

    def queue_receipt(self, packet: Packet, receipt: Receipt, *, refusal: Exception) -> None:
        """:param refusal: raised when another request took the key over"""
        if self.row is not None:
            packet.execute(
                _COMPLETE,
                refusal,
                row=self.row,
                mine=self.id,
                kind=receipt.kind,
                public_id=receipt.public_id,
                outcome_text=receipt.outcome_text(),
                now=self._operation.now,
            )

    async def _complete(self, receipt: Receipt, session: AsyncSession) -> None:
        await self.complete(session, receipt)

    async def complete_found(self, receipt: Receipt) -> None:
        """Store the receipt of work that another process committed before it died."""
        await self._db.transact(self._complete, receipt)

    async def release(self) -> None:
        try:
            await run_alone(self._db, _RELEASE, row=self.row, mine=self.id)
        except Exception as error:
            if database_fault(error) is None:
                raise
            log.warning("idempotency.not_released", error=error_text(error))


class Idempotency:
    """Renews the leases of this process; without claims it has no task."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._running: set[Claim] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._renewal: asyncio.Task[None] | None = None

    @overload
    async def run(self, operation: Operation, work: Callable[[AsyncSession], Awaitable[Receipt]], /) -> Receipt: ...

    @overload
    async def run(
        self,
        operation: Operation,
        work: Callable[Concatenate[Command, AsyncSession, P], Awaitable[Receipt]],
        command: Command,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Receipt: ...

    async def run(
        self, operation: Operation, work: Callable[..., Awaitable[Receipt]], /, *command: Any, **kwargs: Any
    ) -> Receipt:
        """
        Do the work once per key, called like `Database.transact`; a repeat returns the receipt.
        :raises KeyReused:
        :raises KeyInUse:
        """
        async with self.claim(operation) as claim:
            if claim.receipt is not None:
                return claim.receipt
            try:
                return await self._db.transact(_complete_work, claim, work, command, kwargs)
            except CommitLost:
                if (receipt := await claim.find_committed()) is not None:
                    return receipt
                return await self._db.transact(_complete_work, claim, work, command, kwargs)

    @asynccontextmanager
    async def claim(self, operation: Operation) -> AsyncIterator[Claim]:
        """
        Claim the operation's key, and release it if the work is refused.
        :raises KeyReused:
        :raises KeyInUse:
        """
        refuse_departed()
        claim = Claim(self._db, operation)
        if operation.key is not None:
            await claim.take()
        if claim.row is None:
            yield claim
            return
        self._begin_lease(claim)
        try:
            yield claim
        except Exception:
            await self._release(claim)
            raise
        finally:  # the work of a cancelled request may still commit: its claim stays until the lease ends
            self._running.discard(claim)

    async def _release(self, claim: Claim) -> None:
        """Wait briefly: if the database is unavailable, the lease expires by itself."""
        await asyncio.wait([self._start(claim.release(), "idempotency-release")], timeout=_RELEASE_WAIT_SECONDS)

    def _begin_lease(self, claim: Claim) -> None:
        self._running.add(claim)
        if self._renewal is None or self._renewal.done():
            self._renewal = self._start(self._renew_leases(), "idempotency-leases")

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _renew_leases(self) -> None:
        while earlier := set(self._running):
            await asyncio.sleep(_RENEWAL_SECONDS)
            if slow := {claim.id: claim.row for claim in self._running & earlier if claim.row is not None}:
                await self._renew(slow)

    async def _renew(self, claims: Mapping[UUID, int]) -> None:
        try:
            await self._db.transact_once(_renew_claims, claims)
        except Exception as error:
            if database_fault(error) is None:
                raise
            log.warning("idempotency.not_renewed", claims=len(claims), error=error_text(error))


async def _complete_work(
    claim: Claim,
    session: AsyncSession,
    work: Callable[..., Awaitable[Receipt]],
    command: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Receipt:
    receipt = await work(*command[:1], session, *command[1:], **kwargs)
    await claim.complete(session, receipt)
    return receipt


async def _renew_claims(claims: Mapping[UUID, int], session: AsyncSession) -> None:
    unfinished = sa.select(_KEYS.c.id).where(
        _KEYS.c.id.in_(claims.values()), _KEYS.c.claim.in_(claims), _KEYS.c.completed_at.is_(None)
    )
    # A locked row is being completed; waiting for it would delay the renewal of the others.
    ids = (await session.scalars(unfinished.with_for_update(skip_locked=True))).all()
    renewed = sa.update(_KEYS).where(_KEYS.c.id.in_(ids))
    on_sqlite = session.get_bind().dialect.name == "sqlite"
    lease = sa.literal(_duration(LEASE, on_sqlite=on_sqlite))
    await session.execute(renewed.values(locked_until=_database_time_after(lease, on_sqlite=on_sqlite)))


@cache
def _claim_statement(on_sqlite: bool) -> FastStatement:
    """
    Return the statement that claims a free key and returns its row.

    MariaDB assigns from left to right and sees new values at once; SQLite sees the old row.
    """
    new_values: dict[str, Any] = {
        "claim": _parameter("new_claim", _KEYS.c.claim),
        "operation": _parameter("name", _KEYS.c.operation),
        "payload_hash": _parameter("hash", _KEYS.c.payload_hash),
        "locked_until": _database_time_after(sa.bindparam("lease"), on_sqlite=on_sqlite),
        "expires_at": _parameter("until", _KEYS.c.expires_at),
        "completed_at": sa.null(),
    }
    row = {
        "user_uuid": _parameter("user", _KEYS.c.user_uuid),
        "idempotency_key": _parameter("key", _KEYS.c.idempotency_key),
        **new_values,
    }
    has_lapsed = sa.and_(
        _KEYS.c.completed_at.is_(None),
        _KEYS.c.locked_until <= _database_time_after(_NO_TIME[on_sqlite], on_sqlite=on_sqlite),
    )
    is_own = sa.and_(_KEYS.c.completed_at.is_(None), _KEYS.c.claim == _parameter("old_claim", _KEYS.c.claim))
    is_free = sa.or_(_KEYS.c.expires_at <= _parameter("now", _KEYS.c.expires_at), has_lapsed, is_own)
    columns = [_KEYS.c[name] for name in _RETURNED]
    if on_sqlite:
        into = sqlite.insert(_KEYS).values(row)
        updates = {name: sa.case((is_free, into.excluded[name]), else_=_KEYS.c[name]) for name in new_values}
        return FastStatement(into.on_conflict_do_update(index_elements=_UNIQUE, set_=updates).returning(*columns))
    into_mariadb = mysql.insert(_KEYS).values(row)
    inserted = into_mariadb.inserted
    assigned = [
        (
            name,
            sa.func.if_(is_free if name == "claim" else _KEYS.c.claim == inserted.claim, inserted[name], _KEYS.c[name]),
        )
        for name in new_values
    ]
    return FastStatement(into_mariadb.on_duplicate_key_update(assigned).returning(*columns))


def _parameter(name: str, column: sa.Column[Any]) -> sa.BindParameter[Any]:
    return sa.bindparam(name, type_=column.type)


_ROW = (_KEYS.c.id == sa.bindparam("row"), _KEYS.c.claim == _parameter("mine", _KEYS.c.claim))
_RELEASE = FastStatement(sa.delete(_KEYS).where(*_ROW, _KEYS.c.completed_at.is_(None)))
_COMPLETE = FastStatement(
    sa.update(_KEYS)
    .with_hint("USE INDEX (PRIMARY)", dialect_name="mariadb")
    .where(*_ROW)
    .values(
        resource_kind=_parameter("kind", _KEYS.c.resource_kind),
        resource_uuid=_parameter("public_id", _KEYS.c.resource_uuid),
        outcome=_parameter("outcome_text", _KEYS.c.outcome),
        completed_at=_parameter("now", _KEYS.c.completed_at),
    )
)


_NO_TIME: Mapping[bool, sa.ColumnElement[Any]] = {
    True: sa.literal_column("'+0 seconds'"),
    False: sa.literal_column("0"),
}


def _duration(seconds: float, *, on_sqlite: bool) -> str | int:
    return f"{seconds:+f} seconds" if on_sqlite else int(seconds * 1_000_000)


def _database_time_after(duration: sa.ColumnElement[Any], *, on_sqlite: bool) -> sa.ColumnElement[Any]:
    """Use the database's clock: the clocks of servers differ."""
    if on_sqlite:
        return sa.func.strftime(sa.literal_column(_SQLITE_MOMENT), sa.literal_column("'now'"), duration)
    return sa.func.timestampadd(sa.literal_column("MICROSECOND"), duration, sa.literal_column("UTC_TIMESTAMP(6)"))


async def delete_expired_keys(session: AsyncSession, *, now: datetime, limit: int = 1000) -> int:
    old = (
        await session.scalars(sa.select(IdempotencyKey.id).where(IdempotencyKey.expires_at < now).limit(limit))
    ).all()
    if old:
        await session.execute(sa.delete(IdempotencyKey).where(IdempotencyKey.id.in_(old)))
    return len(old)
