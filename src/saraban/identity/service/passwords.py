"""Hash passwords in two threads: argon2 takes about 100 ms and 64 MiB."""

import asyncio
import gzip
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from saraban.identity.domain.account import NO_PASSWORD
from saraban.identity.domain.password import canonical_password, password_weakness
from saraban.kit.admission import slot_released
from saraban.kit.clock import stopwatch
from saraban.kit.errors import RETRY, DomainError, ErrorKind, FieldProblem, Invalid, Text
from saraban.kit.ids import new_secret

T = TypeVar("T")

LONGEST_WAIT: Final = 3.0  # seconds
_COMMON_PASSWORDS: Final = Path(__file__).parent.parent / "data" / "common-passwords.txt.gz"
_THREADS: Final = 2
_PACE_WEIGHT: Final = 0.2  # weight of the latest check in the average


@dataclass(slots=True)
class _Pace:
    seconds: float = 0.1


_hasher = PasswordHasher()
_pending: set[asyncio.Future[Any]] = set()
_pace = _Pace()


class PasswordsBusy(DomainError):
    """So many passwords are being checked that this one would wait too long. It was not checked; try again."""

    kind, code = ErrorKind.BUSY, "PASSWORDS_BUSY"
    says = Text(
        "มีผู้เข้าสู่ระบบพร้อมกันจำนวนมาก กรุณาลองใหม่ในอีกสักครู่",
        "Many people are signing in at this moment. Please try again shortly.",
    )
    recovery = (RETRY,)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="argon2")


# Threads do not survive a fork: a server process that inherited this pool would wait for ever.
os.register_at_fork(after_in_child=_threads.cache_clear)


async def hash_password(password: str) -> str:
    return await _run_in_thread(_hasher.hash, canonical_password(password))


def make_password() -> str:
    return new_secret(24)


async def matches(password: str, password_hash: str | None, *, within: float = LONGEST_WAIT) -> bool:
    """
    Check a password; an unknown account (None) takes as long as a known one.

    :raises PasswordsBusy: if it would wait longer than `within` seconds
    """
    return await _run_in_thread(_verify, canonical_password(password), password_hash, within=within)


async def _run_in_thread(work: Callable[..., T], *arguments: object, within: float = LONGEST_WAIT) -> T:
    expected = len(_pending) / _THREADS * _pace.seconds
    if expected > within:
        raise PasswordsBusy(retry_after=ceil(expected))
    future: asyncio.Future[T] = asyncio.get_running_loop().run_in_executor(_threads(), _measure, work, *arguments)
    _pending.add(future)
    try:
        with slot_released():
            return await future
    finally:
        _pending.discard(future)


def _measure(work: Callable[..., T], *arguments: object) -> T:
    began = stopwatch()
    try:
        return work(*arguments)
    finally:
        _pace.seconds += _PACE_WEIGHT * (stopwatch() - began - _pace.seconds)


def require_strong(password: str, names: Iterable[str], *, pointer: str = "/password") -> None:
    """:raises Invalid:"""
    why = password_weakness(password, names=names, common=_common_passwords())
    if why is not None:
        raise Invalid("The password is too weak.", fields=[FieldProblem(pointer, "weak", why)])


@lru_cache(maxsize=1)
def _common_passwords() -> frozenset[str]:
    return frozenset(gzip.decompress(_COMMON_PASSWORDS.read_bytes()).decode().splitlines())


def _verify(password: str, password_hash: str | None) -> bool:
    has_password = password_hash is not None and password_hash != NO_PASSWORD
    try:
        return (
            _hasher.verify(password_hash if has_password and password_hash else _dummy_hash(), password)
            and has_password
        )
    except (VerificationError, InvalidHashError):
        return False


@lru_cache(maxsize=1)
def _dummy_hash() -> str:
    return _hasher.hash(new_secret())
