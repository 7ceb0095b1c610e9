"""What the doors use of `setup`."""

from saraban.setup.domain.comparison import Difference
from saraban.setup.service.project_files import TEMPLATES, demo, export, template
from saraban.setup.service.reconciliation import AppliedFile, ProjectConflict, apply

__all__ = [
    "TEMPLATES",
    "AppliedFile",
    "Difference",
    "ProjectConflict",
    "apply",
    "demo",
    "export",
    "template",
]
