"""API schemas of new projects and of the checklist."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.schema import CodeLine, Schema, SingleLine

TemplateName = Literal["thai-public-works", "building", "iso19650"]


class NewProjectIn(Schema):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"projectCode": "LCBP3-C4", "projectName": "ท่าเรือแหลมฉบัง ระยะที่ 3 ส่วนที่ 4", "template": "building"}
            ]
        }
    )

    project_code: Annotated[str, CodeLine(50)] = Field(description="As numbers print it; unique in the installation.")
    project_name: Annotated[str, SingleLine(255)]
    project_name_en: Annotated[str, SingleLine(255)] | None = None
    template: TemplateName | None = Field(
        None,
        description="Contracts, codes, number formats, workflows and calendar of a template that ships; "
        "its organizations and people are examples and are left out.",
    )
    copy_of: UUID | None = Field(
        None, description="Public id of a project whose set-up is taken, in place of a template."
    )
    with_people: bool = Field(
        default=False,
        strict=True,
        description="Of a copy: the roles that people have in that project, and their places in teams, too.",
    )
    role: PartyRole | None = Field(
        None, description="Makes your own organization a member with this role, and a party of the contracts."
    )


class ChecklistItemOut(Schema):
    kind: Literal["organizations", "contracts", "disciplines", "types", "formats", "people", "workflows"]
    done: bool


class ChecklistOut(Schema):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"items": [{"kind": "organizations", "done": True}], "complete": False}]}
    )

    items: list[ChecklistItemOut] = Field(
        description="What a project needs until its first number, in the order to do it."
    )
    complete: bool
