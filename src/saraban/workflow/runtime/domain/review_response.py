"""Decides one answer in a parallel review. Saves nothing."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from saraban.identity.domain.context import Caller
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, NotFound, Text, invalid
from saraban.workflow.engine.decisions import ActionForbidden, Step
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import FELL, Assignee, Review, verdict
from saraban.workflow.language.subject import SubjectFacts


class BranchClosed(DomainError):
    """The branch has been answered, or the review is over: what was answered stays."""

    kind, code = ErrorKind.CONFLICT, "WORKFLOW_BRANCH_CLOSED"
    says = Text(
        "สายพิจารณานี้ปิดแล้ว จึงตอบหรือแก้คำตอบไม่ได้", "This branch is closed: it is already answered, or the review has ended."
    )
    recovery = (REFRESH,)


@dataclass(frozen=True, slots=True)
class ReviewSeat:
    team: str
    discipline: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    code: str
    comment: str | None = None
    with_files: bool = False


@dataclass(frozen=True, slots=True)
class Respondent:
    """:param deputy: the delegate who answers on behalf of the caller"""

    caller: Caller
    seats: Collection[ReviewSeat] = ()
    deputy: Caller | None = None


def may_answer(
    assignee: Assignee,
    caller: Caller,
    subject: SubjectFacts,
    seats: Collection[ReviewSeat],
    *,
    deputy: Caller | None = None,
) -> bool:
    """
    Return whether a branch asks the caller; no right replaces that.

    The submitter answers only a branch that names them, and never as a delegate.

    :param deputy: the delegate who answers on behalf of the caller
    """
    if deputy is not None and deputy.user_id == subject.submitter_user_id:
        return False
    if assignee.kind != "user" and caller.user_id == subject.submitter_user_id:
        return False
    match assignee.kind:
        case "user":
            return assignee.name == str(caller.public_id)
        case "role":
            return any(grant.role == assignee.name and grant.covers(subject.scope) for grant in caller.grants)
        case "team":
            return any(seat.team == assignee.name for seat in seats)
        case "discipline":
            return any(seat.discipline == assignee.name for seat in seats)


def check(review: Review, answer: ReviewAnswer) -> None:
    """:raises Invalid: for an unknown answer, a missing comment, or files in a review with hidden answers"""
    choice = review.answers.get(answer.code)
    if choice is None:
        th, en = "คำตอบต้องเป็นหนึ่งใน {choices}", "The answer must be one of {choices}."
        raise invalid("/answer", "choice", th, en, choices=", ".join(review.answers))
    if choice.comment_required and not (answer.comment or "").strip():
        raise invalid("/comment", "required", "จำเป็นต้องระบุเหตุผลหรือความเห็น", "A reason or comment is required.")
    if answer.with_files and review.hidden:
        th, en = "การพิจารณาที่ปิดผลไว้ไม่รับไฟล์แนบ", "A review with hidden answers takes no attachments."
        raise invalid("/attachmentPublicIds", "not_taken", th, en)


def moved(definition: Definition, state: str, answers: Mapping[str, str]) -> Step | None:
    review = definition.states[state].review
    outcome = verdict(review, answers) if review is not None else None
    if review is None or outcome is None:
        return None
    target = review.then[outcome]
    return Step(state, FELL[outcome], target, definition.states[target].terminal, review.events.get(outcome, ()))


def answered(
    definition: Definition,
    state: str,
    branch: str,
    answer: ReviewAnswer,
    *,
    by: Respondent,
    subject: SubjectFacts,
    given: Mapping[str, str],
    assignee: Assignee | None = None,
) -> tuple[dict[str, str], Step | None]:
    """
    Return all answers and the step that they lead to.

    :param given: the answers so far, by branch
    :param assignee: of the branch, if it was reassigned
    :raises NotFound: when the state has no such branch
    :raises BranchClosed: when the branch has its answer
    :raises ActionForbidden: when the branch asks somebody else
    :raises Invalid: as `check` does
    """
    review = definition.state(state).review
    review_branch = review.branches.get(branch) if review is not None else None
    if review is None or review_branch is None:
        raise NotFound(f"The state {state} asks no branch {branch[:50]}.")
    if branch in given:
        raise BranchClosed(f"The branch {branch} has its answer.")
    if not may_answer(assignee or review_branch.assignee, by.caller, subject, by.seats, deputy=by.deputy):
        raise ActionForbidden(f"The branch {branch} asks somebody else.")
    check(review, answer)
    answers = {**given, branch: answer.code}
    return answers, moved(definition, state, answers)
