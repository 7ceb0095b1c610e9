"""
Hashes and checks passwords with argon2, outside the event loop.

Each check takes about 100 ms and 64 MiB, so two threads are the limit; what would wait for more than some five seconds
is refused.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from saraban.identity.domain.password import canonical, weakness
from saraban.kit.errors import RETRY, DomainError, FieldProblem, Invalid, Kind, Text
from saraban.kit.ids import new_secret

T = TypeVar("T")

NO_PASSWORD = "!"  # noqa: S105  no hash looks like it, so the account cannot log in

_MOST_WAITING = 100
_RETRY_AFTER = 5

_hasher = PasswordHasher()
_under_way: set[asyncio.Future[Any]] = set()


class PasswordsBusy(DomainError):
    """So many passwords are being checked that this one would wait too long. It was not looked at; try again."""

    kind, code = Kind.BUSY, "PASSWORDS_BUSY"
    says = Text(
        "มีผู้ลงชื่อเข้าใช้พร้อมกันจำนวนมาก กรุณาลองใหม่อีกครั้งในอีกสักครู่",
        "Many people are logging in at this moment. Please try again shortly.",
    )
    recovery = (RETRY,)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="argon2")


# Threads do not survive a fork: a server process that inherited this pool would wait for them for ever.
os.register_at_fork(after_in_child=_threads.cache_clear)


async def hash_password(password: str) -> str:
    return await _in_turn(_hasher.hash, canonical(password))


async def matches(password: str, password_hash: str | None) -> bool:
    """This will check a password, taking as long for an account that does not exist (None) as for one that does."""
    return await _in_turn(_verify, canonical(password), password_hash)


async def _in_turn(work: Callable[..., T], *arguments: object) -> T:
    """:raises PasswordsBusy: at once, when too many wait already"""
    if len(_under_way) >= _MOST_WAITING:
        raise PasswordsBusy(retry_after=_RETRY_AFTER)
    future: asyncio.Future[T] = asyncio.get_running_loop().run_in_executor(_threads(), work, *arguments)
    _under_way.add(future)
    try:
        return await future
    finally:
        _under_way.discard(future)


def require_strong(password: str, username: str, *, pointer: str = "/password") -> None:
    """:raises Invalid: when a new password is too weak"""
    why = weakness(password, username=username)
    if why is not None:
        raise Invalid("The password is too weak.", fields=[FieldProblem(pointer, "weak", why)])


def _verify(password: str, password_hash: str | None) -> bool:
    known = password_hash is not None and password_hash != NO_PASSWORD
    try:
        return _hasher.verify(password_hash if known and password_hash else _dummy(), password) and known
    except (VerificationError, InvalidHashError):
        return False


@lru_cache(maxsize=1)
def _dummy() -> str:
    return _hasher.hash(new_secret())
