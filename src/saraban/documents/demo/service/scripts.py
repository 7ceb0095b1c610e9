"""The scripts of the demo, read from `demo.yaml`."""

from functools import cache
from importlib import resources
from typing import NamedTuple

import yaml
from pydantic import TypeAdapter

from saraban.documents.demo.domain import DemoDocument, DemoDrawing


class DemoScripts(NamedTuple):
    """:param documents: oldest first, so that numbers and dates have the same order"""

    documents: tuple[DemoDocument, ...]
    walkthrough: tuple[DemoDocument, ...]
    drawings: tuple[DemoDrawing, ...]

    @property
    def players(self) -> frozenset[str]:
        return frozenset(
            name
            for script in self.documents
            for name in (script.by, *script.assignees, *(action.by for action in script.acts))
        )

    @property
    def steps(self) -> int:
        return sum(1 + len(script.acts) for script in self.walkthrough)


@cache
def demo_scripts() -> DemoScripts:
    text = resources.files("saraban.documents.demo").joinpath("demo.yaml").read_text(encoding="utf-8")
    scripts = TypeAdapter(DemoScripts).validate_python(yaml.safe_load(text))
    return scripts._replace(documents=tuple(sorted(scripts.documents, key=lambda script: -script.age)))
