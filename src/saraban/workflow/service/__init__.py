"""
Workflows: definitions as data, running instances, transitions that cannot lose a race or an event.

What is moved is known by `SubjectPort` alone; documents implement it and `bootstrap` registers it.
"""

from saraban.kit.errors import DomainError as Refusal
from saraban.workflow.domain.dsl import WorkflowNotValid
from saraban.workflow.domain.engine import ActionForbidden, ConditionNotMet, Step, TransitionNotPossible
from saraban.workflow.domain.rehearsal import Actor, Tried, Try
from saraban.workflow.domain.subject import ActionChoice, Envelope, StepFile, SubjectFacts
from saraban.workflow.service.definitions import (
    DefinitionRaced,
    DefinitionView,
    WorkflowNotDefined,
    create,
    line_of,
    refused_today,
    seed_definitions,
    set_active,
    shipped,
    validate,
    validate_text,
)
from saraban.workflow.service.definitions import (
    find as find_definition,
)
from saraban.workflow.service.definitions import (
    listing as list_definitions,
)
from saraban.workflow.service.instances import envelopes, lock, refresh_waiting, start, terminate
from saraban.workflow.service.news import TRANSITIONED
from saraban.workflow.service.subjects import Applied, Move, SubjectPort, Subjects
from saraban.workflow.service.together import Steps
from saraban.workflow.service.transition import Command, Seen, StaleInstance, VersionConflict, look, transition
from saraban.workflow.service.versions import Differing, Replayed, diagram, rehearse, replay
from saraban.workflow.service.versions import compare as compare_versions
from saraban.workflow.service.views import (
    InboxItem,
    TakenStep,
    ahead,
    find,
    history,
    inbox,
    reads_step_file,
    steps_of,
)

__all__ = [
    "TRANSITIONED",
    "ActionChoice",
    "ActionForbidden",
    "Actor",
    "Applied",
    "Command",
    "ConditionNotMet",
    "DefinitionRaced",
    "DefinitionView",
    "Differing",
    "Envelope",
    "InboxItem",
    "Move",
    "Refusal",
    "Replayed",
    "Seen",
    "StaleInstance",
    "Step",
    "StepFile",
    "Steps",
    "SubjectFacts",
    "SubjectPort",
    "Subjects",
    "TakenStep",
    "TransitionNotPossible",
    "Tried",
    "Try",
    "VersionConflict",
    "WorkflowNotDefined",
    "WorkflowNotValid",
    "ahead",
    "compare_versions",
    "create",
    "diagram",
    "envelopes",
    "find",
    "find_definition",
    "history",
    "inbox",
    "line_of",
    "list_definitions",
    "lock",
    "look",
    "reads_step_file",
    "refresh_waiting",
    "refused_today",
    "rehearse",
    "replay",
    "seed_definitions",
    "set_active",
    "shipped",
    "start",
    "steps_of",
    "terminate",
    "transition",
    "validate",
    "validate_text",
]
