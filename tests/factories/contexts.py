"""Request contexts as the entry points make them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.clock import SystemClock

BANGKOK = ZoneInfo("Asia/Bangkok")


def context(
    caller: Caller, now: datetime | None = None, zone: ZoneInfo = BANGKOK, address: str = "", key: str | None = None
) -> RequestContext:
    return RequestContext(caller, now or SystemClock(zone).now(), zone, address, key)
