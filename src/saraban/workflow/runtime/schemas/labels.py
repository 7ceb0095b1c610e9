"""Words in two languages, and the codes that carry them."""

from pydantic import Field

from saraban.kit.schema import Schema


class LabelOut(Schema):
    th: str = Field(examples=["อนุมัติแล้ว"])
    en: str = Field(examples=["Approved"])


class ResponseOut(Schema):
    """A response code, as `1A`; the usual one counts when none is sent."""

    code: str = Field(examples=["1A"])
    label: LabelOut | None
    comment_required: bool
    usual: bool = False
