"""What the endpoints of steering take and give: a step by force, an end without an outcome."""

from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from saraban.kit.schema import Line, Paragraphs, Schema
from saraban.workflow.domain.steering import LONGEST, SHORTEST
from saraban.workflow.schemas import LabelOut

Reason = Annotated[
    Annotated[str, Paragraphs(LONGEST, SHORTEST)],
    Field(
        description="Why; kept with the step, told to all who take part.",
        examples=["ผู้ตรวจลาออกแล้ว งานหน้างานรอไม่ได้"],
    ),
]
VersionNo = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1, examples=[2])]


class TerminationIn(Schema):
    reason: Reason
    client_version_no: VersionNo | None = None


class ForceIn(Schema):
    """`action` is one of the present state's; without it `to` is any state of the definition."""

    reason: Reason
    action: Annotated[str, Line(50)] | None = Field(None, examples=["approve"])
    to: Annotated[str, Line(50)] | None = Field(None, examples=["pending_approval"])
    client_version_no: VersionNo | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.action is None and self.to is None:
            th = "ระบุการดำเนินการ หรือสถานะปลายทาง"
            raise PydanticCustomError("required", "Name an action, or a state to go to.", {"th": th})
        return self


class PlaceOut(Schema):
    """A state that can be gone to."""

    name: str = Field(examples=["pending_approval"])
    label: LabelOut


class WayOut(Schema):
    """An action that can be forced; where it leads to several states, one of them is named as `to`."""

    code: str = Field(examples=["approve"])
    label: LabelOut
    targets: list[PlaceOut]


class SteeringOut(Schema):
    """What is open to the caller besides the workflow's actions; everything is empty for those who may not."""

    actions: list[WayOut]
    states: list[PlaceOut]
    terminate: bool = Field(examples=[True])
    reassign: bool = Field(examples=[True])
