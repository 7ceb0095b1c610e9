"""As much of a request as the audit trail needs; `identity` stands above and hands in its own."""

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class AuditOrigin:
    """
    What stands for a request where nobody is signed in.

    :param caller: None for an act of nobody who is known, such as a failed log-in
    """

    caller: Actor | None
    now: datetime
    address: str = ""
