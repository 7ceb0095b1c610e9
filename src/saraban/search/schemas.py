"""The search, in and out."""

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Day, Schema
from saraban.projects.schemas import ProjectCode

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
    since: Day | None = Field(None, alias="from")
    until: Day | None = None
    sort: Literal["newest", "best"] = "newest"
    facets: bool = Field(
        default=True,
        description="Whether matches are counted by what they are: the first page is there sooner without.",
    )
    cursor: Annotated[str, Field(pattern=r"^\d{1,4}$", max_length=4)] | None = None


class SuggestedDocument(Schema):
    kind: KindPath = Field(examples=["rfas"])
    public_id: UUID
    document_number: str = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])


class SuggestedPerson(Schema):
    public_id: UUID
    name: str = Field(examples=["ดวงใจ เอกสารครบ"])


class SuggestionsAnswer(Schema):
    """Of documents those come first whose number has what was typed."""

    documents: list[SuggestedDocument] = Field(max_length=6)
    people: list[SuggestedPerson] = Field(max_length=4)


class SearchItem(Schema):
    """Something that was found. In `snippet` what was looked for stands between « and »."""

    kind: KindPath = Field(examples=["rfas"])
    public_id: UUID
    document_number: str = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    snippet: str = Field(examples=["ผลการทดสอบ«เสาเข็ม»ต้นที่ 12"])
    project: ProjectCode
    date: date


class FacetAnswer(Schema):
    """How many of what was found have a value; `name` in English, or as it was written when there is no English."""

    value: str = Field(examples=["APPROVED"])
    count: int
    name: str | None = None
    name_th: str | None = None


class SearchFacets(Schema):
    """
    The first 10,000 matches by kind, status, type, party (who wrote or received them) and year of entry. Of status, type and
    party the 20 most frequent; their values can be asked for as `status`, `type:` and `party`.
    """

    kind: list[FacetAnswer]
    status: list[FacetAnswer]
    type: list[FacetAnswer]
    party: list[FacetAnswer]
    year: list[FacetAnswer]


class SearchAnswer(Schema):
    items: list[SearchItem]
    facets: SearchFacets | None = Field(description="None where `facets=false` asked for none, and on later pages.")
    approximate_count: int = Field(description="Exact up to 200; 201 says that there are more.")
    is_complete: bool = Field(description="False while the index of the server is being built.")
    next_cursor: str | None
