"""As much of a request as the audit trail needs; `identity` stands above and hands in its own."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Actor(Protocol):
    @property
    def user_id(self) -> int: ...

    @property
    def public_id(self) -> UUID: ...


class AuditContext(Protocol):
    """A request context, or what stands for it where nobody is signed in."""

    @property
    def caller(self) -> Actor | None: ...

    @property
    def now(self) -> datetime: ...

    @property
    def address(self) -> str: ...
