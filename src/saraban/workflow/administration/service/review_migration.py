"""
The branches of a review whose instance goes on under another version: read before it is decided, and rewritten with the move.

All of it is done under the instance's row lock, in the transaction that moves it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.json import Json
from saraban.workflow.administration.domain.review_migration import MigratedBranch, MigratedReview
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import Assignee, BranchStatus, Review
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime.models import Instance, WorkflowBranch
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import branches
from saraban.workflow.runtime.service.transition_request import VersionLost

Round = Sequence[WorkflowBranch]


async def rounds(
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


def asked(round_: Round, secret: branches.HiddenAnswers) -> tuple[MigratedBranch, ...]:
    return tuple(
        MigratedBranch(row.name, row.status == BranchStatus.PENDING, row.answer, secret.hides(row)) for row in round_
    )


async def silent(session: AsyncSession, carried: MigratedReview, *, facts: SubjectFacts, state: str) -> bool:
    """Return whether there is nobody to answer some branch of those that would be asked."""
    asked = {branch.assignee for branch in carried.anew}
    return not all((await branches.answerers(session, asked, facts=facts, state=state)).values())


async def carry(
    session: AsyncSession, row: Instance, after: Review, round_: Round, carried: MigratedReview, *, now: datetime
) -> None:
    """
    Let the branches of an instance that stays in its state be those that its new version asks.

    They are of the round that is under way; where there was none, of one that begins with the version that the move makes.
    Every branch that still waits gets a new version: whoever has the old question before them is told so when they answer.
    """
    opened = round_[0].opened_version if round_ else row.version_no + 1
    anew = {branch.name: branch.assignee for branch in carried.anew}
    places = {name: place for place, name in enumerate(after.branches)}
    for place, one in enumerate(round_):
        # What is asked no more stands behind what is.
        values = {"position": places.get(one.name, len(places) + place), "updated_at": now}
        values |= _asks(anew[one.name]) if one.name in anew else {}
        values |= {"status": BranchStatus.SKIPPED} if one.name in carried.closed else {}
        if not await assignee_rows.rewrite(session, public_id=one.id, expected=one.version_no, values=values):
            raise VersionLost("The branch changed between the lock and the update.")
    there = {one.name for one in round_}
    rows = [branches.row_of(row, opened, one.name, after, now) for one in carried.opened if one.name not in there]
    if rows:
        await assignee_rows.add(session, rows)


def _asks(assignee: Assignee) -> dict[str, Json]:
    return {"status": BranchStatus.PENDING, "assignee_kind": assignee.kind, "assignee_name": assignee.name}


def told(carried: MigratedReview | None) -> dict[str, Json]:
    """Return what a history keeps of it, nothing where all branches are what they were."""
    if carried is None:
        return {}
    names = {
        "opened": [branch.name for branch in carried.opened],
        "asked": [branch.name for branch in carried.asked],
        "closed": list(carried.closed),
    }
    return {"branches": {key: each for key, each in names.items() if each}} if any(names.values()) else {}
