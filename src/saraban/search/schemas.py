"""JSON shapes of the search."""

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
    """
    A query. `q` takes words in any order, `"phrases"`, `-exclusions` and conditions such as `from:` and `due:<7d`.
    """

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
        description="Count matches by kind, status, type, party and year; the first page is faster without.",
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
    """Documents whose number contains the text come first."""

    documents: list[SuggestedDocument] = Field(max_length=6)
    people: list[SuggestedPerson] = Field(max_length=4)


class SearchItem(Schema):
    """A match. In `snippet` the matched words are between « and »."""

    kind: KindPath = Field(examples=["rfas"])
    public_id: UUID
    document_number: str = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])
    subject: str = Field(examples=["รายงานผลการทดสอบเสาเข็ม"])
    snippet: str = Field(examples=["ผลการทดสอบ«เสาเข็ม»ต้นที่ 12"])
    project: ProjectCode
    date: date


class FacetAnswer(Schema):
    """The number of matches with a value; `name` is English, or the original name if there is no English one."""

    value: str = Field(examples=["APPROVED"])
    count: int
    name: str | None = None
    name_th: str | None = None


class SearchFacets(Schema):
    """
    The newest 10,000 matches by kind, status, type, party (sender or recipient) and year of entry. Status, type and
    party have the 20 most frequent values; the filters `status` and `party` and the condition `type:` accept them.
    """

    kind: list[FacetAnswer]
    status: list[FacetAnswer]
    type: list[FacetAnswer]
    party: list[FacetAnswer]
    year: list[FacetAnswer]


class SearchAnswer(Schema):
    items: list[SearchItem]
    facets: SearchFacets | None = Field(description="Null with `facets=false`, and on later pages.")
    approximate_count: int = Field(description="Exact up to 200; 201 means more.")
    is_complete: bool = Field(description="False while the server builds its index.")
    next_cursor: str | None
