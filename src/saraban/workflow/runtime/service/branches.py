"""
The branches of a parallel review as rows: opened when a state is entered, closed when it is left, shown to who may see them.

What an answer does is `review`'s business.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.identity.schemas import PersonRef
from saraban.identity.service.callers import display_name
from saraban.kit.db import AnyRow
from saraban.kit.errors import Text
from saraban.kit.ids import new_id
from saraban.projects import service as projects
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import (
    ANSWER,
    Assignee,
    BranchAssigneeOut,
    BranchOut,
    BranchStatus,
    Kind,
    ResponseOut,
    Review,
)
from saraban.workflow.language.subject import InstanceStatus, SubjectFacts
from saraban.workflow.runtime.domain.review_response import ReviewSeat, may_answer
from saraban.workflow.runtime.models import Instance, WorkflowBranch
from saraban.workflow.runtime.repository import StepRow, assignee_rows
from saraban.workflow.runtime.service.subjects import InstanceState, readers

SEATED = ("team", "discipline")


async def open_round(session: AsyncSession, one: InstanceState, *, now: datetime) -> None:
    """
    Close what the state before asked, and open what the present state of an instance asks.

    :param one: as it stands after the step
    """
    row, review = one.row, one.state.review
    await assignee_rows.close(session, instance_id=row.id, now=now)
    if review is not None and row.status == InstanceStatus.ACTIVE:
        opened = [row_of(row, row.version_no, name, review, now) for name in review.branches]
        await assignee_rows.add(session, opened)


def row_of(instance: Instance, opened_version: int, name: str, review: Review, now: datetime) -> dict[str, object]:
    assignee = review.branches[name].assignee
    return {
        "id": new_id(),
        "instance_id": instance.id,
        "state": instance.current_state,
        "opened_version": opened_version,
        "position": list(review.branches).index(name),
        "name": name,
        "assignee_kind": assignee.kind,
        "assignee_name": assignee.name,
        "status": BranchStatus.PENDING,
        "version_no": 1,
        "created_at": now,
        "updated_at": now,
    }


async def people(session: AsyncSession, one: InstanceState) -> dict[Assignee, frozenset[int]]:
    """
    Return, for each who is asked by a branch that still waits, everybody who may see the subject and answer; for
    those who write it down: what people may do is not changed until the transaction ends.

    Who submitted it is among them only where a branch names them.
    """
    rows = await assignee_rows.of_instances(session, [one.row.id])
    waiting = [row for row in rows if row.status == BranchStatus.PENDING]
    if not waiting:
        return {}
    await identity.share_rights(session)
    asked = [assignee_of(row) for row in waiting]
    return await answerers(session, asked, facts=one.facts, state=waiting[0].state)


async def answerers(
    session: AsyncSession, asked: Collection[Assignee], *, facts: SubjectFacts, state: str
) -> dict[Assignee, frozenset[int]]:
    """Return everybody who may see the subject in a state and is one of those who are asked, for each of these."""
    named: dict[str, set[str]] = {}
    for one in asked:
        named.setdefault(one.kind, set()).add(one.name)
    scope = facts.scope
    roles = named.get("role", ())
    in_role = await assignee_rows.holders(session, roles=roles, permissions=(), scope=scope) if roles else ()
    seats: dict[int, set[ReviewSeat]] = {}
    if scope.project is not None and not named.keys().isdisjoint(SEATED):
        for seat in await projects.memberships(session, project_ids=[scope.project]):
            if seat.team in named.get("team", ()) or seat.discipline in named.get("discipline", ()):
                seats.setdefault(seat.user_id, set()).add(ReviewSeat(seat.team, seat.discipline))
    by_name = (UUID(key) for key in named.get("user", ()))
    people = await readers(session, seats.keys(), named=(*by_name, *in_role), facts=facts, state=state)
    return {
        one: frozenset(
            person.user_id for person in people if may_answer(one, person, facts, seats.get(person.user_id, ()))
        )
        for one in asked
    }


async def seats_of(
    session: AsyncSession, *, user_ids: Collection[int], project_ids: Collection[int]
) -> dict[tuple[int, int], frozenset[ReviewSeat]]:
    """Return where people sit, by (person, project)."""
    found: dict[tuple[int, int], set[ReviewSeat]] = {}
    for seat in await projects.memberships(session, project_ids=project_ids, user_ids=user_ids):
        found.setdefault((seat.user_id, seat.project_id), set()).add(ReviewSeat(seat.team, seat.discipline))
    return {key: frozenset(value) for key, value in found.items()}


async def visible_branches(
    ctx: RequestContext, session: AsyncSession, instances: Iterable[InstanceState]
) -> dict[UUID, tuple[BranchOut, ...]]:
    """
    Return the branches of the latest round of each instance as the caller may see them, in a fixed number of queries.

    Instances whose definition asks for no review cost none.
    """
    reviewed = {each.row.id: each for each in instances if each.definition.reviews}
    if not reviewed:
        return {}
    rows = await assignee_rows.latest_rounds(session, list(reviewed))
    rounds: dict[UUID, list[Any]] = {}
    for row in rows:
        rounds.setdefault(row.WorkflowBranch.instance_id, []).append(row)
    branches = [row.WorkflowBranch for row in rows]
    asking = {row.instance_id for row in branches if row.assignee_kind in SEATED and row.status == BranchStatus.PENDING}
    places = {reviewed[key].facts.scope.project for key in asking} - {None}
    waited = await _waited_for(session, branches)
    people = {ctx.caller.user_id} | {seat.user_id for key in asking for seat in reviewed[key].seats}
    people |= {person.user_id for key in asking for person in waited.get(key, ())}
    seats = await seats_of(session, user_ids=people, project_ids=[key for key in places if key is not None])
    kept, names = await hidden_answers(session, branches), await _names(session, branches)
    found: dict[UUID, tuple[BranchOut, ...]] = {}
    for key, each in rounds.items():
        latest = _Round(reviewed[key], ctx.caller, seats, kept, names, waited.get(key, ()))
        found[key] = tuple(latest.view(row) for row in each)
    return found


async def _waited_for(session: AsyncSession, rows: Sequence[WorkflowBranch]) -> dict[UUID, list[Caller]]:
    open_ = {row.instance_id for row in rows if row.status == BranchStatus.PENDING}
    pairs = await assignee_rows.waited_for(session, open_) if open_ else ()
    callers = await identity.load_callers(session, {person for _, person in pairs}) if pairs else {}
    found: dict[UUID, list[Caller]] = {}
    for instance_id, public_id in pairs:
        if public_id in callers:
            found.setdefault(instance_id, []).append(callers[public_id])
    return found


async def _names(session: AsyncSession, rows: Sequence[WorkflowBranch]) -> dict[str, str]:
    asked = {UUID(row.assignee_name) for row in rows if row.assignee_kind == "user"}
    found = await assignee_rows.names(session, asked) if asked else ()
    return {str(row.public_id): display_name(row) for row in found}


@dataclass(frozen=True, slots=True)
class HiddenAnswers:
    """
    Which answers are kept from readers: those given hidden, in rounds that came to no verdict (yet, or at all).

    What was promised when an answer was given holds, whatever the definition says since.
    """

    unsaid: frozenset[UUID]
    decided: frozenset[tuple[UUID, int]]

    def hides(self, row: WorkflowBranch) -> bool:
        return row.history_id in self.unsaid and (row.instance_id, row.opened_version) not in self.decided


async def hidden_answers(session: AsyncSession, rows: Sequence[WorkflowBranch]) -> HiddenAnswers:
    answered = {row.instance_id for row in rows if row.history_id is not None}
    words = await assignee_rows.words_of(session, answered) if answered else []
    rounds: dict[UUID, set[int]] = {}
    for row in rows:
        rounds.setdefault(row.instance_id, set()).add(row.opened_version)
    decided = set()
    for word in words:
        if word.action != ANSWER:
            # A verdict is of the last round that was opened before the version it made.
            before = [opened for opened in rounds[word.instance_id] if opened < word.details["versionNo"]]
            decided |= {(word.instance_id, max(before))} if before else set()
    unsaid = {word.id for word in words if word.action == ANSWER and "answer" not in (word.details or {})}
    return HiddenAnswers(frozenset(unsaid), frozenset(decided))


@dataclass(frozen=True, slots=True)
class _Round:
    """
    The latest round of one instance, with what one caller is told of it by.

    :param seats: where people sit, by (person, project)
    :param names: of people, by their public ids
    :param waited: who is asked in person
    """

    one: InstanceState
    caller: Caller
    seats: Mapping[tuple[int, int], frozenset[ReviewSeat]]
    kept: HiddenAnswers
    names: Mapping[str, str]
    waited: Sequence[Caller]

    def _may(self, branch: WorkflowBranch, person: Caller, deputy: Caller | None = None) -> bool:
        facts = self.one.facts
        seats = self.seats.get((person.user_id, facts.scope.project or 0), frozenset())
        return may_answer(assignee_of(branch), person, facts, seats, deputy=deputy)

    def view(self, found: Any) -> BranchOut:
        row: WorkflowBranch = found.WorkflowBranch
        caller, state = self.caller, self.one.definition.states.get(row.state)
        review = state.review if state is not None else None
        asked = review.branches.get(row.name) if review is not None else None
        waits = row.status == BranchStatus.PENDING
        others = [seat for seat in self.one.seats if self._may(row, seat, deputy=caller)]
        in_own_right = self._may(row, caller)
        offers = review is not None and waits and (in_own_right or bool(others))
        own = caller.user_id in (row.answered_by_user_id, row.on_behalf_of_user_id)
        seen = row.status == BranchStatus.ANSWERED and (own or not self.kept.hides(row))
        name = row.assignee_name
        return BranchOut(
            public_id=row.id,
            name=row.name,
            label=asked.label if asked is not None else Text(row.name, row.name),
            assignee=BranchAssigneeOut(kind=assignee_of(row).kind, name=name, display_name=self.names.get(name, name)),
            status=BranchStatus(row.status),
            version_no=row.version_no,
            may_answer=offers,
            nobody=waits and not any(self._may(row, person) for person in self.waited),
            attachments=review is not None and not review.hidden,
            in_own_right=offers and in_own_right,
            in_place_of=[PersonRef.model_validate(seat) for seat in others if offers],
            choices=_offered(review) if offers and review is not None else [],
            answer=row.answer if seen else None,
            answer_label=_answer_label(review, row.answer) if seen else None,
            comment=row.comment if seen else None,
            answered_by=_person(found.by) if seen else None,
            on_behalf_of=_person(found.behalf) if seen else None,
            answered_at=row.answered_at if seen else None,
        )


def _offered(review: Review) -> list[ResponseOut]:
    return [
        ResponseOut(code=code, label=choice.label, comment_required=choice.comment_required)
        for code, choice in review.answers.items()
    ]


def _answer_label(review: Review | None, code: str | None) -> Text | None:
    if code is None:
        return None
    choice = review.answers.get(code) if review is not None else None
    return choice.label if choice is not None else Text(code, code)


def _person(found: AnyRow) -> PersonRef | None:
    if found.public_id is None:
        return None
    return PersonRef(public_id=found.public_id, display_name=display_name(found))


def assignee_of(row: WorkflowBranch) -> Assignee:
    kind: Kind = row.assignee_kind  # type: ignore[assignment]  # written from an Assignee
    return Assignee(kind, row.assignee_name)


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    label: Text
    comment: str | None


async def history_answers(
    session: AsyncSession, steps: Sequence[StepRow], definitions: Mapping[UUID, Definition]
) -> dict[UUID, HistoryAnswer | None]:
    """
    Return what a history says of each answer among its steps, None for one that is still hidden.

    :param definitions: by instance
    """
    ids = {step.instance_id for step in steps if step.action == ANSWER}
    if not ids:
        return {}
    rows = await assignee_rows.of_instances(session, ids)
    kept = await hidden_answers(session, rows)
    found: dict[UUID, HistoryAnswer | None] = {}
    for row in rows:
        if row.history_id is None:
            continue
        state = definitions[row.instance_id].states.get(row.state)
        review = state.review if state is not None else None
        found[row.history_id] = None if kept.hides(row) else HistoryAnswer(_words(row, review), row.comment)
    return found


def hides(found: Mapping[UUID, HistoryAnswer | None], step: StepRow) -> bool:
    """Whether a step is an answer that nobody is to know of yet."""
    return step.action == ANSWER and found.get(step.id) is None


def _words(row: WorkflowBranch, review: Review | None) -> Text:
    asked = review.branches.get(row.name) if review is not None else None
    branch = asked.label if asked is not None else Text(row.name, row.name)
    answer = _answer_label(review, row.answer) or Text("", "")
    return Text(f"{branch.th}: {answer.th}", f"{branch.en}: {answer.en}")
