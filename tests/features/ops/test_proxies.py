"""A proxy is believed where the settings name it, and warned of where they do not."""

from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from saraban import app as door
from saraban.audit.models import AuditLog
from saraban.config import Settings
from saraban.ops import middleware
from saraban.ops.middleware import warn_of_untrusted_proxy
from tests.log_capture import lines_of


async def warnings_of(*scopes: dict[str, Any]) -> list[Any]:
    async def nothing(scope: Scope, receive: Receive, send: Send) -> None: ...

    app = warn_of_untrusted_proxy(nothing)
    with lines_of(middleware, "proxy_log") as lines:
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


@pytest.mark.parametrize(("trusted", "address"), [("", "127.0.0.1"), ("127.0.0.1", "203.0.113.9")])
async def test_is_believed_where_it_is_trusted(
    app: FastAPI, settings: Settings, monkeypatch: pytest.MonkeyPatch, trusted: str, address: str
) -> None:
    monkeypatch.setattr(door, "create_app", lambda **_: app)
    monkeypatch.setattr(door, "tune_garbage_collector", lambda: None)
    monkeypatch.setattr(door.config, "load", lambda: settings.model_copy(update={"trusted_proxies": trusted}))
    wrong = {"username": "viewer", "password": "wrong"}
    transport = httpx.ASGITransport(door.served(), client=("127.0.0.1", 5000))
    with lines_of(middleware, "proxy_log"):
        async with httpx.AsyncClient(transport=transport, base_url="http://saraban.test") as client:
            refused = await client.post("/api/v1/auth/login", json=wrong, headers={"X-Forwarded-For": "203.0.113.9"})

    async with app.state.db.reading() as session:
        newest = sa.select(AuditLog.ip_address).order_by(AuditLog.audit_id.desc()).limit(1)
        assert (refused.status_code, await session.scalar(newest)) == (401, address)
