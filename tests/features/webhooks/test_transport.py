"""The way out: names are resolved once, checked, and connected to; nothing else is followed, awaited or read."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from saraban.webhooks.adapters import GuardedTransport, Resolve
from saraban.webhooks.domain import NotSent

URL = "https://hooks.example.com/saraban?a=b"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def resolver(*addresses: str) -> Resolve:
    async def resolve(_host: str, _port: int) -> list[str]:
        return list(addresses)

    return resolve


class Wire:
    """What would have gone out."""

    def __init__(self, status: int = 204) -> None:
        self.requests: list[httpx.Request] = []
        self._status = status
        self.transport = httpx.MockTransport(self._take)

    def _take(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(self._status, headers={"location": "http://169.254.169.254/"})


class TestAddress:
    async def test_is_the_one_that_was_checked_with_the_name_for_the_certificate(self) -> None:
        wire = Wire()
        post = GuardedTransport(resolve=resolver("93.184.215.14"), transport=wire.transport)

        assert await post(URL, body=b"{}", headers={"webhook-id": "1"}) == 204

        (request,) = wire.requests
        assert (request.url.host, request.url.port, request.url.raw_path) == ("93.184.215.14", None, b"/saraban?a=b")
        assert request.headers["host"] == "hooks.example.com"
        assert request.extensions["sni_hostname"] == "hooks.example.com"
        assert request.headers["webhook-id"] == "1"

    @pytest.mark.parametrize(
        "addresses",
        [
            ("127.0.0.1",),
            ("169.254.169.254",),
            ("::ffff:10.0.0.5",),
            ("fe80::1%eth0",),
            ("fd00:ec2::254",),
            ("93.184.215.14", "10.0.0.1"),
        ],
    )
    async def test_that_is_private_is_never_connected_to(self, addresses: tuple[str, ...]) -> None:
        wire = Wire()
        post = GuardedTransport(resolve=resolver(*addresses), transport=wire.transport)

        with pytest.raises(NotSent) as caught:
            await post(URL, body=b"{}", headers={})

        assert caught.value.reason == "private_address"
        assert wire.requests == []

    @pytest.mark.parametrize("url", ["https://2130706433/", "https://0x7f.1/", "https://017700000001/"])
    async def test_in_an_odd_spelling_is_what_the_system_makes_of_it(self, url: str) -> None:
        wire = Wire()

        with pytest.raises(NotSent):
            await GuardedTransport(transport=wire.transport)(url, body=b"{}", headers={})

        assert wire.requests == []

    @pytest.mark.parametrize(
        ("url", "reason"), [("http://example.com/", "bad_address"), ("https://localhost/", "private_address")]
    )
    async def test_is_looked_at_again_before_each_message(self, url: str, reason: str) -> None:
        with pytest.raises(NotSent) as caught:
            await GuardedTransport(resolve=resolver("93.184.215.14"))(url, body=b"{}", headers={})

        assert caught.value.reason == reason

    async def test_that_nobody_knows_is_unreachable(self) -> None:
        async def resolve(_host: str, _port: int) -> list[str]:
            raise socket.gaierror("no such name")

        with pytest.raises(NotSent) as caught:
            await GuardedTransport(resolve=resolve)(URL, body=b"{}", headers={})

        assert caught.value.reason == "unreachable"

    async def test_of_a_redirect_is_not_followed(self) -> None:
        wire = Wire(status=307)
        post = GuardedTransport(resolve=resolver("93.184.215.14"), transport=wire.transport)

        assert await post(URL, body=b"{}", headers={}) == 307
        assert len(wire.requests) == 1


@asynccontextmanager
async def listening(talk: Talk) -> AsyncIterator[int]:
    """A receiver that talks until the caller has hung up, which each caller must before this ends."""
    talks: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.current_task())
        try:
            await reader.readuntil(b"\r\n\r\n")
            await talk(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.wait_for(asyncio.gather(*filter(None, talks)), timeout=30)


def local(timeout: float = 5.0) -> GuardedTransport:
    """The same, let out to this machine: the twin of the resolver says where a name of the internet lies."""
    return GuardedTransport(
        resolve=resolver("127.0.0.1"), allows=lambda _address: True, schemes=("http",), ports=None, timeout=timeout
    )


class TestAnswer:
    async def test_without_end_is_not_read(self) -> None:
        written = 0

        async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal written
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
                written += 65536

        async with listening(flood) as port:
            assert await local()(f"http://receiver.test:{port}/", body=b"{}", headers={}) == 200

        assert written < 32 * 2**20

    async def test_that_does_not_come_is_a_timeout(self) -> None:
        async def trickle(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                writer.write(b"H")
                await writer.drain()
                await asyncio.sleep(0.05)

        async with listening(trickle) as port:
            with pytest.raises(NotSent) as caught:
                await local(timeout=0.3)(f"http://receiver.test:{port}/", body=b"{}", headers={})

        assert caught.value.reason in {"timeout", "unreachable"}

    async def test_that_breaks_off_is_unreachable(self) -> None:
        async def hang_up(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            return

        async with listening(hang_up) as port:
            with pytest.raises(NotSent) as caught:
                await local()(f"http://receiver.test:{port}/", body=b"{}", headers={})

        assert caught.value.reason == "unreachable"
