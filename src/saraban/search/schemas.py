"""The search, in and out."""

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema

KindPath = Literal[
    "correspondences",
    "rfas",
    "transmittals",
    "circulations",
    "drawings/contract",
    "drawings/shop",
    "drawings/asbuilt",
]


class SearchAsked(Schema):
    """What is looked for; `q` takes words in any order, `"phrases"`, `-exclusions` and conditions such as `from:` and `due:<7d`."""

    q: Annotated[str, Field(min_length=1, max_length=500, examples=["เสาเข็ม from:คคง. -ยกเลิก"])]
    kind: KindPath | None = None
    project_public_id: UUID | None = None
    status: Annotated[str, Field(max_length=100, description="A part of a status's code or name.")] | None = None
    party: Annotated[str, Field(max_length=100, description="A part of an organization's code or name.")] | None = None
    since: date | None = Field(None, alias="from")
    until: date | None = None
    sort: Literal["newest", "best"] = "newest"
    cursor: Annotated[str, Field(pattern=r"^\d{1,3}$")] | None = None


class SearchProject(Schema):
    public_id: UUID
    project_code: str = Field(examples=["LCBP3-C2"])


class SearchItem(Schema):
    """Something that was found. In `snippet` what was looked for stands between « and »."""

    kind: KindPath = Field(examples=["rfas"])
    public_id: UUID
    document_number: str = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    snippet: str = Field(examples=["ผลการทดสอบ«เสาเข็ม»ต้นที่ 12"])
    project: SearchProject
    date: date


class SearchFacets(Schema):
    """How many of what was counted are of each kind."""

    kind: dict[KindPath, int]


class SearchAnswer(Schema):
    items: list[SearchItem]
    facets: SearchFacets
    approximate_count: int = Field(description="Exact up to 200; 201 says that there are more.")
    is_complete: bool = Field(description="False where the search took too long and was broken off.")
    next_cursor: str | None
