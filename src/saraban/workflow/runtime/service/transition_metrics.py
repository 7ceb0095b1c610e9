"""
Counts, times and logs every attempted transition (REQ-WFL-15), whatever becomes of it.

A repetition that is shown what was done is no attempt; nor is a request for an instance that the caller may not know of,
which has no workflow to be counted under.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from prometheus_client import Counter, Histogram

from saraban.kit.errors import DomainError, ErrorKind
from saraban.workflow.engine.decisions import TransitionNotPossible

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

_log = structlog.get_logger("saraban.workflow")


@dataclass(frozen=True, slots=True)
class TakenTransition:
    """
    A step that has been written.

    :param nobody: nobody who may see it can act in the state it led to
    """

    action: str
    from_state: str
    to_state: str
    user: UUID
    nobody: bool = False
    history_id: UUID | None = None
    version_no: int = 0


@dataclass(frozen=True, slots=True)
class TransitionAttempt:
    """:param known_action: False for what the definition does not know, so that clients cannot make up label values"""

    instance_id: UUID
    workflow_code: str
    action: str
    known_action: bool
    from_state: str
    user: UUID


def outcome_of(error: BaseException | None) -> str:
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


def count_unread(error: Exception) -> None:
    """Count an attempt that the database was away to name, unless it was counted further in."""
    if not hasattr(error, "__notes__"):
        TRANSITIONS.labels("unknown", "other", "system_error").inc()


def report(
    attempt: TransitionAttempt,
    duration: float,
    *,
    taken: Sequence[TakenTransition] = (),
    error: Exception | None = None,
) -> None:
    """
    Count and log one attempt, after its commit or its failure.

    :param duration: milliseconds
    :param taken: the steps that the commit holds: what was asked for, then what the engine did by itself
    """
    outcome = outcome_of(error)
    if outcome == "system_error" and error is not None:
        error.add_note(f"Counted as a failed step of {attempt.workflow_code}.")
    action = attempt.action if attempt.known_action else "other"
    DURATION.labels(attempt.workflow_code).observe(duration)
    TRANSITIONS.labels(attempt.workflow_code, action, outcome).inc()
    stays = "" if error is not None else attempt.from_state
    first, *others = taken or [TakenTransition("", attempt.from_state, stays, attempt.user)]
    asked = TakenTransition(attempt.action[:50], first.from_state, first.to_state, attempt.user, first.nobody)
    _write(attempt, asked, outcome, duration)
    for step in others:  # of the same commit, whose time is told with it and counted once
        TRANSITIONS.labels(attempt.workflow_code, step.action, outcome).inc()
        _write(attempt, step, outcome, duration)


def _write(attempt: TransitionAttempt, step: TakenTransition, outcome: str, duration: float) -> None:
    _log.info(
        "workflow.transition",
        instanceId=str(attempt.instance_id),
        action=step.action,
        fromState=step.from_state,
        toState=step.to_state or None,
        userUuid=str(step.user),
        durationMs=round(duration, 1),
        outcome=outcome,
        workflowCode=attempt.workflow_code,
    )
    if step.nobody:
        STUCK.labels(attempt.workflow_code, step.to_state).inc()
        _log.warning(
            "workflow.nobody",
            instanceId=str(attempt.instance_id),
            state=step.to_state,
            workflowCode=attempt.workflow_code,
            says="Nobody who may see the document can act here: force the step, or reassign it.",
        )
