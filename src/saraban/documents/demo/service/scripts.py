"""The demo documents, the story and the drawings, as `demo.yaml` lists them."""

from functools import cache
from importlib import resources
from typing import NamedTuple

import yaml
from pydantic import TypeAdapter

from saraban.documents.demo.domain import DemoDocument, DemoDrawing


class DemoScripts(NamedTuple):
    """
    :param documents: oldest first, so that numbers and dates go the same way
    :param walkthrough: the story that `saraban demo` tells
    """

    documents: tuple[DemoDocument, ...]
    walkthrough: tuple[DemoDocument, ...]
    drawings: tuple[DemoDrawing, ...]

    @property
    def players(self) -> frozenset[str]:
        return frozenset(
            name for one in self.documents for name in (one.by, *one.assignees, *(act.by for act in one.acts))
        )

    @property
    def steps(self) -> int:
        """One for each document of the story, and for each thing done with it."""
        return sum(1 + len(script.acts) for script in self.walkthrough)


@cache
def demo_scripts() -> DemoScripts:
    text = resources.files("saraban.documents.demo").joinpath("demo.yaml").read_text(encoding="utf-8")
    scripts = TypeAdapter(DemoScripts).validate_python(yaml.safe_load(text))
    return scripts._replace(documents=tuple(sorted(scripts.documents, key=lambda script: -script.age)))
