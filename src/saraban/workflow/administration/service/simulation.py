"""Replay finished instances on a version."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.identity import service as identity
from saraban.kit.json import Json, JsonObject, as_text
from saraban.kit.pagination import Cursor
from saraban.workflow.administration.domain import history_replay
from saraban.workflow.administration.domain.history_replay import Divergence, RecordedActor, RecordedStep
from saraban.workflow.administration.repository import closed_count, closed_page
from saraban.workflow.administration.service import versions
from saraban.workflow.language.review import ANSWER
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import interventions
from saraban.workflow.runtime.models import Instance, WorkflowHistory
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import branches
from saraban.workflow.runtime.service.subjects import Subjects, facts_of

AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class DifferingInstance:
    instance_public_id: UUID
    number: str | None
    parting: Divergence


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """
    :param unknown: instances without a readable subject
    :param left_out: instances that ended earlier
    """

    looked_at: int
    same: int
    unknown: int
    differing: list[DifferingInstance]
    left_out: int = 0
    next_after: str | None = None


async def replay(
    session: AsyncSession, *, subjects: Subjects, code: str, version: int, limit: int, after: str | None = None
) -> ReplayReport:
    """
    Replay the latest finished instances of a workflow on a version.
    :raises NotFound: for an unknown version
    :raises Invalid: for an invalid `after`
    """
    definition = await versions.version(session, code=code, version=version)
    caller = await identity.system_caller(session)
    cursor = Cursor.decode(after, pointer="/after") if after else None
    differing: list[DifferingInstance] = []
    looked_at = unknown = 0
    while looked_at < limit:
        rows = await closed_page(session, code=code, after=cursor, limit=min(AT_ONCE, limit - looked_at))
        if not rows:
            break
        cursor = Cursor(rows[-1].last_transition_at, rows[-1].id)
        looked_at += len(rows)
        steps = await _steps(session, rows)
        facts_by_entity = await facts_of(session, rows, caller=caller, subjects=subjects)
        for row in rows:
            facts = facts_by_entity.get((row.entity_type, row.entity_id))
            if facts is None:
                unknown += 1
                continue
            divergence = history_replay.replay(definition, steps.get(row.id, ()), facts, caller)
            if divergence is not None:
                differing.append(DifferingInstance(row.id, facts.number, divergence))
    left_out = await closed_count(session, code=code, after=cursor)
    following = cursor.encode() if cursor is not None and left_out else None
    return ReplayReport(looked_at, looked_at - unknown - len(differing), unknown, differing, left_out, following)


async def _steps(session: AsyncSession, instances: Sequence[Instance]) -> dict[UUID, list[RecordedStep]]:
    """Use at most four queries."""
    ids = [row.id for row in instances]
    steps = await repository.bare_steps(session, ids)
    files = await attachments.step_attachments(session, [step.id for step in steps])
    has_answers = any(step.action == ANSWER for step in steps)
    rows = await assignee_rows.of_instances(session, ids) if has_answers else ()
    hidden = await branches.hidden_answers(session, rows)
    branch_by_step = {branch.history_id: branch for branch in rows if not hidden.hides(branch)}
    steps_by_instance: dict[UUID, list[RecordedStep]] = {}
    for step in steps:
        recorded = replace(_recorded_step(step), with_files=str(step.id) in files)
        branch = branch_by_step.get(step.id) if step.action == ANSWER else None
        if branch is not None and branch.answer is not None:
            # Only the branch contains the answer of a hidden review without a result.
            recorded = replace(recorded, comment=branch.comment, answers={branch.name: branch.answer})
        steps_by_instance.setdefault(step.instance_id, []).append(recorded)
    return steps_by_instance


def _recorded_step(step: WorkflowHistory) -> RecordedStep:
    details = step.details or {}
    payload, imposed = details.get("payload"), bool(interventions.IMPOSED & details.keys())
    answers = details.get("answers")
    automatic = bool(details.get("automatic"))
    return RecordedStep(
        step.action,
        step.to_state,
        step.comment,
        payload if isinstance(payload, dict) else {},
        imposed,
        as_text(details.get("responseCode")),
        answers if isinstance(answers, dict) else {},
        who=None if automatic else _recorded_actor(step, details.get("seats")),
        automatic=automatic,
        given_to=_assigned_person(details),
    )


def _recorded_actor(step: WorkflowHistory, seats: Json) -> RecordedActor | None:
    if step.action_by_user_id is None or step.action_by_user_uuid is None:
        return None
    acted_for = frozenset(seats) if isinstance(seats, list) else None
    if step.on_behalf_of_user_id is None or step.on_behalf_of_user_uuid is None:
        return RecordedActor(step.action_by_user_id, UUID(step.action_by_user_uuid), acted_for)
    absent = UUID(step.on_behalf_of_user_uuid)
    return RecordedActor(step.on_behalf_of_user_id, absent, acted_for, deputy_id=step.action_by_user_id)


def _assigned_person(details: JsonObject) -> UUID | None:
    assigned, reassigned = details.get("assigned"), details.get("reassigned")
    if isinstance(reassigned, dict) and "branch" not in reassigned:
        return UUID(reassigned["after"]["publicId"])
    if not isinstance(assigned, dict) or assigned.get("dropped") is not None or not assigned.get("userPublicId"):
        return None
    return UUID(assigned["userPublicId"])
