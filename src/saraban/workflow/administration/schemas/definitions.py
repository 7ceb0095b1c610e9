"""What the endpoints of definitions take and give."""

from datetime import datetime
from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from saraban.kit.json import Json
from saraban.kit.schema import MultiLine, Schema
from saraban.workflow.runtime.schemas import LabelOut, Storable

_DEFINITION: Final[dict[str, Json]] = {
    "workflow": "SITE_MEMO",
    "description": {"th": "บันทึกถึงอีกฝ่ายหนึ่ง", "en": "A memo that one party sends to another."},
    "states": [
        {
            "name": "draft",
            "label": {"th": "ฉบับร่าง", "en": "Draft"},
            "initial": True,
            "editable": True,
            "on": {
                "submit": {
                    "to": "submitted",
                    "label": {"th": "ส่ง", "en": "Submit"},
                    "require": {"party": ["originator"], "permissions": ["document.create"]},
                }
            },
        },
        {"name": "submitted", "label": {"th": "ส่งแล้ว", "en": "Submitted"}, "terminal": True},
    ],
}


class DefinitionIn(Schema):
    dsl: Storable = Field(examples=[_DEFINITION])
    activate: bool = Field(default=False, strict=True)


class DefinitionText(Schema):
    """A definition as JSON, or as the text that somebody is writing: then faults have their line."""

    dsl: Storable | None = None
    text: Annotated[str, MultiLine(500_000)] | None = Field(None, examples=['{"workflow": "SITE_MEMO"}'])

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.dsl is None) == (self.text is None):
            th = "ส่ง dsl หรือ text อย่างใดอย่างหนึ่ง"
            raise PydanticCustomError("one_of", "Send either `dsl` or `text`.", {"th": th})
        return self


class DefinitionOut(Schema):
    public_id: UUID
    code: str = Field(examples=["SITE_MEMO"])
    version: int
    description: LabelOut | None = Field(
        description="The same text twice where the definition has but one.",
        examples=[{"th": "บันทึกถึงอีกฝ่ายหนึ่ง", "en": "A memo that one party sends to another."}],
    )
    is_active: bool
    created_at: datetime


class DefinitionDetailOut(DefinitionOut):
    dsl: dict[str, Json] = Field(examples=[_DEFINITION])


class DefinitionPage(Schema):
    items: list[DefinitionOut]
    next_cursor: str | None


class DefinitionFault(Schema):
    pointer: str
    code: str
    line: int | None = Field(None, description="Of the `text`, counted from 1.", examples=[12])
    message: LabelOut


class ValidationOut(Schema):
    """`valid` is true exactly when `errors` is empty."""

    valid: bool
    errors: list[DefinitionFault]


class ChangeOut(Schema):
    """One place that differs between two versions."""

    place: str = Field(
        description="JSON pointer in which a state stands by its name.", examples=["/states/draft/on/submit/to"]
    )
    what: Literal["added", "removed", "changed"]
    before: Json = Field(None, examples=["pending_review"])
    after: Json = Field(None, examples=["pending_approval"])


class DifferenceOut(Schema):
    changes: list[ChangeOut]


class DiagramOut(Schema):
    mermaid: str = Field(description="A `stateDiagram-v2`.", examples=["stateDiagram-v2\n    [*] --> s0\n"])
