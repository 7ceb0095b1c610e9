"""A database with the demo project, and the requests for numbers that the tests of this folder make in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.identity.models import Organization
from saraban.kit.db import Code, Database
from saraban.kit.ids import new_id
from saraban.kit.locks import DatabaseLocks, Locks
from saraban.numbering import service as numbering
from saraban.numbering.series.models import LedgerEntry, NumberAudit, NumberCounter
from saraban.projects.models import Contract, Project
from tests.factories.contexts import context

BANGKOK = ZoneInfo("Asia/Bangkok")
NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """Who and what the tests need by name."""

    db: Database
    caller: Caller
    project: UUID
    organizations: dict[str, UUID]
    contracts: dict[str, UUID]

    def allocator(self, locks: Locks | None = None, **budget: Any) -> numbering.Allocator:
        return numbering.Allocator(
            self.db, locks or DatabaseLocks(), budget=numbering.RetryBudget(**budget), lock_timeout=30.0
        )

    def letter(
        self, *, type_code: str = "LETTER", originator: str = "คคง.", recipient: str = "ผรม.1", **more: Any
    ) -> numbering.NumberRequest:
        return numbering.NumberRequest(
            project_public_id=self.project,
            correspondence_type_code=type_code,
            originator_organization_public_id=self.organizations[originator],
            recipient_organization_public_id=self.organizations[recipient],
            **more,
        )

    def rfa(
        self, *, originator: str = "ผรม.2", contract: str = "LCBP3-C2", discipline: str = "STR", **more: Any
    ) -> numbering.NumberRequest:
        return numbering.NumberRequest(
            project_public_id=self.project,
            correspondence_type_code="RFA",
            originator_organization_public_id=self.organizations[originator],
            contract_public_id=self.contracts[contract],
            rfa_type_code="SDW",
            discipline_code=discipline,
            **more,
        )

    async def plan(self, request: numbering.NumberRequest, *, now: datetime = NOW) -> numbering.Plan:
        async with self.db.reading() as session:
            return await numbering.plan(context(caller=self.caller, now=now, zone=BANGKOK), session, request=request)

    async def draw(
        self,
        allocator: numbering.Allocator,
        request: numbering.NumberRequest,
        *,
        token: UUID | None = None,
        holder: numbering.Holder | None = None,
        key: str | None = None,
    ) -> numbering.Issued:
        async def write(session: AsyncSession, issued: numbering.Issued) -> None:
            if holder is not None:
                await Documents().write(session, holder, issued)

        ctx = context(self.caller, NOW, address="127.0.0.1", key=key)
        return await allocator.issue(
            numbering.IssueRequest(ctx, await self.plan(request), token or new_id(), holder=holder, write=write)
        )

    async def take(
        self,
        allocator: numbering.Allocator,
        request: numbering.NumberRequest,
        *,
        token: UUID | None = None,
        **more: Any,
    ) -> numbering.Issued:
        """A number for no document, which shares its transaction with whoever waits for the same series."""
        ctx = context(self.caller, NOW, address="127.0.0.1")
        return await allocator.issue(numbering.IssueRequest(ctx, await self.plan(request), token or new_id(), **more))

    async def ledger(self) -> Sequence[LedgerEntry]:
        async with self.db.reading() as session:
            return (await session.scalars(sa.select(LedgerEntry).order_by(LedgerEntry.id))).all()

    async def audit(self, operation: str) -> Sequence[NumberAudit]:
        async with self.db.reading() as session:
            rows = await session.scalars(sa.select(NumberAudit).where(NumberAudit.operation == operation))
            return rows.all()

    async def counters(self) -> dict[str, int]:
        async with self.db.reading() as session:
            rows = await session.execute(sa.select(NumberCounter.series, NumberCounter.last_number))
            return dict(rows.all())


async def world_of(db: Database, *, own_documents: bool = True) -> World:
    """Read the demo project of a database that has it, and open a register of documents beside it."""
    if own_documents:
        async with db.engine.begin() as connection:
            await connection.run_sync(DOCUMENTS.metadata.create_all)
    async with db.reading() as session:
        organizations = dict(
            (await session.execute(sa.select(Organization.organization_code, Organization.public_id))).all()
        )
        contracts = dict((await session.execute(sa.select(Contract.contract_code, Contract.public_id))).all())
        project = await session.scalar(sa.select(Project.public_id).where(Project.project_code == "LCBP3-C2"))
        assert project is not None, "the demo project is not loaded"
        system = await identity.system_caller(session)
    return World(db, system, project, organizations, contracts)


async def check_accounts(world: World) -> None:
    """
    The invariants of numbering, for the whole database.

    :raises AssertionError: naming what disagrees
    """
    ledger = await world.ledger()
    counters = await world.counters()
    generated = {row.reservation_uuid for row in await world.audit("GENERATE")}
    assert {entry.public_id for entry in ledger} == generated, "ledger and audit disagree"
    by_series: dict[str, list[int]] = {}
    for entry in ledger:
        by_series.setdefault(entry.series, []).append(entry.sequence_number)
    for series, sequences in by_series.items():
        assert sorted(sequences) == list(range(1, len(sequences) + 1)), f"{series} has a hole or a duplicate"
        assert counters[series] == len(sequences), f"{series}: the counter and the ledger disagree"
    assert all(last == len(by_series.get(series, [])) for series, last in counters.items())
    found = [one async for one in numbering.check_consistency(world.db, carriers=[WRITTEN])]
    assert found == [], found


class Documents:
    """
    A register of documents as plain as it can be: each row is written in the transaction of its number.

    It knows nothing of the ledger, so that the two can be compared.
    """

    async def write(self, session: AsyncSession, holder: numbering.Holder, issued: numbering.Issued) -> None:
        row = {"public_id": holder.public_id, "number": issued.public_id, "printed": issued.number, "cancelled": False}
        await session.execute(sa.insert(DOCUMENTS).values(row))

    async def lock(self, session: AsyncSession, public_id: UUID) -> None:
        statement = sa.select(DOCUMENTS.c.id).where(DOCUMENTS.c.public_id == public_id)
        await session.execute(statement.with_for_update())

    async def change(self, session: AsyncSession, public_id: UUID, **values: Any) -> None:
        await session.execute(sa.update(DOCUMENTS).where(DOCUMENTS.c.public_id == public_id).values(**values))


DOCUMENTS = sa.Table(
    "written_documents",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("public_id", sa.Uuid, nullable=False, unique=True),
    sa.Column("number", sa.Uuid),
    sa.Column("printed", Code(255), nullable=False),
    sa.Column("cancelled", sa.Boolean, nullable=False),
)
WRITTEN = numbering.NumberedDocuments(
    SimpleNamespace(
        id=DOCUMENTS.c.id,
        project_id=sa.case(
            (DOCUMENTS.c.id > 0, sa.select(Project.id).where(Project.project_code == "LCBP3-C2").scalar_subquery())
        ),
        public_id=DOCUMENTS.c.public_id,
        number_uuid=DOCUMENTS.c.number,
        cancelled_at=sa.case((DOCUMENTS.c.cancelled, 1)),
    ),
    DOCUMENTS.c.printed,
)
