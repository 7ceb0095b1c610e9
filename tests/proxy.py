"""A wire between a client and MariaDB that can be cut at the worst moment: when COMMIT is on its way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_COM_QUERY = 0x03
_HEADER = 4


class CuttingProxy:
    """
    Relays to a MariaDB port. Arm it, and the next COMMIT reaches the server while its answer never comes back.

    :param lose_commit: cut before the COMMIT is forwarded instead, so that the server rolls back

    `commands` counts what clients have asked so far: each is one round trip, however many statements it has.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts_left = 0
        self.loses_commit = False
        self.cut = 0
        self.commands = 0

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def arm(self, times: int = 1, *, lose_commit: bool = False) -> None:
        self.cuts_left, self.loses_commit = times, lose_commit

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        upstream_reader, upstream = await asyncio.open_connection(*self._target)
        back = asyncio.create_task(self._relay(upstream_reader, writer))
        try:
            await self._forward(reader, upstream, writer, back)
        finally:
            back.cancel()
            for stream in (upstream, writer):
                stream.close()
            self._tasks.discard(task)

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
        back: "asyncio.Task[None]",
    ) -> None:
        try:
            while True:
                header = await reader.readexactly(_HEADER)
                body = await reader.readexactly(int.from_bytes(header[:3], "little"))
                self.commands += header[3] == 0  # the first packet of a command
                is_commit = body[:1] == bytes([_COM_QUERY]) and body[1:].strip().upper() == b"COMMIT"
                if is_commit and self.cuts_left > 0:
                    self.cuts_left -= 1
                    self.cut += 1
                    back.cancel()
                    if not self.loses_commit:
                        upstream.write(header + body)
                        await upstream.drain()
                        await asyncio.sleep(0.2)  # the server commits; nobody hears of it
                    writer.transport.abort()
                    return
                upstream.write(header + body)
                await upstream.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    @staticmethod
    async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            return


@asynccontextmanager
async def cutting_proxy(host: str, port: int, *, at: int = 0) -> AsyncIterator[CuttingProxy]:
    """:param at: the port it listens on; 0: any"""
    proxy = CuttingProxy(host, port)
    await proxy.start(at)
    try:
        yield proxy
    finally:
        await proxy.stop()
