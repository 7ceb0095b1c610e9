"""
Whether a running instance can go on under another version of its workflow, and in which state, decided before it is moved; and
which branches of a parallel review under way stay as they are, which are asked, and which are asked no more.

What one instance is told is the same in a dry run and under the lock; only the second is acted upon. An answer that was given stays
what it was: where the version would lose it, read it otherwise, or find in it a verdict that nobody has spoken yet, the instance is
left where it is. What was answered in hiding is not looked at: a review is taken along only where it could be whatever was
answered, so that nobody learns by a migration, or by looking what one would do, what others have answered.
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
    """What becomes of one instance; all but the first two leave it on the version it has."""

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
    """
    One branch of the round under way.

    :param waits: False once it has its answer, or is asked no more
    :param hidden: whether its answer is kept from readers
    """

    name: str
    waits: bool = True
    answer: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class MigratedReview:
    """
    How a review goes on; branches that are in none of these stay as they are.

    :param opened: those that did not wait for an answer before
    :param asked: those that wait for somebody else than before
    :param closed: those that wait no more
    """

    opened: tuple[Branch, ...] = ()
    asked: tuple[Branch, ...] = ()
    closed: tuple[str, ...] = ()

    @property
    def anew(self) -> tuple[Branch, ...]:
        """Every branch for which somebody is asked because of the move."""
        return (*self.opened, *self.asked)


def replaced(after: Review | None, round_: Collection[MigratedBranch]) -> MigratedReview | MigrationOutcome:
    """
    Return what becomes of a review in the place of which another one comes, or none: it ends without a verdict,
    which it may as long as nobody has answered.

    :param round_: none where there was no review before
    """
    if any(each.answer is not None for each in round_):
        return MigrationOutcome.ANSWER_LOST
    opened = tuple(after.branches.values()) if after is not None else ()
    return MigratedReview(opened, closed=tuple(each.name for each in round_ if each.waits))


def continued(before: Review, after: Review, round_: Collection[MigratedBranch]) -> MigratedReview | MigrationOutcome:
    """
    Return how a review of a state goes on by what the version says of it, branch by branch, by their names.

    A branch that the version gives to the same assignee as before goes on asking whom it asks, also where it has been
    given to one person since.
    """
    answers = {each.name: each.answer for each in round_ if each.answer is not None}
    hidden = frozenset(each.name for each in round_ if each.answer is not None and each.hidden)
    barrier = _barrier(before, after, answers, hidden)
    if barrier is not None:
        return barrier
    waiting = [each.name for each in round_ if each.waits]
    opened = tuple(one for name, one in after.branches.items() if name not in waiting and name not in answers)
    asked = tuple(
        one for name, one in after.branches.items() if name in waiting and _asks(before, name) != one.assignee
    )
    return MigratedReview(opened, asked, tuple(name for name in waiting if name not in after.branches))


def _asks(review: Review, name: str) -> Assignee | None:
    branch = review.branches.get(name)
    return branch.assignee if branch is not None else None


def _barrier(
    before: Review, after: Review, answers: Mapping[str, str], hidden: Collection[str]
) -> MigrationOutcome | None:
    if not answers.keys() <= after.branches.keys():
        return MigrationOutcome.ANSWER_LOST
    # Who was asked, and under what words, is part of what was answered.
    if any(before.branches.get(name) != after.branches[name] for name in answers):
        return MigrationOutcome.ANSWER_CHANGED
    known = {name: code for name, code in answers.items() if name not in hidden}
    said = set(known.values())
    if answers and _meaning(before, said) != _meaning(after, said):
        return MigrationOutcome.ANSWER_CHANGED
    if hidden:
        return MigrationOutcome.HIDDEN_ANSWERS if _matters(before, after, known, hidden) else None
    return None if verdict(after, answers) is None else MigrationOutcome.VERDICT_DUE


def _matters(before: Review, after: Review, known: Mapping[str, str], hidden: Collection[str]) -> bool:
    """Whether anything that may have been answered in hiding would be called otherwise, or be a verdict."""
    counted = set[str]()
    # A veto would have ended it. What counts the same leads to the same verdict, whoever has said it.
    alike = {choice.counts: code for code, choice in before.answers.items() if code not in before.veto}
    for codes in combinations_with_replacement(alike.values(), len(hidden)):
        answers = {**known, **dict(zip(hidden, codes, strict=True))}
        if verdict(before, answers) is not None:  # it would have ended
            continue
        if verdict(after, answers) is not None:
            return True
        counted |= {before.answers[code].counts for code in codes}
    said = {code for code, one in before.answers.items() if code not in before.veto and one.counts in counted}
    return _meaning(before, said) != _meaning(after, said)


def _meaning(review: Review, said: Collection[str]) -> tuple[dict[str, str], dict[str, Text], frozenset[str]]:
    """What could be answered and for what it counts, and the words of what was."""
    counts: dict[str, str] = {code: choice.counts for code, choice in review.answers.items()}
    words = {code: choice.label for code, choice in review.answers.items() if code in said}
    return counts, words, review.veto


@dataclass(frozen=True, slots=True)
class MigratingInstance:
    """
    Where an instance stands before it is moved.

    :param facts: None when its subject cannot be read
    :param assigned_user_id: the one person to whom its state was given
    :param round: the branches of the review under way
    """

    definition: Definition
    state: str
    context: JsonObject
    facts: SubjectFacts | None
    assigned_user_id: int | None = None
    round: tuple[MigratedBranch, ...] = ()


@dataclass(frozen=True, slots=True)
class MigrationFinding:
    """
    What becomes of it.

    :param to: the state it will stand in
    :param faults: those of its context
    :param carried: how a review under way, or one that begins, goes on there
    """

    outcome: MigrationOutcome
    to: str | None = None
    faults: tuple[FieldProblem, ...] = ()
    keeps_person: bool = False
    carried: MigratedReview | None = None

    @property
    def goes(self) -> bool:
        return not self.outcome.stands_still


def check_mapping(definition: Definition, mapping: Mapping[str, str], *, known: Collection[str]) -> None:
    """
    :param known: the states of all versions of the workflow
    :raises Invalid: where a state is mapped that no version has, or to none of the version's, or to an end: nobody is
        finished by a migration
    """
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
    standing: MigratingInstance,
    mapping: Mapping[str, str],
    people: Iterable[Caller],
    *,
    silent: bool = False,
) -> MigrationFinding:
    """
    Return what becomes of an instance under a version.

    :param people: those who work for whom the instance would wait for there; somebody who may do everything is no proof
        that the step is anybody's
    :param silent: whether there is nobody to answer some branch of those that would be asked
    """
    if standing.facts is None:
        return MigrationFinding(MigrationOutcome.SUBJECT_GONE)
    to = target(definition, standing.state, mapping)
    if to is None:
        return MigrationFinding(MigrationOutcome.STATE_GONE)
    carried = carry(definition, standing, to)
    if isinstance(carried, MigrationOutcome):
        return MigrationFinding(carried, to)
    schema = definition.context_schema
    faults = schema.problems(dict(standing.context)) if schema else ()
    if faults:
        return MigrationFinding(MigrationOutcome.CONTEXT_UNFIT, to, tuple(faults))
    moves = to != standing.state
    goes = MigrationOutcome.MOVES if moves else MigrationOutcome.STAYS
    if definition.states[to].review is not None:
        return MigrationFinding(MigrationOutcome.NOBODY, to) if silent else MigrationFinding(goes, to, carried=carried)
    able = [person for person in people if pending_assignees.may_act(definition, to, person, standing.facts)]
    if not able:
        return MigrationFinding(MigrationOutcome.NOBODY, to)
    keeps = not moves and standing.assigned_user_id in {person.user_id for person in able}
    return MigrationFinding(goes, to, keeps_person=keeps, carried=carried)


def carry(definition: Definition, standing: MigratingInstance, to: str) -> MigratedReview | MigrationOutcome:
    """Return what becomes of the branches of an instance that goes on in a state: only in its own a review does."""
    before, after = standing.definition.state(standing.state).review, definition.states[to].review
    if to != standing.state or before is None or after is None:
        return replaced(after, standing.round)
    return continued(before, after, standing.round)


def target(definition: Definition, state: str, mapping: Mapping[str, str]) -> str | None:
    """Return the state that an instance would stand in, or None when there is none for it."""
    to = mapping.get(state, state)
    here = definition.states.get(to)
    return None if here is None or here.terminal else to
