"""The values of steps as answers show them: as they were stated, and as people read them."""

from typing import Literal

from pydantic import Field

from saraban.kit.json import Json
from saraban.kit.schema import Schema
from saraban.workflow.runtime.schemas.labels import LabelOut


class ValueOut(Schema):
    """A value that was stated with a step, named after the definition's `context_schema`."""

    name: str = Field(examples=["amount"])
    label: LabelOut
    kind: Literal["line", "lines", "date", "number", "integer", "boolean", "choice", "json"]
    value: Json = Field(examples=[420000])
    text: LabelOut = Field(description="The value as people read it.", examples=[{"th": "420,000", "en": "420,000"}])


class ChangedValueOut(ValueOut):
    """A value that came with a step; `before` is what it took the place of, where another one had been stated."""

    before: Json = Field(None, examples=[400000])
    before_text: LabelOut | None = Field(None, examples=[{"th": "400,000", "en": "400,000"}])
