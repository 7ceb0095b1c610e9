"""
A worker as it ships, except that one name outside, `hooks.test`, leads to this machine.

Webhooks never go to private addresses; a test has nothing else to stand its receiver on.
"""

from functools import partial

from saraban import bootstrap
from saraban.webhooks.adapters import GuardedTransport

HOST = "hooks.test"


async def resolve(host: str, _port: int) -> list[str]:
    return ["127.0.0.1"] if host == HOST else []


def lead_hooks_here() -> None:
    bootstrap.GuardedTransport = partial(  # type: ignore[misc,assignment]
        GuardedTransport, resolve=resolve, allows="127.0.0.1".__eq__, schemes=("http",), ports=None
    )
