"""
What people read of running instances: the inbox, one instance with its subject, and the steps that were taken.
"""

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

MOST_STEPS = 1_000
MOST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Task:
    """
    Something that waits for the caller; `since` is when it began to.

    :param on_behalf_of: whom it waits for, when it waits for the caller in their place alone
    """

    envelope: Envelope
    since: datetime
    on_behalf_of: tuple[PersonRef, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """
    One row of a history, with the words of the version it ran on; `forced` is a step against that definition.

    :param automatic: the engine took it by itself after the step before
    :param reassigned: who was in charge `before`, where it was one person, and `after`
    :param migrated: the versions `before` and `after`
    :param assignment: to whom the state it leads to was given, and why that was dropped, if it was
    :param on_behalf_of: in whose place the actor acted, who was away
    :param values: that came with it
    :param item_results: answers to single items of an RFA, as `ItemResultIn` has them
    :param nobody: at that moment nobody who may see it could act in the state it leads to, or answer for a branch of it
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
    :param now: when given, what the caller may do in the place of others at that moment counts too
    :raises NotFound: when there is none, or the caller may not see what it moves
    """
    one = await find_instance(ctx, session, subjects=subjects, public_id=public_id)
    files = await instances.step_files(session, [one.row.id])
    seats = (await _lent(ctx, session, now)).of(one.definition.code, one.facts.scope.project)
    waits = await pending_with_exactly(session, one)
    one = replace(one, seats=seats)
    return await instances.envelope_of(ctx, session, one, files=files.get(one.row.id, ()), waits=waits)


async def _lent(ctx: RequestContext, session: AsyncSession, now: datetime | None) -> DelegatedRights:
    return await delegated_rights_of(replace(ctx, now=now), session) if now is not None else NO_DELEGATED_RIGHTS


async def history(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID
) -> tuple[HistoryStep, ...]:
    """
    Return the steps of one instance, oldest first.

    :raises NotFound: when there is none, or the caller may not see what it moves
    """
    one = await find_instance(ctx, session, subjects=subjects, public_id=public_id)
    return await steps_of(session, [one])


def states_ahead(one: InstanceState) -> tuple[Text, ...]:
    if one.row.status != InstanceStatus.ACTIVE:
        return ()
    return tuple(state.label for state in decisions.expected_path(one.definition, one.row.current_state))


async def steps_of(session: AsyncSession, states: Iterable[InstanceState]) -> tuple[HistoryStep, ...]:
    """Return the steps of several instances, oldest first; whether the caller sees them is the caller's check."""
    known = {one.row.id: one.definition for one in states}
    steps = await repository.steps_of(session, list(known), limit=MOST_STEPS) if known else ()
    if not steps:
        return ()
    files = await attachments.step_attachments(session, [step.id for step in steps])
    told = await branches.history_answers(session, steps, known)
    values = _values(steps, known)
    return tuple(
        _step(
            step,
            known[step.instance_id],
            files.get(str(step.id), ()),
            told.get(step.id),
            values.get(step.id, ()),
        )
        for step in steps
        if not branches.hides(told, step)
    )


def _values(steps: Sequence[StepRow], known: Mapping[UUID, Definition]) -> dict[UUID, tuple[ChangedValueOut, ...]]:
    found: dict[UUID, tuple[ChangedValueOut, ...]] = {}
    contexts: dict[UUID, dict[str, Json]] = {}
    for step in steps:
        payload = (step.details or {}).get("payload")
        if isinstance(payload, dict):
            definition, before = known[step.instance_id], contexts.get(step.instance_id, {})
            found[step.id] = changed_values(definition, payload, step_data.remembered(before))
            contexts[step.instance_id] = step_data.after(definition, before, payload)
    return found


def _step(
    step: StepRow,
    definition: Definition,
    files: Sequence[AttachmentRow],
    told: branches.HistoryAnswer | None,
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
        action_label=told.label if told else interventions.words_of(definition, step.from_state, step.action),
        forced=bool(details.get("forced")),
        response_code=as_text(details.get("responseCode")),
        automatic=bool(details.get("automatic")),
        nobody=bool(details.get("nobody")),
        assignment=as_object(details.get("assigned")) or None,
        reassigned=as_object(details.get("reassigned")) or None,
        migrated=as_object(details.get("migrated")) or None,
        comment=told.comment if told else step.comment,
        actor=_actor(step),
        on_behalf_of=_person(step.absent),
        attachments=tuple(files),
        values=values,
        item_results=details.get("itemResults") or [],
        created_at=step.created_at,
    )


def _state_label(definition: Definition, name: str) -> Text:
    known = name in definition.states or name in ENDS
    return definition.state(name).label if known else Text(name, name)


def _person(row: UserName | None) -> PersonRef | None:
    return PersonRef(public_id=row.public_id, display_name=display_name(row)) if row is not None else None


def _actor(step: StepRow) -> ActorOut | None:
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
    Return what waits for the caller, newest first.

    Work items say for whom it waits; permissions and conditions are judged for the page alone, so a page can be
    shorter than `limit` and still have a next one.

    :param now: when given, what waits for those in whose place the caller stands at that moment is there too
    """
    lent = await _lent(ctx, session, now)
    after = Cursor.decode(cursor) if cursor else None
    items: list[Task] = []
    for _ in range(MOST_ROUNDS):
        # What is lent counts within organizations that both work for, so the caller's own are all that can be asked.
        places = await repository.inbox_page(
            session,
            users={ctx.caller.user_id} | lent.user_ids,
            organizations=ctx.caller.organization_ids,
            after=after,
            limit=limit + 1,
        )
        found = await _actionable(ctx, session, places[:limit], subjects=subjects, lent=lent)
        for since, instance_id in places[:limit]:
            after = Cursor(since, instance_id)
            if instance_id in found:
                items.append(found[instance_id])
            if len(items) == limit:
                break
        more = len(places) > limit or (bool(places) and after != Cursor(*places[-1]))
        if len(items) == limit or not more:
            break
    return Page(items, after.encode() if more and after else None)


async def awaited_instances(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, instances: Collection[UUID]
) -> frozenset[UUID]:
    """Return which of some instances wait for the caller now, in their own right or in the place of others."""
    lent = await delegated_rights_of(ctx, session)
    users = {ctx.caller.user_id} | lent.user_ids
    places = await repository.work_items(session, instances, users=users, organizations=ctx.caller.organization_ids)
    return frozenset(await _actionable(ctx, session, places, subjects=subjects, lent=lent))


async def _actionable(
    ctx: RequestContext,
    session: AsyncSession,
    places: Sequence[tuple[datetime, UUID]],
    *,
    subjects: Subjects,
    lent: DelegatedRights,
) -> dict[UUID, Task]:
    since = {instance_id: moment for moment, instance_id in places}
    rows = await repository.instances(session, list(since)) if since else []
    facts = await facts_of(session, rows, caller=ctx.caller, subjects=subjects)
    known = []
    for row in rows:
        definition = await definitions.load(session, row.definition_id)
        seen = facts.get((row.entity_type, row.entity_id))
        if seen is not None:
            lenders = lent.of(definition.code, seen.scope.project)
            known.append(InstanceState(row, definition, seen, lenders))
    asked = await branches.visible_branches(ctx, session, known)
    waits = await pending_with(session, known)
    found: dict[UUID, Task] = {}
    for one in known:
        row, mine = one.row, asked.get(one.row.id, ())
        envelope = instances.envelope(ctx, one, asked=mine, waits=waits[row.id])
        asks = [choice for choice in envelope.actions if not one.state.on[choice.code].optional]
        offered = [branch for branch in mine if branch.may_answer]
        if asks or offered:
            others = _represented(asks, offered)
            found[row.id] = Task(envelope, since[row.id], others)
    return found


def _represented(asks: Sequence[ActionOut], offered: Sequence[BranchOut]) -> tuple[PersonRef, ...]:
    """Whom it waits for, each once; nobody in particular when the caller may act in their own right."""
    if any(choice.in_own_right for choice in asks) or any(branch.in_own_right for branch in offered):
        return ()
    lent = [person for choice in asks for person in choice.on_behalf_of]
    lent += [one for branch in offered for one in branch.in_place_of]
    return tuple({person.public_id: person for person in lent}.values())


async def may_read_step_file(
    ctx: RequestContext, session: AsyncSession, attachment_id: int, *, subjects: Subjects
) -> bool:
    """Return whether a file is evidence of a step that the caller may see; `bootstrap` binds `subjects`."""
    row = await repository.instance_of_file(session, attachment_id)
    return row is not None and await seen(ctx, session, row, subjects=subjects) is not None
