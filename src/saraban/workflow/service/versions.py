"""Versions looked at and tried out: two compared, one drawn, played through, or held against what is finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.identity import service as identity
from saraban.workflow import repository
from saraban.workflow.domain import difference, picture, rehearsal, steering
from saraban.workflow.domain.difference import Change
from saraban.workflow.domain.rehearsal import Parting, Past, Tried, Try
from saraban.workflow.domain.review import ANSWER
from saraban.workflow.models import Instance, WorkflowHistory
from saraban.workflow.repository import review
from saraban.workflow.service import definitions
from saraban.workflow.service.reading import facts_of
from saraban.workflow.service.subjects import Subjects

AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Differing:
    """A finished instance that would have gone another way."""

    instance_public_id: UUID
    number: str | None
    parting: Parting


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a version would have made of finished instances: `unknown` are those whose subject is gone."""

    looked_at: int
    same: int
    unknown: int
    differing: list[Differing]


async def compare(session: AsyncSession, *, code: str, before: int, after: int) -> list[Change]:
    """
    This will say what changed between two versions.

    :raises NotFound: when there is no such version
    """
    rows = [await definitions.find(session, code=code, version=version) for version in (before, after)]
    return difference.difference(rows[0].dsl or {}, rows[1].dsl or {})


async def diagram(session: AsyncSession, *, code: str, version: int, language: str) -> str:
    """This will draw a version for Mermaid."""
    return picture.mermaid(await definitions.version(session, code=code, version=version), language=language)


async def rehearse(
    session: AsyncSession,
    *,
    code: str,
    version: int,
    tries: Sequence[Try],
    document: Mapping[str, Any],
    context: Mapping[str, Any],
) -> list[Tried]:
    """
    This will play a list of actors and actions against a version; nothing is kept.

    :raises Invalid: when the context does not fit the version's schema
    """
    definition = await definitions.version(session, code=code, version=version)
    return rehearsal.rehearse(definition, tries, document=document, context=context)


async def replay(session: AsyncSession, *, subjects: Subjects, code: str, version: int, limit: int) -> Replayed:
    """This will hold a version against the instances of its workflow that ended last, on whatever version they ran."""
    definition = await definitions.version(session, code=code, version=version)
    caller = await identity.system_caller(session)
    rows = await repository.finished(session, code=code, limit=limit)
    differing: list[Differing] = []
    unknown = 0
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        steps = await _steps(session, some)
        known = await facts_of(session, some, caller=caller, subjects=subjects)
        for row in some:
            facts = known.get((row.entity_type, row.entity_id))
            if facts is None:
                unknown += 1
                continue
            parting = rehearsal.replay(definition, steps.get(row.id, ()), facts, caller)
            if parting is not None:
                differing.append(Differing(row.id, facts.number, parting))
    return Replayed(len(rows), len(rows) - unknown - len(differing), unknown, differing)


async def _steps(session: AsyncSession, rows: Sequence[Instance]) -> dict[UUID, list[Past]]:
    """By instance, oldest first: three queries, with the files of all steps and the answers of all reviews."""
    ids = [row.id for row in rows]
    steps = await repository.bare_steps(session, ids)
    files = await attachments.step_attachments(session, [step.id for step in steps])
    answered = any(step.action == ANSWER for step in steps)
    branches = await review.of_instances(session, ids) if answered else ()
    said = {branch.history_id: branch for branch in branches}
    found: dict[UUID, list[Past]] = {}
    for step in steps:
        past = replace(_past(step), with_files=str(step.id) in files)
        branch = said.get(step.id) if step.action == ANSWER else None
        if branch is not None and branch.answer is not None:
            # A hidden review leaves what was said with its branch.
            past = replace(past, comment=branch.comment, answers={branch.name: branch.answer})
        found.setdefault(step.instance_id, []).append(past)
    return found


def _past(step: WorkflowHistory) -> Past:
    details = step.details or {}
    payload, imposed = details.get("payload"), bool(steering.IMPOSED & details.keys())
    answers = details.get("answers")
    return Past(
        step.action,
        step.to_state,
        step.comment,
        payload if isinstance(payload, dict) else {},
        imposed,
        details.get("responseCode"),
        answers if isinstance(answers, dict) else {},
    )
