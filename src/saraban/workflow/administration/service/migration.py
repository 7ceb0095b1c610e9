"""
Running instances moved to another version of their workflow: looked at first, then moved in batches.

Each batch is a transaction of its own, so a run that is broken off has moved whole batches and nothing by halves; what
it has moved is not met again, so it can simply be run once more. The branches of a review are read before it is decided, and
rewritten with the move, under the instance's row lock.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.workflow.administration.domain import migration
from saraban.workflow.administration.domain.migration import (
    MigratedBranch,
    MigratedReview,
    MigratingInstance,
    MigrationFinding,
    MigrationOutcome,
)
from saraban.workflow.administration.repository import (
    rows_of,
    running_by_state,
    running_count,
    running_page,
    state_names,
    version_of,
)
from saraban.workflow.engine.decisions import Step
from saraban.workflow.engine.pending_assignees import assignees_of as waiting_of
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import Assignee, BranchStatus, Review
from saraban.workflow.language.subject import InstanceStatus, SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import interventions
from saraban.workflow.runtime.models import Instance, WorkflowBranch, WorkflowHistory
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import assignees, assignment, branches, definitions
from saraban.workflow.runtime.service.persist_transition import due_on, persist_transition
from saraban.workflow.runtime.service.subjects import InstanceState, Subjects, facts_of
from saraban.workflow.runtime.service.transition_request import Command, Decision, HeldInstance, StepRecord, VersionLost

PERMISSION = "workflow.manage_definitions"
BATCH = 50


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """
    What is asked for.

    :param mapping: old state to new state, for those that the version does not have, or that shall go elsewhere
    :param dry_run: only say what would become of each instance
    """

    code: str
    version: int
    mapping: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = True


@dataclass(frozen=True, slots=True)
class MigratedInstance:
    instance_public_id: UUID
    number: str | None
    from_version: int
    state: str
    found: MigrationFinding


@dataclass(frozen=True, slots=True)
class MigrationBatch:
    """What one transaction did; an instance that ended or moved meanwhile is looked at and has no line."""

    lines: list[MigratedInstance]
    looked_at: int
    last: UUID


@dataclass(frozen=True, slots=True)
class RunningInstances:
    code: str
    version: int
    is_active: bool
    states: Mapping[str, int]


@dataclass(slots=True)
class _Run:
    """What a run has learnt: the version, and who works for which organization."""

    ctx: RequestContext
    plan: MigrationPlan
    subjects: Subjects
    definition_id: UUID
    definition: Definition
    people: dict[int, tuple[Caller, ...]] = field(default_factory=dict)


async def running_instances(session: AsyncSession, *, code: str | None = None) -> list[RunningInstances]:
    rows = groupby(await running_by_state(session, code=code), key=itemgetter(0, 1, 2))
    return [
        RunningInstances(workflow, version, is_active, {state: count for *_, state, count in some if state is not None})
        for (workflow, version, is_active), some in rows
    ]


async def remaining(db: Database, *, plan: MigrationPlan) -> int:
    """Return how many instances run on other versions of the workflow."""
    async with db.reading() as session:
        row = await _version(session, plan)
        return await running_count(session, code=plan.code, definition_id=row[0])


async def migrate(
    ctx: RequestContext,
    db: Database,
    *,
    subjects: Subjects,
    plan: MigrationPlan,
    after: UUID | None = None,
    most: int | None = None,
    size: int = BATCH,
) -> AsyncIterator[MigrationBatch]:
    """
    Go through the instances that run on other versions, batch by batch, and return what became of each.

    :param after: go on behind this instance
    :param most: how many to look at, all when left out
    :raises Forbidden: when the caller may not manage definitions
    :raises NotFound: when there is no such version
    :raises Invalid: for a mapping of states that no version has, to states that this one does not have, or to its ends
    """
    ctx.caller.require(PERMISSION, Scope())
    async with db.reading() as session:
        definition_id, definition = await _version(session, plan)
        known = await state_names(session, code=plan.code) if plan.mapping else frozenset()
    migration.check_mapping(definition, plan.mapping, known=known)
    run = _Run(ctx, plan, subjects, definition_id, definition)
    left = most
    while left is None or left > 0:
        limit = size if left is None else min(size, left)
        async with db.reading() as session:
            places = await running_page(session, code=plan.code, definition_id=definition_id, after=after, limit=limit)
            lines = await _look(session, run, dict(places)) if plan.dry_run else []
        if not places:
            return
        if not plan.dry_run:
            lines = await db.transact(_move, run, dict(places))
        after = places[-1][0]
        left = None if left is None else left - len(places)
        yield MigrationBatch(lines, len(places), after)


async def _version(session: AsyncSession, plan: MigrationPlan) -> tuple[UUID, Definition]:
    row = await version_of(session, plan.code, plan.version)
    if row is None:
        raise NotFound(f"There is no version {plan.version} of {plan.code}.")
    return row.id, await definitions.load(session, row.id)


@dataclass(frozen=True, slots=True)
class _Examined:
    """One instance, the version it comes from, and what was found of it."""

    row: Instance
    version: int
    standing: MigratingInstance
    round: Sequence[WorkflowBranch]
    found: MigrationFinding

    @property
    def line(self) -> MigratedInstance:
        number = self.standing.facts.number if self.standing.facts else None
        return MigratedInstance(self.row.id, number, self.version, self.row.current_state, self.found)


async def _look(session: AsyncSession, run: _Run, versions: Mapping[UUID, int]) -> list[MigratedInstance]:
    found = await rows_of(session, versions, lock=False)
    return [one.line for one in await _examined(session, run, found, versions)]


async def _move(run: _Run, session: AsyncSession, versions: Mapping[UUID, int]) -> list[MigratedInstance]:
    """One batch under its row locks: each is looked at again as it stands now, and moved or left alone."""
    locked = await rows_of(session, versions, lock=True)
    still = [row for row in locked if row.status == InstanceStatus.ACTIVE and row.definition_id != run.definition_id]
    examined = await _examined(session, run, still, versions)
    for one in examined:
        facts, to = one.standing.facts, one.found.to
        if facts is None or to is None or not one.found.goes:
            continue
        if one.found.outcome is MigrationOutcome.MOVES:
            if one.round:  # the step itself closes branches only where the new version has reviews
                await assignee_rows.close(session, instance_id=one.row.id, now=one.row.not_before(run.ctx.now))
            await persist_transition(session, _decided(run, one, facts, to))
        else:
            await _stay(session, run, one, InstanceState(one.row, run.definition, facts))
    gone = sum(one.found.goes for one in examined)
    if gone:
        await _note(session, run, gone)
    return [one.line for one in examined]


async def _examined(
    session: AsyncSession, run: _Run, found: Sequence[Instance], versions: Mapping[UUID, int]
) -> list[_Examined]:
    system = await identity.system_caller(session)
    facts = await facts_of(session, found, caller=system, subjects=run.subjects)
    known = {row.definition_id: await definitions.load(session, row.definition_id) for row in found}
    rounds = await _rounds(session, found, known)
    secret = await branches.hidden_answers(session, [branch for round_ in rounds.values() for branch in round_])
    examined = []
    for row in found:
        round_ = rounds.get(row.id, [])
        standing = MigratingInstance(
            known[row.definition_id],
            row.current_state,
            row.context or {},
            facts.get((row.entity_type, row.entity_id)),
            row.assigned_user_id,
            _asked(round_, secret),
        )
        finding = await _found(session, run, standing)
        examined.append(_Examined(row, versions[row.id], standing, round_, finding))
    return examined


async def _found(session: AsyncSession, run: _Run, standing: MigratingInstance) -> MigrationFinding:
    """Whom it would wait for is asked for only as far as that matters."""
    definition, mapping, facts = run.definition, run.plan.mapping, standing.facts
    to = migration.target(definition, standing.state, mapping)
    people: list[Caller] = []
    silent = False
    if to is not None and facts is not None:
        carried = migration.carry(definition, standing, to)
        if definition.states[to].review is None:
            people = await _people(session, run, to, facts, standing.assigned_user_id)
        elif not isinstance(carried, MigrationOutcome):
            silent = await _silent(session, carried, facts=facts, state=to)
    return migration.examine(definition, standing, mapping, people, silent=silent)


async def _people(
    session: AsyncSession, run: _Run, to: str, facts: SubjectFacts, assigned_user_id: int | None
) -> list[Caller]:
    """Those whom the instance would wait for: the people of the organizations, those who are named, and who hold what is asked."""
    waiting = waiting_of(run.definition, to, facts)
    found = [one for key in sorted(waiting.organizations) for one in await _members(session, run, key)]
    keys = sorted(key for key in {*waiting.users, assigned_user_id} if key is not None)
    named = set(waiting.named) | set((await repository.user_public_ids(session, keys)).values())
    holding = (await assignees.people(session, waiting.holders, facts=facts)).values()
    return [*found, *(await identity.load_callers(session, sorted(named))).values(), *holding]


async def _members(session: AsyncSession, run: _Run, organization: int) -> tuple[Caller, ...]:
    if organization not in run.people:
        members = await identity.users_of(session, frozenset({organization}))
        callers = await identity.load_callers(session, [one.public_id for one in members])
        run.people[organization] = tuple(callers.values())
    return run.people[organization]


def _decided(run: _Run, one: _Examined, facts: SubjectFacts, to: str) -> Decision:
    """The step of an instance that stands in another state under the new version."""
    row = one.row
    held = HeldInstance(row, run.definition, facts, port=run.subjects.port(row.entity_type), ctx=run.ctx)
    step = Step(row.current_state, interventions.MIGRATE, to, terminal=False)
    record = StepRecord(
        "workflow.migrate",
        details={"migrated": {"before": one.version, "after": run.plan.version}},
        values={"definition_id": run.definition_id},
    )
    return Decision(held, step, Command(interventions.MIGRATE), record)


async def _stay(session: AsyncSession, run: _Run, one: _Examined, here: InstanceState) -> None:
    """Let an instance go on in its state, under the new version."""
    row, now = one.row, one.row.not_before(run.ctx.now)
    before, after = (which.states[row.current_state] for which in (one.standing.definition, run.definition))
    assigned = row.assigned_user_id if one.found.keeps_person else None
    due = row.due_on
    if before.due_days != after.due_days:  # by the days of the new version, from when the instance came to its state
        due = await due_on(session, state=after, facts=here.facts, now=row.last_transition_at)
    values = {"definition_id": run.definition_id, "assigned_user_id": assigned, "due_on": due, "updated_at": now}
    if not await repository.compare_and_set(session, public_id=row.id, expected=row.version_no, values=values):
        raise VersionLost("The version changed between the lock and the update.")
    session.add(_history(run, one, now))
    await session.flush()
    row.assigned_user_id = assigned
    # The branches of its state are those of the new version; a review that is the same goes on untouched.
    if after.review is None and before.review is not None:
        await assignee_rows.close(session, instance_id=row.id, now=now)
    elif after.review is not None and before.review != after.review and one.found.carried is not None:
        await _carry(session, one, after.review, one.found.carried, now=now)
    if not assignees.is_first_draft(row, run.definition):
        await _wait_on(session, here, now)


async def _wait_on(session: AsyncSession, here: InstanceState, now: datetime) -> None:
    """It has waited since its last step, and goes on doing so; whom a branch asks from now on is asked from now on."""
    row, since = here.row, here.row.last_transition_at
    state = here.definition.states[row.current_state]
    if state.review is None:
        await assignees.renew_work_items(session, here, since=since)
        return
    waiting = waiting_of(here.definition, state.name, here.facts)
    await assignee_rows.await_organizations(
        session, instance_id=row.id, state=state.name, organizations=waiting.organizations, since=since
    )
    await assignment.renew_people(session, here, now=now)


def _history(run: _Run, one: _Examined, now: datetime) -> WorkflowHistory:
    row = one.row
    return WorkflowHistory(
        id=new_id(),
        instance_id=row.id,
        from_state=row.current_state,
        to_state=row.current_state,
        action=interventions.MIGRATE,
        action_by_user_id=run.ctx.caller.user_id,
        action_by_user_uuid=str(run.ctx.caller.public_id),
        acting_organization_id=run.ctx.caller.organization_id,
        comment=None,
        details={
            "migrated": {"before": one.version, "after": run.plan.version},
            "versionNo": row.version_no + 1,
            **_told(one.found.carried),
        },
        created_at=now,
    )


async def _note(session: AsyncSession, run: _Run, gone: int) -> None:
    await audit.record(
        run.ctx,
        session,
        audit.AuditEntry(
            "workflow.migrate",
            "workflow_definition",
            str(run.definition_id),
            {
                "workflowCode": run.plan.code,
                "version": run.plan.version,
                "instances": gone,
                "mapping": dict(run.plan.mapping),
            },
            severity=audit.Severity.WARN,
        ),
    )


async def _rounds(
    session: AsyncSession, rows: Iterable[Instance], definitions: Mapping[UUID, Definition]
) -> dict[UUID, list[WorkflowBranch]]:
    """
    Return the round under way of each instance that stands in a review, in one query.

    :param definitions: by their key
    """
    asking = [row.id for row in rows if definitions[row.definition_id].state(row.current_state).review is not None]
    found: dict[UUID, list[WorkflowBranch]] = {}
    for row in await assignee_rows.latest_rounds(session, asking) if asking else ():
        found.setdefault(row.WorkflowBranch.instance_id, []).append(row.WorkflowBranch)
    return found


def _asked(round_: Sequence[WorkflowBranch], secret: branches.HiddenAnswers) -> tuple[MigratedBranch, ...]:
    return tuple(
        MigratedBranch(row.name, row.status == BranchStatus.PENDING, row.answer, secret.hides(row)) for row in round_
    )


async def _silent(session: AsyncSession, carried: MigratedReview, *, facts: SubjectFacts, state: str) -> bool:
    """Return whether there is nobody to answer some branch of those that would be asked."""
    asked = {branch.assignee for branch in carried.anew}
    return not all((await branches.answerers(session, asked, facts=facts, state=state)).values())


async def _carry(
    session: AsyncSession, one: _Examined, after: Review, carried: MigratedReview, *, now: datetime
) -> None:
    """
    Let the branches of an instance that stays in its state be those that its new version asks.

    They are of the round that is under way; where there was none, of one that begins with the version that the move makes.
    Every branch that still waits gets a new version: whoever has the old question before them is told so when they answer.
    """
    row, round_ = one.row, one.round
    opened = round_[0].opened_version if round_ else row.version_no + 1
    anew = {asked.name: asked.assignee for asked in carried.anew}
    places = {name: place for place, name in enumerate(after.branches)}
    for place, branch in enumerate(round_):
        # What is asked no more stands behind what is.
        values = {"position": places.get(branch.name, len(places) + place), "updated_at": now}
        values |= _asks(anew[branch.name]) if branch.name in anew else {}
        values |= {"status": BranchStatus.SKIPPED} if branch.name in carried.closed else {}
        if not await assignee_rows.change(session, public_id=branch.id, expected=branch.version_no, values=values):
            raise VersionLost("The branch changed between the lock and the update.")
    there = {branch.name for branch in round_}
    rows = [branches.row_of(row, opened, each.name, after, now) for each in carried.opened if each.name not in there]
    if rows:
        await assignee_rows.add(session, rows)


def _asks(assignee: Assignee) -> dict[str, Json]:
    return {"status": BranchStatus.PENDING, "assignee_kind": assignee.kind, "assignee_name": assignee.name}


def _told(carried: MigratedReview | None) -> dict[str, Json]:
    """Return what a history keeps of it, nothing where all branches are what they were."""
    if carried is None:
        return {}
    names = {
        "opened": [branch.name for branch in carried.opened],
        "asked": [branch.name for branch in carried.asked],
        "closed": list(carried.closed),
    }
    return {"branches": {key: each for key, each in names.items() if each}} if any(names.values()) else {}
