"""Functions of `setup` that other features use."""

from saraban.setup.domain.comparison import Difference
from saraban.setup.service.checklist import read_checklist
from saraban.setup.service.new_project import CREATE, begin, closed_projects, new_project
from saraban.setup.service.previews import ProjectPreview, previews
from saraban.setup.service.project_files import MANAGE, TEMPLATES, demo, export, template
from saraban.setup.service.reconciliation import AppliedFile, ProjectChangedMeanwhile, ProjectConflict, apply
