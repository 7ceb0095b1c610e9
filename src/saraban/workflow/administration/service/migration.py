"""
Move running instances to another version of their workflow, in batches.

Each batch is a transaction, so an interrupted run can be repeated.
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
from saraban.workflow.language.review import BranchStatus, Review
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
    """Instances that ended or moved meanwhile have no line."""

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
    ctx: RequestContext
    plan: MigrationPlan
    subjects: Subjects
    definition_id: UUID
    definition: Definition
    people: dict[int, tuple[Caller, ...]] = field(default_factory=dict)


async def running_instances(session: AsyncSession, *, code: str | None = None) -> list[RunningInstances]:
    rows = groupby(await running_by_state(session, code=code), key=itemgetter(0, 1, 2))
    return [
        RunningInstances(
            workflow, version, is_active, {state: count for *_, state, count in group_rows if state is not None}
        )
        for (workflow, version, is_active), group_rows in rows
    ]


async def remaining(db: Database, *, plan: MigrationPlan) -> int:
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
    :param after: the last instance of the previous call
    :param most: how many instances; None for all
    :raises Forbidden: when the caller may not manage definitions
    :raises NotFound: for an unknown version
    :raises Invalid: by `check_mapping`
    """
    ctx.caller.require(PERMISSION, Scope())
    async with db.reading() as session:
        definition_id, definition = await _version(session, plan)
        states = await state_names(session, code=plan.code) if plan.mapping else frozenset()
    migration.check_mapping(definition, plan.mapping, known=states)
    run = _Run(ctx, plan, subjects, definition_id, definition)
    remaining_count = most
    while remaining_count is None or remaining_count > 0:
        limit = size if remaining_count is None else min(size, remaining_count)
        async with db.reading() as session:
            instances = await running_page(
                session, code=plan.code, definition_id=definition_id, after=after, limit=limit
            )
            lines = await _preview(session, run, dict(instances)) if plan.dry_run else []
        if not instances:
            return
        if not plan.dry_run:
            lines = await db.transact(_move, run, dict(instances))
        after = instances[-1][0]
        remaining_count = None if remaining_count is None else remaining_count - len(instances)
        yield MigrationBatch(lines, len(instances), after)


async def _version(session: AsyncSession, plan: MigrationPlan) -> tuple[UUID, Definition]:
    row = await version_of(session, plan.code, plan.version)
    if row is None:
        raise NotFound(f"There is no version {plan.version} of {plan.code}.")
    return row.id, await definitions.load(session, row.id)


@dataclass(frozen=True, slots=True)
class _Examined:
    row: Instance
    version: int
    standing: MigratingInstance
    round: Sequence[WorkflowBranch]
    found: MigrationFinding

    @property
    def line(self) -> MigratedInstance:
        number = self.standing.facts.number if self.standing.facts else None
        return MigratedInstance(self.row.id, number, self.version, self.row.current_state, self.found)


async def _preview(session: AsyncSession, run: _Run, versions: Mapping[UUID, int]) -> list[MigratedInstance]:
    rows = await rows_of(session, versions, lock=False)
    return [item.line for item in await _examine(session, run, rows, versions)]


async def _move(run: _Run, session: AsyncSession, versions: Mapping[UUID, int]) -> list[MigratedInstance]:
    """Examine the locked batch again, and move what can continue."""
    locked = await rows_of(session, versions, lock=True)
    movable = [row for row in locked if row.status == InstanceStatus.ACTIVE and row.definition_id != run.definition_id]
    examined = await _examine(session, run, movable, versions)
    for item in examined:
        facts, to = item.standing.facts, item.found.to
        if facts is None or to is None or not item.found.goes:
            continue
        if item.found.outcome is MigrationOutcome.MOVES:
            if item.round:  # the step closes branches only if the new version has reviews
                await assignee_rows.close(session, instance_id=item.row.id, now=item.row.not_before(run.ctx.now))
            await persist_transition(session, _move_decision(run, item, facts, to))
        else:
            await _keep_state(session, run, item, InstanceState(item.row, run.definition, facts))
    moved_count = sum(item.found.goes for item in examined)
    if moved_count:
        await _record_audit(session, run, moved_count)
    return [item.line for item in examined]


async def _examine(
    session: AsyncSession, run: _Run, rows: Sequence[Instance], versions: Mapping[UUID, int]
) -> list[_Examined]:
    system = await identity.system_caller(session)
    facts = await facts_of(session, rows, caller=system, subjects=run.subjects)
    definition_by_id = {row.definition_id: await definitions.load(session, row.definition_id) for row in rows}
    rounds = await _rounds(session, rows, definition_by_id)
    hidden = await branches.hidden_answers(session, [branch for round_ in rounds.values() for branch in round_])
    examined = []
    for row in rows:
        round_ = rounds.get(row.id, [])
        instance = MigratingInstance(
            definition_by_id[row.definition_id],
            row.current_state,
            row.context or {},
            facts.get((row.entity_type, row.entity_id)),
            row.assigned_user_id,
            _migrated_branches(round_, hidden),
        )
        finding = await _find_outcome(session, run, instance)
        examined.append(_Examined(row, versions[row.id], instance, round_, finding))
    return examined


async def _find_outcome(session: AsyncSession, run: _Run, instance: MigratingInstance) -> MigrationFinding:
    """Load people only where the result depends on them."""
    definition, mapping, facts = run.definition, run.plan.mapping, instance.facts
    to = migration.target(definition, instance.state, mapping)
    people: list[Caller] = []
    silent = False
    if to is not None and facts is not None:
        carried = migration.carry(definition, instance, to)
        if definition.states[to].review is None:
            people = await _people(session, run, to, facts, instance.assigned_user_id)
        elif not isinstance(carried, MigrationOutcome):
            silent = await _lacks_answerer(session, carried, facts=facts, state=to)
    return migration.examine(definition, instance, mapping, people, silent=silent)


async def _people(
    session: AsyncSession, run: _Run, to: str, facts: SubjectFacts, assigned_user_id: int | None
) -> list[Caller]:
    waiting = waiting_of(run.definition, to, facts)
    members = [member for key in sorted(waiting.organizations) for member in await _members(session, run, key)]
    keys = sorted(key for key in {*waiting.users, assigned_user_id} if key is not None)
    person_ids = set(waiting.named) | set((await repository.user_public_ids(session, keys)).values())
    holders = (await assignees.people(session, waiting.holders, facts=facts)).values()
    return [*members, *(await identity.load_callers(session, sorted(person_ids))).values(), *holders]


async def _members(session: AsyncSession, run: _Run, organization: int) -> tuple[Caller, ...]:
    if organization not in run.people:
        members = await identity.users_of(session, frozenset({organization}))
        callers = await identity.load_callers(session, [member.public_id for member in members])
        run.people[organization] = tuple(callers.values())
    return run.people[organization]


def _move_decision(run: _Run, item: _Examined, facts: SubjectFacts, to: str) -> Decision:
    row = item.row
    held = HeldInstance(row, run.definition, facts, port=run.subjects.port(row.entity_type), ctx=run.ctx)
    step = Step(row.current_state, interventions.MIGRATE, to, terminal=False)
    record = StepRecord(
        "workflow.migrate",
        details={"migrated": {"before": item.version, "after": run.plan.version}},
        values={"definition_id": run.definition_id},
    )
    return Decision(held, step, Command(interventions.MIGRATE), record)


async def _keep_state(session: AsyncSession, run: _Run, item: _Examined, state: InstanceState) -> None:
    row, now = item.row, item.row.not_before(run.ctx.now)
    before, after = (
        version_definition.states[row.current_state]
        for version_definition in (item.standing.definition, run.definition)
    )
    assigned = row.assigned_user_id if item.found.keeps_person else None
    due = row.due_on
    if before.due_days != after.due_days:  # with the new version's days, from the last step
        due = await due_on(session, state=after, facts=state.facts, now=row.last_transition_at)
    values = {"definition_id": run.definition_id, "assigned_user_id": assigned, "due_on": due, "updated_at": now}
    if not await repository.compare_and_set(session, public_id=row.id, expected=row.version_no, values=values):
        raise VersionLost("The version changed between the lock and the update.")
    session.add(_history(run, item, now))
    await session.flush()
    row.assigned_user_id = assigned
    # Use the new version's branches; an unchanged review continues untouched.
    if after.review is None and before.review is not None:
        await assignee_rows.close(session, instance_id=row.id, now=now)
    elif after.review is not None and before.review != after.review and item.found.carried is not None:
        await _update_branches(session, item, after.review, item.found.carried, now=now)
    if not assignees.is_first_draft(row, run.definition):
        await _renew_assignments(session, state, now)


async def _renew_assignments(session: AsyncSession, state_of_instance: InstanceState, now: datetime) -> None:
    """Keep the time since which it waits; new assignees wait from now."""
    row, since = state_of_instance.row, state_of_instance.row.last_transition_at
    state = state_of_instance.definition.states[row.current_state]
    if state.review is None:
        await assignees.renew_work_items(session, state_of_instance, since=since)
        return
    waiting = waiting_of(state_of_instance.definition, state.name, state_of_instance.facts)
    await assignee_rows.await_organizations(
        session, instance_id=row.id, state=state.name, organizations=waiting.organizations, since=since
    )
    await assignment.renew_people(session, state_of_instance, now=now)


def _history(run: _Run, item: _Examined, now: datetime) -> WorkflowHistory:
    row = item.row
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
            "migrated": {"before": item.version, "after": run.plan.version},
            "versionNo": row.version_no + 1,
            **_branch_changes(item.found.carried),
        },
        created_at=now,
    )


async def _record_audit(session: AsyncSession, run: _Run, gone: int) -> None:
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
    instance_ids = [
        row.id for row in rows if definitions[row.definition_id].state(row.current_state).review is not None
    ]
    rounds: dict[UUID, list[WorkflowBranch]] = {}
    for row in await assignee_rows.latest_rounds(session, instance_ids) if instance_ids else ():
        rounds.setdefault(row.WorkflowBranch.instance_id, []).append(row.WorkflowBranch)
    return rounds


def _migrated_branches(round_: Sequence[WorkflowBranch], secret: branches.HiddenAnswers) -> tuple[MigratedBranch, ...]:
    return tuple(
        MigratedBranch(row.name, row.status == BranchStatus.PENDING, row.answer, secret.hides(row)) for row in round_
    )


async def _lacks_answerer(session: AsyncSession, carried: MigratedReview, *, facts: SubjectFacts, state: str) -> bool:
    assignees_asked = {branch.assignee for branch in carried.anew}
    return not all((await branches.answerers(session, assignees_asked, facts=facts, state=state)).values())


async def _update_branches(
    session: AsyncSession, item: _Examined, after: Review, carried: MigratedReview, *, now: datetime
) -> None:
    """Every open branch gets a new version, so that answers to the old question are refused."""
    row, round_ = item.row, item.round
    opened = round_[0].opened_version if round_ else row.version_no + 1
    new_assignees = {requested.name: requested.assignee for requested in carried.anew}
    places = {name: place for place, name in enumerate(after.branches)}
    for place, branch in enumerate(round_):
        # Closed branches come last.
        values = {"position": places.get(branch.name, len(places) + place), "updated_at": now}
        if (assignee := new_assignees.get(branch.name)) is not None:
            values |= {"status": BranchStatus.PENDING, "assignee_kind": assignee.kind, "assignee_name": assignee.name}
        values |= {"status": BranchStatus.SKIPPED} if branch.name in carried.closed else {}
        if not await assignee_rows.change(session, public_id=branch.id, expected=branch.version_no, values=values):
            raise VersionLost("The branch changed between the lock and the update.")
    existing = {branch.name for branch in round_}
    rows = [
        branches.row_of(row, opened, branch_definition.name, after, now)
        for branch_definition in carried.opened
        if branch_definition.name not in existing
    ]
    if rows:
        await assignee_rows.add(session, rows)


def _branch_changes(carried: MigratedReview | None) -> dict[str, Json]:
    if carried is None:
        return {}
    names = {
        "opened": [branch.name for branch in carried.opened],
        "asked": [branch.name for branch in carried.asked],
        "closed": list(carried.closed),
    }
    return {"branches": {key: value for key, value in names.items() if value}} if any(names.values()) else {}
