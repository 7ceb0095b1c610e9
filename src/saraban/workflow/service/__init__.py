"""
Workflows: definitions as data, running instances, transitions that cannot lose a race or an event.

What is moved is known by `SubjectPort` alone; documents implement it and `bootstrap` registers it.
"""

from saraban.kit.errors import DomainError as Refusal
from saraban.workflow.administration.domain.simulation import SimulatedActor, SimulationResult, SimulationStep, simulate
from saraban.workflow.administration.service.simulation import (
    ReplayReport,
    replay,
)
from saraban.workflow.administration.service.versions import (
    create,
    refused_today,
    seed_definitions,
    set_active,
    shipped,
    validate_text,
)
from saraban.workflow.administration.service.versions import find as find_definition
from saraban.workflow.engine.decisions import ActionForbidden, ConditionNotMet, Step, TransitionNotPossible
from saraban.workflow.language.dsl import WorkflowNotValid
from saraban.workflow.language.subject import Envelope, SubjectFacts
from saraban.workflow.runtime.repository import has_instances
from saraban.workflow.runtime.service.definitions import (
    StartingWorkflow,
    WorkflowNotDefined,
    starting,
)
from saraban.workflow.runtime.service.instances import (
    StartingWorkflowChanged,
    cancel,
    envelopes,
    lock,
    renew_pending,
    running,
    start,
    start_found,
    states_of,
)
from saraban.workflow.runtime.service.persist_transition import TRANSITIONED
from saraban.workflow.runtime.service.subjects import InstanceState, Subjects, SubjectStep
from saraban.workflow.runtime.service.tasks import (
    HistoryStep,
    Task,
    awaited_instances,
    find,
    history,
    list_tasks,
    may_read_step_file,
    states_ahead,
    steps_of,
)
from saraban.workflow.runtime.service.transition_request import (
    Command,
    StaleInstance,
    Transitioned,
    VersionConflict,
)
from saraban.workflow.runtime.service.transitions import Transitions
