"""
`Idempotency-Key`: the same request sent twice has one effect and one answer (REQ-NUM-10).

A key is claimed in a short transaction of its own, so that a second request with it is told at once that the first
still runs; the answer is stored in the transaction of the work itself, so that both or neither exist. A claim has a
short lease by the database's clock, which its process renews while the work lasts. Of a server that died it is free
within seconds; whoever slept longer finds at the end that the key is another's, and nothing of its work stays.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import orjson
import sqlalchemy as sa
import structlog
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code, Database, database_fault
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text
from saraban.kit.ids import derived_id, new_id

log = structlog.get_logger(__name__)
_PATIENCE = 1.0  # seconds
_releasing: "set[asyncio.Task[None]]" = set()
LEASE = 4.0  # seconds, by the database's clock
_BEAT = 1.0  # seconds between renewals; three may fail
KEPT = timedelta(hours=24)
_LONGEST = 80  # characters of an operation, which the column holds


class IdempotencyKey(Base):
    """One key of one user; `answer` is null while the first request still runs."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (
        sa.Index("idx_idempotency_keys_user_key", "user_uuid", "idempotency_key", unique=True),
        sa.Index("idx_idempotency_keys_expires", "expires_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    user_uuid: Mapped[UUID]
    idempotency_key: Mapped[str] = mapped_column(Code(128))
    operation: Mapped[str] = mapped_column(sa.String(_LONGEST))
    payload_hash: Mapped[str] = mapped_column(sa.String(64))
    claim: Mapped[UUID]
    locked_until: Mapped[datetime]
    answer: Mapped[str | None] = mapped_column(sa.Text(length=16_000_000))
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


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What a door sends: status, JSON body and headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    replayed: bool = False


Remember = Callable[[AsyncSession, OperationResult], Awaitable[None]]


def request_token(*, key: str | None, user: UUID, operation: str, payload: Any) -> UUID:
    """
    Return the token that tells whether a request's work is done already, whatever became of its answer.

    With a key it is the same for the same request of the same user, for ever; a key that comes again for something
    else, after its 24 hours, gives another token and so another number.
    """
    if key is None:
        return new_id()
    return derived_id(operation, str(user), key, _fingerprint(operation, payload))


async def answer_once(
    db: Database,
    *,
    key: str | None,
    user: UUID,
    operation: str,
    payload: Any,
    now: datetime,
    run: Callable[[Remember], Awaitable[OperationResult]],
) -> OperationResult:
    """
    Run the work once for a key, and return the stored answer to every repetition within 24 hours.

    :param operation: method and route, such as `POST /rfas`, in 80 characters; a second id goes into the payload
    :param payload: the request body as JSON-able data; it decides whether a repetition is the same request
    :param run: does the work and calls `remember(session, answer)` inside its own transaction, before the commit;
        where it finds the work done already it only gives the answer
    :raises KeyReused: when the key came before with another operation or payload
    :raises KeyInUse: when the first request still runs
    """
    if len(operation) > _LONGEST:  # with and without a key, and on SQLite too, which would keep it: a test shall see it
        raise ValueError(f"The operation has more than {_LONGEST} characters: {operation}")
    if key is None:
        return await run(_forget)
    claim = _KeyClaim(user, key, operation, _fingerprint(operation, payload), new_id())
    found = await _claim_or_replay(db, claim, now)
    if isinstance(found, OperationResult):
        return found
    heartbeat = _heartbeats.setdefault(db, _Heartbeat())
    heartbeat.begin(db, claim.claim, row=found)
    stored_with_the_work = False

    async def remember(session: AsyncSession, answer: OperationResult) -> None:
        nonlocal stored_with_the_work
        await claim.store(session, answer, now)
        stored_with_the_work = True

    try:
        answer = await run(remember)
        if not stored_with_the_work:  # the work was found done: an earlier server committed it and died
            await db.transact(lambda session: claim.store(session, answer, now))
            return replace(answer, replayed=True)
        return answer
    except BaseException:
        # Conditional on "no answer stored": where the commit went through after all, the answer stays.
        await _free_key(db, claim)
        raise
    finally:
        heartbeat.end(claim.claim)


async def _free_key(db: Database, claim: "_KeyClaim") -> None:
    """Free the key; a refusal does not wait for a database that is away, and the lease ends by itself."""
    releasing = asyncio.get_running_loop().create_task(_release(db, claim), name="idempotency-release")
    _releasing.add(releasing)
    releasing.add_done_callback(_releasing.discard)
    await asyncio.wait([releasing], timeout=_PATIENCE)


async def _release(db: Database, claim: "_KeyClaim") -> None:
    try:
        await db.transact(claim.release)
    except Exception as error:
        if database_fault(error) is None:
            raise
        log.warning("idempotency.not_released", error=str(error)[:300])


async def _forget(_session: AsyncSession, _answer: OperationResult) -> None:
    return None


@dataclass(frozen=True, slots=True)
class _KeyClaim:
    user: UUID
    key: str
    operation: str
    fingerprint: str
    claim: UUID

    @property
    def _mine(self) -> sa.ColumnElement[bool]:
        return sa.and_(
            IdempotencyKey.user_uuid == self.user,
            IdempotencyKey.idempotency_key == self.key,
            IdempotencyKey.claim == self.claim,
        )

    async def store(self, session: AsyncSession, answer: OperationResult, now: datetime) -> None:
        text = orjson.dumps({"status": answer.status, "body": answer.body, "headers": dict(answer.headers)}).decode()
        done = await session.execute(
            sa.update(IdempotencyKey).where(self._mine).values(answer=text, expires_at=now + KEPT)
        )
        if done.rowcount != 1:  # type: ignore[attr-defined]  # the lease ended and another request took the key over
            raise KeyInUse

    async def release(self, session: AsyncSession) -> None:
        await session.execute(sa.delete(IdempotencyKey).where(self._mine, IdempotencyKey.answer.is_(None)))


def _fingerprint(operation: str, payload: Any) -> str:
    return hashlib.sha256(operation.encode() + b"\0" + orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)).hexdigest()


class _Heartbeat:
    """Renews, once a second, the claims of requests that have taken longer than that; it sleeps while there are none."""

    def __init__(self) -> None:
        self._rows: dict[UUID, int] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self, db: Database, claim: UUID, *, row: int) -> None:
        self._rows[claim] = row
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(db), name="idempotency-heartbeat")

    def end(self, claim: UUID) -> None:
        self._rows.pop(claim, None)

    async def _run(self, db: Database) -> None:
        while known := set(self._rows):
            await asyncio.sleep(_BEAT)
            if slow := {claim: row for claim, row in self._rows.items() if claim in known}:
                await self._renew(db, slow)

    async def _renew(self, db: Database, claims: Mapping[UUID, int]) -> None:
        async def work(session: AsyncSession) -> None:
            mine = sa.select(IdempotencyKey.id).where(
                IdempotencyKey.id.in_(claims.values()),
                IdempotencyKey.claim.in_(claims),
                IdempotencyKey.answer.is_(None),
            )
            # A row that is locked is being completed; waiting for it would keep the others from being renewed.
            found = (await session.scalars(mine.with_for_update(skip_locked=True))).all()
            renewed = sa.update(IdempotencyKey).where(IdempotencyKey.id.in_(found))
            await session.execute(renewed.values(locked_until=_database_now(session, LEASE)))

        try:
            await db.transact(work, attempts=1)
        except Exception as error:
            if database_fault(error) is None:
                raise
            log.warning("idempotency.not_renewed", claims=len(claims), error=str(error)[:300])


_heartbeats: "WeakKeyDictionary[Database, _Heartbeat]" = WeakKeyDictionary()


def _database_now(session: AsyncSession, later: float = 0.0) -> sa.ColumnElement[datetime]:
    """Return the database's clock as an expression, `later` seconds on: the clocks of servers differ."""
    if session.get_bind().dialect.name == "sqlite":
        return sa.literal_column(f"strftime('%Y-%m-%d %H:%M:%f000', 'now', '{later:+f} seconds')")
    return sa.literal_column(f"UTC_TIMESTAMP(6) + INTERVAL {later:f} SECOND")


async def _claim_or_replay(db: Database, claim: _KeyClaim, now: datetime) -> OperationResult | int:
    """Claim the key and return its row, or return the answer that is stored under it."""
    try:
        return await db.transact(lambda session: _claim_row(session, claim, now))
    except IntegrityError:  # another request inserted the same key between our look and our insert
        return await db.transact(lambda session: _claim_row(session, claim, now))


async def _claim_row(session: AsyncSession, claim: _KeyClaim, now: datetime) -> OperationResult | int:
    is_free = IdempotencyKey.locked_until <= _database_now(session)
    found = (
        await session.execute(
            sa.select(IdempotencyKey, is_free)
            .where(IdempotencyKey.user_uuid == claim.user, IdempotencyKey.idempotency_key == claim.key)
            .with_for_update()
        )
    ).one_or_none()
    claimed = {
        "operation": claim.operation,
        "payload_hash": claim.fingerprint,
        "claim": claim.claim,
        "locked_until": _database_now(session, LEASE),
        "expires_at": now + KEPT,
    }
    if found is None:
        new = {"user_uuid": claim.user, "idempotency_key": claim.key} | claimed
        done: Any = await session.execute(sa.insert(IdempotencyKey).values(new))
        return int(done.inserted_primary_key[0])
    row, free = found
    if row.expires_at > now:
        if row.payload_hash != claim.fingerprint:
            raise KeyReused(
                fields=[FieldProblem("header:Idempotency-Key", "reused", KeyReused.says)],
            )
        if row.answer is not None:
            stored = orjson.loads(row.answer)
            return OperationResult(stored["status"], stored["body"], stored["headers"], replayed=True)
        if not free:
            raise KeyInUse(retry_after=1)
    taken_over = sa.update(IdempotencyKey).where(IdempotencyKey.id == row.id)
    await session.execute(taken_over.values(claimed | {"answer": None}))
    return int(row.id)


async def delete_expired_keys(session: AsyncSession, *, now: datetime, limit: int = 1000) -> int:
    """Delete keys past their 24 hours, for the worker's clean-up."""
    old = (
        await session.scalars(sa.select(IdempotencyKey.id).where(IdempotencyKey.expires_at < now).limit(limit))
    ).all()
    if old:
        await session.execute(sa.delete(IdempotencyKey).where(IdempotencyKey.id.in_(old)))
    return len(old)
