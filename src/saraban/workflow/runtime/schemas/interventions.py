"""What a history says of an administrator's deeds: who took over from whom, which version came after which."""

from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema


class PersonName(Schema):
    public_id: UUID
    display_name: str = Field(examples=["ดวงใจ เอกสารครบ"])


class ReassignedOut(Schema):
    """Who was in charge `before`, null where it waited for an organization or for several people, and `after`."""

    before: PersonName | None
    after: PersonName


class VersionsOut(Schema):
    """The versions of the workflow before and after a migration."""

    before: int = Field(examples=[1])
    after: int = Field(examples=[2])
