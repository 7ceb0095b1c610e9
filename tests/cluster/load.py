"""
What people and programs do at two servers of one installation, and what they were answered.

Each client uses both servers by turns: it reads at one server what it has made at the other. A request that is answered 503
is sent again with the same `Idempotency-Key` after the seconds of its `Retry-After`, as docs/scaling.md asks of callers.
"""

import asyncio
import random  # noqa: TID251  what somebody does next, and how long it takes
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from saraban.kit.ids import new_id
from tests.numbering_requests import BASE, Project, read_project
from tests.processes import sign_in

CLIENTS = 20
ACCOUNT = "dc.contractor"
ATTEMPTS = 12
PAUSE = 2.0  # seconds between what one client does, on the average


@dataclass
class Answer:
    request: str
    status: int
    seconds: float
    is_repeated: bool
    code: str = ""
    trace: str = ""
    retry_after: str | None = None

    @property
    def is_allowed(self) -> bool:
        """Below 500, or a 503 that states when to send the request again."""
        return 0 < self.status < 500 or (self.status == 503 and self.retry_after is not None)


@dataclass
class Record:
    """What all clients of one scenario saw."""

    answers: list[Answer] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)  # of every answer 201
    reads: int = 0  # of something that the other server had made
    missed: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)

    @property
    def refused(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.status == 503]

    @property
    def errors(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.is_allowed]

    def summary(self) -> dict[str, Any]:
        """Return what the table of `make cluster-test` shows."""
        statuses = Counter(answer.status for answer in self.answers)
        failed = Counter(
            f"{answer.status} {answer.code} {answer.request}" for answer in self.answers if not 0 < answer.status < 400
        )
        return {
            "requests": len(self.answers),
            "statuses": {str(status): count for status, count in sorted(statuses.items())},
            "503 %": round(100 * len(self.refused) / len(self.answers), 2),
            "repeated": sum(answer.is_repeated for answer in self.answers),
            "reads elsewhere": self.reads,
            "not found": len(self.missed),
            "numbers": len(self.numbers),
            "p50 s": round(self._percentile(0.5), 3),
            "p95 s": round(self._percentile(0.95), 3),
            "slowest s": round(self._percentile(1), 1),
            "failed": dict(failed),
        }

    def _percentile(self, share: float) -> float:
        took = sorted(answer.seconds for answer in self.answers)
        return took[int(share * (len(took) - 1))]


class Caller:
    """One client, who is signed in at both servers."""

    def __init__(self, number: int, project: Project, clients: Sequence[httpx.AsyncClient], record: Record) -> None:
        self._luck = random.Random(number)
        self._project, self._clients, self._record = project, clients, record

    async def work(self, until: float) -> None:
        deeds = (self._draw, self._draw, self._reserve, self._write_letter, self._write_rfa)
        await asyncio.sleep(self._luck.uniform(0, PAUSE))
        while time.monotonic() < until:
            here = self._luck.randrange(2)
            await self._luck.choice(deeds)(self._clients[here], self._clients[1 - here])
            await asyncio.sleep(self._luck.uniform(0.5, 1.5) * PAUSE)

    async def _draw(self, here: httpx.AsyncClient, there: httpx.AsyncClient) -> None:
        drawn = await self._post(here, f"{BASE}/generate", self._letter())
        if drawn is not None:
            self._record.numbers.append(drawn["documentNumber"])
            await self._read(there, f"{BASE}/resolve", number=drawn["documentNumber"], projectPublicId=self._project.id)

    async def _reserve(self, here: httpx.AsyncClient, there: httpx.AsyncClient) -> None:
        reserved = await self._post(here, f"{BASE}/reserve", self._letter())
        if reserved is not None:
            self._record.numbers.append(reserved["documentNumber"])
            token = {"reservationToken": reserved["reservationToken"]}
            self._record.reads += 1  # it looks for what was reserved
            await self._post(there, f"{BASE}/confirm", token)

    async def _write_letter(self, here: httpx.AsyncClient, there: httpx.AsyncClient) -> None:
        await self._write(here, there, "correspondences", {"correspondenceTypeCode": "LETTER"})

    async def _write_rfa(self, here: httpx.AsyncClient, there: httpx.AsyncClient) -> None:
        await self._write(here, there, "rfas", {"disciplineCode": "TER", "rfaTypeCode": "RPT"})

    async def _write(
        self, here: httpx.AsyncClient, there: httpx.AsyncClient, register: str, more: dict[str, Any]
    ) -> None:
        to = [{"organizationPublicId": self._project.organizations["คคง."], "recipientType": "TO"}]
        draft = {"projectPublicId": self._project.id, "recipients": to, "subject": "ทดสอบ"} | more
        written = await self._post(here, f"/api/v1/{register}", draft)
        if written is None:
            return
        self._record.numbers.append(written["data"]["documentNumber"])
        await self._read(there, f"/api/v1/{register}/{written['data']['publicId']}")
        instance = written["workflow"]["instancePublicId"]
        step = {"action": "submit", "clientVersionNo": written["workflow"]["versionNo"]}
        self._record.reads += 1
        moved = await self._post(there, f"/api/v1/workflow/instances/{instance}/transitions", step)
        if moved is not None:
            history = await self._read(here, f"/api/v1/{register}/{written['data']['publicId']}/history")
            if history is not None and history["items"][0]["action"] != "submit":
                self._record.missed.append(f"the step of {register}")

    def _letter(self) -> dict[str, Any]:
        return self._project.letter(originator="ผรม.1", recipient="คคง.")

    async def _read(self, client: httpx.AsyncClient, path: str, **query: str) -> dict[str, Any] | None:
        self._record.reads += 1
        return await self._send_until_final("GET", client, path, params=query)

    async def _post(self, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        return await self._send_until_final("POST", client, path, json=body, headers={"Idempotency-Key": str(new_id())})

    async def _send_until_final(
        self, method: str, client: httpx.AsyncClient, path: str, **more: Any
    ) -> dict[str, Any] | None:
        """Send a request until its answer is final, and return that if it is a success."""
        name = f"{method} {re.sub('[0-9a-f-]{36}', '{publicId}', path)}"
        answer = None
        for attempt in range(ATTEMPTS):
            answer = await self._send(method, client, path, name, is_repeated=attempt > 0, **more)
            if answer is not None and answer.is_success:
                return dict(answer.json())
            if answer is not None and answer.status_code == httpx.codes.NOT_FOUND:
                self._record.missed.append(name)
            if answer is not None and not _is_repeatable(answer):
                break
            await asyncio.sleep(1.0 if answer is None else float(answer.headers.get("Retry-After", 1)))
        self._record.unfinished.append(f"{name}: {answer}")
        return None

    async def _send(
        self, method: str, client: httpx.AsyncClient, path: str, name: str, *, is_repeated: bool, **more: Any
    ) -> httpx.Response | None:
        began = time.monotonic()
        try:
            answer = await client.request(method, path, **more)
        except httpx.TransportError as error:
            self._record.answers.append(Answer(name, 0, time.monotonic() - began, is_repeated, repr(error)))
            return None
        seen = Answer(name, answer.status_code, time.monotonic() - began, is_repeated)
        if answer.status_code >= 400:
            problem = answer.json()
            seen.code, seen.trace = problem["code"], problem["traceId"]
            seen.retry_after = answer.headers.get("Retry-After")
        self._record.answers.append(seen)
        return answer


def _is_repeatable(answer: httpx.Response) -> bool:
    """Whether callers are told to send the request again, or would do so without being told."""
    return answer.status_code >= 500 or answer.json()["code"] == "IDEMPOTENCY_KEY_IN_USE"


@dataclass
class Crowd:
    """All clients, who share one connection pool to each server."""

    addresses: Sequence[str]
    record: Record = field(default_factory=Record)
    clients: list[httpx.AsyncClient] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        for address in self.addresses:
            self.clients.append(httpx.AsyncClient(base_url=address, timeout=90, headers={"Accept-Language": "en"}))
            await sign_in(self.clients[-1], ACCOUNT)
        self.project = await read_project(self.clients[0])
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in self.clients:
            await client.aclose()

    async def work(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        callers = [Caller(number, self.project, self.clients, self.record) for number in range(CLIENTS)]
        await asyncio.gather(*(caller.work(until) for caller in callers))
