"""The inbox, one instance with its subject, and histories."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.domain import AttachmentRow
from saraban.identity.domain.context import RequestContext
from saraban.identity.models import UserName
from saraban.identity.schemas import PersonRef
from saraban.identity.service.callers import display_name
from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject, as_object, as_text
from saraban.kit.pagination import Cursor, Page
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.language.definition import ENDS, Definition
from saraban.workflow.language.review import BranchOut
from saraban.workflow.language.subject import ActionOut, Envelope, InstanceStatus
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import interventions
from saraban.workflow.runtime.repository import StepRow
from saraban.workflow.runtime.schemas import ActorOut, ChangedValueOut
from saraban.workflow.runtime.service import branches, definitions, instances
from saraban.workflow.runtime.service.assignees import pending_with, pending_with_exactly
from saraban.workflow.runtime.service.delegations import NO_DELEGATED_RIGHTS, DelegatedRights, delegated_rights_of
from saraban.workflow.runtime.service.step_data import changed_values
from saraban.workflow.runtime.service.subjects import InstanceState, Subjects, facts_of, find_instance, seen

MAX_STEPS = 1_000
MAX_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Task:
    """:param on_behalf_of: the delegators, if it awaits the caller on their behalf alone"""

    envelope: Envelope
    since: datetime
    on_behalf_of: tuple[PersonRef, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """
    :param reassigned: the single assignee `before`, if any, and `after`
    :param migrated: the versions `before` and `after`
    :param assignment: the assignee of the next state, and the reason if it was dropped
    :param item_results: as `ItemResultIn`
    :param nobody: nobody could act in the next state, or answer one of its branches
    """

    public_id: UUID
    instance_public_id: UUID
    from_state: str
    from_label: Text
    to_state: str
    to_label: Text
    action: str
    action_label: Text
    comment: str | None
    actor: ActorOut | None
    attachments: tuple[AttachmentRow, ...]
    created_at: datetime
    forced: bool = False
    response_code: str | None = None
    automatic: bool = False
    assignment: JsonObject | None = None
    reassigned: JsonObject | None = None
    migrated: JsonObject | None = None
    on_behalf_of: PersonRef | None = None
    values: tuple[ChangedValueOut, ...] = ()
    item_results: Json = None
    nobody: bool = False

    @property
    def organization_code(self) -> str | None:
        return self.actor.organization_code if self.actor is not None else None


async def find(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID, now: datetime | None = None
) -> Envelope:
    """
    :param now: when given, the rights delegated to the caller at that moment count, too
    :raises NotFound: when there is none, or the caller may not see its subject
    """
    instance = await find_instance(ctx, session, subjects=subjects, public_id=public_id)
    files = await instances.step_files(session, [instance.row.id])
    seats = (await _load_delegated_rights(ctx, session, now)).of(instance.definition.code, instance.facts.scope.project)
    waits = await pending_with_exactly(session, instance)
    instance = replace(instance, seats=seats)
    return await instances.envelope_of(ctx, session, instance, files=files.get(instance.row.id, ()), waits=waits)


async def _load_delegated_rights(ctx: RequestContext, session: AsyncSession, now: datetime | None) -> DelegatedRights:
    return await delegated_rights_of(replace(ctx, now=now), session) if now is not None else NO_DELEGATED_RIGHTS


async def history(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID
) -> tuple[HistoryStep, ...]:
    """:raises NotFound: when there is none, or the caller may not see its subject"""
    instance = await find_instance(ctx, session, subjects=subjects, public_id=public_id)
    return await steps_of(session, [instance])


def states_ahead(instance: InstanceState) -> tuple[Text, ...]:
    if instance.row.status != InstanceStatus.ACTIVE:
        return ()
    return tuple(state.label for state in decisions.expected_path(instance.definition, instance.row.current_state))


async def steps_of(session: AsyncSession, states: Iterable[InstanceState]) -> tuple[HistoryStep, ...]:
    """Return the steps of instances, oldest first; the caller checks who may see them."""
    definitions_by_id = {instance.row.id: instance.definition for instance in states}
    steps = await repository.steps_of(session, list(definitions_by_id), limit=MAX_STEPS) if definitions_by_id else ()
    if not steps:
        return ()
    files = await attachments.step_attachments(session, [step.id for step in steps])
    answers = await branches.history_answers(session, steps, definitions_by_id)
    values = _changed_values_by_step(steps, definitions_by_id)
    return tuple(
        _build_history_step(
            step,
            definitions_by_id[step.instance_id],
            files.get(str(step.id), ()),
            answers.get(step.id),
            values.get(step.id, ()),
        )
        for step in steps
        if not branches.hides(answers, step)
    )


def _changed_values_by_step(
    steps: Sequence[StepRow], definitions_by_id: Mapping[UUID, Definition]
) -> dict[UUID, tuple[ChangedValueOut, ...]]:
    values: dict[UUID, tuple[ChangedValueOut, ...]] = {}
    contexts: dict[UUID, dict[str, Json]] = {}
    for step in steps:
        payload = (step.details or {}).get("payload")
        if isinstance(payload, dict):
            definition, before = definitions_by_id[step.instance_id], contexts.get(step.instance_id, {})
            values[step.id] = changed_values(definition, payload, step_data.remembered(before))
            contexts[step.instance_id] = step_data.after(definition, before, payload)
    return values


def _build_history_step(
    step: StepRow,
    definition: Definition,
    files: Sequence[AttachmentRow],
    answer: branches.HistoryAnswer | None,
    values: tuple[ChangedValueOut, ...],
) -> HistoryStep:
    details = step.details or {}
    return HistoryStep(
        public_id=step.id,
        instance_public_id=step.instance_id,
        from_state=step.from_state,
        from_label=_state_label(definition, step.from_state),
        to_state=step.to_state,
        to_label=_state_label(definition, step.to_state),
        action=step.action,
        action_label=answer.label if answer else interventions.words_of(definition, step.from_state, step.action),
        forced=bool(details.get("forced")),
        response_code=as_text(details.get("responseCode")),
        automatic=bool(details.get("automatic")),
        nobody=bool(details.get("nobody")),
        assignment=as_object(details.get("assigned")) or None,
        reassigned=as_object(details.get("reassigned")) or None,
        migrated=as_object(details.get("migrated")) or None,
        comment=answer.comment if answer else step.comment,
        actor=_actor_out(step),
        on_behalf_of=_person_ref(step.absent),
        attachments=tuple(files),
        values=values,
        item_results=details.get("itemResults") or [],
        created_at=step.created_at,
    )


def _state_label(definition: Definition, name: str) -> Text:
    is_defined = name in definition.states or name in ENDS
    return definition.state(name).label if is_defined else Text(name, name)


def _person_ref(row: UserName | None) -> PersonRef | None:
    return PersonRef(public_id=row.public_id, display_name=display_name(row)) if row is not None else None


def _actor_out(step: StepRow) -> ActorOut | None:
    if step.actor is None:
        return None
    return ActorOut(
        public_id=step.actor.public_id, display_name=display_name(step.actor), organization_code=step.organization_code
    )


async def list_tasks(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    subjects: Subjects,
    cursor: str | None,
    limit: int,
    now: datetime | None = None,
) -> Page[Task]:
    """
    List the tasks of the caller, newest first; a page can be shorter than `limit` and have a next one.

    :param now: when given, the tasks of delegators at that moment are included
    """
    rights = await _load_delegated_rights(ctx, session, now)
    after = Cursor.decode(cursor) if cursor else None
    items: list[Task] = []
    for _ in range(MAX_ROUNDS):
        # What is lent counts within organizations that both work for, so the caller's own are all that can be asked.
        work_items = await repository.inbox_page(
            session,
            users={ctx.caller.user_id} | rights.user_ids,
            organizations=ctx.caller.organization_ids,
            after=after,
            limit=limit + 1,
        )
        tasks = await _find_tasks(ctx, session, work_items[:limit], subjects=subjects, lent=rights)
        for since, instance_id in work_items[:limit]:
            after = Cursor(since, instance_id)
            if instance_id in tasks:
                items.append(tasks[instance_id])
            if len(items) == limit:
                break
        more = len(work_items) > limit or (bool(work_items) and after != Cursor(*work_items[-1]))
        if len(items) == limit or not more:
            break
    return Page(items, after.encode() if more and after else None)


async def awaited_instances(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, instances: Collection[UUID]
) -> frozenset[UUID]:
    rights = await delegated_rights_of(ctx, session)
    users = {ctx.caller.user_id} | rights.user_ids
    work_items = await repository.work_items(session, instances, users=users, organizations=ctx.caller.organization_ids)
    return frozenset(await _find_tasks(ctx, session, work_items, subjects=subjects, lent=rights))


async def _find_tasks(
    ctx: RequestContext,
    session: AsyncSession,
    work_items: Sequence[tuple[datetime, UUID]],
    *,
    subjects: Subjects,
    lent: DelegatedRights,
) -> dict[UUID, Task]:
    since = {instance_id: moment for moment, instance_id in work_items}
    rows = await repository.instances(session, list(since)) if since else []
    facts = await facts_of(session, rows, caller=ctx.caller, subjects=subjects)
    visible = []
    for row in rows:
        definition = await definitions.load(session, row.definition_id)
        subject = facts.get((row.entity_type, row.entity_id))
        if subject is not None:
            lenders = lent.of(definition.code, subject.scope.project)
            visible.append(InstanceState(row, definition, subject, lenders))
    branches_by_id = await branches.visible_branches(ctx, session, visible)
    waits = await pending_with(session, visible)
    tasks_by_id: dict[UUID, Task] = {}
    for instance in visible:
        row, own_branches = instance.row, branches_by_id.get(instance.row.id, ())
        envelope = instances.envelope(ctx, instance, asked=own_branches, waits=waits[row.id])
        actions = [choice for choice in envelope.actions if not instance.state.on[choice.code].optional]
        open_branches = [branch for branch in own_branches if branch.may_answer]
        if actions or open_branches:
            delegators = _find_delegators(actions, open_branches)
            tasks_by_id[row.id] = Task(envelope, since[row.id], delegators)
    return tasks_by_id


def _find_delegators(actions: Sequence[ActionOut], open_branches: Sequence[BranchOut]) -> tuple[PersonRef, ...]:
    """Return the delegators, each once; none if the caller may act in their own right."""
    if any(choice.in_own_right for choice in actions) or any(branch.in_own_right for branch in open_branches):
        return ()
    people = [person for choice in actions for person in choice.on_behalf_of]
    people += [person for branch in open_branches for person in branch.in_place_of]
    return tuple({person.public_id: person for person in people}.values())


async def may_read_step_file(
    ctx: RequestContext, session: AsyncSession, attachment_id: int, *, subjects: Subjects
) -> bool:
    row = await repository.instance_of_file(session, attachment_id)
    return row is not None and await seen(ctx, session, row, subjects=subjects) is not None
