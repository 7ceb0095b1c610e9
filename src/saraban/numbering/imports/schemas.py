"""JSON shapes of imports of legacy numbers."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from saraban.imports.schemas import ImportProblemOut, ImportReport, ImportStatusOut
from saraban.kit.schema import Schema, SingleLine
from saraban.numbering.series.domain.counter import LARGEST_STATED


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


class ImportReportOut(ImportReport):
    """Result of the dry run and, once finished, of the import."""

    series: list[ImportSeriesOut] = Field(description="By name, the first 1,000.")
    series_total: int = Field(examples=[1])
    moved: list[ImportMovedOut] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def complete(cls, report: Mapping[str, object]) -> dict[str, object]:
        """Convert the stored moves to a list, and add the dry run that a terminal import lacks."""
        moved = report.get("moved", [])
        if isinstance(moved, Mapping):
            moved = [{"series": name, "before": before, "after": after} for name, (before, after) in moved.items()]
        dry_run = {"ready": report.get("imported", 0), "series": [], "seriesTotal": 0}
        return {**dry_run, **report, "moved": moved}


class ImportSummaryOut(ImportStatusOut):
    """Progress of an import."""

    uploaded: bool = Field(description="False for an import at a terminal.")


class ImportOut(ImportSummaryOut):
    """An import with its report."""

    report: ImportReportOut | None = Field(description="Null until the dry run is done.")
    problem: ImportProblemOut | None = Field(None, description="Why it FAILED.")


class CounterMoveIn(Schema):
    """A counter to continue after the highest number of the file."""

    series: Annotated[str, SingleLine(255)] = Field(examples=["คคง.-สคฉ.3-{SEQ}-2567"])
    to: int = Field(
        strict=True, ge=1, le=LARGEST_STATED, description="`highest`, as the dry run showed it.", examples=[417]
    )


class ImportCommitIn(Schema):
    moves: list[CounterMoveIn] = Field(
        default_factory=list, max_length=1000, description="Series whose counters move; all others stay."
    )
