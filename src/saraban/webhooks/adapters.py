"""HTTP transport for webhooks, which connects only to the address it has checked."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping

import httpx

from saraban.webhooks.domain import PORTS, InvalidWebhookAddress, NotSent, WebhookTarget, is_public, target_of

Resolve = Callable[[str, int], Awaitable[list[str]]]


async def system_resolver(host: str, port: int) -> list[str]:
    results = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in results))


class GuardedTransport:
    """
    Connects to the resolved address, so that a later change of the name has no effect.

    :param timeout: seconds for the whole request
    """

    def __init__(
        self,
        *,
        timeout: float = 10.0,
        resolve: Resolve = system_resolver,
        allows: Callable[[str], bool] = is_public,
        schemes: Collection[str] = ("https",),
        ports: Collection[int] | None = PORTS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._timeout, self._resolve, self._allows = timeout, resolve, allows
        self._schemes, self._ports, self._transport = schemes, ports, transport

    async def __call__(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> int:
        """:raises NotSent:"""
        try:
            async with asyncio.timeout(self._timeout):
                target = target_of(url, schemes=self._schemes, ports=self._ports)
                return await self._send(target, await self._resolve_address(target), body, headers)
        except InvalidWebhookAddress as fault:
            raise NotSent("private_address" if fault.reason == "private" else "bad_address", never=True) from fault
        except (TimeoutError, httpx.TimeoutException) as fault:
            raise NotSent("timeout") from fault
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as fault:
            raise NotSent("unreachable") from fault

    async def _resolve_address(self, target: WebhookTarget) -> str:
        addresses = await self._resolve(target.host, target.port)
        if not addresses:
            raise NotSent("unreachable")
        if not all(self._allows(address) for address in addresses):
            raise NotSent("private_address")
        return addresses[0]

    async def _send(self, target: WebhookTarget, address: str, body: bytes, headers: Mapping[str, str]) -> int:
        host = f"[{address}]" if ":" in address else address
        headers = {**headers, "host": target.authority, "accept-encoding": "identity"}
        # The certificate is that of the name, not of the address.
        extensions = {"sni_hostname": target.host}
        async with (
            httpx.AsyncClient(
                transport=self._transport, trust_env=False, follow_redirects=False, timeout=self._timeout
            ) as client,
            client.stream(
                "POST",
                f"{target.scheme}://{host}:{target.port}{target.path}",
                content=body,
                headers=headers,
                extensions=extensions,
            ) as response,
        ):
            return response.status_code
