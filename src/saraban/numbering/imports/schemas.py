"""Imports of legacy numbers: what was sent, how far it is, what came of it."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from saraban.imports.domain import ImportState
from saraban.kit.schema import Schema, SingleLine
from saraban.numbering.series.domain.counter import LARGEST_STATED


class ImportFaultOut(Schema):
    """What is wrong with a cell."""

    line: int = Field(description="Of the file; the headings are line 1.", examples=[3])
    column: str = Field(examples=["originator"])
    code: str = Field(examples=["unknown"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มี “ผรม.9” ในโครงการนี้"])


class ImportSeriesOut(Schema):
    """The highest number of a series in the file, against its counter when the file was checked."""

    series: str = Field(examples=["คคง.-สคฉ.3-{SEQ}-2567"])
    highest: int = Field(examples=[417])
    counter: int = Field(examples=[0])
    jump: int = Field(description="By how much the counter would move; 0 where it cannot.", examples=[417])


class ImportMovedOut(Schema):
    """A counter that was moved."""

    series: str = Field(examples=["คคง.-สคฉ.3-{SEQ}-2567"])
    before: int = Field(examples=[0])
    after: int = Field(examples=[417])


class ImportProblemOut(Schema):
    """Why the file could not be worked on."""

    code: str = Field(examples=["VALIDATION_ERROR"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มีคอลัมน์ เลขที่เอกสาร / Document number"])


class ImportReportOut(Schema):
    """What the dry run found, and, when it is done, what the import did."""

    ready: int = Field(description="Lines that would be imported.", examples=[412])
    there: int = Field(description="Lines that were imported before.", examples=[0])
    refused: int = Field(examples=[5])
    imported: int | None = Field(None, description="Lines that were imported; null before.", examples=[412])
    faults: list[ImportFaultOut] = Field(description="The first 200; the result workbook has all.")
    series: list[ImportSeriesOut] = Field(description="By name, the first 1,000.")
    series_total: int = Field(examples=[1])
    moved: list[ImportMovedOut] = Field(default_factory=list)


class ImportSummaryOut(Schema):
    """How far an import is."""

    public_id: UUID
    project_public_id: UUID
    file_name: str = Field(examples=["register-2567.xlsx"])
    file_sha256: str
    state: ImportState = Field(
        description="CHECKING and IMPORTING are a worker's; CHECKED waits for a commit.", examples=["CHECKED"]
    )
    uploaded: bool = Field(description="False for an import at a terminal.")
    rows_total: int = Field(examples=[417])
    rows_done: int = Field(examples=[417])
    rows_refused: int = Field(examples=[5])
    username: str = Field(examples=["padmin"])
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


class ImportOut(ImportSummaryOut):
    """An import with its report."""

    report: ImportReportOut | None = Field(description="Null until the dry run is done.")
    problem: ImportProblemOut | None = Field(None, description="Why it FAILED.")


class ImportsOut(Schema):
    items: list[ImportSummaryOut]
    next_cursor: str | None


class CounterMoveIn(Schema):
    """A counter that shall go on after the highest number of the file."""

    series: Annotated[str, SingleLine(255)] = Field(examples=["คคง.-สคฉ.3-{SEQ}-2567"])
    to: int = Field(
        strict=True, ge=1, le=LARGEST_STATED, description="`highest`, as the dry run showed it.", examples=[417]
    )


class ImportCommitIn(Schema):
    moves: list[CounterMoveIn] = Field(
        default_factory=list, max_length=1000, description="Series whose counters move; all others stay."
    )
