"""The branches of a parallel review as rows."""

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


async def open_round(session: AsyncSession, instance: InstanceState, *, now: datetime) -> None:
    row, review = instance.row, instance.state.review
    await assignee_rows.close(session, instance_id=row.id, now=now)
    if review is not None and row.status == InstanceStatus.ACTIVE:
        rows = [row_of(row, row.version_no, name, review, now) for name in review.branches]
        await assignee_rows.add(session, rows)


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


async def people(session: AsyncSession, instance: InstanceState) -> dict[Assignee, frozenset[int]]:
    """
    Return the users who may see the subject and answer, by assignee of the pending branches.

    Locks the rights of people until the transaction ends.
    """
    rows = await assignee_rows.of_instances(session, [instance.row.id])
    pending = [row for row in rows if row.status == BranchStatus.PENDING]
    if not pending:
        return {}
    await identity.share_rights(session)
    assignees = [assignee_of(row) for row in pending]
    return await answerers(session, assignees, facts=instance.facts, state=pending[0].state)


async def answerers(
    session: AsyncSession, assignees: Collection[Assignee], *, facts: SubjectFacts, state: str
) -> dict[Assignee, frozenset[int]]:
    names_by_kind: dict[str, set[str]] = {}
    for assignee in assignees:
        names_by_kind.setdefault(assignee.kind, set()).add(assignee.name)
    scope = facts.scope
    roles = names_by_kind.get("role", ())
    in_role = await assignee_rows.holders(session, roles=roles, permissions=(), scope=scope) if roles else ()
    seats: dict[int, set[ReviewSeat]] = {}
    if scope.project is not None and not names_by_kind.keys().isdisjoint(SEATED):
        for seat in await projects.memberships(session, project_ids=[scope.project]):
            if seat.team in names_by_kind.get("team", ()) or seat.discipline in names_by_kind.get("discipline", ()):
                seats.setdefault(seat.user_id, set()).add(ReviewSeat(seat.team, seat.discipline))
    named_people = (UUID(key) for key in names_by_kind.get("user", ()))
    people = await readers(session, seats.keys(), named=(*named_people, *in_role), facts=facts, state=state)
    return {
        assignee: frozenset(
            person.user_id for person in people if may_answer(assignee, person, facts, seats.get(person.user_id, ()))
        )
        for assignee in assignees
    }


async def seats_of(
    session: AsyncSession, *, user_ids: Collection[int], project_ids: Collection[int]
) -> dict[tuple[int, int], frozenset[ReviewSeat]]:
    """Return the review teams of people, by (user id, project id)."""
    seats: dict[tuple[int, int], set[ReviewSeat]] = {}
    for seat in await projects.memberships(session, project_ids=project_ids, user_ids=user_ids):
        seats.setdefault((seat.user_id, seat.project_id), set()).add(ReviewSeat(seat.team, seat.discipline))
    return {key: frozenset(value) for key, value in seats.items()}


async def visible_branches(
    ctx: RequestContext, session: AsyncSession, instances: Iterable[InstanceState]
) -> dict[UUID, tuple[BranchOut, ...]]:
    """Return the latest rounds as the caller may see them, in a fixed number of queries."""
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
    assignees = await _load_assignees(session, branches)
    people = {ctx.caller.user_id} | {seat.user_id for key in asking for seat in reviewed[key].seats}
    people |= {person.user_id for key in asking for person in assignees.get(key, ())}
    seats = await seats_of(session, user_ids=people, project_ids=[key for key in places if key is not None])
    hidden, names = await hidden_answers(session, branches), await _assignee_names(session, branches)
    visible: dict[UUID, tuple[BranchOut, ...]] = {}
    for key, each in rounds.items():
        latest = _Round(reviewed[key], ctx.caller, seats, hidden, names, assignees.get(key, ()))
        visible[key] = tuple(latest.view(row) for row in each)
    return visible


async def _load_assignees(session: AsyncSession, rows: Sequence[WorkflowBranch]) -> dict[UUID, list[Caller]]:
    pending_ids = {row.instance_id for row in rows if row.status == BranchStatus.PENDING}
    pairs = await assignee_rows.waited_for(session, pending_ids) if pending_ids else ()
    callers = await identity.load_callers(session, {person for _, person in pairs}) if pairs else {}
    assignees: dict[UUID, list[Caller]] = {}
    for instance_id, public_id in pairs:
        if public_id in callers:
            assignees.setdefault(instance_id, []).append(callers[public_id])
    return assignees


async def _assignee_names(session: AsyncSession, rows: Sequence[WorkflowBranch]) -> dict[str, str]:
    public_ids = {UUID(row.assignee_name) for row in rows if row.assignee_kind == "user"}
    people = await assignee_rows.names(session, public_ids) if public_ids else ()
    return {str(row.public_id): display_name(row) for row in people}


@dataclass(frozen=True, slots=True)
class HiddenAnswers:
    """
    Answers given hidden, in rounds without a verdict; they stay hidden if the definition changes.

    :param unsaid: histories of hidden answers
    :param decided: (instance id, opened version) of rounds with a verdict
    """

    unsaid: frozenset[UUID]
    decided: frozenset[tuple[UUID, int]]

    def hides(self, row: WorkflowBranch) -> bool:
        return row.history_id in self.unsaid and (row.instance_id, row.opened_version) not in self.decided


async def hidden_answers(session: AsyncSession, rows: Sequence[WorkflowBranch]) -> HiddenAnswers:
    answered = {row.instance_id for row in rows if row.history_id is not None}
    histories = await assignee_rows.words_of(session, answered) if answered else []
    rounds: dict[UUID, set[int]] = {}
    for row in rows:
        rounds.setdefault(row.instance_id, set()).add(row.opened_version)
    decided = set()
    for history in histories:
        if history.action != ANSWER:
            # A verdict is of the last round that was opened before the version it made.
            before = [opened for opened in rounds[history.instance_id] if opened < history.details["versionNo"]]
            decided |= {(history.instance_id, max(before))} if before else set()
    unsaid = {
        history.id for history in histories if history.action == ANSWER and "answer" not in (history.details or {})
    }
    return HiddenAnswers(frozenset(unsaid), frozenset(decided))


@dataclass(frozen=True, slots=True)
class _Round:
    """:param seats: by (user id, project id)"""

    instance: InstanceState
    caller: Caller
    seats: Mapping[tuple[int, int], frozenset[ReviewSeat]]
    hidden: HiddenAnswers
    names: Mapping[str, str]
    assignees: Sequence[Caller]

    def _can_answer(self, branch: WorkflowBranch, person: Caller, deputy: Caller | None = None) -> bool:
        facts = self.instance.facts
        seats = self.seats.get((person.user_id, facts.scope.project or 0), frozenset())
        return may_answer(assignee_of(branch), person, facts, seats, deputy=deputy)

    def view(self, columns: Any) -> BranchOut:
        row: WorkflowBranch = columns.WorkflowBranch
        caller, state = self.caller, self.instance.definition.states.get(row.state)
        review = state.review if state is not None else None
        branch = review.branches.get(row.name) if review is not None else None
        is_pending = row.status == BranchStatus.PENDING
        delegators = [seat for seat in self.instance.seats if self._can_answer(row, seat, deputy=caller)]
        in_own_right = self._can_answer(row, caller)
        is_offered = review is not None and is_pending and (in_own_right or bool(delegators))
        is_own = caller.user_id in (row.answered_by_user_id, row.on_behalf_of_user_id)
        is_visible = row.status == BranchStatus.ANSWERED and (is_own or not self.hidden.hides(row))
        name = row.assignee_name
        return BranchOut(
            public_id=row.id,
            name=row.name,
            label=branch.label if branch is not None else Text(row.name, row.name),
            assignee=BranchAssigneeOut(kind=assignee_of(row).kind, name=name, display_name=self.names.get(name, name)),
            status=BranchStatus(row.status),
            version_no=row.version_no,
            may_answer=is_offered,
            nobody=is_pending and not any(self._can_answer(row, person) for person in self.assignees),
            attachments=review is not None and not review.hidden,
            in_own_right=is_offered and in_own_right,
            in_place_of=[PersonRef.model_validate(seat) for seat in delegators if is_offered],
            choices=_response_choices(review) if is_offered and review is not None else [],
            answer=row.answer if is_visible else None,
            answer_label=_answer_label(review, row.answer) if is_visible else None,
            comment=row.comment if is_visible else None,
            answered_by=_person_ref(columns.by) if is_visible else None,
            on_behalf_of=_person_ref(columns.behalf) if is_visible else None,
            answered_at=row.answered_at if is_visible else None,
        )


def _response_choices(review: Review) -> list[ResponseOut]:
    return [
        ResponseOut(code=code, label=choice.label, comment_required=choice.comment_required)
        for code, choice in review.answers.items()
    ]


def _answer_label(review: Review | None, code: str | None) -> Text | None:
    if code is None:
        return None
    choice = review.answers.get(code) if review is not None else None
    return choice.label if choice is not None else Text(code, code)


def _person_ref(row: AnyRow) -> PersonRef | None:
    if row.public_id is None:
        return None
    return PersonRef(public_id=row.public_id, display_name=display_name(row))


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
    """Return the answers by history id, None for a hidden one."""
    ids = {step.instance_id for step in steps if step.action == ANSWER}
    if not ids:
        return {}
    rows = await assignee_rows.of_instances(session, ids)
    hidden = await hidden_answers(session, rows)
    answers: dict[UUID, HistoryAnswer | None] = {}
    for row in rows:
        if row.history_id is None:
            continue
        state = definitions[row.instance_id].states.get(row.state)
        review = state.review if state is not None else None
        answers[row.history_id] = None if hidden.hides(row) else HistoryAnswer(_history_label(row, review), row.comment)
    return answers


def hides(answers: Mapping[UUID, HistoryAnswer | None], step: StepRow) -> bool:
    return step.action == ANSWER and answers.get(step.id) is None


def _history_label(row: WorkflowBranch, review: Review | None) -> Text:
    review_branch = review.branches.get(row.name) if review is not None else None
    branch = review_branch.label if review_branch is not None else Text(row.name, row.name)
    answer = _answer_label(review, row.answer) or Text("", "")
    return Text(f"{branch.th}: {answer.th}", f"{branch.en}: {answer.en}")
