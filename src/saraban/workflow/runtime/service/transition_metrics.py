"""Counts, times and logs every attempted transition, but no repetition (REQ-WFL-15)."""

from uuid import UUID

import structlog
from prometheus_client import Counter, Histogram

from saraban.kit.errors import DomainError, ErrorKind
from saraban.workflow.engine.decisions import TransitionNotPossible
from saraban.workflow.runtime.service.transition_request import TransitionRequest

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
    """Count an attempt whose instance the database could not return, unless `report` counted it."""
    if not hasattr(error, "__notes__"):
        TRANSITIONS.labels("unknown", "other", "system_error").inc()


def report(request: TransitionRequest, milliseconds: float, error: Exception | None = None) -> None:
    outcome, code, action = outcome_of(error), request.workflow_code, request.command.action
    if outcome == "system_error" and error is not None:
        error.add_note(f"Counted as a failed step of {code}.")
    DURATION.labels(code).observe(milliseconds)
    TRANSITIONS.labels(code, action if request.is_known else "other", outcome).inc()
    steps = request.done.taken if error is None and request.done is not None else ()
    user = request.ctx.caller.public_id
    if not steps:
        to = request.seen_state if error is None else None
        _log_step(request, action, (request.seen_state, to), user, outcome, milliseconds)
    for position, taken in enumerate(steps):
        step = taken.step
        if position:  # automatic: the commit is timed once
            action, user = step.action, taken.after.caller.public_id
            TRANSITIONS.labels(code, action, outcome).inc()
        _log_step(request, action, (step.state, step.next_state), user, outcome, milliseconds)
        if taken.waiting.nobody:
            _warn_of_nobody(request, step.next_state)


def _log_step(
    request: TransitionRequest, action: str, states: tuple[str, str | None], user: UUID, outcome: str, duration: float
) -> None:
    _log.info(
        "workflow.transition",
        instanceId=str(request.instance_id),
        action=action[:50],
        fromState=states[0],
        toState=states[1],
        userUuid=str(user),
        durationMs=round(duration, 1),
        outcome=outcome,
        workflowCode=request.workflow_code,
    )


def _warn_of_nobody(request: TransitionRequest, state: str) -> None:
    STUCK.labels(request.workflow_code, state).inc()
    _log.warning(
        "workflow.nobody",
        instanceId=str(request.instance_id),
        state=state,
        workflowCode=request.workflow_code,
        says="Nobody who may see the document can act here: force the step, or reassign it.",
    )
