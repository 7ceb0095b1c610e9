"""
A wire between a server and MariaDB that counts: what a request waits for is round trips, however many statements one carries.

It stands only where something is counted, never where time is measured.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from sqlalchemy.engine import make_url

_HEADER = 4
_COM_QUERY, _COM_STMT_CLOSE, _COM_PING = 0x03, 0x19, 0x0E


class CountingWire:
    """Relays to a MariaDB port; `statements` is the text of each round trip since it was emptied."""

    def __init__(self, host: str, port: int) -> None:
        self._target, self.statements = (host, port), list[str]()

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream = await asyncio.open_connection(*self._target)
        back = asyncio.create_task(_pipe(upstream_reader, writer))
        try:
            greeted = False
            while True:
                header = await reader.readexactly(_HEADER)
                body = await reader.readexactly(int.from_bytes(header[:3], "little"))
                # The first packet of a client is its name; a statement longer than 16 MB goes on in further ones.
                if greeted and header[3] == 0 and body[0] not in {_COM_STMT_CLOSE, _COM_PING}:
                    self.statements.append(
                        body[1:].decode("utf-8", "replace") if body[0] == _COM_QUERY else "(prepared)"
                    )
                greeted = True
                upstream.write(header + body)
                await upstream.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            back.cancel()
            upstream.close()
            writer.close()

    async def counted(self, work: Callable[[], Awaitable[object]], times: int) -> float:
        """Return the round trips of one call, of several one after the other."""
        await work()  # what is done once for all is not this request's
        self.statements.clear()
        for _ in range(times):
            await work()
        return len(self.statements) / times


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def counting(url: str) -> AsyncIterator[tuple[CountingWire, str]]:
    """Give a wire to the database of `url`, and the address of its near end."""
    target = make_url(url)
    assert target.host is not None
    wire = CountingWire(target.host, target.port or 3306)
    server = await asyncio.start_server(wire.relay, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield wire, target.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
    finally:
        server.close()
