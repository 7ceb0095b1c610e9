"""
Decide whether a running instance can continue under another version.

A dry run and a move decide alike. An answer must not be lost, change its meaning, or complete the review. Hidden
answers are never read: the review moves only if every possible answer allows it, so that a migration reveals nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations_with_replacement

from saraban.identity.domain.context import Caller
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.kit.json import JsonObject
from saraban.workflow.engine import pending_assignees
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import Assignee, Branch, Review, verdict
from saraban.workflow.language.subject import SubjectFacts


class MigrationOutcome(StrEnum):
    """All but the first two keep the instance on its version."""

    STAYS = "stays"
    MOVES = "moves"
    STATE_GONE = "state_gone"
    CONTEXT_UNFIT = "context_unfit"
    NOBODY = "nobody"
    ANSWER_LOST = "answer_lost"
    ANSWER_CHANGED = "answer_changed"
    VERDICT_DUE = "verdict_due"
    HIDDEN_ANSWERS = "hidden_answers"
    SUBJECT_GONE = "subject_gone"

    @property
    def stands_still(self) -> bool:
        return self not in {MigrationOutcome.STAYS, MigrationOutcome.MOVES}


WORDS: Mapping[MigrationOutcome, Text] = {
    MigrationOutcome.STAYS: Text("อยู่ในสถานะเดิม", "Status unchanged."),
    MigrationOutcome.MOVES: Text("ย้ายไปสถานะที่กำหนดไว้", "Moves to the status given in the mapping."),
    MigrationOutcome.STATE_GONE: Text(
        "เวอร์ชันใหม่ไม่มีสถานะนี้แล้ว กรุณากำหนดว่าให้ไปสถานะใด",
        "This version no longer has this status; map it to another one.",
    ),
    MigrationOutcome.CONTEXT_UNFIT: Text(
        "ค่าที่บันทึกไว้ไม่ตรงกับ context_schema ของเวอร์ชันใหม่",
        "The stored values do not fit the context_schema of this version.",
    ),
    MigrationOutcome.NOBODY: Text(
        "ในเวอร์ชันใหม่ไม่มีผู้ที่เปิดดูเอกสารนี้ได้และมีสิทธิ์ดำเนินการในสถานะนี้ หรือตอบสายพิจารณาที่เปิดใหม่",
        "In this version nobody with access to the document could act in that status, or answer a branch it opens.",
    ),
    MigrationOutcome.ANSWER_LOST: Text(
        "การพิจารณาพร้อมกันมีคำตอบแล้ว ซึ่งเวอร์ชันใหม่ไม่มีที่ให้ ต้องรอให้การพิจารณาจบหรือบังคับเปลี่ยนขั้นตอนก่อน",
        "The parallel review has an answer that this version does not have; let it end, or override the step first.",
    ),
    MigrationOutcome.ANSWER_CHANGED: Text(
        "คำตอบที่ให้ไว้แล้วในการพิจารณาพร้อมกันจะมีความหมายต่างไปในเวอร์ชันใหม่ ต้องรอให้การพิจารณาจบหรือบังคับเปลี่ยนขั้นตอนก่อน",
        "An answer of the parallel review would have another meaning in this version; let it end, or override the step first.",
    ),
    MigrationOutcome.VERDICT_DUE: Text(
        "ตามเวอร์ชันใหม่ คำตอบที่มีอยู่จะทำให้การพิจารณาพร้อมกันจบทันที ต้องรอให้การพิจารณาจบหรือบังคับเปลี่ยนขั้นตอนก่อน",
        "In this version the answers so far would end the parallel review at once; let it end, or override the step first.",
    ),
    MigrationOutcome.HIDDEN_ANSWERS: Text(
        "การพิจารณาพร้อมกันมีคำตอบที่ปกปิดไว้ ซึ่งเวอร์ชันใหม่อาจทำให้มีความหมายหรือผลต่างไป ต้องรอให้การพิจารณาจบหรือบังคับเปลี่ยนขั้นตอนก่อน",
        "The parallel review has hidden answers, which may have another meaning or decide the review in this version; let it end, or override the step first.",
    ),
    MigrationOutcome.SUBJECT_GONE: Text("อ่านเอกสารนี้ไม่ได้แล้ว", "The document can no longer be read."),
}


@dataclass(frozen=True, slots=True)
class MigratedBranch:
    name: str
    waits: bool = True
    answer: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class MigratedReview:
    """
    :param opened: branches that did not wait before
    :param asked: branches that wait for another assignee
    """

    opened: tuple[Branch, ...] = ()
    asked: tuple[Branch, ...] = ()
    closed: tuple[str, ...] = ()

    @property
    def anew(self) -> tuple[Branch, ...]:
        return (*self.opened, *self.asked)


def replaced(after: Review | None, round_: Collection[MigratedBranch]) -> MigratedReview | MigrationOutcome:
    """Only a review without answers may end or be replaced."""
    if any(branch.answer is not None for branch in round_):
        return MigrationOutcome.ANSWER_LOST
    opened = tuple(after.branches.values()) if after is not None else ()
    return MigratedReview(opened, closed=tuple(branch.name for branch in round_ if branch.waits))


def continued(before: Review, after: Review, round_: Collection[MigratedBranch]) -> MigratedReview | MigrationOutcome:
    """Match branches by name; a branch with the same assignee keeps a reassignment."""
    answers = {branch.name: branch.answer for branch in round_ if branch.answer is not None}
    hidden = frozenset(branch.name for branch in round_ if branch.answer is not None and branch.hidden)
    barrier = _blocking_outcome(before, after, answers, hidden)
    if barrier is not None:
        return barrier
    waiting = [branch.name for branch in round_ if branch.waits]
    opened = tuple(
        branch_definition
        for name, branch_definition in after.branches.items()
        if name not in waiting and name not in answers
    )
    reassigned = tuple(
        branch_definition
        for name, branch_definition in after.branches.items()
        if name in waiting and _branch_assignee(before, name) != branch_definition.assignee
    )
    return MigratedReview(opened, reassigned, tuple(name for name in waiting if name not in after.branches))


def _branch_assignee(review: Review, name: str) -> Assignee | None:
    branch = review.branches.get(name)
    return branch.assignee if branch is not None else None


def _blocking_outcome(
    before: Review, after: Review, answers: Mapping[str, str], hidden: Collection[str]
) -> MigrationOutcome | None:
    if not answers.keys() <= after.branches.keys():
        return MigrationOutcome.ANSWER_LOST
    # Assignee and label of the branch are part of the answer's meaning.
    if any(before.branches.get(name) != after.branches[name] for name in answers):
        return MigrationOutcome.ANSWER_CHANGED
    visible_answers = {name: code for name, code in answers.items() if name not in hidden}
    codes = set(visible_answers.values())
    if answers and _answer_meaning(before, codes) != _answer_meaning(after, codes):
        return MigrationOutcome.ANSWER_CHANGED
    if hidden:
        return (
            MigrationOutcome.HIDDEN_ANSWERS if _hidden_answers_matter(before, after, visible_answers, hidden) else None
        )
    return None if verdict(after, answers) is None else MigrationOutcome.VERDICT_DUE


def _hidden_answers_matter(
    before: Review, after: Review, visible_answers: Mapping[str, str], hidden: Collection[str]
) -> bool:
    """Whether a possible hidden answer would change its meaning, or complete the review."""
    counts = set[str]()
    # A veto would have ended the review. Answers with the same count have the same effect.
    code_by_count = {choice.counts: code for code, choice in before.answers.items() if code not in before.veto}
    for codes in combinations_with_replacement(code_by_count.values(), len(hidden)):
        answers = {**visible_answers, **dict(zip(hidden, codes, strict=True))}
        if verdict(before, answers) is not None:  # it would have ended
            continue
        if verdict(after, answers) is not None:
            return True
        counts |= {before.answers[code].counts for code in codes}
    possible = {code for code, option in before.answers.items() if code not in before.veto and option.counts in counts}
    return _answer_meaning(before, possible) != _answer_meaning(after, possible)


def _answer_meaning(review: Review, codes: Collection[str]) -> tuple[dict[str, str], dict[str, Text], frozenset[str]]:
    """Return the counts of all answers, the labels of `codes`, and the vetoes."""
    counts: dict[str, str] = {code: choice.counts for code, choice in review.answers.items()}
    words = {code: choice.label for code, choice in review.answers.items() if code in codes}
    return counts, words, review.veto


@dataclass(frozen=True, slots=True)
class MigratingInstance:
    """:param facts: None when its subject cannot be read"""

    definition: Definition
    state: str
    context: JsonObject
    facts: SubjectFacts | None
    assigned_user_id: int | None = None
    round: tuple[MigratedBranch, ...] = ()


@dataclass(frozen=True, slots=True)
class MigrationFinding:
    """:param carried: the review after the move"""

    outcome: MigrationOutcome
    to: str | None = None
    faults: tuple[FieldProblem, ...] = ()
    keeps_person: bool = False
    carried: MigratedReview | None = None

    @property
    def goes(self) -> bool:
        return not self.outcome.stands_still


def check_mapping(definition: Definition, mapping: Mapping[str, str], *, known: Collection[str]) -> None:
    """:raises Invalid: for an unknown state, or a final one: a migration completes nothing"""
    fields = []
    for old, new in mapping.items():
        at = "/mapping/" + old.replace("~", "~0").replace("/", "~1")
        if old not in known:
            words = Text("ไม่มีเวอร์ชันใดที่มีสถานะ “{name}”", "No version has a status “{name}”.")
            fields.append(FieldProblem(at, "unknown_state", words, {"name": old[:50]}))
        elif new not in definition.states:
            words = Text("เวอร์ชันนี้ไม่มีสถานะ “{name}”", "This version has no status “{name}”.")
            fields.append(FieldProblem(at, "unknown_state", words, {"name": new[:50]}))
        elif definition.states[new].terminal:
            words = Text("ย้ายไปสถานะสิ้นสุดไม่ได้", "Documents cannot be migrated into a final status.")
            fields.append(FieldProblem(at, "terminal_state", words))
    if fields:
        raise Invalid("The mapping of states cannot be used.", fields=fields)


def examine(
    definition: Definition,
    instance: MigratingInstance,
    mapping: Mapping[str, str],
    people: Iterable[Caller],
    *,
    silent: bool = False,
) -> MigrationFinding:
    """
    :param people: for whom the new state would wait; a Super Admin does not count
    :param silent: a requested branch has nobody to answer it
    """
    if instance.facts is None:
        return MigrationFinding(MigrationOutcome.SUBJECT_GONE)
    to = target(definition, instance.state, mapping)
    if to is None:
        return MigrationFinding(MigrationOutcome.STATE_GONE)
    carried = carry(definition, instance, to)
    if isinstance(carried, MigrationOutcome):
        return MigrationFinding(carried, to)
    schema = definition.context_schema
    faults = schema.problems(dict(instance.context)) if schema else ()
    if faults:
        return MigrationFinding(MigrationOutcome.CONTEXT_UNFIT, to, tuple(faults))
    moves = to != instance.state
    goes = MigrationOutcome.MOVES if moves else MigrationOutcome.STAYS
    if definition.states[to].review is not None:
        return MigrationFinding(MigrationOutcome.NOBODY, to) if silent else MigrationFinding(goes, to, carried=carried)
    able_people = [person for person in people if pending_assignees.may_act(definition, to, person, instance.facts)]
    if not able_people:
        return MigrationFinding(MigrationOutcome.NOBODY, to)
    keeps = not moves and instance.assigned_user_id in {person.user_id for person in able_people}
    return MigrationFinding(goes, to, keeps_person=keeps, carried=carried)


def carry(definition: Definition, instance: MigratingInstance, to: str) -> MigratedReview | MigrationOutcome:
    """Only an instance that keeps its state keeps its review."""
    before, after = instance.definition.state(instance.state).review, definition.states[to].review
    if to != instance.state or before is None or after is None:
        return replaced(after, instance.round)
    return continued(before, after, instance.round)


def target(definition: Definition, state: str, mapping: Mapping[str, str]) -> str | None:
    to = mapping.get(state, state)
    state_definition = definition.states.get(to)
    return None if state_definition is None or state_definition.terminal else to
