"""Cache of definitions in Redis, for reads; instances use the database (REQ-WFL-07)."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

import orjson
import structlog
from redis.asyncio import Redis

from saraban.kit.db import Database
from saraban.kit.redis import REDIS_ERRORS, RedisBreaker
from saraban.workflow.administration.schemas import DefinitionDetailOut
from saraban.workflow.administration.service import versions
from saraban.workflow.language import dsl

log = structlog.get_logger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

LIFETIME = 3600  # seconds
# Seconds in which a deleted pointer cannot be written, because a slow reader may still have the old one.
_DELETED_SECONDS = 60


class DefinitionCache:
    """A failed Redis gets no requests for `rest` seconds."""

    def __init__(self, db: Database, redis: Redis | None, *, rest: float = 5.0) -> None:
        self._db, self._redis = db, redis
        self._breaker = RedisBreaker(redis.connection_pool if redis else None, rest)

    async def version(self, *, code: str, version: int) -> DefinitionDetailOut:
        """:raises NotFound:"""
        cached = await self._read(code, version)
        if cached is not None:
            return cached
        async with self._db.reading() as session:
            view = await versions.find(session, code=code, version=version)
        return await self._write(view)

    async def active(self, *, code: str) -> DefinitionDetailOut:
        """
        The result may be slightly outdated.
        :raises NotFound:
        """
        cached = await self._read(code)
        if cached is not None:
            return cached
        async with self._db.reading() as session:
            view = await versions.find_active(session, code=code)
        return await self._write(view)

    async def delete(self, *, code: str, version: int | None = None) -> None:
        """Call it after the commit that published, activated or deactivated a version."""
        self._breaker.reset()  # an earlier failure must not keep the old pointer
        await self._ask(Redis.set, _key(code), b"", ex=_DELETED_SECONDS)
        # After a restore of the database, another version may have the same number.
        if version is not None:
            await self._ask(Redis.delete, _key(code, version))

    async def _read(self, code: str, version: int | None = None) -> DefinitionDetailOut | None:
        pointer = await self._ask(Redis.get, _key(code))
        if not pointer or not pointer.isdigit():
            return None
        number = version or int(pointer)
        text = await self._ask(Redis.get, _key(code, number))
        return _view(text, is_active=number == int(pointer)) if text else None

    async def _write(self, view: DefinitionDetailOut) -> DefinitionDetailOut:
        text = orjson.dumps([view.public_id, view.code, view.version, view.created_at, view.dsl])
        await self._ask(Redis.set, _key(view.code, view.version), text, ex=LIFETIME)
        if view.is_active:
            await self._ask(Redis.set, _key(view.code), b"%d" % view.version, ex=LIFETIME, nx=True)
        return view

    async def _ask(
        self, command: Callable[Concatenate[Redis, P], Awaitable[T]], *args: P.args, **options: P.kwargs
    ) -> T | None:
        if self._redis is None or self._breaker.is_open:
            return None
        try:
            return await command(self._redis, *args, **options)
        except REDIS_ERRORS as fault:
            await self._breaker.trip()
            log.warning("definition_cache.failed", error=f"{type(fault).__name__}: {fault}"[:300])
            return None


def _key(code: str, version: int | None = None) -> str:
    return f"wf:def:{code}:{version or 'active'}"


def _view(text: bytes | str, *, is_active: bool) -> DefinitionDetailOut | None:
    """Another release may have written another format."""
    try:
        public_id, code, version, created_at, raw = orjson.loads(text)
        created = datetime.fromisoformat(created_at)
        return DefinitionDetailOut(
            public_id=UUID(public_id),
            code=code,
            version=version,
            description=dsl.described(raw),
            is_active=is_active,
            created_at=created,
            dsl=raw,
        )
    except (ValueError, TypeError, AttributeError):
        return None
