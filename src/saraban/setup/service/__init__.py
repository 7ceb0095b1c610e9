"""What the doors use of `setup`."""

from saraban.setup.domain.comparison import ChangeType, Difference
from saraban.setup.domain.project_yaml import read_file
from saraban.setup.service.project_files import NAMES as TEMPLATES
from saraban.setup.service.project_files import demo, export, template
from saraban.setup.service.reconciliation import AppliedFile, ProjectConflict, apply

__all__ = [
    "TEMPLATES",
    "AppliedFile",
    "ChangeType",
    "Difference",
    "ProjectConflict",
    "apply",
    "demo",
    "export",
    "read_file",
    "template",
]
