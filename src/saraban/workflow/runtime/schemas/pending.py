"""Whom a step waits for, as it is shown."""

from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema


class AskedOrganizationOut(Schema):
    public_id: UUID
    code: str = Field(examples=["คคง."])


class AskedPersonOut(Schema):
    public_id: UUID
    display_name: str


class WaitingForOut(Schema):
    """Whom the present state waits for; of a review whose answers are hidden the branches say whom they ask."""

    organizations: list[AskedOrganizationOut]
    people: list[AskedPersonOut] = Field(description="At most ten of them.", examples=[[]])
    people_count: int = Field(examples=[0])
    nobody: bool = Field(
        description="Nobody who may see the document can act, or answer for a branch: somebody has to force the step, "
        "give it to another person, or be given a role. A single document or instance says so too where an organization "
        "sees it and none of its people may act; a list, the inbox and the answer to a step do not look for that.",
        examples=[False],
    )
