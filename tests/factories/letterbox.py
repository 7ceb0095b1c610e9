"""
A subject that is nothing but its workflow: letters in a dictionary, on the demo project's people and organizations.

It implements `SubjectPort` as documents do, so that the workflow is tested without them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.models import Attachment
from saraban.identity import service as identity
from saraban.identity.domain.account import NO_PASSWORD
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.models import Organization
from saraban.identity.service import first_run as identity_seed
from saraban.kit.db import Database, database_of
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import new_id
from saraban.projects.models import Contract, Project
from saraban.projects.service import seed as projects_seed
from saraban.workflow import service as workflow
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.schemas import instance_answer
from saraban.workflow.runtime.service.transition_request import TransitionRequest
from saraban.workflow.runtime.service.transitions import BY_RIGHT
from saraban.workflow.service import (
    Command,
    Envelope,
    Step,
    SubjectFacts,
    Subjects,
    SubjectStep,
    Transitioned,
    Transitions,
)
from tests.factories.contexts import context
from tests.factories.projects import load_demo

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


@dataclass
class Letterbox:
    """Letters by id; those in `hidden` may be known to the named users only."""

    entity_type: str = "letterbox"
    letters: dict[str, SubjectFacts] = field(default_factory=dict)
    hidden: dict[str, set[str]] = field(default_factory=dict)
    steps: list[tuple[str, Step]] = field(default_factory=list)
    queries: int = 0

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, SubjectFacts]:
        self.queries += 1
        return {key: self.letters[key] for key in entity_ids if self.may_see(caller, key)}

    def may_see(self, caller: Caller, key: str) -> bool:
        return key in self.letters and caller.username in self.hidden.get(key, {caller.username})

    async def apply(self, _session: AsyncSession, step: SubjectStep) -> bool:
        self.steps.append((step.entity_id, step.step))
        return True


@dataclass
class Office:
    """The demo project with a letterbox, and verbs that the tests read well with."""

    db: Database
    box: Letterbox
    subjects: Subjects
    transitions: Transitions
    organizations: dict[str, int]
    project: int
    contract: int

    async def person(self, username: str) -> Caller:
        async with self.db.reading() as session:
            caller = await identity.find_caller(session, username=username)
        assert caller is not None
        return caller

    def letter(self, *, originator: str = "ผรม.2", recipient: str = "คคง.", **changes: Any) -> SubjectFacts:
        """Put a letter into the box and give its facts."""
        of, public_id = self.organizations, new_id()
        facts = SubjectFacts(
            entity_id=str(new_id()),
            scope=Scope(frozenset({of[originator], of[recipient]}), self.project, self.contract),
            originator_organization_id=of[originator],
            recipient_organization_ids=frozenset({of[recipient]}),
            parties={
                "OWNER": frozenset({of["กทท."], of["สคฉ.3"]}),
                "CONSULTANT": frozenset({of["คคง."]}),
                "CONTRACTOR": frozenset({of["ผรม.1"], of["ผรม.2"]}),
            },
            submitter_user_id=None,
            assignee_user_ids=frozenset(),
            kind="letter",
            public_id=public_id,
            number=f"N-{public_id.hex[-4:]}",
            title="Soil report",
        )
        sight = {
            "seen_by": lambda person, _state: self.box.may_see(person, facts.entity_id),
            "open_to": lambda _organization, _state: facts.entity_id not in self.box.hidden,
        }
        facts = replace(facts, **sight | changes)
        self.box.letters[facts.entity_id] = facts
        return facts

    async def start(self, facts: SubjectFacts, *, code: str = "RFA_APPROVAL", by: str = "dc.contractor") -> Envelope:
        ctx, kind = context(caller=await self.person(by), now=NOW), self.box.entity_type
        await self.db.transact(lambda session: workflow.start(ctx, session, code=code, entity_type=kind, facts=facts))
        async with self.db.reading() as session:
            found = await envelopes_of(ctx, session, kind, {facts.entity_id: facts})
        return found[facts.entity_id]

    async def act(
        self, instance: UUID, action: str, *, by: str, now: datetime = NOW, key: str | None = None, **command: Any
    ) -> Any:
        """Take one step through the door's own function and give the new envelope as JSON."""
        ctx = context(caller=await self.person(by), now=now, address="127.0.0.1", key=key)
        done = await self.transitions.take(ctx, public_id=instance, command=Command(action, **command))
        return (await self.shown(ctx, done))["workflow"]

    async def shown(self, ctx: RequestContext, done: Transitioned) -> Any:
        """Return what the door answers with, as JSON."""
        return instance_answer(await self.transitions.show(ctx, done)).model_dump(mode="json", by_alias=True)

    async def pending(self, **changes: Any) -> UUID:
        """Return an RFA that waits for the consultant's review."""
        instance = (await self.start(self.letter(**changes))).instance_public_id
        await self.act(instance, "submit", by="dc.contractor")
        return instance

    async def upload(self, username: str) -> UUID:
        """Leave a file of somebody that belongs to nothing yet."""
        owner, public_id = await self.person(username), new_id()
        values = {
            "public_id": public_id,
            "original_filename": "ผลตรวจ.pdf",
            "stored_filename": f"{public_id}.pdf",
            "file_path": f"{public_id}.pdf",
            "mime_type": "application/pdf",
            "file_size": 9,
            "checksum": "0" * 64,
            "uploaded_by_user_id": owner.user_id,
            "created_at": NOW,
            "expires_at": NOW + timedelta(hours=24),
        }
        await self.db.transact(lambda session: session.execute(sa.insert(Attachment).values(values)))
        return public_id

    async def define(self, raw: dict[str, Any], *, by: str = "admin", activate: bool = True) -> Any:
        caller = await self.person(by)
        return await self.db.transact(
            lambda session: workflow.create(
                context(caller, NOW, address="127.0.0.1"), session, raw=raw, activate=activate
            )
        )


async def envelopes_of(
    ctx: RequestContext, session: AsyncSession, entity_type: str, facts: Mapping[str, workflow.SubjectFacts]
) -> dict[str, Envelope]:
    """Return the envelopes of subjects whose facts are known."""
    states = await workflow.states_of(ctx, session, entity_type=entity_type, entity_ids=list(facts), facts=facts)
    return await workflow.envelopes(ctx, session, states)


async def step_in(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    subjects: Subjects,
    public_id: UUID,
    command: Command,
    seen_version: int | None = None,
) -> None:
    """Take one step in a transaction of the test's own."""
    if seen_version is None:
        row = await repository.instance(session, public_id)
        assert row is not None
        seen_version = row.version_no
    request = TransitionRequest(ctx, public_id, command, BY_RIGHT, "", False, "", seen_version)
    db = database_of(session)
    await Transitions(db, subjects, Idempotency(db)).step(request, session)


async def _no_password(_password: str) -> str:
    return NO_PASSWORD


async def new_office(db: Database) -> Office:
    """Fill an empty, migrated database with what ships, the demo project and its accounts."""

    async def fill(session: AsyncSession) -> None:
        await identity_seed.seed_catalogue(session)
        await projects_seed.seed_master_data(session)
        await load_demo(session)
        # Nobody logs in here, and hashing the passwords would take most of a test's time.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(identity_seed.passwords, "hash_password", _no_password)
            await identity_seed.seed_demo_accounts(session)
        await workflow.seed_definitions(session, now=NOW)

    await db.transact(fill)
    return await office_in(db)


async def office_in(db: Database) -> Office:
    """Open an office in a database that has the demo project."""
    async with db.reading() as session:
        rows = await session.execute(sa.select(Organization.organization_code, Organization.id))
        organizations = {row.organization_code: row.id for row in rows}
        project = await session.scalar(sa.select(Project.id).where(Project.project_code == "LCBP3-C2"))
        contract = await session.scalar(sa.select(Contract.id).where(Contract.contract_code == "LCBP3-C2"))
    assert project is not None
    assert contract is not None
    box = Letterbox()
    subjects = Subjects(box)
    return Office(db, box, subjects, Transitions(db, subjects, Idempotency(db)), organizations, project, contract)
