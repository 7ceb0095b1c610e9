"""What the doors use of `setup`."""

from saraban.setup.domain.comparison import Difference, What
from saraban.setup.domain.yaml_reader import read_file
from saraban.setup.service.applying import AppliedFile, ProjectConflict, apply
from saraban.setup.service.exporting import export
from saraban.setup.service.templates import NAMES as TEMPLATES
from saraban.setup.service.templates import demo, template

__all__ = [
    "TEMPLATES",
    "AppliedFile",
    "Difference",
    "ProjectConflict",
    "What",
    "apply",
    "demo",
    "export",
    "read_file",
    "template",
]
