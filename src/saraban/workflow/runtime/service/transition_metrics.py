"""
Counts, times and logs every attempted transition (REQ-WFL-15), whatever becomes of it.

A repetition that gets a stored answer is no attempt; nor is a request for an instance that the caller may not know of,
which has no workflow to be counted under.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import structlog
from prometheus_client import Counter, Histogram
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.clock import stopwatch
from saraban.kit.errors import DomainError, ErrorKind
from saraban.workflow.engine.decisions import Step, TransitionNotPossible

TRANSITIONS = Counter(
    "workflow_transitions_total",
    "Attempted workflow transitions by workflow, action and outcome.",
    ["workflow_code", "action", "outcome"],
)
DURATION = Histogram(
    "workflow_transition_duration_ms",
    "How long a transition took, in milliseconds.",
    ["workflow_code"],
    buckets=(50, 100, 250, 500, 1000, 2500, 5000),
)

STUCK = Counter(
    "workflow_steps_to_nobody_total",
    "Steps after which there was nobody who may see the document and act, or answer for a branch, by workflow and state.",
    ["workflow_code", "state"],
)

_TAKEN = "workflow_steps"
_ADMITTED = "workflow_admitted"
_log = structlog.get_logger("saraban.workflow")


@dataclass(frozen=True, slots=True)
class TakenTransition:
    """A step that has been written; `nobody`: who may see it can act in the state it led to."""

    action: str
    from_state: str
    to_state: str
    user: UUID
    nobody: bool = False


def record_taken(session: AsyncSession, instance_id: UUID, step: Step, *, by: Caller, nobody: bool = False) -> None:
    """Remember a step with the session in which it was written, until its commit is reported."""
    taken = TakenTransition(step.action, step.state, step.next_state, by.public_id, nobody)
    session.info.setdefault(_TAKEN, {}).setdefault(instance_id, []).append(taken)


def taken_in(session: AsyncSession, instance_id: UUID) -> Sequence[TakenTransition]:
    return tuple(session.info.get(_TAKEN, {}).get(instance_id, ()))


def admit(session: AsyncSession) -> None:
    """Remember with the session that its caller may know of the instance; only then it is an attempt."""
    session.info[_ADMITTED] = True


def admitted(session: AsyncSession) -> bool:
    return _ADMITTED in session.info


@dataclass(slots=True)
class TransitionAttempt:
    """
    :param unknown: the caller turned out to be one who may not know of the instance: nothing is counted
    :param known_action: False for what the definition does not know, so that clients cannot make up label values
    :param taken: the steps that the commit holds: what was asked for, then what the engine did by itself
    """

    instance_id: UUID
    workflow_code: str
    action: str
    known_action: bool
    from_state: str
    user: UUID
    to_state: str | None = None
    taken: Sequence[TakenTransition] = ()
    unknown: bool = False


def outcome_of(error: BaseException | None) -> str:
    """Return the label of an outcome."""
    if error is None:
        return "success"
    if not isinstance(error, DomainError):
        return "system_error"
    if isinstance(error, TransitionNotPossible):
        return "conflict" if error.raced else "validation_error"
    if error.kind in {ErrorKind.CONFLICT, ErrorKind.STALE} and error.code != "WORKFLOW_CONDITION_NOT_MET":
        return "conflict"
    if error.kind in {ErrorKind.FORBIDDEN, ErrorKind.NOT_FOUND}:
        return "forbidden"
    return "system_error" if error.kind in {ErrorKind.BUSY, ErrorKind.BROKEN} else "validation_error"


@contextmanager
def measured(watch: TransitionAttempt) -> Iterator[TransitionAttempt]:
    """Count and log what happens inside, after its commit or its failure."""
    began = stopwatch()
    failure: BaseException | None = None
    try:
        yield watch
    except BaseException as error:
        failure = error
        raise
    finally:
        if not watch.unknown:
            report(watch, outcome_of(failure), (stopwatch() - began) * 1000)


def report(watch: TransitionAttempt, outcome: str, duration: float) -> None:
    """
    Count and log one attempt.

    :param duration: milliseconds
    """
    action = watch.action if watch.known_action else "other"
    DURATION.labels(watch.workflow_code).observe(duration)
    TRANSITIONS.labels(watch.workflow_code, action, outcome).inc()
    if outcome != "success":
        _write(watch, TakenTransition(watch.action[:50], watch.from_state, "", watch.user), outcome, duration)
        return
    first, *others = watch.taken or [TakenTransition("", watch.from_state, watch.to_state or "", watch.user)]
    _write(
        watch,
        TakenTransition(watch.action[:50], first.from_state, first.to_state, watch.user, first.nobody),
        outcome,
        duration,
    )
    for step in others:  # of the same commit, whose time is told with it and counted once
        TRANSITIONS.labels(watch.workflow_code, step.action, outcome).inc()
        _write(watch, step, outcome, duration)


def _write(watch: TransitionAttempt, step: TakenTransition, outcome: str, duration: float) -> None:
    _log.info(
        "workflow.transition",
        instanceId=str(watch.instance_id),
        action=step.action,
        fromState=step.from_state,
        toState=step.to_state or None,
        userUuid=str(step.user),
        durationMs=round(duration, 1),
        outcome=outcome,
        workflowCode=watch.workflow_code,
    )
    if step.nobody:
        STUCK.labels(watch.workflow_code, step.to_state).inc()
        _log.warning(
            "workflow.nobody",
            instanceId=str(watch.instance_id),
            state=step.to_state,
            workflowCode=watch.workflow_code,
            says="Nobody who may see the document can act here: force the step, or reassign it.",
        )
