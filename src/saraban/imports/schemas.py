"""Imports in the API: what is asked, how far an import is, and the faults of its file."""

from datetime import datetime
from uuid import UUID

from pydantic import ConfigDict, Field

from saraban.imports.domain import ImportState
from saraban.kit.schema import Schema


class ImportQuery(Schema):
    """Into which project a file is imported."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    project: UUID = Field(alias="projectPublicId", examples=["01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"])
    sheet: str | None = Field(None, max_length=100, description="The sheet to read, where several have the headings.")


class _ImportSchema(Schema):
    """What a report keeps is more than an answer shows."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})


class ImportFaultOut(_ImportSchema):
    """What is wrong with a cell."""

    line: int = Field(description="Of the file, as a spreadsheet program counts.", examples=[3])
    column: str = Field(examples=["originator"])
    code: str = Field(examples=["unknown"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มี “ผรม.9” ในโครงการนี้"])


class ImportProblemOut(_ImportSchema):
    """Why the file could not be worked on."""

    code: str = Field(examples=["VALIDATION_ERROR"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มีคอลัมน์ เลขที่เอกสาร / Document number"])


class ImportReport(_ImportSchema):
    """What the dry run found, and, when it is done, what the import did; counted in lines."""

    ready: int = Field(description="Lines that would be imported.", examples=[412])
    there: int = Field(description="Lines that the register has already.", examples=[0])
    refused: int = Field(examples=[5])
    left_out: int = Field(
        0,
        description="Lines that are no records: titles, totals, repeated headings, headings of other columns.",
        examples=[2],
    )
    imported: int | None = Field(None, description="Lines that were imported; null before.", examples=[412])
    faults: list[ImportFaultOut] = Field(
        description="Of lines that are refused or left out: the first 200; the result workbook has all."
    )


class ImportStatusOut(_ImportSchema):
    """How far an import is."""

    public_id: UUID
    project_public_id: UUID
    file_name: str = Field(examples=["register-2567.xlsx"])
    file_sha256: str
    state: ImportState = Field(
        description="CHECKING and IMPORTING are a worker's; CHECKED waits for a commit.", examples=["CHECKED"]
    )
    rows_total: int = Field(examples=[417])
    rows_done: int = Field(examples=[417])
    rows_refused: int = Field(examples=[5])
    username: str = Field(examples=["padmin"])
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
