"""Writes a project as the YAML text that is read again to the same; short things stand on one line."""

from typing import Any, Final

import yaml

from saraban.kit.json import JsonObject
from saraban.setup.domain.project_file import ProjectFile

_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _PlainDumper(_DUMPER):  # type: ignore[misc]
    """Without anchors, which project files do not have."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def yaml_text(data: JsonObject) -> str:
    """Give the text of a project, its keys in the order of the schema."""
    file = ProjectFile.model_validate(data)
    ordered = file.model_dump(mode="json", by_alias=True, exclude_none=True)
    text: str = yaml.dump(
        ordered, Dumper=_PlainDumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=10_000
    )
    return text
