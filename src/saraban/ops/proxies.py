"""Tells the operator of a proxy that nobody named: everybody behind it has one address, and waits for the others' failures."""

import ipaddress

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

log = structlog.get_logger(__name__)


def warn_of_untrusted_proxy(app: ASGIApp) -> ASGIApp:
    """Warn once when a request without a trusted proxy looks as if it came through one."""
    told = False

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal told
        if not told and scope["type"] == "http" and _came_through_a_proxy(scope):
            told = True
            log.warning("proxy.not_trusted", address=scope["client"][0], set="SARABAN_TRUSTED_PROXIES")
        await app(scope, receive, send)

    return handle


def _came_through_a_proxy(scope: Scope) -> bool:
    if not scope.get("client") or not any(name == b"x-forwarded-for" for name, _ in scope["headers"]):
        return False
    try:
        return ipaddress.ip_address(scope["client"][0]).is_private  # loopback is too
    except ValueError:
        return False
