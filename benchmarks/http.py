"""
The product over HTTP: a server process of its own, and clients that cost as little as they can.

The clients share the two cores with the server: each keeps one connection and sends bytes that were made beforehand.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, Self

import httpx
import orjson
import sqlalchemy as sa

from benchmarks.load import Operation
from saraban.identity.dependencies import ACCESS_COOKIE
from saraban.identity.models import User
from saraban.kit.db import Database
from tests.conftest import PASSWORD
from tests.servers import HOST, free_port

ACCOUNT = "svc.loadtest"
API = "/api/v1/document-numbering"
NOTHING = "/api/v1/bench/nothing"
TRIVIAL = "/trivial"


class Refused(Exception):
    """The server answered something else than 200 or 201."""


class Client:
    """One kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> "Client":
        return cls(*await asyncio.open_connection(HOST, port))

    async def send(self, request: bytes) -> bytes:
        """Return the body of the answer."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        body = await self._reader.readexactly(length)
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise Refused(head.split(b"\r\n", 1)[0].decode())
        return body

    def close(self) -> None:
        self._writer.close()


class Clients:
    """Connections that whoever wants to send takes one of."""

    def __init__(self, port: int, count: int) -> None:
        self._port, self._count = port, count
        self._free: asyncio.Queue[Client] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        for _ in range(self._count):
            self._free.put_nowait(await Client.to(self._port))
        return self

    async def __aexit__(self, *_: object) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Client]:
        client = await self._free.get()
        try:
            yield client
        except (OSError, EOFError):
            # A broken connection would refuse all that is sent on it: one error counts as one.
            client.close()
            client = await Client.to(self._port)
            raise
        finally:
            self._free.put_nowait(client)

    def sending(self, requests: Sequence[bytes]) -> Operation:
        turns = cycle(requests)

        async def operation() -> object:
            async with self.one() as client:
                return await client.send(next(turns))

        return operation


class Site:
    """A running server with somebody signed in; `pid` is its first process."""

    def __init__(self, port: int, pid: int, token: str, project: dict[str, Any]) -> None:
        self.port, self.pid, self._token, self._project = port, pid, token, project
        self._organizations = {one["organizationCode"]: one["publicId"] for one in project["organizations"]}
        self._contract = next(
            one["publicId"] for one in project["contracts"] if one["contractCode"] == project["projectCode"]
        )

    @property
    def project(self) -> str:
        """The project's public id."""
        return str(self._project["publicId"])

    def request(self, path: str) -> bytes:
        """Give the bytes that ask for the number of a letter."""
        return self.posting(
            path,
            {
                "projectPublicId": self._project["publicId"],
                "correspondenceTypeCode": "LETTER",
                "originatorOrganizationPublicId": self._organizations["คคง."],
                "recipientOrganizationPublicId": self._organizations["ผรม.2"],
            },
        )

    def document(self, register: str, carried: str = "") -> bytes:
        """Give the bytes that create a document; `carried` is the document that a transmittal sends."""
        return self.posting(f"/api/v1/{register}", self.draft(register, carried))

    def draft(self, register: str, carried: str = "") -> dict[str, Any]:
        more: dict[str, dict[str, Any]] = {
            "correspondences": {"correspondenceTypeCode": "LETTER"},
            "rfas": {"contractPublicId": self._contract, "rfaTypeCode": "SDW", "disciplineCode": "BUD"},
            "transmittals": {
                "contractPublicId": self._contract,
                "subTypeCode": "GEN",
                "items": [{"documentPublicId": carried}],
            },
        }
        recipients = [{"organizationPublicId": self._organizations["คคง."], "recipientType": "TO"}]
        head = {"projectPublicId": self._project["publicId"], "recipients": recipients, "subject": "Load test"}
        return head | more[register]

    def posting(self, path: str, order: dict[str, Any], *, token: str = "") -> bytes:
        """:param token: of who sends it; the account's own where it is empty"""
        body = orjson.dumps(order)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {token or self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def reading(self, path: str, *, as_page: bool = False, token: str = "") -> bytes:
        """
        Give the bytes that ask for a resource of the API, or for a page in a browser that is signed in.

        :param token: of who asks; the account's own where it is empty
        """
        token = token or self._token
        who = f"Cookie: {ACCESS_COOKIE}={token}" if as_page else f"Authorization: Bearer {token}"
        return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{who}\r\n\r\n".encode()

    def client(self) -> httpx.AsyncClient:
        """Give a client of the account, for what is not measured in milliseconds."""
        headers = {"Authorization": f"Bearer {self._token}"}
        return httpx.AsyncClient(base_url=f"http://{HOST}:{self.port}", timeout=30, headers=headers)

    async def token_of(self, username: str, password: str) -> str:
        """Sign somebody in."""
        async with httpx.AsyncClient(base_url=f"http://{HOST}:{self.port}", timeout=30) as client:
            return await _signed_in(client, username, password)

    async def issued(self, register: str) -> str:
        """Create one document, submit it, and give its public id: a transmittal carries no draft."""
        async with self.client() as client:
            created = (await client.post(f"/api/v1/{register}", json=self.draft(register))).raise_for_status().json()
            instance = created["workflow"]["instancePublicId"]
            step = await client.post(f"/api/v1/workflow/instances/{instance}/transitions", json={"action": "submit"})
            step.raise_for_status()
            return str(created["data"]["publicId"])

    @property
    def generate(self) -> bytes:
        return self.request(f"{API}/generate")

    @property
    def nothing(self) -> bytes:
        return self.request(NOTHING)


@asynccontextmanager
async def site_on(
    url: str, redis_url: str, folder: Path, *, settings: Mapping[str, Any] | None = None
) -> AsyncIterator[Site]:
    """
    Serve a database that has the demo project, with `benchmarks.app`, until the block ends.

    The account is a service account without limits: peak load is what such accounts are for (REQ-OPS-02).

    :param settings: other ones than those of a benchmark, whose server has no worker
    """
    await _exempt(url)
    port = free_port()
    usual = {"database_url": url, "redis_url": redis_url, "data_dir": folder, "run_worker": False}
    process = _started(port, {**usual, **(settings or {})})
    try:
        async with httpx.AsyncClient(base_url=f"http://{HOST}:{port}", timeout=30) as client:
            await _answering(client)
            token = await _signed_in(client, ACCOUNT, PASSWORD)
            client.headers["Authorization"] = f"Bearer {token}"
            listed = (await client.get("/api/v1/projects")).json()["items"]
            public_id = next(one["publicId"] for one in listed if one["projectCode"] == "LCBP3-C2")
            project = (await client.get(f"/api/v1/projects/{public_id}")).json()
        yield Site(port, process.pid, token, project)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 30)


async def _signed_in(client: httpx.AsyncClient, username: str, password: str) -> str:
    login = {"username": username, "password": password}
    answer = (await client.post("/api/v1/auth/login", json=login)).raise_for_status()
    return str(answer.json()["accessToken"])


async def _exempt(url: str) -> None:
    db = Database(url)
    async with db.writing() as session:
        await session.execute(sa.update(User).where(User.username == ACCOUNT).values(draws_per_minute=0))
    await db.close()


@asynccontextmanager
async def trivial_server() -> AsyncIterator[tuple[int, int]]:
    """Serve `benchmarks.trivial`, and give its port and its first process."""
    port = free_port()
    process = _started(port, {}, "benchmarks.trivial:served")
    try:
        async with httpx.AsyncClient(base_url=f"http://{HOST}:{port}", timeout=30) as client:
            await _answering(client)
        yield port, process.pid
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 30)


def _started(port: int, settings: dict[str, Any], app: str = "benchmarks.app:served") -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SARABAN_")}
    environment |= {f"SARABAN_{name.upper()}": str(value) for name, value in settings.items()}
    environment |= {"SARABAN_ENV": "test", "SARABAN_LOG_LEVEL": "WARNING"}
    command = [Path(sys.executable).with_name("granian"), "--interface", "asgi", "--factory", app]
    more = ["--host", HOST, "--port", str(port), "--loop", "uvloop", "--no-ws", "--log-level", "warning"]
    return subprocess.Popen([str(word) for word in (*command, *more)], env=environment)


async def _answering(client: httpx.AsyncClient) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            await client.get("/health/live")
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.1)
        else:
            return
