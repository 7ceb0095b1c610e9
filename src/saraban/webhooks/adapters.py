"""The way out for messages to webhooks: to the address that was checked, and nowhere else."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping

import httpx

from saraban.webhooks.domain import PORTS, InvalidWebhookAddress, NotSent, WebhookTarget, is_public, target_of

Resolve = Callable[[str, int], Awaitable[list[str]]]


async def system_resolver(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class GuardedTransport:
    """
    Resolves the name itself, refuses it when any of its addresses is not public, and connects to the one it checked:
    a name that resolves to something else a moment later leads nowhere. Redirects are not followed, the answer's body
    is not read.

    :param timeout: seconds for everything together
    :param allows: whether one may connect to an IP address
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
        """
        :raises NotSent: when there was no answer, or may be none
        """
        try:
            async with asyncio.timeout(self._timeout):
                target = target_of(url, schemes=self._schemes, ports=self._ports)
                return await self._send(target, await self._checked(target), body, headers)
        except InvalidWebhookAddress as fault:
            raise NotSent("private_address" if fault.reason == "private" else "bad_address", never=True) from fault
        except (TimeoutError, httpx.TimeoutException) as fault:
            raise NotSent("timeout") from fault
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as fault:
            raise NotSent("unreachable") from fault

    async def _checked(self, target: WebhookTarget) -> str:
        addresses = await self._resolve(target.host, target.port)
        if not addresses:
            raise NotSent("unreachable")
        if not all(self._allows(address) for address in addresses):
            raise NotSent("private_address")
        return addresses[0]

    async def _send(self, target: WebhookTarget, address: str, body: bytes, headers: Mapping[str, str]) -> int:
        host = f"[{address}]" if ":" in address else address
        sent = {**headers, "host": target.authority, "accept-encoding": "identity"}
        # The certificate must be that of the name, which the connection's address does not tell.
        extensions = {"sni_hostname": target.host}
        async with (
            httpx.AsyncClient(
                transport=self._transport, trust_env=False, follow_redirects=False, timeout=self._timeout
            ) as client,
            client.stream(
                "POST",
                f"{target.scheme}://{host}:{target.port}{target.path}",
                content=body,
                headers=sent,
                extensions=extensions,
            ) as answer,
        ):
            return answer.status_code
