"""
Whether a running instance can go on under another version of its workflow, and in which state: decided before it is moved.

What one instance is told is the same in a dry run and under the lock; only the second is acted upon.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from saraban.identity.domain.context import Caller
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.kit.json import JsonObject
from saraban.workflow.administration.domain import review_migration
from saraban.workflow.administration.domain.review_migration import MigratedBranch, MigratedReview, ReviewBarrier
from saraban.workflow.engine import pending_assignees
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.subject import SubjectFacts


class MigrationOutcome(StrEnum):
    """What becomes of one instance; all but the first two leave it on the version it has."""

    STAYS = "stays"
    MOVES = "moves"
    STATE_GONE = "state_gone"
    CONTEXT_UNFIT = "context_unfit"
    NOBODY = "nobody"
    ANSWER_LOST = ReviewBarrier.ANSWER_LOST.value
    ANSWER_CHANGED = ReviewBarrier.ANSWER_CHANGED.value
    VERDICT_DUE = ReviewBarrier.VERDICT_DUE.value
    HIDDEN_ANSWERS = ReviewBarrier.HIDDEN_ANSWERS.value
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
    if isinstance(carried, ReviewBarrier):
        return MigrationFinding(MigrationOutcome(carried), to)
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


def carry(definition: Definition, standing: MigratingInstance, to: str) -> MigratedReview | ReviewBarrier:
    """Return what becomes of the branches of an instance that goes on in a state: only in its own a review does."""
    before, after = standing.definition.state(standing.state).review, definition.states[to].review
    if to != standing.state or before is None or after is None:
        return review_migration.replaced(after, standing.round)
    return review_migration.continued(before, after, standing.round)


def target(definition: Definition, state: str, mapping: Mapping[str, str]) -> str | None:
    """Return the state that an instance would stand in, or None when there is none for it."""
    to = mapping.get(state, state)
    here = definition.states.get(to)
    return None if here is None or here.terminal else to
