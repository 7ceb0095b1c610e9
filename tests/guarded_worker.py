"""
`saraban worker` as it ships, except that one name outside, `hooks.test`, leads to this machine.

Webhooks never go to private addresses; a test has nothing else to stand its receiver on.
"""

from functools import partial

from saraban import bootstrap
from saraban.cli import main
from saraban.webhooks.adapters import GuardedTransport

HOST = "hooks.test"


async def resolve(host: str, _port: int) -> list[str]:
    return ["127.0.0.1"] if host == HOST else []


if __name__ == "__main__":
    bootstrap.GuardedTransport = partial(  # type: ignore[misc,assignment]
        GuardedTransport, resolve=resolve, allows="127.0.0.1".__eq__, schemes=("http",), ports=None
    )
    main()
