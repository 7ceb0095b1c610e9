"""A mail server for tests: it keeps what it is given, and refuses or goes silent when a test says so."""

import asyncio
import ssl
from collections import defaultdict
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from types import TracebackType
from typing import Self, cast

HANG_UP = ""


class SmtpServer:
    """
    Speaks as much SMTP as `smtplib` needs, encrypted only where a context is given.

    `answers["RCPT"]`, `["DATA"]` and `["END"]` (after the message) are taken one after the other; then all is well.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self.messages: list[EmailMessage] = []
        self.answers: dict[str, list[str]] = defaultdict(list)
        self.port = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 saraban.test\r\n")
        while line := await reader.readline():
            verb = line.decode().strip().upper().partition(" ")[0]
            answer = self._answer(verb, "354 go on" if verb == "DATA" else "221 bye" if verb == "QUIT" else "250 ok")
            if verb == "DATA" and answer.startswith("354"):
                writer.write(f"{answer}\r\n".encode())
                await self._take(reader)
                answer = self._answer("END", "250 taken")
            if answer != HANG_UP:
                writer.write(f"{answer}\r\n".encode())
            if verb == "QUIT" or answer == HANG_UP:
                break
        writer.close()

    async def _take(self, reader: asyncio.StreamReader) -> None:
        raw = await reader.readuntil(b"\r\n.\r\n")
        self.messages.append(cast("EmailMessage", message_from_bytes(raw[:-3], policy=default)))

    def _answer(self, verb: str, usual: str) -> str:
        return self.answers[verb].pop(0) if self.answers[verb] else usual
