"""What the doors use of `setup`."""

from saraban.setup.domain.comparison import ChangeType, Difference
from saraban.setup.domain.project_yaml import read_file
from saraban.setup.service.project_export import export
from saraban.setup.service.reconciliation import AppliedFile, ProjectConflict, apply
from saraban.setup.service.templates import NAMES as TEMPLATES
from saraban.setup.service.templates import demo, template

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
