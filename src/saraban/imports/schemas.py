"""API schemas of imports."""

from datetime import datetime
from uuid import UUID

from pydantic import ConfigDict, Field

from saraban.imports.domain import ImportState
from saraban.kit.schema import Schema


class ImportQuery(Schema):
    """The project into which a file is imported."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    project: UUID = Field(alias="projectPublicId", examples=["01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"])
    sheet: str | None = Field(None, max_length=100, description="The sheet to read, where several have the headings.")


class _ImportSchema(Schema):
    """Stored reports have further keys, which are ignored."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})


class ImportFaultOut(_ImportSchema):
    """A fault of a cell."""

    line: int = Field(description="Row number in the spreadsheet.", examples=[3])
    column: str = Field(examples=["originator"])
    code: str = Field(examples=["unknown"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มี “ผรม.9” ในโครงการนี้"])


class ImportProblemOut(_ImportSchema):
    """Why the file could not be processed."""

    code: str = Field(examples=["VALIDATION_ERROR"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มีคอลัมน์ เลขที่เอกสาร / Document number"])


class ImportReport(_ImportSchema):
    """Counts of lines of the dry run and, at the end, of the import."""

    ready: int = Field(description="Lines that would be imported.", examples=[412])
    there: int = Field(description="Lines that are already registered.", examples=[0])
    refused: int = Field(examples=[5])
    left_out: int = Field(
        0,
        description="Lines without a record: titles, totals, repeated headings, headings of other columns.",
        examples=[2],
    )
    imported: int | None = Field(None, description="Lines that were imported; null before.", examples=[412])
    faults: list[ImportFaultOut] = Field(
        description="The first 200 faults of rejected or left-out lines; the result workbook has all."
    )


class ImportStatusOut(_ImportSchema):
    """The state and progress of an import."""

    public_id: UUID
    project_public_id: UUID
    file_name: str = Field(examples=["register-2567.xlsx"])
    file_sha256: str
    state: ImportState = Field(
        description="A worker handles CHECKING and IMPORTING; CHECKED waits for a commit.", examples=["CHECKED"]
    )
    rows_total: int = Field(examples=[417])
    rows_done: int = Field(examples=[417])
    rows_refused: int = Field(examples=[5])
    username: str = Field(examples=["padmin"])
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
