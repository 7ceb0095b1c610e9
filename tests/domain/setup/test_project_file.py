"""What a project file may say, as editors read it."""

import jsonschema_rs
import pytest
import yaml

from saraban.setup.domain.project_file import json_schema
from saraban.setup.service import project_files


@pytest.mark.parametrize("name", project_files.TEMPLATES)
def test_the_templates_are_valid_by_the_schema(name: str) -> None:
    jsonschema_rs.validate(json_schema(), yaml.safe_load(project_files.template(name)))
