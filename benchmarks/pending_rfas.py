"""
RFAs that wait for their review: one is made through the services that people use, the others are copies of its rows.

A thousand of them would take as many requests to make; what is measured is what happens to them afterwards.
"""

import tempfile
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count as counting
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.load import Operation
from benchmarks.number_baselines import connect
from saraban.bootstrap import System, closing, wire
from saraban.documents.core import service as core
from saraban.documents.core.domain import RegisterCode
from saraban.documents.demo.service import find_demo_project
from saraban.documents.rfa import service as rfas
from saraban.documents.rfa.schemas import NewRfa
from saraban.identity.domain.context import Caller
from saraban.workflow import service as workflow
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.runtime.schemas import instance_answer
from saraban.workflow.service import Command
from tests.conftest import settings_in
from tests.factories.contexts import context

ADDRESS = "127.0.0.1"
CODE = "RFA_APPROVAL"
FORWARD, BACK = "approve", "return"
AUTHOR, REVIEWER, OWNER = "dc.contractor", "reviewer.consultant", "approver.owner"
_blocks = counting(1)


@dataclass(frozen=True, slots=True)
class Pattern:
    """The keys of the RFA that is copied: document, revision, instance."""

    document: int
    revision: int
    instance: UUID


@dataclass(frozen=True)
class PendingRfas:
    """The product's parts at one database, its people, and the RFA that others are copied from."""

    system: System
    people: Mapping[str, Caller]
    pattern: Pattern

    async def transition(self, instance: UUID, action: str, *, by: str) -> None:
        """What the door does with one request, after it knows who asks."""
        system = self.system
        ctx = context(caller=self.people[by], now=system.clock.now(), address=ADDRESS)
        done = await system.transitions.take(ctx, public_id=instance, command=Command(action))
        instance_answer(await system.transitions.show(ctx, done)).model_dump(mode="json", by_alias=True)

    async def copy(self, count: int) -> list[UUID]:
        """Make so many RFAs like the first, each with an instance of its own, and return their instances."""
        connection = await connect(self.system.db.url)
        try:
            async with connection.cursor() as cursor:
                await cursor.execute("SET SESSION foreign_key_checks = 0, unique_checks = 0")
                return await _copies(cursor, self.pattern, count, block=next(_blocks))
        finally:
            connection.close()


def approvals_in_turn(pending: PendingRfas, instances: Iterable[UUID]) -> Operation:
    """
    Each call is one transition of one RFA: the consultant approves, and the next time the owner sends it back.

    Instances are taken in turn and never by two clients at once, so that nobody is refused.
    """
    waiting = deque((each, FORWARD, REVIEWER) for each in instances)

    async def operation() -> object:
        instance, action, by = waiting.popleft()
        try:
            await pending.transition(instance, action, by=by)
        except BaseException:
            waiting.append((instance, action, by))
            raise
        waiting.append((instance, *((BACK, OWNER) if action == FORWARD else (FORWARD, REVIEWER))))
        return instance

    return operation


def reversible_approval() -> dict[str, Any]:
    """The shipped approval of RFAs with one action more: the owner returns it, so that an instance can go on for ever."""
    raw = next(one for one in shipped() if one["workflow"] == CODE)
    states = {state["name"]: state for state in raw["states"]}
    asked = states["pending_approval"]["on"]["approve"]
    back = {"to": "pending_review", "label": {"th": "ส่งกลับ", "en": "Return"}, "require": asked["require"]}
    states["pending_approval"]["on"][BACK] = back
    return raw


@asynccontextmanager
async def pending_rfas_in(url: str, redis_url: str) -> AsyncIterator[PendingRfas]:
    """Make the RFA that is copied, in a database that has the demo project."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_in(Path(folder), database_url=url, redis_url=redis_url)
        async with closing(wire(settings)) as system:
            async with system.db.reading() as session:
                known = await find_demo_project(session, system.clock.now(), system.clock.zone)
            await system.db.transact(
                lambda session: workflow.create(
                    context(known.looker, system.clock.now(), address=ADDRESS),
                    session,
                    raw=reversible_approval(),
                    activate=True,
                )
            )
            yield PendingRfas(system, known.people, await _first(system, known))


async def create_rfa(system: System, known: Any) -> Any:
    """Create one as its author does, and return it."""
    order = NewRfa.model_validate(
        {
            "projectPublicId": known.project,
            "originatorOrganizationPublicId": known.organizations["ผรม.2"],
            "contractPublicId": known.contracts["LCBP3-C2"],
            "recipients": [{"organizationPublicId": known.organizations["คคง."], "recipientType": "TO"}],
            "subject": "รายละเอียดเหล็กเสริมฐานราก",
            "rfaTypeCode": "SDW",
            "disciplineCode": "STR",
        }
    )
    ctx = context(known.people[AUTHOR], system.clock.now(), system.clock.zone, ADDRESS)
    receipt = await core.create(ctx, system.documents, rfas.RFA, order)
    async with system.db.reading() as session:
        return await core.show(ctx, session, rfas.RFA, receipt)


async def _first(system: System, known: Any) -> Pattern:
    written = await create_rfa(system, known)
    assert written.workflow is not None  # a draft stands in its workflow
    instance = written.workflow.instance_public_id
    pending = PendingRfas(system, known.people, Pattern(0, 0, instance))
    await pending.transition(instance, "submit", by=AUTHOR)
    return await _pattern(system, written.data.public_id, instance)


async def _pattern(system: System, document: UUID, instance: UUID) -> Pattern:
    connection = await connect(system.db.url)
    try:
        async with connection.cursor() as cursor:
            await cursor.execute(
                "SELECT d.id, r.id FROM correspondences d JOIN correspondence_revisions r ON r.correspondence_id = d.id "
                "WHERE d.uuid = %s",
                (str(document),),
            )
            return Pattern(*(await cursor.fetchone()), instance)
    finally:
        connection.close()


async def _copies(cursor: Any, pattern: Pattern, count: int, *, block: int) -> list[UUID]:
    heads, revisions = [await _last(cursor, table) for table in ("correspondences", "correspondence_revisions")]
    document, revision, instance = _uuid(block, 1), _uuid(block, 2), _uuid(block, 3)
    number = f"CONCAT(correspondence_number, '-{block}-', seq)"
    of_head = f"id = {pattern.document}"
    of_instance = f"instance_id = '{pattern.instance}'"
    place = {"id": f"{heads} + seq"}
    revised = {"id": f"{revisions} + seq"}
    tables: list[tuple[str, str, dict[str, str]]] = [
        ("correspondences", of_head, {**place, "uuid": document, "correspondence_number": number}),
        (
            "correspondence_revisions",
            f"id = {pattern.revision}",
            {
                **revised,
                "uuid": revision,
                "correspondence_id": f"{heads} + seq",
                "correspondence_number": number,
            },
        ),
        (
            "correspondence_recipients",
            f"correspondence_id = {pattern.document}",
            {"correspondence_id": f"{heads} + seq"},
        ),
        ("rfas", of_head, place),
        (
            "document_reach",
            f"document_id = {pattern.document} AND kind = {int(RegisterCode.RFA)}",
            {
                "document_id": f"{heads} + seq",
                "revision_id": f"{revisions} + seq",
                "document_number": f"CONCAT(document_number, '-{block}-', seq)",
            },
        ),
        ("rfa_revisions", f"id = {pattern.revision}", revised),
        ("workflow_instances", f"id = '{pattern.instance}'", {"id": instance, "entity_id": revision}),
        ("workflow_histories", of_instance, {"id": "UUID()", "instance_id": instance}),
        (
            "workflow_work_items",
            of_instance,
            {"id": "UUID()", "instance_id": instance, "created_at": "created_at + INTERVAL seq SECOND"},
        ),
    ]
    for table, where, changes in tables:
        await _copy(cursor, table, where, changes, count)
    await cursor.execute(f"SELECT {instance} FROM seq_1_to_{count}")
    return [UUID(key) for (key,) in await cursor.fetchall()]


def _uuid(block: int, kind: int) -> str:
    """SQL for a key that no other copy has; `kind` is its third group, beside the version."""
    return f"CAST(CONCAT(LPAD(HEX({block}), 12, '0'), '7{kind:03}8000', LPAD(HEX(seq), 12, '0')) AS UUID)"


async def _last(cursor: Any, table: str) -> int:
    await cursor.execute(f"SELECT MAX(id) FROM {table}")
    return int((await cursor.fetchone())[0])


async def _copy(cursor: Any, table: str, where: str, changes: Mapping[str, str], count: int) -> None:
    await cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
        "AND extra NOT LIKE '%%GENERATED%%'",
        (table,),
    )
    names = [name for (name,) in await cursor.fetchall()]
    columns = ", ".join(f"`{name}`" for name in names)
    values = ", ".join(changes.get(name, f"`{name}`") for name in names)
    await cursor.execute(
        f"INSERT INTO {table} ({columns}) SELECT {values} FROM {table} JOIN seq_1_to_{count} WHERE {where}"
    )
    await cursor.execute("COMMIT")
