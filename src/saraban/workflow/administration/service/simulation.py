"""Versions looked at and tried out: two compared, one drawn, played through, or held against what is finished."""

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
    What a version would have made of finished instances.

    :param unknown: those whose subject is gone
    :param left_out: those that ended before the ones that were looked at
    :param next_after: from where the next are looked at; None when none are left
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
    Hold a version against the instances of its workflow that ended last, on whatever version they ran.

    :param after: `next_after` of the ones before
    :raises NotFound: when there is no such version
    :raises Invalid: when `after` is none that was given
    """
    definition = await versions.version(session, code=code, version=version)
    caller = await identity.system_caller(session)
    place = Cursor.decode(after, pointer="/after") if after else None
    differing: list[DifferingInstance] = []
    looked_at = unknown = 0
    while looked_at < limit:
        rows = await closed_page(session, code=code, after=place, limit=min(AT_ONCE, limit - looked_at))
        if not rows:
            break
        place = Cursor(rows[-1].last_transition_at, rows[-1].id)
        looked_at += len(rows)
        steps = await _steps(session, rows)
        known = await facts_of(session, rows, caller=caller, subjects=subjects)
        for row in rows:
            facts = known.get((row.entity_type, row.entity_id))
            if facts is None:
                unknown += 1
                continue
            parting = history_replay.replay(definition, steps.get(row.id, ()), facts, caller)
            if parting is not None:
                differing.append(DifferingInstance(row.id, facts.number, parting))
    left_out = await closed_count(session, code=code, after=place)
    following = place.encode() if place is not None and left_out else None
    return ReplayReport(looked_at, looked_at - unknown - len(differing), unknown, differing, left_out, following)


async def _steps(session: AsyncSession, instances: Sequence[Instance]) -> dict[UUID, list[RecordedStep]]:
    """By instance, oldest first: at most four queries, with the files of all steps and the answers that may be known."""
    ids = [row.id for row in instances]
    steps = await repository.bare_steps(session, ids)
    files = await attachments.step_attachments(session, [step.id for step in steps])
    answered = any(step.action == ANSWER for step in steps)
    rows = await assignee_rows.of_instances(session, ids) if answered else ()
    kept = await branches.hidden_answers(session, rows)
    said = {branch.history_id: branch for branch in rows if not kept.hides(branch)}
    found: dict[UUID, list[RecordedStep]] = {}
    for step in steps:
        past = replace(_past(step), with_files=str(step.id) in files)
        branch = said.get(step.id) if step.action == ANSWER else None
        if branch is not None and branch.answer is not None:
            # A hidden review leaves what was said with its branch, and for ever to it where no verdict fell.
            past = replace(past, comment=branch.comment, answers={branch.name: branch.answer})
        found.setdefault(step.instance_id, []).append(past)
    return found


def _past(step: WorkflowHistory) -> RecordedStep:
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
        who=None if automatic else _who(step, details.get("seats")),
        automatic=automatic,
        given_to=_given_to(details),
    )


def _who(step: WorkflowHistory, seats: Json) -> RecordedActor | None:
    if step.action_by_user_id is None or step.action_by_user_uuid is None:
        return None
    acted_for = frozenset(seats) if isinstance(seats, list) else None
    if step.on_behalf_of_user_id is None or step.on_behalf_of_user_uuid is None:
        return RecordedActor(step.action_by_user_id, UUID(step.action_by_user_uuid), acted_for)
    absent = UUID(step.on_behalf_of_user_uuid)
    return RecordedActor(step.on_behalf_of_user_id, absent, acted_for, deputy_id=step.action_by_user_id)


def _given_to(details: JsonObject) -> UUID | None:
    """The one person to whom a step gave the state that it led to, or an administrator the present one."""
    assigned, reassigned = details.get("assigned"), details.get("reassigned")
    if isinstance(reassigned, dict) and "branch" not in reassigned:
        return UUID(reassigned["after"]["publicId"])
    if not isinstance(assigned, dict) or assigned.get("dropped") is not None or not assigned.get("userPublicId"):
        return None
    return UUID(assigned["userPublicId"])
