"""What belongs to one request, whichever entry point it came through: who asks, when, from where, and under which key."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self
from zoneinfo import ZoneInfo

from saraban.identity.domain.caller import Caller


@dataclass(frozen=True, slots=True)
class RequestContext:
    """
    Made once at the entry point and passed first; services take from it what they need and never change it.

    :param now: read once, aware; it serves every attempt of the request
    :param address: of the client; empty at the terminal and in the worker
    :param key: the `Idempotency-Key`, or the hidden field of a form
    """

    caller: Caller
    now: datetime
    zone: ZoneInfo
    address: str = ""
    key: str | None = None

    def with_key(self, key: str | None) -> Self:
        return replace(self, key=key)
