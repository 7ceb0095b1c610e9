"""
Hashes and checks passwords with argon2, outside the event loop.

Each check takes about 100 ms and 64 MiB, so two threads are the limit: a flood of log-ins waits, the server lives.
"""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from saraban.identity.domain.password import canonical
from saraban.kit.ids import new_secret

NO_PASSWORD = "!"  # noqa: S105  no hash looks like it, so the account cannot log in

_hasher = PasswordHasher()


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="argon2")


# Threads do not survive a fork: a server process that inherited this pool would wait for them for ever.
os.register_at_fork(after_in_child=_threads.cache_clear)


async def hash_password(password: str) -> str:
    return await asyncio.get_running_loop().run_in_executor(_threads(), _hasher.hash, canonical(password))


async def matches(password: str, password_hash: str | None) -> bool:
    """This will check a password, taking as long for an account that does not exist (None) as for one that does."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), _verify, canonical(password), password_hash)


def _verify(password: str, password_hash: str | None) -> bool:
    known = password_hash is not None and password_hash != NO_PASSWORD
    try:
        return _hasher.verify(password_hash if known and password_hash else _dummy(), password) and known
    except (VerificationError, InvalidHashError):
        return False


@lru_cache(maxsize=1)
def _dummy() -> str:
    return _hasher.hash(new_secret())
