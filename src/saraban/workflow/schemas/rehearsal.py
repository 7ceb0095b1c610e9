"""What came of a rehearsal."""

from typing import Any

from pydantic import Field

from saraban.kit.schema import Schema
from saraban.workflow.schemas.labels import LabelOut


class RehearsedStepOut(Schema):
    """What came of one step; `code` and `message` are null when it was taken."""

    state: str = Field(examples=["draft"])
    available_actions: list[str] = Field(description="What this actor could do then.")
    next_state: str = Field(examples=["pending_review"])
    terminal: bool
    code: str | None = Field(None, examples=[None])
    message: LabelOut | None = None
    automatic: list[str] = Field(default_factory=list, description="Actions that the engine took by itself after it.")
    values: dict[str, Any] = Field(
        default_factory=dict, description="What the document remembers afterwards.", examples=[{"amount": 420000}]
    )
    cautions: list[LabelOut] = Field(
        default_factory=list, description="On what it depends that whoever is waited for then may see the document."
    )


class RehearsalOut(Schema):
    steps: list[RehearsedStepOut]
