"""What browsers that come over TLS need: `__Host-` cookies, and HSTS on every answer, redirects and refusals among them."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = b"__Host-"
HSTS = (b"strict-transport-security", b"max-age=31536000")


class HostCookies:
    """Adds the prefix on the way out and removes it on the way in; drops other cookies, which another host may have set."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*((name, _host_cookie(name, value)) for name, value in message["headers"]), HSTS]
            await send(message)

        if scope["type"] == "http":
            scope = {**scope, "headers": [(name, _own_cookies(name, value)) for name, value in scope["headers"]]}
        await self.app(scope, receive, send_secured)


def _own_cookies(name: bytes, value: bytes) -> bytes:
    crumbs = [crumb.strip() for crumb in value.split(b";")] if name == b"cookie" else []
    own = b"; ".join(crumb.removeprefix(PREFIX) for crumb in crumbs if crumb.startswith(PREFIX))
    return own if name == b"cookie" else value


def _host_cookie(name: bytes, value: bytes) -> bytes:
    if name != b"set-cookie":
        return value
    return PREFIX + value + (b"" if b"; secure" in value.lower() else b"; Secure")
