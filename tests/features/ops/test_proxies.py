"""A proxy that nobody named in the settings."""

from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from saraban.ops.middleware import warn_of_untrusted_proxy


async def warnings_of(*scopes: dict[str, Any]) -> list[Any]:
    async def nothing(scope: Scope, receive: Receive, send: Send) -> None: ...

    app = warn_of_untrusted_proxy(nothing)
    with capture_logs() as lines:
        for scope in scopes:
            await app(scope, None, None)  # type: ignore[arg-type]
    return lines


def request(address: str, *headers: bytes) -> dict[str, Any]:
    return {"type": "http", "client": (address, 5000), "headers": [(name, b"203.0.113.9") for name in headers]}


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.5", "192.168.1.4"])
async def test_is_named_once(address: str) -> None:
    (line,) = await warnings_of(*[request(address, b"host", b"x-forwarded-for")] * 3)

    assert (line["log_level"], line["address"], line["set"]) == ("warning", address, "SARABAN_TRUSTED_PROXIES")


async def test_is_not_seen_where_there_is_none() -> None:
    others = [request("127.0.0.1", b"host"), request("8.8.8.8", b"x-forwarded-for"), request("x", b"x-forwarded-for")]

    assert await warnings_of({"type": "lifespan"}, {"type": "http", "client": None, "headers": []}, *others) == []
