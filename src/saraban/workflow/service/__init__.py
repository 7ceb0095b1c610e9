"""
Workflows: definitions as data, running instances, transitions that cannot lose a race or an event.

What is moved is known by `SubjectPort` alone; documents implement it.
"""

from saraban.workflow.domain.engine import Step
from saraban.workflow.domain.subject import ActionChoice, Envelope, StepFile, SubjectFacts
from saraban.workflow.service.subjects import SubjectPort, Subjects

__all__ = [
    "ActionChoice",
    "Envelope",
    "Step",
    "StepFile",
    "SubjectFacts",
    "SubjectPort",
    "Subjects",
]
